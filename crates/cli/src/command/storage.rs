//! `holon storage`: how much the host stores, and the removal of old history.

use crate::args::StorageCommand;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use crate::target::Target;
use holon_api::{PruneRequest, PruneResponse};

/// Runs one subcommand of `storage`.
pub(super) async fn run(
    target: Target,
    command: StorageCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, None, output)?;
    match command {
        StorageCommand::Report => {
            let report = host.check_answer(host.client().storage().await)?;
            output.answer(&report, render::storage::report);
        }
        StorageCommand::Prune {
            older_than,
            dry_run,
        } => {
            let removed = prune(&host, older_than, dry_run, output).await?;
            output.answer(&removed, render::storage::removed);
            if !removed.failures.is_empty() {
                return Ok(Exit::Failed);
            }
        }
    }
    Ok(Exit::Done)
}

/// Asks the host until everything is done. A request does a part of the work.
async fn prune(
    host: &Host,
    older_than_days: u64,
    dry_run: bool,
    output: &Output,
) -> Result<PruneResponse, Failure> {
    let mut request = PruneRequest {
        older_than_days,
        dry_run,
        next: None,
    };
    let mut all: Option<PruneResponse> = None;
    loop {
        let answer = host.check_answer(host.client().prune_storage(&request).await)?;
        request.next.clone_from(&answer.next);
        let sum = match all {
            Some(mut sum) => {
                sum.removed += answer.removed;
                sum.failures.extend(answer.failures);
                PruneResponse {
                    next: answer.next,
                    ..sum
                }
            }
            None => answer,
        };
        if sum.next.is_none() {
            output.clear_progress();
            return Ok(sum);
        }
        output.progress(&format!("{} turns so far", sum.removed.turns));
        all = Some(sum);
    }
}
