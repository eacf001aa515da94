//! `holon status`, `tail` and `transcript`: read-only views that do not wake the agent.

use crate::args::{TailArgs, TranscriptArgs};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{self, Output};
use crate::render;
use std::path::PathBuf;

/// Number of briefs per request while following.
const FOLLOW_PAGE: u64 = 50;
/// Kind of the event that announces a brief. Its payload is not decoded, as a newer host may have changed it.
const BRIEF_CREATED: &str = "brief_created";

/// Prints an agent's state.
pub(super) async fn status(
    home: Option<PathBuf>,
    agent: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, agent, output)?;
    let summary = host.check_answer(host.client().status(host.agent()).await)?;
    output.answer(&summary, |summary| render::summary(summary));
    Ok(Exit::Done)
}

/// Prints an agent's transcript.
pub(super) async fn transcript(
    home: Option<PathBuf>,
    args: TranscriptArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, args.agent.agent, output)?;
    let asked = host.client().transcript(host.agent(), Some(args.limit));
    let entries = host.check_answer(asked.await)?;
    output.answer(&entries, |entries| render::transcript(entries));
    Ok(Exit::Done)
}

/// Prints an agent's briefs.
pub(super) async fn tail(
    home: Option<PathBuf>,
    args: TailArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, args.agent.agent, output)?;
    if args.follow {
        return follow(&host, args.limit, output).await;
    }
    let briefs = host.check_answer(host.client().briefs(host.agent(), Some(args.limit)).await)?;
    output.answer_wrapped(&briefs, |briefs| render::briefs(briefs));
    Ok(Exit::Done)
}

/// Prints the existing briefs, then new ones. Opens the stream before it reads, so that no brief is missed.
async fn follow(host: &Host, limit: u64, output: &Output) -> Result<Exit, Failure> {
    let agent_id = host.agent_id().await?;
    // A stream retries for a while; this call reports an absent host at once.
    host.check_answer(host.client().status(Some(&agent_id)).await)?;
    let mut stream = host.client().events_stream(agent_id, None);
    host.check_answer(stream.open().await)?;
    let mut last = print_after(host, None, limit, output).await?;
    let mut reader_gone = std::pin::pin!(output::reader_gone());
    loop {
        let received = tokio::select! {
            received = stream.next() => received,
            () = &mut reader_gone => return Ok(Exit::Done),
        };
        let envelope = host.check_answer(received)?;
        if envelope.kind == BRIEF_CREATED {
            last = print_after(host, last, FOLLOW_PAGE, output).await?;
        }
    }
}

/// Prints the briefs after the last printed one, and returns the id of the new last one.
async fn print_after(
    host: &Host,
    last: Option<String>,
    limit: u64,
    output: &Output,
) -> Result<Option<String>, Failure> {
    let briefs = host.check_answer(host.client().briefs(host.agent(), Some(limit)).await)?;
    let shown = briefs
        .iter()
        .position(|brief| Some(&brief.id) == last.as_ref())
        .map_or(0, |at| at + 1);
    for brief in briefs.iter().skip(shown) {
        output.item_wrapped(brief, |brief| render::brief(brief));
    }
    Ok(briefs.last().map(|brief| brief.id.clone()).or(last))
}
