//! The text in the composer: a string with a cursor, edited by whole characters as a reader sees them.
//!
//! A long paste stands as one token in the text and is put in its place when the text is taken, so that the screen never
//! wraps megabytes. A library was tried for this: it keeps its scroll position in the widget and does not tell the height
//! of a wrapped text, so the view would not be a function of the model.

mod layout;

use holon_domain::text::{pluralize, prefix};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Most bytes of a message; the host refuses longer ones.
const MAX_BYTES: usize = holon_domain::limits::MESSAGE_BODY_BYTES;
/// A paste of more bytes than this stands as a token.
const TOKEN_FROM_BYTES: usize = 2_000;
/// A paste of more lines than this stands as a token.
const TOKEN_FROM_LINES: usize = 12;

/// Text that is being written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    text: String,
    /// Byte offset at the beginning of a character.
    cursor: usize,
    pastes: Vec<Paste>,
    /// Number of pastes ever, for their names.
    paste_count: usize,
}

/// A long paste, and the token that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Paste {
    token: String,
    text: String,
}

impl Draft {
    pub(crate) fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            cursor: text.len(),
            ..Self::default()
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or(&self.text)
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// Bytes of the message that the draft stands for.
    fn message_bytes(&self) -> usize {
        let extra = |paste: &Paste| paste.text.len().saturating_sub(paste.token.len());
        self.text.len() + self.pastes.iter().map(extra).sum::<usize>()
    }

    /// Inserts a text at the cursor. Returns the number of bytes that did not fit into a message.
    pub(crate) fn insert(&mut self, text: &str) -> usize {
        let room = MAX_BYTES.saturating_sub(self.message_bytes());
        let kept = prefix(text, room);
        self.text.insert_str(self.cursor, kept);
        self.cursor += kept.len();
        text.len() - kept.len()
    }

    /// Inserts a paste. Returns the number of bytes that did not fit into a message.
    pub(crate) fn paste(&mut self, text: &str) -> usize {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if text.len() <= TOKEN_FROM_BYTES && text.lines().count() <= TOKEN_FROM_LINES {
            return self.insert(&text);
        }
        let room = MAX_BYTES.saturating_sub(self.message_bytes() + 64);
        let kept = prefix(&text, room);
        let cut = text.len() - kept.len();
        self.paste_count += 1;
        let token = format!(
            "[paste {}: {} bytes, {}]",
            self.paste_count,
            kept.len(),
            pluralize(kept.lines().count() as u64, "line")
        );
        self.pastes.push(Paste {
            token: token.clone(),
            text: kept.to_owned(),
        });
        self.insert(&token);
        cut
    }

    /// Puts a text that was taken before back, before what was written meanwhile. A long one comes back as one token.
    pub(crate) fn give_back(&mut self, text: &str) {
        let is_empty = self.is_empty();
        let place = std::mem::take(&mut self.cursor);
        self.paste(text);
        if !is_empty {
            self.insert("\n");
        }
        self.cursor += place;
    }

    /// Takes the message that the draft stands for, and empties the draft.
    pub(crate) fn take(&mut self) -> String {
        let draft = std::mem::take(self);
        let mut text = draft.text;
        for paste in draft.pastes {
            text = text.replacen(&paste.token, &paste.text, 1);
        }
        text
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Removes the character before the cursor, or the whole token of a paste.
    pub(crate) fn backspace(&mut self) {
        let token = self
            .pastes
            .iter()
            .position(|paste| self.before().ends_with(&paste.token));
        let length = match token {
            Some(index) => self.pastes.remove(index).token.len(),
            None => self
                .before()
                .graphemes(true)
                .next_back()
                .map_or(0, str::len),
        };
        self.remove_before(length);
    }

    fn remove_before(&mut self, length: usize) {
        let start = self.cursor.saturating_sub(length);
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    pub(crate) fn delete(&mut self) {
        let length = self.after().graphemes(true).next().map_or(0, str::len);
        self.text
            .replace_range(self.cursor..self.cursor + length, "");
    }

    pub(crate) fn left(&mut self) {
        let length = self
            .before()
            .graphemes(true)
            .next_back()
            .map_or(0, str::len);
        self.cursor -= length;
    }

    pub(crate) fn right(&mut self) {
        self.cursor += self.after().graphemes(true).next().map_or(0, str::len);
    }

    /// Bytes from the beginning of the word before the cursor to the cursor.
    fn word_before(&self) -> usize {
        let before = self.before();
        let trimmed = before.trim_end();
        let start = trimmed.rfind(char::is_whitespace).map_or(0, |at| {
            at + trimmed
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8)
        });
        before.len() - start
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor -= self.word_before();
    }

    pub(crate) fn word_right(&mut self) {
        let after = self.after();
        let spaces = after.len() - after.trim_start().len();
        let word = after.trim_start().find(char::is_whitespace);
        self.cursor += word.map_or(after.len(), |word| spaces + word);
    }

    pub(crate) fn remove_word(&mut self) {
        self.remove_before(self.word_before());
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.after()
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    pub(crate) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(crate) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    pub(crate) fn remove_to_start(&mut self) {
        self.remove_before(self.cursor - self.line_start());
    }

    pub(crate) fn remove_to_end(&mut self) {
        let end = self.line_end();
        self.text.replace_range(self.cursor..end, "");
    }

    /// Moves the cursor one line up. Returns false on the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.before().get(start..).map_or(0, str::width);
        self.cursor = start - 1;
        self.cursor = self.line_start();
        self.advance(column);
        true
    }

    /// Moves the cursor one line down. Returns false on the last line.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let start = self.line_start();
        let column = self.before().get(start..).map_or(0, str::width);
        self.cursor = end + 1;
        self.advance(column);
        true
    }

    /// Moves the cursor right to this column of its line, or before the character that covers it.
    fn advance(&mut self, columns: usize) {
        let start = self.cursor;
        while self.cursor < self.line_end() {
            let before = self.cursor;
            self.right();
            let passed = self.text.get(start..self.cursor).map_or(0, str::width);
            if passed > columns {
                self.cursor = before;
                return;
            }
        }
    }

    /// Replaces a backslash at the end of the text by a line end. Returns true if there was one before the cursor.
    pub(crate) fn continue_line(&mut self) -> bool {
        if !self.before().ends_with('\\') {
            return false;
        }
        self.remove_before(1);
        self.insert("\n");
        true
    }
}

#[cfg(test)]
mod tests;
