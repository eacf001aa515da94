//! Agents whose index was left behind its sources when the time of a use was up, for the feed loop.

use holon_domain::AgentId;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Agents whose index has to go on. Every use of an index adds to them; the feed loop takes them.
#[derive(Debug, Default)]
pub(super) struct UnfinishedIndexes {
    agents: Mutex<BTreeSet<AgentId>>,
    added: Notify,
}

impl UnfinishedIndexes {
    pub(super) fn add(&self, agent_id: AgentId) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.insert(agent_id);
        drop(agents);
        self.added.notify_one();
    }

    pub(super) fn take(&self) -> BTreeSet<AgentId> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *agents)
    }

    /// Returns once an agent was added since the last return.
    pub(super) async fn wait(&self) {
        self.added.notified().await;
    }
}
