//! One use of an agent's index: its steps, the comparison with files and profiles, and the work of the caller.

use super::{Memory, MemorySubject};
use crate::ports::CuratedContent;
use holon_domain::AgentId;
use holon_domain::limits::{MEMORY_CATCH_UP_MS, MEMORY_PROFILES};
use holon_domain::memory::{
    CuratedFile, MemoryDocument, MemoryKind, MemoryLag, MemoryProvenance, MemoryScope, SourceRef,
};
use holon_store::{
    IndexFault, IndexOwner, IndexPosition, MemoryIndex, SourceChange, StoredProfile,
};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A curated file that is there and not read.
#[derive(Debug)]
pub(super) struct UnreadFile {
    pub(super) file: CuratedFile,
    pub(super) reason: String,
}

impl UnreadFile {
    pub(super) fn source_ref(&self) -> SourceRef {
        SourceRef::curated(self.file)
    }
}

/// The answer of a use, and how far the index had come.
#[derive(Debug)]
pub(super) struct IndexAnswer<T> {
    pub(super) answer: T,
    pub(super) position: IndexPosition,
    pub(super) lag: MemoryLag,
    pub(super) left_out: Vec<UnreadFile>,
}

/// One use of an agent's index. No other use of it runs at the same time.
pub(super) struct IndexUse {
    memory: Memory,
    /// Absent only while a thread works on it.
    index: Option<MemoryIndex>,
    owner: IndexOwner,
    home: PathBuf,
    _guard: tokio::sync::OwnedMutexGuard<()>,
}

impl Drop for IndexUse {
    fn drop(&mut self) {
        let index = self.index.take().filter(|index| !index.has_file());
        if let Some(index) = index {
            self.memory.homeless.put(self.owner.clone(), index);
        }
    }
}

impl IndexUse {
    /// Opens the index in the home, or the one in memory if there is no home. `guard` keeps other uses away.
    pub(super) async fn begin(
        memory: Memory,
        subject: &MemorySubject,
        owner: IndexOwner,
        guard: tokio::sync::OwnedMutexGuard<()>,
    ) -> Result<Self, IndexFault> {
        let kept = memory.homeless.take(&owner);
        let mut begun = Self {
            memory,
            index: None,
            owner,
            home: PathBuf::from(&subject.agent_home),
            _guard: guard,
        };
        begun.open_or(kept).await?;
        Ok(begun)
    }

    /// Opens the index in the home. Without a home this one is used, or a new one in memory.
    async fn open_or(&mut self, kept: Option<MemoryIndex>) -> Result<(), IndexFault> {
        let (home, owner) = (self.home.clone(), self.owner.clone());
        let opened = off_thread(move || match (MemoryIndex::open(&home, &owner)?, kept) {
            (Some(index), _) | (None, Some(index)) => Ok(index),
            (None, None) => MemoryIndex::in_memory(&owner),
        });
        self.index = Some(opened.await?);
        Ok(())
    }

    /// Throws the index away and begins with an empty one.
    pub(super) async fn replace(&mut self) -> Result<(), IndexFault> {
        let (old, home) = (self.index.take(), self.home.clone());
        off_thread(move || {
            drop(old);
            MemoryIndex::discard(&home)
        })
        .await?;
        self.open_or(None).await
    }

    /// Lets the next step begin with an empty index.
    pub(super) async fn restart(&mut self) -> Result<(), IndexFault> {
        let owner = self.owner.clone();
        match self.with(move |index| index.restart(&owner)).await {
            Err(IndexFault::Unsound { .. }) => self.replace().await,
            done => done,
        }
    }

    pub(super) fn has_file(&self) -> bool {
        self.index.as_ref().is_some_and(MemoryIndex::has_file)
    }

    /// Takes steps for a bounded time, compares files and profiles with their documents, and does the work. The first
    /// step of a build removes every document, so files and profiles come after the steps.
    pub(super) async fn bring_up_and<T: Send + 'static>(
        &mut self,
        subject: &MemorySubject,
        work: impl FnOnce(&mut MemoryIndex) -> Result<T, IndexFault> + Send + 'static,
    ) -> Result<IndexAnswer<T>, IndexFault> {
        let limit = Duration::from_millis(MEMORY_CATCH_UP_MS);
        let until = self.memory.clock.elapsed() + limit;
        while self.step().await? && self.memory.clock.elapsed() < until {}
        let left_out = self.refresh(subject).await?;
        let work = move |index: &mut MemoryIndex| Ok((work(index)?, index.position().clone()));
        let (answer, position) = self.with(work).await?;
        let reads = Arc::clone(&self.memory.reads);
        let lag = MemoryLag {
            pending: reads
                .memory_pending(&self.owner.agent_id, &position)
                .await?,
            rebuilding: !matches!(position, IndexPosition::Following { .. }),
        };
        Ok(IndexAnswer {
            answer,
            position,
            lag,
            left_out,
        })
    }

    /// Runs work on the index on a thread for blocking work.
    async fn with<T: Send + 'static>(
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

    /// Compares the curated files and the profiles of workspaces with their documents. Returns the files that are not
    /// read.
    async fn refresh(&mut self, subject: &MemorySubject) -> Result<Vec<UnreadFile>, IndexFault> {
        let mut left_out = Vec::new();
        let mut changes = Vec::new();
        let files = self.memory.files.curated(&subject.agent_home).await;
        for (file, content) in files {
            if let CuratedContent::Unreadable { reason } = &content {
                let reason = reason.clone();
                left_out.push(UnreadFile { file, reason });
            }
            changes.push(curated_change(&subject.agent_id, file, content));
        }
        for workspace in &subject.workspaces {
            let stored = self.memory.reads.workspace_profile(workspace).await?;
            changes.extend(stored.map(|stored| profile_change(&subject.agent_id, stored)));
        }
        self.with(move |index| {
            let kind = MemoryKind::WorkspaceProfile;
            let mut stale = index.references(kind, 2 * MEMORY_PROFILES)?;
            // Profiles of workspaces that the agent has left.
            stale.retain(|stale| !changes.iter().any(|change| change.source_ref == *stale));
            changes.extend(stale.into_iter().map(|source_ref| SourceChange {
                source_ref,
                document: None,
            }));
            index.write(&changes)
        })
        .await?;
        Ok(left_out)
    }

    /// Takes one step. Returns false if nothing was left to do.
    async fn step(&mut self) -> Result<bool, IndexFault> {
        let position = self.index.as_ref().map(MemoryIndex::position).cloned();
        let position = position.unwrap_or(IndexPosition::Empty);
        let agent_id = self.owner.agent_id.clone();
        let Some(batch) = self.memory.reads.memory_batch(&agent_id, &position).await? else {
            return Ok(false);
        };
        let owner = self.owner.clone();
        self.with(move |index| index.apply(&owner, batch)).await?;
        Ok(true)
    }
}

/// Runs work on an index on a thread for blocking work.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, IndexFault> + Send + 'static,
) -> Result<T, IndexFault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => Err(IndexFault::Unavailable {
            reason: format!("the work on the index ended early: {stopped}"),
        }),
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
