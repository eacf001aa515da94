//! Memory of agents: searches, exact reads and the feeding of their indexes.
//!
//! The index of an agent is a file in its home that `store` owns. Before a search the changes of the store are taken up
//! to a bound, and the curated files are compared with their documents; what is left is reported as lag. An agent
//! without a home has no file, so its index is built in memory for the one search. Episodes are also exported to a file
//! in the home.

mod export;
mod feed;
#[cfg(test)]
mod tests;

use crate::ports::{Clock, CuratedContent, MemoryFiles, Ports};
use holon_domain::agent::AgentRecord;
use holon_domain::limits::{MEMORY_CATCH_UP_MS, MEMORY_PROFILES};
use holon_domain::memory::{
    CuratedFile, MemoryContent, MemoryDocument, MemoryFault, MemoryGet, MemoryKind, MemoryLag,
    MemoryPage, MemoryProvenance, MemoryRebuild, MemoryScope, MemorySearch, SourceRef,
};
use holon_domain::{AgentId, WorkspaceId};
use holon_store::{
    IndexFault, IndexOwner, IndexPosition, MemoryIndex, MemoryReads, SourceChange, StoredProfile,
};
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

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
}

impl Memory {
    pub(crate) fn new(reads: Arc<dyn MemoryReads>, ports: &Ports) -> Self {
        Self {
            reads,
            files: Arc::clone(&ports.memory),
            clock: Arc::clone(&ports.clock),
            locks: Arc::default(),
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
        let mut use_of = self.enter(subject).await?;
        let notes = use_of.refresh(subject).await?;
        let now = self.clock.now();
        let workspace = subject.workspace_id.clone();
        let limit = Duration::from_millis(MEMORY_CATCH_UP_MS);
        use_of.catch_up(limit).await?;
        let hits = use_of
            .with(move |index| index.search(&search, &workspace, now))
            .await?;
        let lag = use_of.lag().await?;
        Ok(hits.into_page(lag, notes))
    }

    pub(crate) async fn get(
        &self,
        subject: &MemorySubject,
        get: MemoryGet,
    ) -> Result<MemoryContent, MemoryFault> {
        let mut use_of = self.enter(subject).await?;
        use_of.refresh(subject).await?;
        use_of
            .catch_up(Duration::from_millis(MEMORY_CATCH_UP_MS))
            .await?;
        let source_ref = get.source_ref.clone();
        let found = use_of.with(move |index| index.get(&source_ref)).await?;
        let document = found.ok_or_else(|| MemoryFault::NotFound {
            source_ref: get.source_ref.to_string(),
        })?;
        Ok(document.content(get.max_chars))
    }

    /// Takes steps of a rebuild for a bounded time. `restarts` begins it anew.
    pub(crate) async fn rebuild(
        &self,
        subject: &MemorySubject,
        restarts: bool,
    ) -> Result<MemoryRebuild, MemoryFault> {
        let mut use_of = self.enter(subject).await?;
        if restarts {
            let owner = use_of.owner.clone();
            use_of.with(move |index| index.restart(&owner)).await?;
        }
        use_of.refresh(subject).await?;
        let limit = Duration::from_millis(MEMORY_CATCH_UP_MS);
        use_of.catch_up(limit).await?;
        let position = use_of.position()?.clone();
        let lag = use_of.lag().await?;
        let documents = use_of.with(|index| index.documents()).await?;
        drop(use_of);
        if !lag.is_behind() && self.files.has_home(&subject.agent_home).await {
            self.export_episodes(subject).await?;
        }
        Ok(MemoryRebuild {
            documents,
            reading: match position {
                IndexPosition::Building { kind, .. } => Some(kind),
                IndexPosition::Empty | IndexPosition::Following { .. } => None,
            },
            pending: lag.pending,
            done: !lag.is_behind(),
        })
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
        let home = PathBuf::from(&subject.agent_home);
        let (place, opener) = (home.clone(), owner.clone());
        let index = off_thread(move || match MemoryIndex::open(&place, &opener)? {
            Some(index) => Ok(index),
            None => MemoryIndex::in_memory(&opener),
        });
        Ok(IndexUse {
            memory: self.clone(),
            index: Some(index.await?),
            owner,
            home,
            _guard: guard,
        })
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

/// Runs work on an index on a thread for blocking work.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexFault> + Send + 'static,
) -> Result<T, IndexFault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => Err(IndexFault::Unavailable {
            reason: format!("the work on the index ended early: {stopped}"),
        }),
    }
}

/// One use of an agent's index. No other use of it runs at the same time.
struct IndexUse {
    memory: Memory,
    /// Absent only while a thread works on it.
    index: Option<MemoryIndex>,
    owner: IndexOwner,
    home: PathBuf,
    _guard: tokio::sync::OwnedMutexGuard<()>,
}

impl IndexUse {
    /// Runs work on the index. One that turns out to be damaged is thrown away and the work is done once more on a new
    /// one, which is then empty.
    async fn with<T: Send + 'static>(
        &mut self,
        work: impl Fn(&mut MemoryIndex) -> Result<T, IndexFault> + Clone + Send + 'static,
    ) -> Result<T, MemoryFault> {
        match self.with_once(work.clone()).await {
            Err(IndexFault::Unsound { reason }) => {
                tracing::warn!(agent_id = %self.owner.agent_id, reason, "the memory index is thrown away");
                let (home, owner) = (self.home.clone(), self.owner.clone());
                self.index = None;
                let index = off_thread(move || {
                    MemoryIndex::discard(&home)?;
                    match MemoryIndex::open(&home, &owner)? {
                        Some(index) => Ok(index),
                        None => MemoryIndex::in_memory(&owner),
                    }
                });
                self.index = Some(index.await?);
                let limit = Duration::from_millis(MEMORY_CATCH_UP_MS);
                self.catch_up_once(limit).await?;
                Ok(self.with_once(work).await?)
            }
            done => Ok(done?),
        }
    }

    async fn with_once<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut MemoryIndex) -> Result<T, IndexFault> + Send + 'static,
    ) -> Result<T, IndexFault> {
        let index = self.index.take();
        let mut index = index.ok_or_else(|| IndexFault::Unavailable {
            reason: "the work on the index ended early".to_owned(),
        })?;
        let (index, done) = off_thread(move || {
            let done = work(&mut index);
            Ok((index, done))
        })
        .await?;
        self.index = Some(index);
        done
    }

    fn position(&self) -> Result<&IndexPosition, MemoryFault> {
        let index = self.index.as_ref();
        index
            .map(MemoryIndex::position)
            .ok_or_else(|| MemoryFault::Unavailable {
                reason: "the work on the index ended early".to_owned(),
            })
    }

    /// Compares the curated files and the profiles of workspaces with their documents. Returns what was left out.
    async fn refresh(&mut self, subject: &MemorySubject) -> Result<Vec<String>, MemoryFault> {
        let mut notes = Vec::new();
        let mut changes = Vec::new();
        let files = self.memory.files.curated(&subject.agent_home).await;
        for (file, content) in files {
            if let CuratedContent::Unreadable { reason } = &content {
                notes.push(format!("{} is not searched: {reason}", file.path()));
            }
            changes.push(curated_change(&subject.agent_id, file, content));
        }
        for workspace in &subject.workspaces {
            let stored = self.memory.reads.workspace_profile(workspace).await;
            if let Some(stored) = stored.map_err(|error| unreadable(&error))? {
                changes.push(profile_change(&subject.agent_id, stored));
            }
        }
        let known: Vec<SourceRef> = changes.iter().map(|c| c.source_ref.clone()).collect();
        self.with(move |index| {
            let mut changes = changes.clone();
            let kind = MemoryKind::WorkspaceProfile;
            let stale = index.references(kind, 2 * MEMORY_PROFILES)?.into_iter();
            // Profiles of workspaces that the agent has left.
            changes.extend(
                stale
                    .filter(|stale| !known.contains(stale))
                    .map(|source_ref| SourceChange {
                        source_ref,
                        document: None,
                    }),
            );
            index.write(&changes)
        })
        .await?;
        Ok(notes)
    }

    /// Takes steps until nothing is left or the time is up.
    async fn catch_up(&mut self, limit: Duration) -> Result<(), MemoryFault> {
        match self.catch_up_once(limit).await {
            // `with` replaces the damaged index and takes its steps again.
            Err(IndexFault::Unsound { reason }) => {
                let reason = move |_: &mut MemoryIndex| {
                    Err::<(), IndexFault>(IndexFault::Unsound {
                        reason: reason.clone(),
                    })
                };
                self.with(reason).await
            }
            done => Ok(done?),
        }
    }

    async fn catch_up_once(&mut self, limit: Duration) -> Result<(), IndexFault> {
        let until = self.memory.clock.elapsed() + limit;
        while self.step_once().await? && self.memory.clock.elapsed() < until {}
        Ok(())
    }

    /// Takes one step. Returns false if nothing was left to do.
    async fn step_once(&mut self) -> Result<bool, IndexFault> {
        let position = self.index.as_ref().map(MemoryIndex::position).cloned();
        let position = position.unwrap_or(IndexPosition::Empty);
        let agent_id = self.owner.agent_id.clone();
        let Some(batch) = self.memory.reads.memory_batch(&agent_id, &position).await? else {
            return Ok(false);
        };
        let owner = self.owner.clone();
        self.with_once(move |index| index.apply(&owner, batch))
            .await?;
        Ok(true)
    }

    async fn lag(&mut self) -> Result<MemoryLag, MemoryFault> {
        let position = self.position()?.clone();
        let reads = Arc::clone(&self.memory.reads);
        let pending = reads.memory_pending(&self.owner.agent_id, &position).await;
        Ok(MemoryLag {
            pending: pending.map_err(|error| unreadable(&error))?,
            rebuilding: !matches!(position, IndexPosition::Following { .. }),
        })
    }
}

/// What becomes of the document of a curated file.
fn curated_change(agent_id: &AgentId, file: CuratedFile, content: CuratedContent) -> SourceChange {
    let source_ref = SourceRef::curated(file);
    let document = match content {
        CuratedContent::Text { text, changed_at } => Some(MemoryDocument {
            provenance: MemoryProvenance {
                kind: MemoryKind::AgentMemory,
                source_ref: source_ref.clone(),
                scope_kind: MemoryScope::Agent,
                workspace_id: None,
                agent_id: agent_id.clone(),
                source_path: Some(file.path().to_owned()),
                title: file.title().to_owned(),
                updated_at: changed_at,
                metadata: json!({ "curated": true }),
            },
            body: text,
        }),
        CuratedContent::Absent | CuratedContent::Unreadable { .. } => None,
    };
    SourceChange {
        source_ref,
        document,
    }
}

fn profile_change(agent_id: &AgentId, stored: StoredProfile) -> SourceChange {
    let StoredProfile {
        profile,
        written_at,
    } = stored;
    let source_ref = SourceRef::workspace_profile(&profile.workspace_id);
    SourceChange {
        source_ref: source_ref.clone(),
        document: Some(MemoryDocument {
            body: profile.text(),
            provenance: MemoryProvenance {
                kind: MemoryKind::WorkspaceProfile,
                source_ref,
                scope_kind: MemoryScope::Workspace,
                agent_id: agent_id.clone(),
                source_path: None,
                title: format!("Workspace {}", profile.name),
                updated_at: written_at,
                metadata: json!({ "written_by": "runtime" }),
                workspace_id: Some(profile.workspace_id),
            },
        }),
    }
}
