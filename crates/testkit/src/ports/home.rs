//! Homes that exist in name only.

use async_trait::async_trait;
use holon_domain::AgentId;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::HomeHost;
use holon_engine::request::{HomeChoice, WorkspaceChoice};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::watch;

/// Homes that are prepared and removed at once, unless the test holds them. Every workspace is the agent's home.
#[derive(Debug, Default)]
pub struct ScriptedHomes {
    /// Number of removed homes.
    pub removed: AtomicU64,
    /// True if removing a home fails.
    pub stuck: AtomicBool,
    /// True if preparing a home fails.
    pub unmakeable: AtomicBool,
    held: watch::Sender<bool>,
    /// Agents whose homes were seeded, in order.
    pub seeded: Mutex<Vec<AgentId>>,
    /// Agents whose homes were looked for before a turn, in order.
    pub ensured: Mutex<Vec<AgentId>>,
}

impl ScriptedHomes {
    /// Makes preparing and removing homes wait while `hold` is true.
    pub fn hold(&self, hold: bool) {
        self.held.send_replace(hold);
    }

    async fn wait_while_held(&self) {
        let mut held = self.held.subscribe();
        let free = held.wait_for(|held| !held).await;
        free.expect("the homes keep a sender of their own");
    }
}

/// Refuses every template: the fakes have none.
pub(crate) fn refuse_template(choice: &HomeChoice) -> Result<(), String> {
    match &choice.template {
        Some(template) => Err(format!("there is no template {template:?}")),
        None => Ok(()),
    }
}

#[async_trait]
impl HomeHost for ScriptedHomes {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        self.wait_while_held().await;
        if self.unmakeable.load(Ordering::Relaxed) {
            return Err("the directory is read-only".to_owned());
        }
        Ok(())
    }

    async fn seed(&self, agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        let mut seeded = self.seeded.lock().expect("no holder panics");
        seeded.push(agent_id.clone());
        Ok(())
    }

    async fn ensure(&self, agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        let mut ensured = self.ensured.lock().expect("no holder panics");
        ensured.push(agent_id.clone());
        Ok(())
    }

    async fn make_from_template(
        &self,
        _agent_home: &str,
        choice: &HomeChoice,
    ) -> Result<(), String> {
        refuse_template(choice)
    }

    async fn remove(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        self.wait_while_held().await;
        if self.stuck.load(Ordering::Relaxed) {
            return Err("a file in it belongs to somebody else".to_owned());
        }
        self.removed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn workspace(
        &self,
        _choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        Ok(WorkspaceEntry::agent_home(agent_home))
    }
}
