//! Memory of agents: searches, exact reads and the feeding of their indexes.
//!
//! The index of an agent is a file in its home that `store` owns. Before a search the changes of the store are taken up
//! to a bound, and the curated files are compared with their documents; what is left is reported as lag, and the feed
//! loop goes on with it. An agent without a home has no file, so its index is kept in memory.
//! Episodes are also exported to a file in the home.

mod export;
mod feed;
mod homeless;
mod index_use;
#[cfg(test)]
mod tests;
mod unfinished;

use crate::ports::{Clock, MemoryFiles, Ports};
use holon_domain::agent::AgentRecord;
use holon_domain::limits::MEMORY_PROFILES;
use holon_domain::memory::{
    MemoryContent, MemoryFault, MemoryGet, MemoryPage, MemoryRebuild, MemorySearch,
};
use holon_domain::{AgentId, WorkspaceId};
use holon_store::{IndexFault, IndexPosition, MemoryIndex, MemoryReads};
use homeless::HomelessIndexes;
use index_use::{IndexAnswer, IndexUse};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use unfinished::UnfinishedIndexes;

/// The agent whose memory is meant, and the workspace it works in.
#[derive(Debug, Clone)]
pub struct MemorySubject {
    pub agent_id: AgentId,
    pub agent_home: String,
    /// Workspace to which a search is limited.
    pub workspace_id: WorkspaceId,
    /// Workspaces whose profiles belong to the agent's memory.
    pub workspaces: Vec<WorkspaceId>,
}

impl MemorySubject {
    /// Describes an agent in its active workspace.
    #[must_use]
    pub fn of(agent: &AgentRecord) -> Self {
        // The active workspace is one of the attached ones.
        let attached = agent.attached_workspaces();
        let ids = attached.as_slice().iter().take(MEMORY_PROFILES);
        Self {
            agent_id: agent.settings.identity.agent_id.clone(),
            agent_home: agent.settings.agent_home.clone(),
            workspace_id: agent.settings.workspace.workspace_id.clone(),
            workspaces: ids
                .map(|workspace| workspace.workspace_id.clone())
                .collect(),
        }
    }
}

/// Answers questions about memory. Clones share the locks of the indexes.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    reads: Arc<dyn MemoryReads>,
    files: Arc<dyn MemoryFiles>,
    clock: Arc<dyn Clock>,
    /// One use of an agent's index at a time: a damaged one is replaced, which no other use may see.
    locks: Arc<Mutex<HashMap<AgentId, Weak<tokio::sync::Mutex<()>>>>>,
    homeless: Arc<HomelessIndexes>,
    unfinished: Arc<UnfinishedIndexes>,
}

impl Memory {
    pub(crate) fn new(reads: Arc<dyn MemoryReads>, ports: &Ports) -> Self {
        Self {
            reads,
            files: Arc::clone(&ports.memory),
            clock: Arc::clone(&ports.clock),
            locks: Arc::default(),
            homeless: Arc::default(),
            unfinished: Arc::default(),
        }
    }

    /// Returns the same service on a handle that can only read the store.
    pub(crate) fn with_reads(&self, reads: Arc<dyn MemoryReads>) -> Self {
        Self {
            reads,
            ..self.clone()
        }
    }

    pub(crate) async fn search(
        &self,
        subject: &MemorySubject,
        search: MemorySearch,
    ) -> Result<MemoryPage, MemoryFault> {
        let now = self.clock.now();
        let workspace = subject.workspace_id.clone();
        let used = self
            .up_to_date(subject, move |index| index.search(&search, &workspace, now))
            .await?;
        let notes = used.left_out.iter().map(|left_out| {
            let (path, reason) = (left_out.file.path(), &left_out.reason);
            format!("{path} is not searched: {reason}")
        });
        Ok(used.answer.into_page(used.lag, notes.collect()))
    }

    pub(crate) async fn get(
        &self,
        subject: &MemorySubject,
        get: MemoryGet,
    ) -> Result<MemoryContent, MemoryFault> {
        let source_ref = get.source_ref.clone();
        let used = self
            .up_to_date(subject, move |index| index.get(&source_ref))
            .await?;
        let document = used.answer.ok_or_else(|| {
            let mut left_out = used.left_out.iter();
            match left_out.find(|left_out| left_out.source_ref() == get.source_ref) {
                Some(left_out) => MemoryFault::Unreadable {
                    path: left_out.file.path().to_owned(),
                    reason: left_out.reason.clone(),
                },
                None => MemoryFault::NotFound {
                    source_ref: get.source_ref.key(),
                },
            }
        })?;
        Ok(document.content(get.max_chars))
    }

    /// Takes steps of a rebuild for a bounded time. `restarts` begins it anew, and the export of episodes with it.
    pub(crate) async fn rebuild(
        &self,
        subject: &MemorySubject,
        restarts: bool,
    ) -> Result<MemoryRebuild, MemoryFault> {
        if restarts {
            let mut use_of = self.enter(subject).await?;
            use_of.restart().await?;
        }
        let used = self
            .up_to_date(subject, |index: &mut MemoryIndex| index.documents())
            .await?;
        let done = !used.lag.is_behind();
        if (restarts || done) && self.files.has_home(&subject.agent_home).await {
            self.export_episodes(subject, restarts).await?;
        }
        Ok(MemoryRebuild {
            documents: used.answer,
            reading: match used.position {
                IndexPosition::Building { kind, .. } => Some(kind),
                IndexPosition::Empty | IndexPosition::Following { .. } => None,
            },
            pending: used.lag.pending,
            done,
        })
    }

    /// Brings an agent's index up to date for a bounded time and works on it. One that turns out to be damaged is thrown
    /// away, and everything is done once more on a new one. The feed loop goes on with what is left.
    async fn up_to_date<T: Send + 'static>(
        &self,
        subject: &MemorySubject,
        work: impl Fn(&mut MemoryIndex) -> Result<T, IndexFault> + Clone + Send + 'static,
    ) -> Result<IndexAnswer<T>, MemoryFault> {
        let mut use_of = self.enter(subject).await?;
        let used = match use_of.bring_up_and(subject, work.clone()).await {
            Err(IndexFault::Unsound { reason }) => {
                let agent_id = &subject.agent_id;
                tracing::warn!(%agent_id, reason, "the memory index is thrown away");
                use_of.replace().await?;
                use_of.bring_up_and(subject, work).await?
            }
            done => done?,
        };
        if used.lag.is_behind() && use_of.has_file() {
            self.unfinished.add(subject.agent_id.clone());
        }
        Ok(used)
    }

    /// Begins a use of an agent's index, after the uses before it.
    async fn enter(&self, subject: &MemorySubject) -> Result<IndexUse, MemoryFault> {
        let lock = self.lock_of(&subject.agent_id);
        let guard = lock.lock_owned().await;
        let owner = self.reads.memory_owner(&subject.agent_id).await;
        let owner =
            owner
                .map_err(|error| unreadable(&error))?
                .ok_or_else(|| MemoryFault::Unavailable {
                    reason: format!("there is no agent {}", subject.agent_id),
                })?;
        Ok(IndexUse::begin(self.clone(), subject, owner, guard).await?)
    }

    fn lock_of(&self, agent_id: &AgentId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(agent_id).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        locks.insert(agent_id.clone(), Arc::downgrade(&lock));
        lock
    }
}

fn unreadable(error: &holon_store::Error) -> MemoryFault {
    MemoryFault::Unavailable {
        reason: error.to_string(),
    }
}
