//! Reads for memory: the next step of an index, and documents made from the rows of their sources.

use crate::agents;
use crate::error::Error;
use crate::memory_index::{IndexOwner, IndexPosition, MemoryBatch, SourceChange};
use crate::memory_outbox::{self, MemorySource};
use crate::memory_reads::EpisodeRange;
use crate::reader::Reader;
use crate::row::{AgentNo, Unreadable, all, limit, readable};
use crate::{briefs, episodes, history, log, open, work_items, workspace_profiles};
use holon_domain::brief::BriefRecord;
use holon_domain::limits::{MEMORY_CATCH_UP_STEP, MEMORY_REBUILD_STEP};
use holon_domain::memory::{
    EpisodeRecord, MemoryDocument, MemoryKind, MemoryProvenance, MemoryScope, SourceRef,
    WorkingMemoryState, WorkspaceProfile,
};
use holon_domain::work_item::{TodoState, WorkItemRecord, WorkItemState};
use holon_domain::{AgentId, Timestamp, WorkItemId, WorkspaceId, text};
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};

pub(crate) const BRIEFS: &str =
    "SELECT seq FROM briefs WHERE agent_no = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
pub(crate) const EPISODES: &str =
    "SELECT seq FROM episodes WHERE agent_no = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";
pub(crate) const WORK_ITEMS: &str = "SELECT work_item_id FROM work_items \
     WHERE agent_no = ?1 AND work_item_id > ?2 ORDER BY work_item_id LIMIT ?3";
/// Longest title of a document, in bytes.
const TITLE_BYTES: usize = 160;

/// Newest messages that are searched for the first one of a turn. An open episode has few turns.
const RECENT_MESSAGES: usize = 256;

/// The kinds that a rebuild reads from tables, in this order.
const BUILT: [MemoryKind; 3] = [MemoryKind::WorkItem, MemoryKind::Episode, MemoryKind::Brief];

impl Reader<'_> {
    /// Returns the owner of an agent's index; `None` if there is no such agent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn memory_owner(&self, id: &AgentId) -> Result<Option<IndexOwner>, Error> {
        let Some(birth) = agents::birth(self.conn(), id)? else {
            return Ok(None);
        };
        Ok(Some(IndexOwner {
            agent_id: id.clone(),
            birth,
            epoch: open::stored_epoch(self.conn())?.unwrap_or_default(),
        }))
    }

    /// Reads the next step of an agent's index. `None` if there is no such agent, or nothing to do.
    ///
    /// # Errors
    /// When the database fails. A source that cannot be read is left out of the index.
    pub fn memory_batch(
        &self,
        id: &AgentId,
        position: &IndexPosition,
    ) -> Result<Option<MemoryBatch>, Error> {
        let Some(no) = agents::number_of(self.conn(), id)? else {
            return Ok(None);
        };
        let (newest, taken) = memory_outbox::ends(self.conn(), no)?;
        let (IndexPosition::Building { cursor, .. } | IndexPosition::Following { cursor }) =
            position
        else {
            return Ok(Some(restart(newest)));
        };
        // Entries that the index has not taken are gone, or it is ahead of this store: only a rebuild helps.
        if *cursor < taken || *cursor > newest {
            return Ok(Some(restart(newest)));
        }
        match position {
            IndexPosition::Building {
                cursor,
                kind,
                after,
            } => self.build_step(id, no, *cursor, *kind, after.as_deref()),
            IndexPosition::Empty | IndexPosition::Following { .. } => {
                self.changes_step(id, no, *cursor)
            }
        }
    }

    /// Counts the changes that an index has not taken.
    ///
    /// # Errors
    /// When the database fails.
    pub fn memory_pending(&self, id: &AgentId, position: &IndexPosition) -> Result<u64, Error> {
        let Some(no) = agents::number_of(self.conn(), id)? else {
            return Ok(0);
        };
        let cursor = match position {
            IndexPosition::Empty => 0,
            IndexPosition::Building { cursor, .. } | IndexPosition::Following { cursor } => *cursor,
        };
        memory_outbox::waiting(self.conn(), no, cursor)
    }

    /// Lists agents with changes that wait for their index, by name.
    ///
    /// # Errors
    /// When the database fails.
    pub fn memory_waiting(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        let names = memory_outbox::agents(self.conn(), limit)?;
        names.iter().map(|name| agents::parse_id(name)).collect()
    }

    /// Lists agents behind a name, by name. Those that are aside are left out.
    ///
    /// # Errors
    /// When the database fails. A name that is not valid is passed over.
    pub fn memory_agents(
        &self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error> {
        let after = after.map_or("", AgentId::as_str);
        let names = memory_outbox::every_agent(self.conn(), after, limit)?;
        let valid = names.iter().filter_map(|name| {
            let parsed = agents::parse_id(name);
            parsed
                .inspect_err(|error| tracing::warn!(%error, "an agent is passed over"))
                .ok()
        });
        Ok(valid.collect())
    }

    /// Reads the stored profile of a workspace.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn workspace_profile(&self, id: &WorkspaceId) -> Result<Option<StoredProfile>, Error> {
        workspace_profiles::one(self.conn(), id)
    }

    /// Reads episodes of an agent; none if there is no such agent.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn episodes(&self, id: &AgentId, range: EpisodeRange) -> Result<Vec<EpisodeRecord>, Error> {
        let Some(no) = agents::number_of(self.conn(), id)? else {
            return Ok(Vec::new());
        };
        match range {
            EpisodeRange::Before(seq, count) => episodes::before(self.conn(), no, seq, count),
            EpisodeRange::After(seq, count) => episodes::after(self.conn(), no, seq, count),
        }
    }

    /// Reads the working memory of an agent, empty before its first turn has ended.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn working_memory(&self, no: AgentNo) -> Result<WorkingMemoryState, Error> {
        let read = episodes::memory(self.conn(), no);
        match self.unreadable() {
            Unreadable::Fails => read,
            Unreadable::IsPassedOver => Ok(readable(self.conn(), read)?.unwrap_or_default()),
        }
    }

    /// Returns the time at which a turn took its first message. `None` if it is none of the newest turns, or if its rows
    /// are gone or cannot be read.
    ///
    /// # Errors
    /// When the database fails.
    pub fn turn_begun_at(&self, no: AgentNo, turn_index: u64) -> Result<Option<Timestamp>, Error> {
        let taken = log::taken(self.conn(), no, history::NEWEST, RECENT_MESSAGES);
        let taken = readable(self.conn(), taken)?.unwrap_or_default();
        let mut of_turn = taken.iter().filter(|taken| taken.turn_index == turn_index);
        Ok(of_turn.next_back().map(|first| first.at))
    }

    fn build_step(
        &self,
        id: &AgentId,
        no: AgentNo,
        cursor: u64,
        kind: MemoryKind,
        after: Option<&str>,
    ) -> Result<Option<MemoryBatch>, Error> {
        let sources = sources(self.conn(), no, kind, after)?;
        let is_last = sources.len() < MEMORY_REBUILD_STEP;
        let last = sources.last().map(source_key);
        let next_kind = BUILT.iter().skip_while(|built| **built != kind).nth(1);
        let position = match (is_last, next_kind) {
            (false, _) => IndexPosition::Building {
                cursor,
                kind,
                after: last,
            },
            (true, Some(next)) => IndexPosition::Building {
                cursor,
                kind: *next,
                after: None,
            },
            (true, None) => IndexPosition::Following { cursor },
        };
        let sources = sources.into_iter();
        Ok(Some(MemoryBatch {
            restarts: false,
            changes: sources
                .map(|source| change(self.conn(), no, id, &source))
                .collect::<Result<Vec<_>, Error>>()?
                .into_iter()
                .flatten()
                .collect(),
            position,
            pending: memory_outbox::waiting(self.conn(), no, cursor)?,
        }))
    }

    fn changes_step(
        &self,
        id: &AgentId,
        no: AgentNo,
        cursor: u64,
    ) -> Result<Option<MemoryBatch>, Error> {
        let entries = memory_outbox::after(self.conn(), no, cursor, MEMORY_CATCH_UP_STEP)?;
        let Some((last, _)) = entries.last() else {
            return Ok(None);
        };
        let last = *last;
        let mut changes = Vec::with_capacity(entries.len());
        for source in entries.into_iter().filter_map(|(_, source)| source) {
            changes.extend(change(self.conn(), no, id, &source)?);
        }
        Ok(Some(MemoryBatch {
            restarts: false,
            changes,
            position: IndexPosition::Following { cursor: last },
            pending: memory_outbox::waiting(self.conn(), no, last)?,
        }))
    }
}

/// A profile of a workspace, and the time at which it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProfile {
    pub profile: WorkspaceProfile,
    pub written_at: Timestamp,
}

/// The step that begins a rebuild: nothing is kept of the tables, and changes from now on come behind it.
fn restart(newest: u64) -> MemoryBatch {
    MemoryBatch {
        restarts: true,
        changes: Vec::new(),
        position: IndexPosition::Building {
            cursor: newest,
            kind: MemoryKind::WorkItem,
            after: None,
        },
        pending: 0,
    }
}

/// Lists the next sources of a kind. Briefs and episodes come newest first, so that a partial index has the newest ones.
fn sources(
    conn: &Connection,
    no: AgentNo,
    kind: MemoryKind,
    after: Option<&str>,
) -> Result<Vec<MemorySource>, Error> {
    let most = limit(MEMORY_REBUILD_STEP);
    match kind {
        MemoryKind::Brief => {
            let before = after.and_then(|after| after.parse().ok());
            let before: i64 = before.unwrap_or(i64::MAX);
            all(conn, BRIEFS, params![no.0, before, most], |row| {
                Ok(MemorySource::Brief(row.get(0)?))
            })
        }
        MemoryKind::WorkItem => {
            let after = after.unwrap_or_default();
            all(conn, WORK_ITEMS, params![no.0, after, most], |row| {
                let id: String = row.get(0)?;
                Ok(MemorySource::WorkItem(WorkItemId::from_stored(id)))
            })
        }
        MemoryKind::Episode => {
            let before = after.and_then(|after| after.parse().ok());
            let before: i64 = before.unwrap_or(i64::MAX);
            all(conn, EPISODES, params![no.0, before, most], |row| {
                Ok(MemorySource::Episode(row.get(0)?))
            })
        }
        // Curated files and profiles are no rows of an agent.
        MemoryKind::AgentMemory | MemoryKind::WorkspaceProfile => Ok(Vec::new()),
    }
}

fn source_key(source: &MemorySource) -> String {
    match source {
        MemorySource::Brief(seq) | MemorySource::Episode(seq) => seq.to_string(),
        MemorySource::WorkItem(id) => id.as_str().to_owned(),
        MemorySource::RemovedBrief(id) => id.as_str().to_owned(),
    }
}

/// Reads what became of a source. `None` if it never had a document: its row is gone or cannot be read.
fn change(
    conn: &Connection,
    no: AgentNo,
    agent_id: &AgentId,
    source: &MemorySource,
) -> Result<Option<SourceChange>, Error> {
    if let MemorySource::RemovedBrief(id) = source {
        return Ok(Some(SourceChange {
            source_ref: SourceRef::brief(id),
            document: None,
        }));
    }
    let loaded = match document(conn, no, agent_id, source) {
        // One bad row must not keep the others out of the index.
        Err(error) if error.concerns_one_agent() => {
            tracing::warn!(%agent_id, kind = source.kind().as_str(), %error, "a source of memory cannot be read");
            None
        }
        loaded => loaded?,
    };
    Ok(loaded.map(|document| SourceChange {
        source_ref: document.provenance.source_ref.clone(),
        document: Some(document),
    }))
}

/// Makes the document of a source. This is the one place that knows how a kind of source is read.
fn document(
    conn: &Connection,
    no: AgentNo,
    agent_id: &AgentId,
    source: &MemorySource,
) -> Result<Option<MemoryDocument>, Error> {
    Ok(match source {
        MemorySource::Brief(seq) => briefs::one(conn, no, *seq)?.map(of_brief),
        MemorySource::WorkItem(id) => {
            work_items::one(conn, no, id, Unreadable::Fails)?.map(|item| of_item(agent_id, &item))
        }
        MemorySource::Episode(seq) => {
            let episode = episodes::one(conn, no, *seq)?;
            episode.as_ref().map(of_episode)
        }
        MemorySource::RemovedBrief(_) => None,
    })
}

fn title_of(words: &str) -> String {
    let line = words.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default().trim_start_matches(['#', ' ', '*']);
    text::preview(line, TITLE_BYTES)
}

fn of_brief(brief: BriefRecord) -> MemoryDocument {
    let mut metadata = Map::from_iter([
        ("brief_kind".to_owned(), json!(brief.kind)),
        ("turn_index".to_owned(), json!(brief.turn_index)),
    ]);
    if let Some(item) = &brief.work_item_id {
        metadata.insert("work_item_id".to_owned(), json!(item));
    }
    let body = match &brief.note {
        Some(note) => format!("{}\n\n{note}", brief.text),
        None => brief.text,
    };
    MemoryDocument {
        provenance: MemoryProvenance {
            kind: MemoryKind::Brief,
            source_ref: SourceRef::brief(&brief.id),
            scope_kind: MemoryScope::of_workspace(&brief.workspace_id),
            workspace_id: Some(brief.workspace_id),
            agent_id: brief.agent_id,
            source_path: None,
            title: title_of(&body),
            updated_at: brief.created_at,
            metadata: Value::Object(metadata),
        },
        body,
    }
}

fn of_episode(episode: &EpisodeRecord) -> MemoryDocument {
    let content = &episode.content;
    let mut metadata = Map::from_iter([
        ("boundary_reason".to_owned(), json!(episode.boundary_reason)),
        (
            "start_turn_index".to_owned(),
            json!(content.start_turn_index),
        ),
        ("end_turn_index".to_owned(), json!(content.end_turn_index)),
    ]);
    if let Some(item) = &content.current_work_item_id {
        metadata.insert("work_item_id".to_owned(), json!(item));
    }
    MemoryDocument {
        body: episode.text(),
        provenance: MemoryProvenance {
            kind: MemoryKind::Episode,
            source_ref: SourceRef::episode(&episode.id),
            scope_kind: MemoryScope::of_workspace(&content.workspace_id),
            workspace_id: Some(content.workspace_id.clone()),
            agent_id: episode.agent_id.clone(),
            source_path: None,
            title: title_of(&episode.title()),
            updated_at: episode.created_at,
            metadata: Value::Object(metadata),
        },
    }
}

fn of_item(agent_id: &AgentId, item: &WorkItemRecord) -> MemoryDocument {
    let mut lines = vec![item.objective.clone()];
    if item.state == WorkItemState::Completed {
        lines.push("Completed.".to_owned());
    }
    if let Some(blocker) = &item.blocked_by {
        lines.push(format!("Blocked by: {blocker}"));
    }
    lines.extend(item.todo_list.iter().map(|todo| {
        let mark = match todo.state {
            TodoState::Pending => "[ ]",
            TodoState::InProgress => "[~]",
            TodoState::Completed => "[x]",
        };
        format!("- {mark} {}", todo.text)
    }));
    if let Some(plan) = item.plan.as_ref().filter(|plan| !plan.preview.is_empty()) {
        lines.push(format!("\nPlan:\n{}", plan.preview));
    }
    if let Some(result) = &item.result_summary {
        lines.push(format!("\nResult:\n{result}"));
    }
    let metadata = json!({
        "state": item.state,
        "plan_status": item.plan_status,
        "revision": item.revision,
        "authority": item.provenance.authority,
    });
    MemoryDocument {
        provenance: MemoryProvenance {
            kind: MemoryKind::WorkItem,
            source_ref: SourceRef::work_item(&item.id),
            scope_kind: MemoryScope::of_workspace(&item.workspace_id),
            workspace_id: Some(item.workspace_id.clone()),
            agent_id: agent_id.clone(),
            source_path: None,
            title: title_of(&item.objective),
            updated_at: item.updated_at,
            metadata,
        },
        body: lines.join("\n"),
    }
}
