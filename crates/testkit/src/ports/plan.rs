//! Plan files in memory. Like files, they outlive the hosts of a test.

use async_trait::async_trait;
use holon_domain::work_item::PlanArtifact;
use holon_domain::{Timestamp, WorkItemId};
use holon_engine::ports::PlanHost;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The plans of every agent, by home and item. A write completes at once, unless the test makes writes fail or wait.
#[derive(Debug, Default)]
pub struct MemoryPlans {
    plans: Mutex<BTreeMap<(String, WorkItemId), Vec<u8>>>,
    /// Reason for which writes fail; `None` while they work.
    pub failure: Mutex<Option<String>>,
    /// While true, a write stores the file and does not return.
    pub held: watch::Sender<bool>,
    /// Number of writes that have stored a file.
    pub written: watch::Sender<u32>,
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryPlans {
    /// Returns the content of every plan, by item.
    #[must_use]
    pub fn all(&self) -> BTreeMap<WorkItemId, String> {
        let plans = lock(&self.plans);
        let text = |content: &Vec<u8>| String::from_utf8_lossy(content).into_owned();
        plans
            .iter()
            .map(|((_, item), content)| (item.clone(), text(content)))
            .collect()
    }

    /// Replaces the content of a plan, as an agent that edits the file does.
    pub fn edit(&self, agent_home: &str, item: &WorkItemId, content: &[u8]) {
        let key = (agent_home.to_owned(), item.clone());
        lock(&self.plans).insert(key, content.to_vec());
    }
}

#[async_trait]
impl PlanHost for MemoryPlans {
    async fn write(
        &self,
        agent_home: &str,
        item: &WorkItemId,
        text: String,
        _: CancellationToken,
    ) -> Result<PlanArtifact, String> {
        if let Some(reason) = lock(&self.failure).clone() {
            return Err(reason);
        }
        self.edit(agent_home, item, text.as_bytes());
        self.written.send_modify(|count| *count += 1);
        // The sender lives as long as this port.
        self.held.subscribe().wait_for(|held| !held).await.ok();
        Ok(PlanArtifact::of_content(
            text.as_bytes(),
            Timestamp::default(),
        ))
    }

    async fn read(&self, agent_home: &str, item: &WorkItemId) -> Option<PlanArtifact> {
        let plans = lock(&self.plans);
        let content = plans.get(&(agent_home.to_owned(), item.clone()))?;
        Some(PlanArtifact::of_content(content, Timestamp::default()))
    }

    async fn list(&self, agent_home: &str) -> Result<Vec<WorkItemId>, String> {
        let plans = lock(&self.plans);
        let of_home = plans.keys().filter(|(home, _)| home == agent_home);
        Ok(of_home.map(|(_, item)| item.clone()).collect())
    }

    async fn remove(&self, agent_home: &str, item: &WorkItemId) -> Result<(), String> {
        lock(&self.plans).remove(&(agent_home.to_owned(), item.clone()));
        Ok(())
    }
}
