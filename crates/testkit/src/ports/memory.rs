//! Memory files of homes that exist and hold nothing but the export of episodes.

use async_trait::async_trait;
use holon_domain::memory::{CuratedFile, EpisodeRecord, WorkspaceProfile};
use holon_engine::ports::{
    CuratedContent, EpisodeExport, ExportedEpisode, MemoryFiles, ProfiledWorkspace,
};
use tokio::sync::watch;

/// The export of the one agent whose memory is kept.
#[derive(Debug, Default)]
pub struct EpisodeShelf {
    lines: watch::Sender<Vec<String>>,
}

impl EpisodeShelf {
    /// Waits until the export holds so many episodes, and returns them.
    ///
    /// # Panics
    /// When a line of the export is no episode.
    pub async fn holds(&self, count: usize) -> Vec<EpisodeRecord> {
        let mut lines = self.lines.subscribe();
        let held = lines.wait_for(|lines| lines.len() == count).await;
        let held = held.expect("the shelf is there");
        let read = |line: &String| serde_json::from_str(line).expect("an episode");
        held.iter().map(read).collect()
    }
}

#[async_trait]
impl MemoryFiles for EpisodeShelf {
    async fn curated(&self, _: &str) -> Vec<(CuratedFile, CuratedContent)> {
        Vec::new()
    }

    async fn has_home(&self, _: &str) -> bool {
        true
    }

    async fn profile(&self, _: ProfiledWorkspace) -> Option<WorkspaceProfile> {
        None
    }

    async fn exported_episode(&self, _: &str) -> Option<ExportedEpisode> {
        let lines = self.lines.borrow();
        let last: EpisodeRecord = serde_json::from_str(lines.last()?).ok()?;
        Some(ExportedEpisode {
            seq: last.seq,
            id: last.id,
        })
    }

    async fn export_episodes(&self, _: &str, export: EpisodeExport) -> Result<(), String> {
        self.lines.send_modify(|lines| {
            if export.restarts {
                lines.clear();
            }
            lines.extend(export.lines);
        });
        Ok(())
    }
}
