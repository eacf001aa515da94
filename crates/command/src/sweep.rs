//! Stops commands that no record and no call refers to any more, and removes their directories.

use crate::folders::Folders;
use crate::off_thread::off_thread;
use crate::paths::{CommandPaths, is_unused, remove_dir};
use holon_domain::command::UnknownCause;
use holon_process::{CommandLocator, StoppedState, stop};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::task::JoinSet;

/// Grace period before such a command is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// Prefixes of the ids of commands and of the calls that started them.
const TASK: &str = "task_";
const CALL: &str = "call_";

/// Stops and removes the commands of the agent with this home, except those whose name `is_spared`. Their output
/// stays.
pub(crate) async fn sweep(home: &Path, folders: &Folders, is_spared: impl Fn(&str) -> bool) {
    let mut sweeping = JoinSet::new();
    for folder in [&folders.own, &folders.former] {
        let names = match names(folder).await {
            Ok(names) => names,
            Err(error) => {
                tracing::warn!(%error, "orphaned commands could not be looked for");
                continue;
            }
        };
        for name in names.into_iter().filter(|name| !is_spared(name)) {
            sweeping.spawn(sweep_one(
                CommandPaths::in_folder(home, folders, folder, &name),
                name,
            ));
        }
    }
    sweeping.join_all().await;
}

async fn sweep_one(paths: CommandPaths, name: String) {
    if is_unused(&name) {
        let dir = paths.claim_dir();
        // A failed removal is retried by the next sweep.
        drop(off_thread(move || remove_dir(&dir)).await);
        return;
    }
    if end_and_remove(&paths, &name, &nonce(&name)).await {
        tracing::info!(name, "removed an orphaned command");
    }
}

/// Stops the command of this name and nonce if it runs, also if its shim does not answer, and removes its directory.
/// A command that cannot be stopped keeps its directory, so that it can be found later. Returns true if the directory
/// is gone.
pub(crate) async fn end_and_remove(paths: &CommandPaths, name: &str, nonce: &str) -> bool {
    let dir = paths.claim_dir();
    let locator = CommandLocator {
        claim_dir: &dir,
        task_id: name,
        nonce,
    };
    match stop(locator, GRACE).await {
        StoppedState::Ended(_)
        | StoppedState::StartFailed(_)
        | StoppedState::NeverStarted
        | StoppedState::Unknown(UnknownCause::SupervisorDied | UnknownCause::SupervisorKilled) => {}
        StoppedState::Unknown(UnknownCause::SupervisorSilent) => {
            tracing::warn!(dir = %dir.display(), "a command's supervisor can be neither asked nor killed; it is left alone");
            return false;
        }
    }
    match paths.remove().await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(dir = %dir.display(), %error, "could not be removed");
            false
        }
    }
}

/// Returns the nonce of a command's shim, which is the id of its call. The name is derived from that id, see
/// `CommandKey`.
fn nonce(name: &str) -> String {
    let name = match name.rsplit_once('-') {
        Some((call, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => call,
        Some(_) | None => name,
    };
    format!("{CALL}{}", name.strip_prefix(TASK).unwrap_or(name))
}

/// Lists the names of the commands in a folder. Other files in it are ignored.
async fn names(folder: &Path) -> io::Result<Vec<String>> {
    let folder = folder.to_owned();
    off_thread(move || {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name().into_string();
            names.extend(name.ok().filter(|name| name.starts_with(TASK)));
        }
        Ok(names)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::CallId;
    use holon_domain::command::CommandKey;

    #[test]
    fn the_name_of_a_command_tells_whose_call_it_was() {
        let call = CallId::from_stored("call_0123456789abcdefghjk");
        let key = CommandKey::of_call("/agents/scout", &call);
        assert_eq!(nonce(&key.name), call.as_str());
        assert_eq!(nonce(&key.item(12).name), call.as_str());
    }
}
