//! Backups of the home while its host is killed. After the storm, the last complete one is restored into a home of its
//! own, whose host finishes its work, and the reader checks the rows there.

use crate::check::{self, Evidence};
use crate::clients::{ClientContext, HostState};
use crate::host::Host;
use crate::record::AcknowledgedPrompt;
use crate::world::World;
use crate::{Fallible, budget, evidence, rest, rows};
use holon_domain::AgentId;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;

/// Pause between two backups.
const PAUSE: Duration = Duration::from_millis(500);

/// A backup that the program reported as made.
#[derive(Debug, Clone)]
pub(crate) struct Backup {
    file: PathBuf,
    /// Prompts that were acknowledged before it began. It holds all of them.
    acknowledged: Vec<AcknowledgedPrompt>,
}

/// Makes backups until the storm is over. Only the newest file is kept.
pub(crate) async fn back_up_often(context: Arc<ClientContext>) {
    let mut host_state = context.host_state.subscribe();
    let mut number = 0;
    while *host_state.borrow_and_update() != HostState::Finished {
        number += 1;
        back_up(&context, number).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn back_up(context: &ClientContext, number: u64) {
    let acknowledged = context.recorder.copy().acknowledged;
    let file = context.world.root().join(format!("backup-{number}"));
    let mut command = context.world.command();
    command.arg("backup").arg(&file);
    let made = run(command).await;
    context.recorder.note(&format!("backup {number}: {made:?}"));
    let before = context.recorder.write(|records| match made {
        Ok(()) => {
            records.backups += 1;
            records.last_backup.replace(Backup { file, acknowledged })
        }
        Err(error) => {
            records.unexpected.push(format!("backup {number}: {error}"));
            None
        }
    });
    if let Some(before) = before {
        drop(std::fs::remove_file(before.file));
    }
}

/// Restores a backup and returns every rule that the restored home breaks, before and after its host has finished the
/// work in it.
///
/// Commands and patches are not looked at: the first home has gone on after the backup, in the same workspaces.
pub(crate) async fn check(
    world: &World,
    backup: Option<&Backup>,
    provider: &str,
    agents: &[AgentId],
) -> Fallible<Vec<String>> {
    let Some(backup) = backup else {
        return Ok(vec!["no backup was completed".to_owned()]);
    };
    let world = world.beside("restored");
    let mut command = world.command();
    command.arg("restore").arg(&backup.file);
    run(command).await?;
    world.configure(provider)?;
    let mut found = check::sequence(&rows::read(&world.database())?, &[]);

    let host = Host::start(&world, None).await?;
    let host = host.ok_or("a host that is not killed comes up")?;
    let client = world.client();
    budget::lift(&client, agents).await?;
    rest::start_agents(&client, agents).await?;
    found.extend(rest::wait_until_at_rest(&world, agents).await?);
    let views = rest::gather(&client, agents).await?;
    let status = host.terminate().await?;
    if !status.success() {
        found.push(format!("the host went down with {status}"));
    }
    found.extend(check::restored(&Evidence {
        rows: rows::read(&world.database())?,
        acknowledged: backup.acknowledged.clone(),
        views,
        ..Evidence::default()
    }));
    found.extend(evidence::faults_in_log(&world)?);
    let named = found.into_iter();
    Ok(named.map(|words| format!("restored: {words}")).collect())
}

/// Runs the program to its end.
async fn run(command: std::process::Command) -> Fallible<()> {
    let output = Command::from(command)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().into()),
    }
}
