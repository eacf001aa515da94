//! The background feeding of memory indexes: after a commit the agent's index takes its changes, one agent at a time. New
//! episodes are exported with them. An index that is being built gets a bounded share of time between the others until
//! it is complete.

mod queue;
mod skipped;
#[cfg(test)]
mod tests;

use super::index_use::off_thread;
use super::{Memory, MemorySubject};
use crate::ports::ProfiledWorkspace;
use crate::shell::Shell;
use holon_domain::AgentId;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::feed::FeedNotice;
use holon_domain::limits::MEMORY_OUTBOX_PRUNE;
use holon_domain::memory::EpisodeSeq;
use holon_store::{EpisodeRange, IndexOwner, IndexPosition, MemoryIndex, Store};
use queue::FeedQueue;
use skipped::SkippedAgents;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// Agents that are remembered with the position of their index.
const REMEMBERED: usize = 4_096;
/// Agents with changes that are looked for at once.
const AGENTS_AT_ONCE: usize = 10_000;
/// Agents whose index is looked for at once after a start.
const LOOKED_AT_ONCE: usize = 100;

/// How far the memory of an agent was fed. Without a change since, the agent is not looked at.
#[derive(Debug)]
struct FeedMark {
    /// The mark of an earlier agent of the name says nothing about this one.
    owner: IndexOwner,
    /// Position of a complete index. One that is being built has no mark.
    index: IndexPosition,
    /// Newest episode in the export, 0 before the first. Absent if the export failed.
    exported: Option<EpisodeSeq>,
}

/// The agents after the start that were not looked at yet.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StartLook {
    Behind(Option<AgentId>),
    Done,
}

impl Shell {
    /// Feeds the indexes of agents whose records change, until the host goes down.
    pub(crate) async fn run_memory_loop(self) {
        let mut feeder = Feeder::new(Arc::clone(&self.store), self.memory.clone());
        feeder.find_changed().await;
        loop {
            while let Some(agent_id) = feeder.queue.next() {
                if self.is_draining() {
                    return;
                }
                feeder.feed(&agent_id).await;
                feeder.take_notices().await;
            }
            if self.is_draining() {
                return;
            }
            if feeder.look_further().await {
                continue;
            }
            tokio::select! {
                () = self.drains() => return,
                goes_on = feeder.wait() => if !goes_on {
                    return;
                },
            }
        }
    }
}

/// Feeds indexes, one agent at a time.
#[derive(Debug)]
struct Feeder {
    store: Arc<dyn Store>,
    memory: Memory,
    notices: Receiver<FeedNotice>,
    marks: HashMap<AgentId, FeedMark>,
    queue: FeedQueue,
    skipped: SkippedAgents,
    look: StartLook,
}

impl Feeder {
    /// Listens to commits that concern memory from now on.
    fn new(store: Arc<dyn Store>, memory: Memory) -> Self {
        Self {
            notices: store.subscribe_to_memory(),
            store,
            memory,
            marks: HashMap::new(),
            queue: FeedQueue::default(),
            skipped: SkippedAgents::default(),
            look: StartLook::Behind(None),
        }
    }

    /// Waits for something to do. Returns false once there are no commits any more.
    async fn wait(&mut self) -> bool {
        tokio::select! {
            () = self.memory.unfinished.wait() => {}
            agents = self.skipped.next() => {
                agents.into_iter().for_each(|agent_id| self.queue.add_changed(agent_id));
            }
            notice = self.notices.recv() => match notice {
                Ok(notice) => self.queue.add_changed(notice.agent_id),
                Err(RecvError::Lagged(_)) => self.find_changed().await,
                Err(RecvError::Closed) => return false,
            },
        }
        self.take_notices().await;
        true
    }

    /// Takes the notices that wait, and the agents whose index was left behind.
    async fn take_notices(&mut self) {
        loop {
            match self.notices.try_recv() {
                Ok(notice) => self.queue.add_changed(notice.agent_id),
                Err(TryRecvError::Lagged(_)) => self.find_changed().await,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        for agent_id in self.memory.unfinished.take() {
            self.marks.remove(&agent_id);
            self.queue.add_building(agent_id);
        }
    }

    /// Looks for agents with changes in the store, at the start and after missed notices.
    async fn find_changed(&mut self) {
        match self.store.memory_waiting(AGENTS_AT_ONCE).await {
            Ok(found) => found
                .into_iter()
                .for_each(|agent_id| self.queue.add_changed(agent_id)),
            Err(error) => {
                tracing::warn!(%error, "agents with changes of memory could not be listed");
            }
        }
    }

    /// Looks at the next agents after the start for an index that is missing or was left in the middle of a build.
    /// Returns false once every agent was looked at.
    async fn look_further(&mut self) -> bool {
        let StartLook::Behind(after) = &self.look else {
            return false;
        };
        let found = self
            .store
            .memory_agents(after.clone(), LOOKED_AT_ONCE)
            .await;
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "agents could not be listed for their memory");
            Vec::new()
        });
        self.look = match found.last() {
            Some(last) => StartLook::Behind(Some(last.clone())),
            None => StartLook::Done,
        };
        for agent_id in found {
            if self.is_unfinished(&agent_id).await {
                self.queue.add_building(agent_id);
            }
        }
        self.take_notices().await;
        self.look != StartLook::Done
    }

    async fn is_unfinished(&self, agent_id: &AgentId) -> bool {
        let Ok(Some(agent)) = self.store.agent(agent_id).await else {
            return false;
        };
        let home = agent.settings.agent_home;
        if !self.memory.files.has_home(&home).await {
            return false;
        }
        let look = off_thread(move || Ok(MemoryIndex::is_unfinished(&PathBuf::from(home))));
        look.await.unwrap_or(false)
    }

    /// Takes an agent's changes into its index for a bounded time, and exports its new episodes.
    async fn feed(&mut self, agent_id: &AgentId) {
        let Ok(Some(owner)) = self.store.memory_owner(agent_id).await else {
            self.marks.remove(agent_id);
            return;
        };
        let mark = self.marks.get(agent_id).filter(|mark| mark.owner == owner);
        let exported = mark.and_then(|mark| mark.exported);
        if let Some(mark) = mark {
            let pending = self.store.memory_pending(agent_id, &mark.index).await;
            if matches!(pending, Ok(0)) && exported.is_some() {
                return;
            }
        }
        let agent = match self.store.agent(agent_id).await {
            Ok(Some(agent)) => agent,
            Ok(None) => return,
            // It is aside.
            Err(_) => return self.skip(agent_id),
        };
        // The home is made by what first needs it, and not for an index.
        if !self.memory.files.has_home(&agent.settings.agent_home).await {
            return self.skip(agent_id);
        }
        self.profile_workspace(&agent).await;
        let subject = MemorySubject::of(&agent);
        let fed = self.memory.up_to_date(&subject, |_| Ok(())).await;
        let exported = self.export_new_episodes(&subject, exported).await;
        self.marks.remove(agent_id);
        match fed {
            Ok(fed) => {
                let index = fed.position;
                let IndexPosition::Following { cursor } = index else {
                    return;
                };
                self.prune_outbox(agent_id, cursor).await;
                if self.marks.len() >= REMEMBERED {
                    self.marks.clear();
                }
                let mark = FeedMark {
                    owner,
                    index,
                    exported,
                };
                self.marks.insert(agent_id.clone(), mark);
            }
            // The home of an agent that is being removed goes while its index is read.
            Err(_) if self.is_going(agent_id).await => {}
            Err(fault) => {
                tracing::warn!(%agent_id, %fault, "the memory index takes its changes later");
                self.skip(agent_id);
            }
        }
    }

    /// Returns true if an agent is being removed or is gone.
    async fn is_going(&self, agent_id: &AgentId) -> bool {
        match self.store.agent(agent_id).await {
            Ok(Some(agent)) => agent.lifecycle == Lifecycle::Deleting,
            Ok(None) => true,
            Err(_) => false,
        }
    }

    fn skip(&mut self, agent_id: &AgentId) {
        self.skipped.add(agent_id, self.store.as_ref());
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
        match self.memory.export_episodes(subject, false).await {
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
    async fn profile_workspace(&self, agent: &AgentRecord) {
        let entry = &agent.settings.workspace;
        if entry.is_agent_home() {
            return;
        }
        let workspace = ProfiledWorkspace {
            workspace_id: entry.workspace_id.clone(),
            workspace_anchor: entry.workspace_anchor.clone(),
            repository: entry.repository.clone(),
        };
        let Some(profile) = self.memory.files.profile(workspace).await else {
            return;
        };
        let stored = self.store.workspace_profile(&profile.workspace_id).await;
        if matches!(&stored, Ok(Some(stored)) if stored.profile == profile) {
            return;
        }
        let now = self.memory.clock.now();
        if let Err(error) = self.store.write_workspace_profile(profile, now).await {
            tracing::warn!(%error, "the profile of a workspace could not be written");
        }
    }
}
