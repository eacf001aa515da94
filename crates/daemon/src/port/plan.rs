//! The engine's port for plan files of work items. Blocking work runs off the async threads.

use async_trait::async_trait;
use holon_domain::WorkItemId;
use holon_domain::work_item::PlanArtifact;
use holon_engine::ports::PlanHost;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Reads and writes plan files on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plans;

/// Runs work on the plan of an item on a thread for blocking work.
async fn off_thread<T: Send + 'static>(
    agent_home: &str,
    item: &WorkItemId,
    work: impl FnOnce(PathBuf, WorkItemId) -> Result<T, holon_workspace::Error> + Send + 'static,
) -> Result<T, String> {
    let (home, item) = (PathBuf::from(agent_home), item.clone());
    match tokio::task::spawn_blocking(move || work(home, item)).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(stopped) => Err(format!("the work on the plan ended early: {stopped}")),
    }
}

#[async_trait]
impl PlanHost for Plans {
    async fn write(
        &self,
        agent_home: &str,
        item: &WorkItemId,
        text: String,
        cancel: CancellationToken,
    ) -> Result<PlanArtifact, String> {
        let write = move |home: PathBuf, item| {
            // The plan may be the first file in the home.
            holon_workspace::make_home(&home, || !cancel.is_cancelled())?;
            holon_workspace::write_plan(&home, &item, &text)
        };
        off_thread(agent_home, item, write).await
    }

    async fn read(&self, agent_home: &str, item: &WorkItemId) -> Option<PlanArtifact> {
        let read = |home: PathBuf, item| Ok(holon_workspace::read_plan(&home, &item));
        off_thread(agent_home, item, read).await.ok().flatten()
    }

    async fn list(&self, agent_home: &str) -> Result<Vec<WorkItemId>, String> {
        let home = PathBuf::from(agent_home);
        match tokio::task::spawn_blocking(move || holon_workspace::plan_folders(&home)).await {
            Ok(found) => found.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the look at the plans ended early: {stopped}")),
        }
    }

    async fn remove(&self, agent_home: &str, item: &WorkItemId) -> Result<(), String> {
        let remove = |home: PathBuf, item| holon_workspace::remove_plan(&home, &item);
        off_thread(agent_home, item, remove).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cancelled_call_does_not_make_a_missing_home_again() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("agents/main");
        let item = WorkItemId::from_stored("work_1");
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        for (cancel, is_made) in [(cancelled, false), (CancellationToken::new(), true)] {
            let path = home.to_string_lossy();
            let written = Plans.write(&path, &item, "one".to_owned(), cancel).await;
            assert_eq!(written.is_ok(), is_made, "{written:?}");
            assert_eq!(home.exists(), is_made);
        }
    }
}
