//! The engine's port for the files that memory is derived from, and the export of episodes. Blocking work runs off the async threads.

use async_trait::async_trait;
use holon_domain::memory::{CuratedFile, WorkspaceProfile};
use holon_engine::ports::{
    CuratedContent, EpisodeExport, ExportedEpisode, MemoryFiles, ProfiledWorkspace,
};
use holon_workspace::CuratedText;
use std::path::{Path, PathBuf};

/// Reads the memory files on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MemoryFolder;

fn content(found: CuratedText) -> CuratedContent {
    match found {
        CuratedText::Absent => CuratedContent::Absent,
        CuratedText::Text { text, changed_at } => CuratedContent::Text { text, changed_at },
        CuratedText::Unreadable { reason } => CuratedContent::Unreadable { reason },
    }
}

#[async_trait]
impl MemoryFiles for MemoryFolder {
    async fn curated(&self, agent_home: &str) -> Vec<(CuratedFile, CuratedContent)> {
        let home = PathBuf::from(agent_home);
        let read = tokio::task::spawn_blocking(move || {
            CuratedFile::ALL.map(|file| (file, content(holon_workspace::read_curated(&home, file))))
        });
        match read.await {
            Ok(found) => found.to_vec(),
            Err(stopped) => {
                let reason = format!("it could not be read: {stopped}");
                let unread = |file| {
                    (
                        file,
                        CuratedContent::Unreadable {
                            reason: reason.clone(),
                        },
                    )
                };
                CuratedFile::ALL.map(unread).to_vec()
            }
        }
    }

    async fn has_home(&self, agent_home: &str) -> bool {
        let home = PathBuf::from(agent_home);
        let look = tokio::task::spawn_blocking(move || home.is_dir());
        look.await.unwrap_or(false)
    }

    async fn profile(&self, workspace: ProfiledWorkspace) -> Option<WorkspaceProfile> {
        let look = tokio::task::spawn_blocking(move || {
            let anchor = Path::new(&workspace.workspace_anchor);
            holon_workspace::profile_workspace(
                workspace.workspace_id.clone(),
                anchor,
                workspace.repository,
            )
        });
        look.await.ok().flatten()
    }

    async fn exported_episode(&self, agent_home: &str) -> Option<ExportedEpisode> {
        let home = PathBuf::from(agent_home);
        let look =
            tokio::task::spawn_blocking(move || holon_workspace::newest_exported_episode(&home));
        let found = look.await.ok().flatten()?;
        Some(ExportedEpisode {
            seq: found.seq,
            id: found.id,
        })
    }

    async fn export_episodes(&self, agent_home: &str, export: EpisodeExport) -> Result<(), String> {
        let home = PathBuf::from(agent_home);
        let write = tokio::task::spawn_blocking(move || {
            holon_workspace::export_episodes(&home, &export.lines, export.restarts)
        });
        match write.await {
            Ok(written) => written.map_err(|error| format!("episodes are not exported: {error}")),
            Err(stopped) => Err(format!("episodes are not exported: {stopped}")),
        }
    }
}
