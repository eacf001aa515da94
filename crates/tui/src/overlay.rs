//! Overlays: pages over the conversation, each a list with the detail of the selected entry, or a text alone.

mod follow;
mod page;

#[cfg(test)]
pub(crate) use follow::END;
pub(crate) use follow::{Added, Follow, Part};
pub(crate) use page::{Act, Key, Page};

use crate::draft::Draft;
use holon_presentation::Bar;

/// One entry of a list, or the text of a page without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Entry {
    /// Id that requests name.
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) tone: Tone,
    pub(crate) detail: String,
    /// Command that prints all of the detail. Present if the detail is markdown, which is cut if it is long.
    pub(crate) markdown_of: Option<String>,
    /// Rows of a chart above the detail. The view draws them, because their bars follow the width of the screen.
    pub(crate) chart: Vec<Bar>,
    /// What each row of the chart is about.
    pub(crate) chart_of: &'static str,
}

/// Style of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Faint,
}

/// State of the content of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Load {
    Loading,
    Ready,
    Failed(String),
}

/// A line that the operator is asked for inside an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) label: String,
    pub(crate) act: Act,
    /// Id of what the line is about; absent if it is about nothing that is listed.
    pub(crate) subject: Option<String>,
    pub(crate) draft: Draft,
}

/// A key that must be pressed once more, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingKey {
    pub(crate) key: char,
    pub(crate) subject: Option<String>,
}

/// A page over the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    pub(crate) page: Page,
    pub(crate) load: Load,
    /// Ticket of the request that fills the page, while it is under way.
    pub(crate) ticket: Option<u64>,
    pub(crate) entries: Vec<Entry>,
    /// Index among the entries that the filter lets through.
    pub(crate) selected: usize,
    /// Id of the entry that is selected once it is there.
    pub(crate) wanted: Option<String>,
    /// First line of the detail that is shown.
    pub(crate) scroll: usize,
    /// True while the end of the detail is shown.
    pub(crate) at_end: bool,
    pub(crate) filter: String,
    pub(crate) ask: Option<Ask>,
    pub(crate) follow: Option<Follow>,
    pub(crate) pressed: Option<PendingKey>,
}

impl Overlay {
    pub(crate) fn new(page: Page) -> Self {
        let at_end = page == Page::Transcript;
        Self {
            page,
            load: Load::Loading,
            ticket: None,
            entries: Vec::new(),
            selected: 0,
            wanted: None,
            scroll: 0,
            at_end,
            filter: String::new(),
            ask: None,
            follow: None,
            pressed: None,
        }
    }

    /// Puts the entries in place. The selected entry stays selected by its id. If it is gone, nothing that was asked
    /// about it can be confirmed any more.
    pub(crate) fn fill(&mut self, entries: Vec<Entry>) {
        let wanted = self.wanted.take();
        let selected = wanted.or_else(|| self.selected_entry().map(|entry| entry.id.clone()));
        self.entries = entries;
        self.load = Load::Ready;
        let place = selected.and_then(|id| self.shown().position(|entry| entry.id == id));
        let last = self.shown().count().saturating_sub(1);
        self.selected = place.unwrap_or(self.selected).min(last);
        let subject = self.subject();
        self.pressed.take_if(|pressed| pressed.subject != subject);
    }

    /// Id of what keys act on: the task whose output is shown, or the selected entry.
    pub(crate) fn subject(&self) -> Option<String> {
        if let Some(follow) = &self.follow {
            return Some(follow.task.clone());
        }
        let entry = self.selected_entry()?;
        (!entry.id.is_empty()).then(|| entry.id.clone())
    }

    /// Entries that the filter lets through.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Entry> {
        let filter = self.filter.to_lowercase();
        self.entries
            .iter()
            .filter(move |entry| entry.label.to_lowercase().contains(&filter))
    }

    pub(crate) fn selected_entry(&self) -> Option<&Entry> {
        self.shown().nth(self.selected)
    }

    /// Moves the selection, and shows the detail of the entry from its beginning.
    pub(crate) fn select(&mut self, index: usize) {
        let last = self.shown().count().saturating_sub(1);
        self.selected = index.min(last);
        self.scroll = 0;
        self.at_end = false;
        self.follow = None;
        self.pressed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str) -> Entry {
        Entry {
            id: id.to_owned(),
            label: id.to_owned(),
            ..Entry::default()
        }
    }

    #[test]
    fn the_selection_follows_its_entry_and_stays_inside_the_list() {
        let mut overlay = Overlay::new(Page::Tasks);
        overlay.fill(vec![entry("a"), entry("b"), entry("c")]);
        overlay.select(2);
        overlay.fill(vec![entry("c"), entry("a")]);
        assert_eq!(overlay.selected_entry(), Some(&entry("c")));
        overlay.fill(Vec::new());
        assert_eq!(overlay.selected_entry(), None);
        overlay.select(9);
        assert_eq!(overlay.selected, 0);
    }

    #[test]
    fn a_filter_ignores_case() {
        let mut overlay = Overlay::new(Page::Models);
        overlay.fill(vec![entry("Anthropic/x"), entry("openai/y")]);
        overlay.filter = "anthro".to_owned();
        assert_eq!(overlay.shown().count(), 1);
    }
}
