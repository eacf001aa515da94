//! The row that is held back, and what it can take in.

use crate::describe::Merge;
use crate::item::Item;
use crate::mode::DisplayMode;
use crate::present::Importance;
use crate::text::{BODY_BYTES, SUMMARY_BYTES, cut, cut_line};

/// Lines of a group that are shown; further ones are counted.
const GROUP_LINES: usize = 12;
/// Bytes of one line of a group.
const LINE_BYTES: usize = 160;
/// Kind of the event that carries the report of a completed work item.
const REPORT: &str = "work_item_completion_report_promoted";
/// Kind of the event that names a flaw of a completion.
const WARNING: &str = "work_item_completion_warning";

/// A row that a later event may complete.
#[derive(Debug, Clone)]
pub(super) struct Held {
    item: Item,
    importance: Importance,
    merge: Option<Merge>,
    /// First lines of a group of calls.
    lines: Vec<String>,
    /// Calls of the group.
    calls: u64,
}

impl Held {
    pub(super) fn new(item: Item, importance: Importance, merge: Option<Merge>) -> Self {
        let lines = match &merge {
            Some(Merge::Read(line) | Merge::Change(line)) => vec![cut_line(line, LINE_BYTES)],
            Some(_) | None => Vec::new(),
        };
        Self {
            item,
            importance,
            merge,
            lines,
            calls: 1,
        }
    }

    pub(super) const fn merge(&self) -> Option<&Merge> {
        self.merge.as_ref()
    }

    /// Returns true if a later event can complete the row in this mode. Calls are grouped in `verbose` only.
    pub(super) fn can_grow(&self, mode: DisplayMode) -> bool {
        match &self.merge {
            Some(Merge::Read(_) | Merge::Change(_)) => mode == DisplayMode::Verbose,
            Some(
                Merge::Answer | Merge::Failure | Merge::Retry | Merge::Task(_) | Merge::WorkItem(_),
            ) => true,
            Some(Merge::Brief) | None => false,
        }
    }

    /// Returns true if both are one row.
    pub(super) fn takes(&self, new: &Self) -> bool {
        match (&self.merge, &new.merge) {
            (Some(Merge::Read(_)), Some(Merge::Read(_)))
            | (Some(Merge::Change(_)), Some(Merge::Change(_)))
            | (Some(Merge::Retry), Some(Merge::Retry)) => true,
            (Some(Merge::Task(ours)), Some(Merge::Task(theirs)))
            | (Some(Merge::WorkItem(ours)), Some(Merge::WorkItem(theirs))) => ours == theirs,
            (Some(Merge::Answer | Merge::Failure), Some(Merge::Brief)) => self.is_told_by(new),
            (_, _) => false,
        }
    }

    /// Makes one row of two that belong together.
    pub(super) fn absorb(self, new: Self) -> Self {
        match new.merge {
            Some(Merge::Read(_) | Merge::Change(_)) => self.grouped(new),
            Some(Merge::Task(_) | Merge::WorkItem(_)) => self.updated_by(new),
            Some(Merge::Answer | Merge::Failure | Merge::Retry | Merge::Brief) | None => {
                self.replaced_by(new)
            }
        }
    }

    /// Returns true if a brief says the same as this answer or failure. Both are cut at the same length.
    fn is_told_by(&self, brief: &Self) -> bool {
        let text = |held: &Self| {
            let body = held.item.presentation.body.as_deref().unwrap_or_default();
            body.trim_end().trim_end_matches('…').to_owned()
        };
        let (ours, theirs) = (text(self), text(brief));
        !ours.is_empty() && (theirs.starts_with(&ours) || ours.starts_with(&theirs))
    }

    /// Adds the events of another row to the count of this one.
    fn count(&mut self, new: &Item) {
        self.item.last_seq = new.last_seq;
        self.item.at = new.at;
        self.item.event_count += new.event_count;
    }

    fn grouped(mut self, new: Self) -> Self {
        self.count(&new.item);
        self.calls += 1;
        if self.lines.len() < GROUP_LINES {
            self.lines.extend(new.lines);
        }
        self
    }

    /// Keeps the words of the new row and the beginning of this one.
    fn replaced_by(mut self, new: Self) -> Self {
        self.count(&new.item);
        let visibility = self
            .item
            .presentation
            .visibility
            .min(new.item.presentation.visibility);
        self.item = Item {
            key: self.item.key,
            first_seq: self.item.first_seq,
            event_count: self.item.event_count,
            ..new.item
        };
        self.item.presentation.visibility = visibility;
        self.importance = new.importance;
        self.merge = new.merge;
        self
    }

    /// Takes in a later state of the same task or work item. The more important words stay; a report and a warning are
    /// added to them.
    fn updated_by(mut self, new: Self) -> Self {
        let words = &new.item.presentation;
        let addition = match words.source_event_kind.as_str() {
            REPORT => words.body.clone(),
            WARNING => words.body.as_ref().map(|body| format!("warning: {body}")),
            _ => None,
        };
        if let Some(addition) = addition.filter(|_| self.importance >= Importance::Outcome) {
            self.count(&new.item);
            let mine = &mut self.item.presentation;
            mine.visibility = mine.visibility.min(words.visibility);
            let body = mine.body.take().unwrap_or_default();
            mine.body = Some(cut(&format!("{body}\n{addition}"), BODY_BYTES));
            return self;
        }
        if new.importance >= self.importance {
            return self.replaced_by(new);
        }
        self.count(&new.item);
        self
    }

    /// Returns the row. A group of one call keeps the words of the call.
    pub(super) fn into_item(self) -> Item {
        let Self {
            mut item,
            merge,
            lines,
            calls,
            importance: _,
        } = self;
        let title = match merge {
            Some(Merge::Read(_)) if calls > 1 => "Explored",
            Some(Merge::Change(_)) if calls > 1 => "Changed",
            Some(_) | None => return item,
        };
        let more = calls - lines.len() as u64;
        let (mut body, mut line) = (lines.join("\n"), lines.join("; "));
        if more > 0 {
            body = format!("{body}\n… and {more} more");
            line = format!("{} and {more} more", cut_line(&line, SUMMARY_BYTES / 2));
        }
        item.presentation.title = title.to_owned();
        item.presentation.summary = cut_line(&format!("{title}: {line}"), SUMMARY_BYTES);
        item.presentation.body = Some(cut(&body, BODY_BYTES));
        item.details.clear();
        item
    }
}
