//! Messages and commands that were entered, in this console and in earlier ones, for the up and down keys.

use crate::draft::Draft;

/// Most entries that are kept.
const KEPT: usize = 100;

/// Entries, oldest first, and the one that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History {
    entries: Vec<String>,
    /// Entry that is shown; absent while the operator writes a new text.
    position: Option<usize>,
    /// What was being written when the first entry was shown, with its pastes.
    draft: Draft,
}

impl History {
    /// Begins with the newest of these entries, oldest first.
    pub(crate) fn of(entries: &[String]) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.add(entry);
        }
        history
    }

    /// Adds an entry, unless it repeats the last one.
    pub(crate) fn add(&mut self, text: &str) {
        self.position = None;
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        self.entries.push(text.to_owned());
        let surplus = self.entries.len().saturating_sub(KEPT);
        self.entries.drain(..surplus);
    }

    /// Returns the entry before the shown one.
    pub(crate) fn older(&mut self, draft: &Draft) -> Option<Draft> {
        let position = match self.position {
            None => {
                self.draft.clone_from(draft);
                self.entries.len().checked_sub(1)?
            }
            Some(position) => position.checked_sub(1)?,
        };
        self.position = Some(position);
        self.entries.get(position).map(|text| Draft::of(text))
    }

    /// Returns the entry after the shown one, or the text that was being written.
    pub(crate) fn newer(&mut self) -> Option<Draft> {
        let position = self.position? + 1;
        if position < self.entries.len() {
            self.position = Some(position);
            self.entries.get(position).map(|text| Draft::of(text))
        } else {
            self.position = None;
            Some(std::mem::take(&mut self.draft))
        }
    }

    /// Forgets which entry is shown, because the operator edits it.
    pub(crate) fn leave(&mut self) {
        self.position = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_go_back_and_come_home_to_the_draft() {
        let mut history = History::default();
        let written = Draft::of("new");
        assert_eq!(history.older(&written), None);
        for text in ["one", "one", " ", "two"] {
            history.add(text);
        }
        let (one, two) = (Draft::of("one"), Draft::of("two"));
        assert_eq!(history.older(&written), Some(two.clone()));
        assert_eq!(history.older(&two), Some(one.clone()));
        assert_eq!(history.older(&one), None);
        assert_eq!(history.newer(), Some(two));
        assert_eq!(history.newer(), Some(written));
        assert_eq!(history.newer(), None);
    }

    #[test]
    fn only_the_newest_entries_are_kept() {
        let mut history = History::default();
        for n in 0..(KEPT + 5) {
            history.add(&n.to_string());
        }
        assert_eq!(history.entries.len(), KEPT);
        assert_eq!(history.entries.first().map(String::as_str), Some("5"));
    }
}
