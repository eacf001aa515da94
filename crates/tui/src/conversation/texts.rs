//! Texts that events do not carry, by id: the beginning of each, with the length of the whole.

use crate::text::{TRANSCRIPT, not_shown};
use holon_domain::text::prefix;
use std::collections::{BTreeMap, VecDeque};

/// Most texts of messages and of briefs that are kept, each.
const TEXTS_KEPT: usize = 512;
/// Bytes of a brief or message that are kept.
pub(super) const TEXT_BYTES: usize = 32 << 10;

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    text: String,
    /// Bytes of the whole text.
    bytes: usize,
}

impl Kept {
    pub(crate) fn of(text: &str) -> Self {
        Self {
            text: prefix(text, TEXT_BYTES).to_owned(),
            bytes: text.len(),
        }
    }

    /// Returns at most `max_bytes` of the text, with a note of how much of the whole is left out.
    pub(crate) fn shown(&self, max_bytes: usize) -> String {
        let shown = prefix(&self.text, max_bytes);
        let left = self.bytes - shown.len();
        if left == 0 {
            return shown.trim_end().to_owned();
        }
        let note = not_shown(&format!("{left} more bytes are"), TRANSCRIPT);
        format!("{shown}…\n{note}")
    }
}

/// Texts by id, the oldest of which are dropped.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    by_id: BTreeMap<String, Kept>,
    order: VecDeque<String>,
}

impl Texts {
    pub(super) fn get(&self, id: &str) -> Option<&Kept> {
        self.by_id.get(id)
    }

    pub(super) fn learn(&mut self, id: &str, text: &str) {
        if self.by_id.insert(id.to_owned(), Kept::of(text)).is_none() {
            self.order.push_back(id.to_owned());
        }
        while self.order.len() > TEXTS_KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.by_id.remove(&oldest);
            }
        }
    }
}
