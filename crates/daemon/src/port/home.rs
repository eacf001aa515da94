//! Agents' homes on this machine's file system. Everything blocking happens off the async threads.

use async_trait::async_trait;
use holon_domain::AgentId;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::HomeHost;
use holon_engine::request::WorkspaceChoice;
use std::path::{Path, PathBuf};

/// The directory agents live in.
#[derive(Debug)]
pub(crate) struct Homes {
    agents_dir: PathBuf,
}

impl Homes {
    /// Homes under a directory.
    pub(crate) const fn new(agents_dir: PathBuf) -> Self {
        Self { agents_dir }
    }

    async fn off_thread(
        &self,
        agent_id: &AgentId,
        work: impl FnOnce(&Path, &AgentId) -> Result<(), holon_workspace::Error> + Send + 'static,
    ) -> Result<(), String> {
        let (dir, id) = (self.agents_dir.clone(), agent_id.clone());
        match tokio::task::spawn_blocking(move || work(&dir, &id)).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the work on the home ended early: {stopped}")),
        }
    }
}

#[async_trait]
impl HomeHost for Homes {
    async fn prepare(&self, agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        self.off_thread(agent_id, |dir, id| {
            holon_workspace::prepare_home(dir, id).map(drop)
        })
        .await
    }

    async fn remove(&self, agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        self.off_thread(agent_id, holon_workspace::remove_home)
            .await
    }

    fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        let (root, cwd) = (choice.workspace_root.as_deref(), choice.cwd.as_deref());
        holon_workspace::choose(root, cwd, Path::new(agent_home)).map_err(|error| error.to_string())
    }
}
