//! `MemoryIndex`: the full-text index of one agent's memory, `.holon/indexes/memory.sqlite3` in its home.
//!
//! The index is derived and disposable: a missing, damaged or foreign file is replaced by an empty one and built from the
//! store in bounded steps. `Reader::memory_batch` reads the next step from the store, [`MemoryIndex::apply`] writes it
//! together with the position it leads to, so that a step is taken as a whole or not at all.

mod examine;
mod fault;
mod query;
mod rank;
#[cfg(test)]
mod samples;
mod schema;
mod search;
mod snippet;
#[cfg(test)]
mod tests;
mod text;

pub use examine::{IndexState, examine_index};
pub use fault::IndexFault;
pub use search::IndexHits;

use holon_domain::AgentId;
use holon_domain::limits::MEMORY_INDEXED_BYTES;
use holon_domain::memory::{MemoryDocument, MemoryKind, MemoryProvenance, SourceRef};
use holon_domain::text::{prefix, sha256_hex};
use rusqlite::{Connection, OptionalExtension as _, params};
use schema::Files;
use serde::{Deserialize, Serialize};
use std::path::Path;

const PUT: &str = "INSERT INTO documents (document_no, source_ref, kind, workspace_id, hash, provenance, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const PUT_TEXT: &str = "INSERT INTO documents_fts (rowid, title, body) VALUES (?1, ?2, ?3)";
const FOUND: &str = "SELECT document_no, hash FROM documents WHERE source_ref = ?1";
const REMOVE: &str = "DELETE FROM documents WHERE document_no = ?1";
const REMOVE_TEXT: &str = "DELETE FROM documents_fts WHERE rowid = ?1";
const EXACT: &str = "SELECT provenance, body FROM documents WHERE source_ref = ?1";
/// Numbers of documents follow their age, so that the index can return the newest ones first: this many in a second.
const NUMBERS_PER_SECOND: i64 = 16;

/// The agent and the store that an index belongs to. An index of another one is built anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexOwner {
    pub agent_id: AgentId,
    /// Tells the agent apart from an earlier one of its name.
    pub birth: i64,
    /// Epoch of the store.
    pub epoch: String,
}

/// How far an index has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum IndexPosition {
    /// Nothing was read yet.
    Empty,
    /// The sources are being read, kind by kind.
    Building {
        /// Position of the outbox at the beginning. Changes behind it are taken afterwards.
        cursor: u64,
        kind: MemoryKind,
        /// Last source that was read of this kind.
        after: Option<String>,
    },
    /// Every source was read, and changes up to `cursor` were taken.
    Following { cursor: u64 },
}

/// One source that changed: its new document, or `None` if it is gone or cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChange {
    pub source_ref: SourceRef,
    pub document: Option<MemoryDocument>,
}

/// One step of an index: changes, and the position after them.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryBatch {
    /// True if every document is removed first, also those of files and profiles, which are no changes of the store.
    pub restarts: bool,
    pub changes: Vec<SourceChange>,
    pub position: IndexPosition,
    /// Changes that are left after this step, as far as they are known.
    pub pending: u64,
}

/// An open index of one agent.
#[derive(Debug)]
pub struct MemoryIndex {
    conn: Connection,
    files: Option<Files>,
    position: IndexPosition,
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    owner: IndexOwner,
    position: IndexPosition,
}

impl MemoryIndex {
    /// Opens the index of an agent, and replaces one that is missing, damaged or of another owner by an empty one.
    /// `None` if the agent has no home yet.
    ///
    /// # Errors
    /// `Locked` if another process holds the file; `Unavailable` if the place cannot be used.
    pub fn open(agent_home: &Path, owner: &IndexOwner) -> Result<Option<Self>, IndexFault> {
        let Some(files) = Files::in_home(agent_home)? else {
            return Ok(None);
        };
        match Self::open_sound(&files, owner) {
            Ok(Some(index)) => Ok(Some(index)),
            Ok(None) => Self::create(files, owner).map(Some),
            Err(IndexFault::Unsound { reason }) => {
                tracing::warn!(agent_id = %owner.agent_id, reason, "the memory index is replaced");
                files.discard()?;
                Self::create(files, owner).map(Some)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Removes the index of an agent; the next use builds it anew.
    ///
    /// # Errors
    /// When the files cannot be removed.
    pub fn discard(agent_home: &Path) -> Result<(), IndexFault> {
        match Files::in_home(agent_home)? {
            Some(files) => files.discard(),
            None => Ok(()),
        }
    }

    /// Makes an index without a file.
    ///
    /// # Errors
    /// When memory is short.
    pub fn in_memory(owner: &IndexOwner) -> Result<Self, IndexFault> {
        let mut index = Self {
            conn: schema::in_memory()?,
            files: None,
            position: IndexPosition::Empty,
        };
        index.write_state(owner)?;
        Ok(index)
    }

    fn open_sound(files: &Files, owner: &IndexOwner) -> Result<Option<Self>, IndexFault> {
        let Some(conn) = files.open()? else {
            return Ok(None);
        };
        let stored: Option<String> = conn
            .query_row("SELECT value FROM state WHERE key = 'state'", [], |row| {
                row.get(0)
            })
            .optional()?;
        let stored = stored.ok_or_else(|| IndexFault::unsound("it was not finished"))?;
        let State {
            owner: found,
            position,
        } = serde_json::from_str(&stored)?;
        if found != *owner {
            return Err(IndexFault::unsound("it belongs to another agent or store"));
        }
        let mut index = Self {
            conn,
            files: Some(files.clone()),
            position,
        };
        // A marker beside a complete index asks for a rebuild.
        if files.is_marked() && matches!(index.position, IndexPosition::Following { .. }) {
            index.position = IndexPosition::Empty;
            index.write_state(owner)?;
        }
        Ok(Some(index))
    }

    fn create(files: Files, owner: &IndexOwner) -> Result<Self, IndexFault> {
        let mut index = Self {
            conn: files.create()?,
            files: Some(files),
            position: IndexPosition::Empty,
        };
        index.write_state(owner)?;
        Ok(index)
    }

    fn write_state(&mut self, owner: &IndexOwner) -> Result<(), IndexFault> {
        let state = State {
            owner: owner.clone(),
            position: self.position.clone(),
        };
        let text = serde_json::to_string(&state)?;
        self.conn
            .prepare_cached("INSERT OR REPLACE INTO state (key, value) VALUES ('state', ?1)")?
            .execute([text])?;
        Ok(())
    }

    /// Returns true if the index is kept in a file.
    #[must_use]
    pub const fn has_file(&self) -> bool {
        self.files.is_some()
    }

    /// Returns how far the index has come.
    #[must_use]
    pub const fn position(&self) -> &IndexPosition {
        &self.position
    }

    /// Forgets how far the index has come, so that the next step begins with an empty one. Documents stay until then.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn restart(&mut self, owner: &IndexOwner) -> Result<(), IndexFault> {
        if let Some(files) = &self.files {
            files.mark()?;
        }
        self.position = IndexPosition::Empty;
        self.write_state(owner)
    }

    /// Takes one step: its changes and its position, or nothing of it.
    ///
    /// # Errors
    /// When the file cannot be written. The position is then the one before.
    pub fn apply(&mut self, owner: &IndexOwner, batch: MemoryBatch) -> Result<(), IndexFault> {
        let MemoryBatch {
            restarts,
            changes,
            position,
            ..
        } = batch;
        if restarts && self.holds_any()? {
            self.empty(owner)?;
        }
        let before = std::mem::replace(&mut self.position, position);
        let outcome = self.in_transaction(|index| {
            index.take(&changes)?;
            index.write_state(owner)
        });
        if outcome.is_err() {
            self.position = before;
            return outcome;
        }
        match (&self.position, &self.files) {
            (IndexPosition::Following { .. }, Some(files)) => files.unmark(),
            (IndexPosition::Building { .. } | IndexPosition::Empty, Some(files)) => files.mark(),
            (_, None) => Ok(()),
        }
    }

    fn holds_any(&self) -> Result<bool, IndexFault> {
        let mut statement = self
            .conn
            .prepare_cached("SELECT 1 FROM documents LIMIT 1")?;
        Ok(statement.exists([])?)
    }

    /// Begins with an empty index in the place of this one. A new file costs the same however much the old one holds.
    fn empty(&mut self, owner: &IndexOwner) -> Result<(), IndexFault> {
        self.position = IndexPosition::Empty;
        // The old connection is closed first, because its end touches the files by their names.
        self.conn = Connection::open_in_memory()?;
        self.conn = match &self.files {
            Some(files) => {
                files.mark()?;
                files.discard()?;
                files.create()?
            }
            None => schema::in_memory()?,
        };
        self.write_state(owner)
    }

    fn in_transaction(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), IndexFault>,
    ) -> Result<(), IndexFault> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let outcome = work(self).and_then(|()| Ok(self.conn.execute_batch("COMMIT")?));
        if outcome.is_err() && !self.conn.is_autocommit() {
            // The error that led here is reported; a failed rollback ends with the connection.
            drop(self.conn.execute_batch("ROLLBACK"));
        }
        outcome
    }

    /// Writes changed documents and removes those that are gone, all or nothing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, changes: &[SourceChange]) -> Result<(), IndexFault> {
        let differs = |change: &&SourceChange| -> Result<bool, IndexFault> {
            let found = self.found(&change.source_ref)?;
            Ok(match (&change.document, found) {
                (Some(document), Some((_, hash))) => hash != hash_of(document)?,
                (None, None) => false,
                (Some(_), None) | (None, Some(_)) => true,
            })
        };
        let mut changed = Vec::new();
        for change in changes {
            if differs(&change)? {
                changed.push(change);
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.in_transaction(|index| index.take(changed))
    }

    fn take<'a>(
        &mut self,
        changes: impl IntoIterator<Item = &'a SourceChange>,
    ) -> Result<(), IndexFault> {
        for change in changes {
            match &change.document {
                Some(document) => self.put(document)?,
                None => self.remove(&change.source_ref)?,
            }
        }
        Ok(())
    }

    fn found(&self, source_ref: &SourceRef) -> Result<Option<(i64, String)>, IndexFault> {
        let mut statement = self.conn.prepare_cached(FOUND)?;
        let row = statement.query_row([source_ref.key()], |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(row.optional()?)
    }

    /// Writes a document unless the index holds the same.
    fn put(&mut self, document: &MemoryDocument) -> Result<(), IndexFault> {
        let provenance = &document.provenance;
        let hash = hash_of(document)?;
        if let Some((number, known)) = self.found(&provenance.source_ref)? {
            if known == hash {
                return Ok(());
            }
            self.remove_number(number)?;
        }
        let number = self.free_number(document)?;
        self.conn.prepare_cached(PUT)?.execute(params![
            number,
            provenance.source_ref.key(),
            provenance.kind.as_str(),
            search::scope_of(provenance),
            hash,
            serde_json::to_string(provenance)?,
            document.body,
        ])?;
        let body = text::project(prefix(&document.body, MEMORY_INDEXED_BYTES));
        self.conn.prepare_cached(PUT_TEXT)?.execute(params![
            number,
            projected_title(provenance),
            body
        ])?;
        Ok(())
    }

    /// Returns a number for a new document: by its time, so that a greater one is newer.
    fn free_number(&self, document: &MemoryDocument) -> Result<i64, IndexFault> {
        let seconds = document.provenance.updated_at.as_millis().max(0) / 1_000;
        let first = seconds.saturating_mul(NUMBERS_PER_SECOND);
        let mut statement = self
            .conn
            .prepare_cached("SELECT 1 FROM documents WHERE document_no = ?1")?;
        for number in (first..).take(4 * NUMBERS_PER_SECOND as usize) {
            if !statement.exists([number])? {
                return Ok(number);
            }
        }
        // More documents in this second than there are numbers; the order among them does not matter.
        let newest = "SELECT coalesce(max(document_no), 0) + 1 FROM documents";
        Ok(self.conn.query_row(newest, [], |row| row.get(0))?)
    }

    fn remove(&mut self, source_ref: &SourceRef) -> Result<(), IndexFault> {
        match self.found(source_ref)? {
            Some((number, _)) => self.remove_number(number),
            None => Ok(()),
        }
    }

    fn remove_number(&mut self, number: i64) -> Result<(), IndexFault> {
        self.conn.prepare_cached(REMOVE)?.execute([number])?;
        self.conn.prepare_cached(REMOVE_TEXT)?.execute([number])?;
        Ok(())
    }

    /// Reads one document exactly as its source was.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&self, source_ref: &SourceRef) -> Result<Option<MemoryDocument>, IndexFault> {
        let row: Option<(String, String)> = self
            .conn
            .prepare_cached(EXACT)?
            .query_row([source_ref.key()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((provenance, body)) = row else {
            return Ok(None);
        };
        Ok(Some(MemoryDocument {
            provenance: serde_json::from_str(&provenance)?,
            body,
        }))
    }

    /// Counts the documents.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn documents(&self) -> Result<u64, IndexFault> {
        let sql = "SELECT count(*) FROM documents";
        Ok(self.conn.query_row(sql, [], |row| row.get(0))?)
    }

    /// Lists the references of one kind.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn references(&self, kind: MemoryKind, limit: usize) -> Result<Vec<SourceRef>, IndexFault> {
        let sql = "SELECT source_ref FROM documents WHERE kind = ?1 LIMIT ?2";
        let mut statement = self.conn.prepare_cached(sql)?;
        let found = statement
            .query_map(params![kind.as_str(), crate::row::limit(limit)], |row| {
                row.get::<_, String>(0)
            })?;
        let mut references = Vec::new();
        for text in found {
            let parsed = SourceRef::parse(&text?);
            references.push(parsed.map_err(|error| IndexFault::unsound(error.to_string()))?);
        }
        Ok(references)
    }
}

/// Returns the title for the index, with the id of the source and its path. The prefix of an id is no word of its own,
/// because it would be one of every document of the kind.
fn projected_title(provenance: &MemoryProvenance) -> String {
    let id = provenance.source_ref.id();
    let random = id.split_once('_').map_or("", |(_, random)| random);
    let path = provenance.source_path.as_deref().unwrap_or_default();
    let title = text::project(&format!("{} {path}", provenance.title));
    format!("{title} {} {}", text::fold(id), text::fold(random))
}

/// Returns the hash by which a document is known to be unchanged.
fn hash_of(document: &MemoryDocument) -> Result<String, IndexFault> {
    Ok(sha256_hex(serde_json::to_string(document)?))
}
