//! Agents' homes on this machine's file system. Everything blocking happens off the async threads.
//!
//! A home is not made when its agent is: the command or the patch that first needs it makes it, see `workspace`.

use super::attached::Attachments;
use async_trait::async_trait;
use holon_domain::AgentId;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::HomeHost;
use holon_engine::request::WorkspaceChoice;
use holon_workspace::Claims;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pause between two tries on a full disk.
const FULL_PAUSE: Duration = Duration::from_secs(1);
/// Tries from one line of the log about it to the next: a minute of them.
const FULL_LOG_EVERY: u64 = 60;

/// The directory agents live in, and what is kept about them beside it.
#[derive(Debug)]
pub(crate) struct Homes {
    agents_dir: PathBuf,
    claims: Claims,
    attachments: Attachments,
}

impl Homes {
    /// Homes under a directory.
    pub(crate) const fn new(agents_dir: PathBuf, claims: Claims, attachments: Attachments) -> Self {
        Self {
            agents_dir,
            claims,
            attachments,
        }
    }

    async fn off_thread(
        agent_id: &AgentId,
        work: impl Fn() -> Result<(), holon_workspace::Error> + Clone + Send + 'static,
    ) -> Result<(), String> {
        let mut tries: u64 = 0;
        loop {
            match tokio::task::spawn_blocking(work.clone()).await {
                // A full disk is waited out everywhere, so here too: the agent must not be the one that stays behind.
                Ok(Err(error)) if is_full(&error) => {
                    if tries.is_multiple_of(FULL_LOG_EVERY) {
                        tracing::warn!(%agent_id, %error, "waits for disk space");
                    }
                    tries += 1;
                    tokio::time::sleep(FULL_PAUSE).await;
                }
                Ok(done) => return done.map_err(|error| error.to_string()),
                Err(stopped) => {
                    return Err(format!("the work on the home ended early: {stopped}"));
                }
            }
        }
    }
}

fn is_full(error: &holon_workspace::Error) -> bool {
    match error {
        holon_workspace::Error::Io { source, .. } => matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ),
        holon_workspace::Error::Missing { .. }
        | holon_workspace::Error::NotADirectory { .. }
        | holon_workspace::Error::Relative { .. }
        | holon_workspace::Error::NotUtf8 { .. }
        | holon_workspace::Error::CwdOutsideRoot { .. }
        | holon_workspace::Error::HomeBlocked { .. }
        | holon_workspace::Error::Random(_) => false,
    }
}

#[async_trait]
impl HomeHost for Homes {
    async fn prepare(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String> {
        let (attachments, home) = (self.attachments.clone(), agent_home.to_owned());
        Self::off_thread(agent_id, move || {
            holon_workspace::check_home(Path::new(&home))?;
            attachments.started(&home);
            Ok(())
        })
        .await
    }

    async fn remove(&self, agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        let (dir, id) = (self.agents_dir.clone(), agent_id.clone());
        Self::off_thread(agent_id, move || holon_workspace::remove_home(&dir, &id)).await?;
        holon_fault::hit("home.removed");
        // Last: what proves that a command ran stays for as long as anything of its agent.
        let (claims, id) = (self.claims.clone(), agent_id.clone());
        Self::off_thread(agent_id, move || claims.remove(&id)).await
    }

    async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        let (choice, home) = (choice.clone(), agent_home.to_owned());
        let attachments = self.attachments.clone();
        let chosen = tokio::task::spawn_blocking(move || {
            let (root, cwd) = (choice.workspace_root.as_deref(), choice.cwd.as_deref());
            let chosen = holon_workspace::choose(root, cwd, Path::new(&home))?;
            attachments.named(&home, &chosen);
            Ok::<_, holon_workspace::Error>(chosen)
        });
        match chosen.await {
            Ok(chosen) => chosen.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the workspace could not be looked at: {stopped}")),
        }
    }
}
