//! Requests and answers about storage and retention.

use holon_domain::Timestamp;
use holon_domain::storage::{HistorySums, RemovedHistory, RowSum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of rows and bytes of their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RowSumView {
    pub rows: u64,
    pub bytes: u64,
}

impl From<RowSum> for RowSumView {
    fn from(sum: RowSum) -> Self {
        Self {
            rows: sum.rows,
            bytes: sum.bytes,
        }
    }
}

/// History rows by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HistoryView {
    /// Entries of turns: messages taken, answers, tool results and failures.
    pub transcript: RowSumView,
    pub messages: RowSumView,
    pub briefs: RowSumView,
    /// Rows of events. A row holds the events of one commit.
    pub events: RowSumView,
}

impl From<HistorySums> for HistoryView {
    fn from(sums: HistorySums) -> Self {
        Self {
            transcript: sums.transcript.into(),
            messages: sums.messages.into(),
            briefs: sums.briefs.into(),
            events: sums.events.into(),
        }
    }
}

/// Storage of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStorage {
    pub agent_id: String,
    /// Bytes of its history rows and its output files.
    pub bytes: u64,
    pub history: HistoryView,
    pub output_files: u64,
    pub output_bytes: u64,
}

/// Answer of `GET /storage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StorageResponse {
    /// Bytes of the database file without its write-ahead log.
    pub database_bytes: u64,
    /// Bytes of pages in it that hold nothing.
    pub free_bytes: u64,
    /// Bytes of the write-ahead log.
    pub wal_bytes: u64,
    /// Bytes that the pages of the database may take before the oldest turns are removed.
    pub budget_bytes: u64,
    /// Days for which turns are kept; 0 for no limit.
    pub history_days: u64,
    /// History rows of all agents.
    pub history: HistoryView,
    /// Output files of the commands of all agents.
    pub output_files: u64,
    pub output_bytes: u64,
    /// Public agents, the one that takes most first.
    pub agents: Vec<AgentStorage>,
}

/// Body of `POST /control/storage/prune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Turns go that ended more than this many days ago.
    #[schemars(range(max = 36500))]
    pub older_than_days: u64,
    /// True if nothing is removed, and the answer says what would be.
    #[serde(default)]
    pub dry_run: bool,
    /// `next` of the answer before, to go on. Absent in the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Rows and files that were removed, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemovedView {
    pub turns: u64,
    pub entries: u64,
    pub messages: u64,
    pub briefs: u64,
    pub events: u64,
    /// Bytes of the texts in these rows.
    pub row_bytes: u64,
    /// Output files of commands.
    pub files: u64,
    pub file_bytes: u64,
}

impl From<RemovedHistory> for RemovedView {
    fn from(removed: RemovedHistory) -> Self {
        let RemovedHistory {
            turns,
            entries,
            messages,
            briefs,
            events,
            row_bytes,
            files,
            file_bytes,
        } = removed;
        Self {
            turns,
            entries,
            messages,
            briefs,
            events,
            row_bytes,
            files,
            file_bytes,
        }
    }
}

impl RemovedView {
    /// Adds the figures of another answer.
    pub const fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.entries += other.entries;
        self.messages += other.messages;
        self.briefs += other.briefs;
        self.events += other.events;
        self.row_bytes += other.row_bytes;
        self.files += other.files;
        self.file_bytes += other.file_bytes;
    }
}

/// Answer of `POST /control/storage/prune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneResponse {
    pub dry_run: bool,
    /// Turns that ended before this time go.
    #[schemars(with = "String")]
    pub before: Timestamp,
    pub removed: RemovedView,
    /// Present if more is left; the next request goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}
