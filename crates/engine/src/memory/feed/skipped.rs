//! Agents with changes that could not be taken: they have no home yet, are aside, or their index failed. Each is looked at
//! again with its next commit, whatever that writes.

use super::REMEMBERED;
use holon_domain::AgentId;
use holon_domain::feed::FeedNotice;
use holon_store::Store;
use std::collections::BTreeSet;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// Listens to all commits only while there are such agents.
#[derive(Debug, Default)]
pub(super) struct SkippedAgents {
    agents: BTreeSet<AgentId>,
    pub(super) commits: Option<Receiver<FeedNotice>>,
}

impl SkippedAgents {
    /// Adds an agent. Beyond the bound it is fed with its next change of memory.
    pub(super) fn add(&mut self, agent_id: &AgentId, store: &dyn Store) {
        if self.agents.len() < REMEMBERED {
            self.commits.get_or_insert_with(|| store.subscribe());
            self.agents.insert(agent_id.clone());
        }
    }

    /// Waits for a commit of one of the agents and takes it out; all of them if notices were missed.
    pub(super) async fn next(&mut self) -> BTreeSet<AgentId> {
        loop {
            let Some(commits) = &mut self.commits else {
                return std::future::pending().await;
            };
            let taken = match commits.recv().await {
                Ok(notice) => self.agents.take(&notice.agent_id).into_iter().collect(),
                Err(RecvError::Lagged(_)) => std::mem::take(&mut self.agents),
                // The feed of memory ends with it.
                Err(RecvError::Closed) => return std::future::pending().await,
            };
            if self.agents.is_empty() {
                self.commits = None;
            }
            if !taken.is_empty() {
                return taken;
            }
        }
    }
}
