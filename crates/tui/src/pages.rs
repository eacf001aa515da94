//! Content of overlays, made of replies. Texts are as the host spelled them; the view makes them drawable.

mod agent;
mod choice;
mod context;
mod log;
mod trigger;
mod usage;
mod work;

pub(crate) use agent::{CHILD, agents, status, workspaces};
pub(crate) use choice::{efforts, follows_default, models, skills};
pub(crate) use context::context;
pub(crate) use log::{event_detail, events, help, prompt, transcript};
pub(crate) use trigger::{revealed, triggers};
pub(crate) use usage::{budgets, usage};
pub(crate) use work::{WAIT, tasks, timers, work_item, work_items};

use crate::overlay::{Entry, Tone};
use serde_json::Value;

/// Makes the one entry of a page without a list.
fn page(detail: String) -> Vec<Entry> {
    vec![Entry {
        detail,
        ..Entry::default()
    }]
}

/// Makes the only entry of an empty list.
fn nothing(words: &str) -> Vec<Entry> {
    vec![Entry {
        label: words.to_owned(),
        tone: Tone::Faint,
        ..Entry::default()
    }]
}

/// Reads a word of a raw reply; empty if there is none.
fn word<'a>(raw: &'a Value, pointer: &str) -> &'a str {
    raw.pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Spells a word of a closed set for people.
fn plain(word: &str) -> String {
    word.replace('_', " ")
}

/// Facts of a detail, one line each, with their names in a column.
#[derive(Debug, Default)]
struct Facts(Vec<String>);

impl Facts {
    fn add(&mut self, name: &str, value: impl AsRef<str>) {
        let value = value.as_ref();
        if !value.is_empty() {
            self.0.push(format!("{name:<12} {value}"));
        }
    }

    fn add_some(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// Adds a list under a heading, if it has anything.
    fn list(&mut self, heading: &str, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        if !lines.is_empty() {
            self.0.push(String::new());
            self.0.push(heading.to_owned());
            self.0
                .extend(lines.into_iter().map(|line| format!("  {line}")));
        }
    }

    fn text(self) -> String {
        self.0.join("\n")
    }
}
