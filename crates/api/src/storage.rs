//! Requests and answers about storage and retention.

use holon_domain::Timestamp;
use holon_domain::limits::HISTORY_DAYS_MAX;
use holon_domain::storage::{HistorySums, PassedOverRows, RemovedHistory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Storage of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStorage {
    pub agent_id: String,
    /// Bytes of its history rows and its output files.
    pub bytes: u64,
    pub history: HistorySums,
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
    pub history: HistorySums,
    /// Output files of the commands of all agents.
    pub output_files: u64,
    pub output_bytes: u64,
    /// Public agents, the one that takes most first.
    pub agents: Vec<AgentStorage>,
    /// Stored rows that the host passed over since it started, because they cannot be read.
    #[serde(default)]
    pub unreadable_rows: PassedOverRows,
}

/// Body of `POST /control/storage/prune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Turns go that ended more than this many days ago.
    #[schemars(range(max = HISTORY_DAYS_MAX))]
    pub older_than_days: u64,
    /// True if nothing is removed, and the answer says what would be.
    #[serde(default)]
    pub dry_run: bool,
    /// `next` of the answer before, to go on. Absent in the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An agent whose history cannot be removed, or a brief of it that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneFailure {
    pub agent_id: String,
    pub reason: String,
}

/// Answer of `POST /control/storage/prune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneResponse {
    pub dry_run: bool,
    /// Turns that ended before this time go.
    #[schemars(with = "String")]
    pub before: Timestamp,
    pub removed: RemovedHistory,
    /// Agents with rows that cannot be read, and briefs that were passed over. Everything else was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<PruneFailure>,
    /// Present if more is left; the next request goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
