//! The item: one row that a surface shows.

use crate::visibility::{Category, Visibility};
use holon_domain::time::Timestamp;
use serde::Serialize;

/// One event, or several merged ones, in words for an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Presentation {
    pub visibility: Visibility,
    pub category: Category,
    /// Label of a few words, without a line end.
    pub title: String,
    /// Detail text, perhaps of several lines. Absent if the title says it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Title and body in one bounded line.
    pub summary: String,
    /// Kind of the raw event; if several were merged, of the one that gives the words.
    pub source_event_kind: String,
}

/// Part that an item plays in a conversation. A surface chooses a speaker, a mark or a colour by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Text of the operator.
    UserMessage,
    /// Text that an agent wrote for its operator as the outcome of a turn.
    AssistantResult,
    /// Text that a model wrote in the middle of a turn.
    AssistantProgress,
    /// Work of the agent: commands, changes, tasks, work items.
    Activity,
    /// A failure, or something that the operator has to do.
    Alert,
    /// A decision or a figure of the runtime.
    Detail,
}

/// Says if an item may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// It never changes again.
    Stable,
    /// The only live row. The next live row replaces it; it is gone as soon as there is none.
    Live,
}

/// Record that holds the whole of what an item shows in part. A surface reads it through the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Reference {
    Brief(String),
    Message(String),
    Task(String),
    WorkItem(String),
}

/// A fact beside the text of an item, such as an id or a duration. Shown in the mode `debug`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detail {
    pub name: &'static str,
    pub value: String,
}

/// One row of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Identity of the row: made of the position of its first event. The live row has the key `live`.
    pub key: String,
    pub state: ItemState,
    pub role: Role,
    #[serde(flatten)]
    pub presentation: Presentation,
    /// Time of the last event of the row.
    pub at: Timestamp,
    /// Positions of the first and the last event of the row.
    pub first_seq: u64,
    pub last_seq: u64,
    /// Number of events that are told by this row.
    pub event_count: u64,
    /// Turn that the row belongs to. Absent for events outside of turns, and for those that do not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
}
