//! `holon status`, `tail` and `transcript`: looking without waking.

use crate::args::{TailArgs, TranscriptArgs};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use std::path::PathBuf;

/// Briefs fetched at once while following.
const FOLLOW_PAGE: u64 = 50;
/// The event that tells of a brief, whatever else a newer host says in it.
const BRIEF_CREATED: &str = "brief_created";

/// Where an agent stands.
pub(super) async fn status(
    home: Option<PathBuf>,
    agent: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, agent, output)?;
    let summary = host.asked(host.client().status(host.agent()).await)?;
    output.answer(&summary, |summary| render::summary(summary));
    Ok(Exit::Done)
}

/// What was said and done.
pub(super) async fn transcript(
    home: Option<PathBuf>,
    args: TranscriptArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, args.agent.agent, output)?;
    let asked = host.client().transcript(host.agent(), Some(args.limit));
    let entries = host.asked(asked.await)?;
    output.answer(&entries, |entries| render::transcript(entries));
    Ok(Exit::Done)
}

/// What an agent told its operator.
pub(super) async fn tail(
    home: Option<PathBuf>,
    args: TailArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, args.agent.agent, output)?;
    if args.follow {
        return follow(&host, args.limit, output).await;
    }
    let briefs = host.asked(host.client().briefs(host.agent(), Some(args.limit)).await)?;
    output.answer(&briefs, |briefs| render::briefs(briefs));
    Ok(Exit::Done)
}

/// Shows what there is, then what comes. Listens before it looks, so that nothing falls between.
async fn follow(host: &Host, limit: u64, output: &Output) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    // A stream comes back by itself for a while; a host that is not there at all is told at once.
    host.asked(host.client().status(Some(&agent_id)).await)?;
    let mut stream = host.client().events_stream(agent_id, None);
    host.asked(stream.open().await)?;
    let mut last = show_after(host, None, limit, output).await?;
    loop {
        let envelope = host.asked(stream.next().await)?;
        if envelope.kind == BRIEF_CREATED {
            last = show_after(host, last, FOLLOW_PAGE, output).await?;
        }
    }
}

/// Shows the newest briefs that came after the last one shown, and returns the new last one.
async fn show_after(
    host: &Host,
    last: Option<String>,
    limit: u64,
    output: &Output,
) -> Result<Option<String>, Failure> {
    let briefs = host.asked(host.client().briefs(host.agent(), Some(limit)).await)?;
    let shown = briefs
        .iter()
        .position(|brief| Some(&brief.id) == last.as_ref())
        .map_or(0, |at| at + 1);
    for brief in briefs.iter().skip(shown) {
        output.item(brief, |brief| render::brief(brief));
    }
    Ok(briefs.last().map(|brief| brief.id.clone()).or(last))
}
