//! `holon events`: the raw events of an agent, one line each.

use crate::args::EventsArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{self, Format, Output};
use crate::render::row;
use crate::target::Target;
use holon_api::EventEnvelope;
use holon_api::event::PageOrder;
use holon_client::{EventsQuery, retry_read};
use holon_domain::AgentId;

/// Prints an agent's events.
pub(super) async fn run(
    target: Target,
    args: EventsArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, args.agent.agent.clone(), output)?;
    let agent_id = host.agent_id().await?;
    // Reports an absent host or agent at once; the reads that follow are repeated over a restart of the host.
    host.check_answer(host.client().status(Some(&agent_id)).await)?;
    if args.follow {
        return follow(&host, &agent_id, &args, output).await;
    }
    let query = match args.after {
        Some(after_seq) => EventsQuery {
            after_seq: Some(after_seq),
            order: Some(PageOrder::Asc),
            ..EventsQuery::default()
        },
        None => newest_first(None),
    };
    let events = load(&host, &agent_id, query, args.limit).await?;
    if output.format() == Format::Text && events.is_empty() {
        output.say("no events; wait for them with --follow");
        return Ok(Exit::Done);
    }
    output.answer(&events, |events| {
        let lines: Vec<String> = events.iter().map(row::event).collect();
        lines.join("\n")
    });
    Ok(Exit::Done)
}

const fn newest_first(before_seq: Option<u64>) -> EventsQuery {
    EventsQuery {
        before_seq,
        after_seq: None,
        limit: None,
        order: Some(PageOrder::Desc),
        projection: None,
    }
}

/// Reads one page and returns it in ascending order.
async fn load(
    host: &Host,
    agent_id: &AgentId,
    query: EventsQuery,
    limit: u64,
) -> Result<Vec<EventEnvelope>, Failure> {
    let query = EventsQuery {
        limit: Some(limit),
        ..query
    };
    let asked = retry_read(async || host.client().events(agent_id, query).await).await;
    let mut events = host.check_answer(asked)?.events;
    events.sort_by_key(|event| event.event_seq);
    Ok(events)
}

/// Prints events from a position on, or the newest and all further ones. The stream is open before the newest are read,
/// so that no event is missed and none is printed twice.
async fn follow(
    host: &Host,
    agent_id: &AgentId,
    args: &EventsArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut stream = host.client().events_stream(agent_id.clone(), args.after);
    host.check_answer(stream.open().await)?;
    if args.after.is_none() {
        let before = stream.cursor().map(|cursor| cursor.saturating_add(1));
        for event in load(host, agent_id, newest_first(before), args.limit).await? {
            output.item(&event, row::event);
        }
    }
    let mut reader_gone = std::pin::pin!(output::reader_gone());
    loop {
        let received = tokio::select! {
            received = stream.next() => received,
            () = &mut reader_gone => return Ok(Exit::Done),
        };
        output.item(&host.check_answer(received)?, row::event);
    }
}
