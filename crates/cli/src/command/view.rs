//! `holon status` and `transcript`: read-only views that do not wake the agent.

use crate::args::TranscriptArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::target::Target;
use holon_client::SeqQuery;

/// Prints an agent's state.
pub(super) async fn status(
    target: Target,
    agent: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, agent, output)?;
    let summary = host.check_answer(host.client().status(host.agent()).await)?;
    output.answer(&summary, |summary| render::summary(summary));
    Ok(Exit::Done)
}

/// Prints an agent's transcript.
pub(super) async fn transcript(
    target: Target,
    args: TranscriptArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, args.agent.agent, output)?;
    let query = SeqQuery {
        before_seq: args.before,
        after_seq: args.after,
        ..SeqQuery::newest(Some(args.limit))
    };
    let asked = host.client().transcript_page(host.agent(), query);
    let entries = host.check_answer(asked.await)?.entries;
    output.answer(&entries, |entries| render::transcript(entries));
    Ok(Exit::Done)
}
