//! Describes events in words. One function for each kind that can become a row; other kinds show their payload.

mod agent;
mod delivery;
mod memory;
mod task;
mod tool;
mod turn;
mod work;

use crate::item::{Detail, Reference, Role};
use crate::present::Importance;
use crate::text::cut_line;
use crate::visibility::Visibility;
use holon_domain::event::Event;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;

pub(crate) use task::updated as task_updated;
pub(crate) use tool::{CommandRequest, executed, failed};

/// Bytes of one value in the details of an item.
const DETAIL_BYTES: usize = 240;
/// Bytes of a payload that has no description of its own.
const PAYLOAD_BYTES: usize = 300;

/// Rows that one event may share with others of the same kind of activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merge {
    /// A call that only reads, with its line in a group.
    Read(String),
    /// A call that changed files, with its line in a group.
    Change(String),
    /// Text of a round without calls, which the brief of the turn repeats.
    Answer,
    /// Failure of the turn, which the brief of the turn repeats.
    Failure,
    /// A pause before a model is asked again.
    Retry,
    /// Outcome of a turn. It replaces the answer or the failure that it repeats.
    Brief,
    /// A task, by its id.
    Task(String),
    /// A work item, by its id.
    WorkItem(String),
}

/// An event in words, before its texts are bounded.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    /// Text of the summary behind the title. Absent if it is the body.
    pub(crate) line: Option<String>,
    pub(crate) importance: Importance,
    pub(crate) role: Role,
    /// Visibility of this event. Absent if it is that of its kind.
    pub(crate) visibility: Option<Visibility>,
    pub(crate) details: Vec<Detail>,
    pub(crate) reference: Option<Reference>,
    pub(crate) merge: Option<Merge>,
}

impl Description {
    fn new(importance: Importance, role: Role, title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            body: None,
            line: None,
            importance,
            role,
            visibility: None,
            details: Vec::new(),
            reference: None,
            merge: None,
        }
    }

    fn detail(title: impl Into<String>) -> Self {
        Self::new(Importance::Detail, Role::Detail, title)
    }

    fn step(title: impl Into<String>) -> Self {
        Self::new(Importance::Step, Role::Activity, title)
    }

    fn outcome(title: impl Into<String>) -> Self {
        Self::new(Importance::Outcome, Role::Activity, title)
    }

    fn failure(title: impl Into<String>) -> Self {
        Self::new(Importance::Failure, Role::Alert, title)
    }

    fn body(mut self, body: impl Into<String>) -> Self {
        self.body = Some(body.into());
        self
    }

    fn line(mut self, line: impl Into<String>) -> Self {
        self.line = Some(line.into());
        self
    }

    fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    fn merge(mut self, merge: Merge) -> Self {
        self.merge = Some(merge);
        self
    }

    fn refer(mut self, reference: Reference) -> Self {
        self.reference = Some(reference);
        self
    }

    fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.details.push(Detail {
            name,
            value: cut_line(&value.to_string(), DETAIL_BYTES),
        });
        self
    }

    fn with_some(self, name: &'static str, value: Option<&impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

/// Describes an event by itself, without the events around it.
pub(crate) fn describe(event: &Event) -> Description {
    turn::describe(event)
        .or_else(|| tool::describe(event))
        .or_else(|| task::describe(event))
        .or_else(|| work::describe(event))
        .or_else(|| memory::describe(event))
        .or_else(|| delivery::describe(event))
        .or_else(|| agent::describe(event))
        .unwrap_or_else(|| describe_payload(event))
}

/// Describes an event by its kind and the beginning of its payload.
fn describe_payload(event: &Event) -> Description {
    let title = event.kind().replace('_', " ");
    let payload = event.encode().unwrap_or_default();
    let fields = match serde_json::from_str(&payload) {
        Ok(Value::Object(fields)) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name}={text}"),
                value => format!("{name}={value}"),
            })
            .collect::<Vec<_>>()
            .join(" "),
        Ok(_) | Err(_) => payload,
    };
    Description::detail(title).body(cut_line(&fields, PAYLOAD_BYTES))
}

/// Spells an id. Ids of this runtime are short; one of another build is cut.
fn id_text(id: &impl ToString) -> String {
    cut_line(&id.to_string(), DETAIL_BYTES)
}

/// Spells a value of an enum as words, from its name on the wire.
fn words(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word.replace('_', " "),
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// Spells a length of time.
pub(crate) fn duration(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
        _ => format!(
            "{} h {} min",
            millis / 3_600_000,
            millis % 3_600_000 / 60_000
        ),
    }
}
