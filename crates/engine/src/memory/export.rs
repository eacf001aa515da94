//! The export of episodes to a file in the agent's home. It is derived from the store and continued where it ends; a
//! rebuild writes it anew.

use super::{Memory, MemorySubject, unreadable};
use crate::ports::{EpisodeExport, ExportedEpisode};
use holon_domain::limits::EPISODES_EXPORT_STEP;
use holon_domain::memory::{EpisodeRecord, EpisodeSeq, MemoryFault};
use holon_store::EpisodeRange;

impl Memory {
    /// Writes the episodes that an agent's export does not have. `anew` writes all of them, and so does an export that
    /// does not belong to this agent. Returns the position of the newest one.
    pub(super) async fn export_episodes(
        &self,
        subject: &MemorySubject,
        anew: bool,
    ) -> Result<EpisodeSeq, MemoryFault> {
        let _guard = self.lock_of(&subject.agent_id).lock_owned().await;
        let found = self.files.exported_episode(&subject.agent_home).await;
        let mut newest = match anew {
            true => 0,
            false => self.continued_from(subject, found.as_ref()).await?,
        };
        let mut restarts = newest == 0;
        loop {
            let range = EpisodeRange::After(newest, EPISODES_EXPORT_STEP);
            let page = self.episodes(subject, range).await?;
            // An agent without episodes gets no file, but one of its predecessor is emptied.
            if page.is_empty() && !(restarts && found.is_some()) {
                return Ok(newest);
            }
            newest = page.last().map_or(newest, |last| last.seq);
            let is_last = page.len() < EPISODES_EXPORT_STEP;
            let export = EpisodeExport {
                lines: page.iter().map(to_line).collect::<Result<_, _>>()?,
                restarts,
            };
            let written = self.files.export_episodes(&subject.agent_home, export);
            written
                .await
                .map_err(|reason| MemoryFault::Unavailable { reason })?;
            if is_last {
                return Ok(newest);
            }
            restarts = false;
        }
    }

    /// Returns the position behind which an export is continued; 0 if it is begun anew.
    async fn continued_from(
        &self,
        subject: &MemorySubject,
        found: Option<&ExportedEpisode>,
    ) -> Result<EpisodeSeq, MemoryFault> {
        let Some(found) = found.filter(|found| found.seq > 0) else {
            return Ok(0);
        };
        let range = EpisodeRange::After(found.seq - 1, 1);
        let stored = self.episodes(subject, range).await?;
        let is_same = |stored: &EpisodeRecord| stored.seq == found.seq && stored.id == found.id;
        Ok(if stored.first().is_some_and(is_same) {
            found.seq
        } else {
            0
        })
    }

    pub(super) async fn episodes(
        &self,
        subject: &MemorySubject,
        range: EpisodeRange,
    ) -> Result<Vec<EpisodeRecord>, MemoryFault> {
        let read = self.reads.episodes(&subject.agent_id, range).await;
        read.map_err(|error| unreadable(&error))
    }
}

fn to_line(episode: &EpisodeRecord) -> Result<String, MemoryFault> {
    serde_json::to_string(episode).map_err(|error| MemoryFault::Unavailable {
        reason: error.to_string(),
    })
}
