//! `holon events`: the raw events of an agent, or of all public agents, one line each.

use crate::args::EventsArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{Format, Output};
use crate::render::row;
use crate::target::Target;
use holon_api::EventEnvelope;
use holon_api::event::PageOrder;
use holon_client::{EventStream, EventsQuery, retry_read};
use holon_domain::AgentId;

/// Prints the events of an agent, or of all public agents.
pub(super) async fn run(
    target: Target,
    args: EventsArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, args.agent.agent.clone(), output)?;
    let source = if args.all {
        host.check_answer(host.client().root().await)?;
        Source::Host
    } else {
        Source::Agent(host.agent_id().await?)
    };
    print(&host, &source, &args, output).await
}

/// The events that are shown.
enum Source {
    Agent(AgentId),
    Host,
}

impl Source {
    fn stream(&self, host: &Host, args: &EventsArgs) -> EventStream {
        let stream = match self {
            Self::Agent(agent_id) => host.client().events_stream(agent_id.clone(), args.after),
            Self::Host => host.client().host_events_stream(args.after),
        };
        stream.of_epoch(args.epoch.clone())
    }

    /// Reads the events of one page.
    async fn page(
        &self,
        host: &Host,
        query: EventsQuery,
    ) -> Result<Vec<EventEnvelope>, holon_client::Error> {
        match self {
            Self::Agent(agent_id) => Ok(host.client().events(agent_id, query).await?.events),
            Self::Host => Ok(host.client().host_events(query).await?.events),
        }
    }

    fn line(&self, event: &EventEnvelope) -> String {
        match self {
            Self::Agent(_) => row::event(event),
            Self::Host => row::host_event(event),
        }
    }
}

async fn print(
    host: &Host,
    source: &Source,
    args: &EventsArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    // Reports an absent host or agent at once; the reads that follow are repeated over a restart of the host.
    if let Source::Agent(agent_id) = source {
        host.check_answer(host.client().status(Some(agent_id)).await)?;
    }
    if args.follow {
        return follow(host, source, args, output).await;
    }
    let query = match args.after {
        Some(after_seq) => EventsQuery {
            before_seq: args.before,
            after_seq: Some(after_seq),
            order: Some(PageOrder::Asc),
            ..EventsQuery::default()
        },
        None => newest_first(args.before),
    };
    let query = EventsQuery {
        epoch: args.epoch.clone(),
        ..query
    };
    let events = load(host, source, query, args.limit).await?;
    if output.format() == Format::Text && events.is_empty() {
        output.say("no events; wait for them with --follow");
        return Ok(Exit::Done);
    }
    output.answer_wrapped(&events, |events| {
        let lines: Vec<String> = events.iter().map(|event| source.line(event)).collect();
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
        epoch: None,
    }
}

/// Reads one page and returns it in ascending order.
async fn load(
    host: &Host,
    source: &Source,
    query: EventsQuery,
    limit: u64,
) -> Result<Vec<EventEnvelope>, Failure> {
    let query = EventsQuery {
        limit: Some(limit),
        ..query
    };
    let asked = retry_read(async || source.page(host, query.clone()).await).await;
    let mut events = host.check_answer(asked).map_err(name_option)?;
    events.sort_by_key(|event| (event.host_seq, event.event_seq));
    Ok(events)
}

/// Prints events from a position on, or the newest and all further ones. The stream is open before the newest are read,
/// so that no event is missed and none is printed twice.
async fn follow(
    host: &Host,
    source: &Source,
    args: &EventsArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let mut stream = source.stream(host, args);
    host.check_answer(stream.open().await)
        .map_err(name_option)?;
    if args.after.is_none() {
        let before = stream.cursor().map(|cursor| cursor.saturating_add(1));
        for event in load(host, source, newest_first(before), args.limit).await? {
            output.item_wrapped(&event, |event| source.line(event));
        }
    }
    let mut ended = std::pin::pin!(output.ended());
    loop {
        let received = tokio::select! {
            received = stream.next() => received,
            () = &mut ended => return Ok(Exit::Done),
        };
        output.item_wrapped(&host.check_answer(received)?, |event| source.line(event));
    }
}

/// Names the option in the refusal of a position that no event has yet.
fn name_option(failure: Failure) -> Failure {
    if !failure.is("cursor_ahead") {
        return failure;
    }
    failure.hint("give --after a number up to the newest, or leave it out; a number of another home means nothing here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_that_is_not_there_yet_is_an_option_of_this_command() {
        let refused = Failure::new(Exit::Failed, "cursor_ahead", "there is no event 9 yet");
        let hint = name_option(refused).body.hint.expect("a next step");
        assert!(hint.contains("--after"), "{hint}");
        let other = Failure::new(Exit::Failed, "cursor_too_old", "gone");
        assert_eq!(name_option(other).body.hint, None);
    }
}
