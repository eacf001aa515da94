//! `holon status` and `transcript`: read-only views that do not wake the agent.

use crate::args::TranscriptArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{Format, Output};
use crate::render::{self, status::Circumstances};
use crate::target::Target;
use holon_client::SeqQuery;

/// Newest briefs in which an open request to the operator is looked for.
const BRIEFS: u64 = 20;

/// Prints an agent's state.
pub(super) async fn status(
    target: Target,
    agent: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, agent, output)?;
    let summary = host.check_answer(host.client().status(host.agent()).await)?;
    let around = match output.format() {
        Format::Text => circumstances(&host).await,
        Format::Json => Circumstances::default(),
    };
    output.answer_wrapped(&summary, |summary| {
        render::status::summary(summary, &around)
    });
    Ok(Exit::Done)
}

/// Reads what the page for people shows beside the status. A host that does not answer these leaves their lines out.
async fn circumstances(host: &Host) -> Circumstances {
    let client = host.client();
    let briefs = client.briefs(host.agent(), Some(BRIEFS));
    let (briefs, budgets) = tokio::join!(briefs, client.budgets());
    Circumstances {
        briefs: briefs.ok(),
        budgets: budgets.map_or_else(|_| Vec::new(), |all| all.budgets),
    }
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
