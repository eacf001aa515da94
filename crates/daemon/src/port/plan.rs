//! The engine's port for plan files of work items. Blocking work runs off the async threads.

use async_trait::async_trait;
use holon_domain::WorkItemId;
use holon_domain::work_item::PlanArtifact;
use holon_engine::ports::{FileParts, PlanHost};
use holon_workspace::Tree;
use std::path::PathBuf;
use tokio::io::AsyncReadExt as _;
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

    async fn open_file(
        &self,
        agent_home: &str,
        path: &str,
        max_bytes: u64,
    ) -> Result<Option<Box<dyn FileParts>>, String> {
        let (home, path) = (PathBuf::from(agent_home), path.to_owned());
        let opened = tokio::task::spawn_blocking(move || {
            let tree = Tree::open(&home).map_err(|error| error.to_string())?;
            let found = tree.open_file(&path, max_bytes);
            let Some(file) = found.map_err(|error| error.to_string())? else {
                return Ok(None);
            };
            let found = file.metadata().map_err(|error| error.to_string())?;
            let parts = OpenedFile {
                file: tokio::fs::File::from_std(file),
                bytes: found.len(),
            };
            Ok(Some(Box::new(parts) as Box<dyn FileParts>))
        });
        match opened.await {
            Ok(opened) => opened,
            Err(stopped) => Err(format!("the look at the file ended early: {stopped}")),
        }
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

/// A file of a home that is being read.
#[derive(Debug)]
struct OpenedFile {
    file: tokio::fs::File,
    bytes: u64,
}

#[async_trait]
impl FileParts for OpenedFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    async fn read_part(&mut self, most: usize) -> Result<Vec<u8>, String> {
        let mut part = vec![0; most];
        let read = self.file.read(&mut part).await;
        part.truncate(read.map_err(|error| error.to_string())?);
        Ok(part)
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

    #[tokio::test]
    async fn a_file_of_the_home_is_read_and_nothing_outside_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir_all(home.join("work")).unwrap();
        std::fs::write(home.join("work/report.md"), "done").unwrap();
        std::fs::write(dir.path().join("secret"), "key").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), home.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path(), home.join("out")).unwrap();
        let home = home.to_string_lossy();
        let read = async |path: &str| -> Result<Option<Vec<u8>>, String> {
            let Some(mut file) = Plans.open_file(&home, path, 4).await? else {
                return Ok(None);
            };
            assert_eq!(file.bytes(), 4);
            let mut content = Vec::new();
            for most in [3, 3, 3] {
                content.extend(file.read_part(most).await?);
            }
            Ok(Some(content))
        };
        assert_eq!(read("work/report.md").await, Ok(Some(b"done".to_vec())));
        assert_eq!(read("work/missing.md").await, Ok(None));
        assert!(
            Plans.open_file(&home, "work/report.md", 3).await.is_err(),
            "it is too large"
        );
        for path in ["link", "out/secret", "../secret", "/etc/passwd"] {
            let found = read(path).await;
            assert!(!matches!(found, Ok(Some(_))), "{path}: {found:?}");
        }
    }
}
