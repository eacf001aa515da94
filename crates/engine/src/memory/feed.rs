//! The background feeding of memory indexes: after a commit the agent's index takes its changes, one agent at a time. New
//! episodes are exported with them.

use super::{Memory, MemorySubject};
use crate::ports::ProfiledWorkspace;
use crate::shell::Shell;
use holon_domain::AgentId;
use holon_domain::limits::{MEMORY_CATCH_UP_MS, MEMORY_OUTBOX_PRUNE};
use holon_domain::memory::{EpisodeSeq, MemoryFault};
use holon_store::{EpisodeRange, IndexOwner, IndexPosition};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// Agents that are remembered with the position of their index.
const REMEMBERED: usize = 4_096;
/// Agents with changes that are looked for at once.
const AGENTS_AT_ONCE: usize = 10_000;

/// How far the memory of an agent was fed. Without a change since, the agent is not looked at.
#[derive(Debug)]
struct FeedMark {
    /// The mark of an earlier agent of the name says nothing about this one.
    owner: IndexOwner,
    index: IndexPosition,
    /// Newest episode in the export, 0 before the first. Absent if the export failed.
    exported: Option<EpisodeSeq>,
}

type FeedMarks = HashMap<AgentId, FeedMark>;

impl Memory {
    /// Takes an agent's changes into its index. Returns the position it has come to; `None` without a home.
    async fn feed(&self, subject: &MemorySubject) -> Result<IndexPosition, MemoryFault> {
        let mut use_of = self.enter(subject).await?;
        use_of.refresh(subject).await?;
        use_of
            .catch_up(Duration::from_millis(MEMORY_CATCH_UP_MS))
            .await?;
        Ok(use_of.position()?.clone())
    }
}

impl Shell {
    /// Feeds the indexes of agents whose records change, until the host goes down.
    pub(crate) async fn run_memory_loop(self) {
        let mut notices = self.store.subscribe();
        let mut marks = FeedMarks::default();
        let mut waiting = self.agents_with_changes().await;
        loop {
            while let Some(agent_id) = waiting.pop_first() {
                if self.is_draining() {
                    return;
                }
                self.feed_memory(&agent_id, &mut marks).await;
                while let Ok(notice) = notices.try_recv() {
                    waiting.insert(notice.agent_id);
                }
            }
            tokio::select! {
                () = self.drains() => return,
                notice = notices.recv() => match notice {
                    Ok(notice) => {
                        waiting.insert(notice.agent_id);
                    }
                    Err(RecvError::Lagged(_)) => waiting = self.agents_with_changes().await,
                    Err(RecvError::Closed) => return,
                },
            }
        }
    }

    async fn agents_with_changes(&self) -> BTreeSet<AgentId> {
        match self.store.memory_waiting(AGENTS_AT_ONCE).await {
            Ok(found) => found.into_iter().collect(),
            Err(error) => {
                tracing::warn!(%error, "agents with changes of memory could not be listed");
                BTreeSet::new()
            }
        }
    }

    async fn feed_memory(&self, agent_id: &AgentId, marks: &mut FeedMarks) {
        let Ok(Some(owner)) = self.store.memory_owner(agent_id).await else {
            marks.remove(agent_id);
            return;
        };
        let mark = marks.get(agent_id).filter(|mark| mark.owner == owner);
        let index = mark.map_or(&IndexPosition::Empty, |mark| &mark.index);
        let pending = self.store.memory_pending(agent_id, index).await;
        let exported = mark.and_then(|mark| mark.exported);
        if matches!(pending, Ok(0)) && (mark.is_none() || exported.is_some()) {
            return;
        }
        // An agent that is aside or gone has no memory to feed.
        let Ok(Some(agent)) = self.store.agent(agent_id).await else {
            return;
        };
        // The home is made by what first needs it, and not for an index.
        if !self.ports.memory.has_home(&agent.settings.agent_home).await {
            return;
        }
        self.profile_workspace(&agent).await;
        let subject = MemorySubject::of(&agent);
        let fed = self.memory.feed(&subject).await;
        let exported = self.export_new_episodes(&subject, exported).await;
        match fed {
            Ok(index) => {
                if let IndexPosition::Following { cursor } = index {
                    self.prune_outbox(agent_id, cursor).await;
                }
                if marks.len() >= REMEMBERED {
                    marks.clear();
                }
                let mark = FeedMark {
                    owner,
                    index,
                    exported,
                };
                marks.insert(agent_id.clone(), mark);
            }
            Err(fault) => {
                tracing::warn!(%agent_id, %fault, "the memory index takes its changes later");
            }
        }
    }

    /// Continues the export of an agent's episodes, if there are more than it is known to have. Returns the position of
    /// the newest exported one; `None` if the export failed.
    async fn export_new_episodes(
        &self,
        subject: &MemorySubject,
        exported: Option<EpisodeSeq>,
    ) -> Option<EpisodeSeq> {
        let newest = EpisodeRange::Before(EpisodeSeq::MAX, 1);
        let newest = self.memory.episodes(subject, newest).await.ok()?;
        let newest = newest.first().map_or(0, |episode| episode.seq);
        if exported == Some(newest) {
            return exported;
        }
        match self.memory.export_episodes(subject).await {
            Ok(exported) => Some(exported),
            Err(fault) => {
                let agent_id = &subject.agent_id;
                tracing::warn!(%agent_id, %fault, "episodes are exported later");
                None
            }
        }
    }

    /// Removes entries that the index has taken, once there are many.
    async fn prune_outbox(&self, agent_id: &AgentId, cursor: u64) {
        let all = self
            .store
            .memory_pending(agent_id, &IndexPosition::Empty)
            .await;
        let left = self
            .store
            .memory_pending(agent_id, &IndexPosition::Following { cursor })
            .await;
        let (Ok(all), Ok(left)) = (all, left) else {
            return;
        };
        if all.saturating_sub(left) < MEMORY_OUTBOX_PRUNE {
            return;
        }
        if let Err(error) = self.store.prune_memory_outbox(agent_id, cursor).await {
            tracing::warn!(%agent_id, %error, "the memory outbox could not be pruned");
        }
    }

    /// Writes the profile of the agent's active workspace if it looks different from the stored one.
    async fn profile_workspace(&self, agent: &holon_domain::agent::AgentRecord) {
        let entry = &agent.settings.workspace;
        if entry.is_agent_home() {
            return;
        }
        let workspace = ProfiledWorkspace {
            workspace_id: entry.workspace_id.clone(),
            workspace_anchor: entry.workspace_anchor.clone(),
            repository: entry.repository.clone(),
        };
        let Some(profile) = self.ports.memory.profile(workspace).await else {
            return;
        };
        let stored = self.store.workspace_profile(&profile.workspace_id).await;
        if matches!(&stored, Ok(Some(stored)) if stored.profile == profile) {
            return;
        }
        let now = self.ports.clock.now();
        if let Err(error) = self.store.write_workspace_profile(profile, now).await {
            tracing::warn!(%error, "the profile of a workspace could not be written");
        }
    }
}
