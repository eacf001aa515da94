//! Storage of a host: how much its history takes, and what retention removes of it.
//!
//! The history of an agent is its log (the transcript with the records of tool calls), the messages that its turns
//! took, its briefs and its events. Retention removes the oldest turns with everything that only they need.

use crate::decision::{BriefSeq, EventSeq};
use crate::id::AgentId;
use crate::limits::HISTORY_MESSAGES_KEPT;
use crate::log::BlobHash;
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::LogSeq;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::AddAssign;

/// The stored rows that a host passed over since it started, because they cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PassedOverRows {
    /// Number of different rows, up to a bound.
    pub count: u64,
    /// The first of them by name: table, key and fault.
    pub first: Vec<String>,
}

impl PassedOverRows {
    /// Returns true if every row that was read could be read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// History of an agent that counts as removed. A preview of several steps passes it on from one step to the next, so that
/// each step sees what the step before it would have left. Empty for a removal, which finds the rows gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryPosition {
    pub entry: LogSeq,
    pub brief: BriefSeq,
    pub event: EventSeq,
    pub messages: BTreeSet<MessageSeq>,
    pub texts: BTreeSet<BlobHash>,
    /// Names of commands whose output files count as removed.
    pub outputs: BTreeSet<String>,
}

impl HistoryPosition {
    /// Counts the rows of a step as removed.
    pub fn pass(&mut self, step: &HistoryStep) {
        self.entry = self.entry.max(step.entry);
        self.brief = self.brief.max(step.brief);
        self.event = self.event.max(step.event);
        self.messages.extend(&step.messages);
        self.texts.extend(step.texts.iter().cloned());
        self.outputs.extend(step.outputs.iter().cloned());
    }
}

/// The rule by which history goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryRule {
    /// Turns that ended before a time go. Only those that the next prompt may show stay.
    OlderThan(Timestamp),
    /// Turns of any age go. So many of the newest messages of the agent stay, with their turns.
    AllBut(usize),
}

impl HistoryRule {
    /// The rule of a store that needs space.
    pub const NEEDS_SPACE: Self = Self::AllBut(HISTORY_MESSAGES_KEPT);

    /// Returns true if an entry of this time may go.
    #[must_use]
    pub fn takes(self, at: Timestamp) -> bool {
        match self {
            Self::OlderThan(before) => at < before,
            Self::AllBut(_) => true,
        }
    }
}

/// Rows and files that retention removed, or would remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RemovedHistory {
    pub turns: u64,
    /// Entries of the log: messages taken, answers, tool results and failures.
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

impl AddAssign for RemovedHistory {
    fn add_assign(&mut self, other: Self) {
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

impl RemovedHistory {
    /// Returns true if nothing was removed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One step of the removal of an agent's history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryStep {
    /// Last entry of the log that goes.
    pub entry: LogSeq,
    /// Last brief that goes; 0 if none does.
    pub brief: BriefSeq,
    /// Last event that goes; 0 if none does.
    pub event: EventSeq,
    pub messages: Vec<MessageSeq>,
    pub removed: RemovedHistory,
    /// Names of commands whose output files nothing names any more.
    pub outputs: Vec<String>,
    /// Hashes of texts that no frame of the agent names any more.
    pub texts: Vec<BlobHash>,
    /// Briefs of the turns that go whose rows cannot be read. They are passed over.
    pub unreadable_briefs: Vec<BriefSeq>,
    /// Time of the oldest entry that stays.
    pub oldest_left: Option<Timestamp>,
}

/// An agent with history, and the time of its oldest entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryHolder {
    pub agent_id: AgentId,
    pub agent_home: String,
    pub oldest_at: Timestamp,
}

/// Size of the database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseSize {
    /// Bytes of the file without its write-ahead log.
    pub file_bytes: u64,
    /// Bytes of pages in it that hold nothing. They are used again or given back to the file system.
    pub free_bytes: u64,
    /// Bytes of the write-ahead log.
    pub wal_bytes: u64,
}

impl DatabaseSize {
    /// Bytes of pages that hold rows or indexes. A budget for the store counts these.
    #[must_use]
    pub const fn used_bytes(&self) -> u64 {
        self.file_bytes.saturating_sub(self.free_bytes)
    }
}

/// Number of rows and bytes of their texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RowSum {
    pub rows: u64,
    pub bytes: u64,
}

impl AddAssign for RowSum {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

/// History rows of one agent, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HistorySums {
    /// Entries of turns: messages taken, answers, tool results and failures.
    pub transcript: RowSum,
    pub messages: RowSum,
    pub briefs: RowSum,
    /// Rows of events. A row holds the events of one commit.
    pub events: RowSum,
}

impl AddAssign for HistorySums {
    fn add_assign(&mut self, other: Self) {
        self.transcript += other.transcript;
        self.messages += other.messages;
        self.briefs += other.briefs;
        self.events += other.events;
    }
}

impl HistorySums {
    /// Bytes of all kinds together.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.transcript.bytes + self.messages.bytes + self.briefs.bytes + self.events.bytes
    }
}
