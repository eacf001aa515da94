//! The text in the composer: a string with a cursor, edited by whole characters as a reader sees them.
//!
//! A long paste stands as one token in the text and is put in its place when the text is taken, so that the screen never
//! wraps megabytes. The cursor never stands inside a token, and a token goes as one character. A library was tried for this: it keeps its scroll position in the widget and does not tell the height
//! of a wrapped text, so the view would not be a function of the model.

mod layout;

use holon_domain::text::{pluralize, prefix};
use std::ops::Range;
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
    /// Pastes in the order of their tokens.
    pastes: Vec<Paste>,
    /// Number of pastes ever, for their names.
    paste_count: usize,
}

/// A long paste, and the token that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Paste {
    /// Byte offset of the token.
    at: usize,
    token: String,
    text: String,
}

impl Paste {
    const fn end(&self) -> usize {
        self.at + self.token.len()
    }
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
        self.replace(self.cursor..self.cursor, kept);
        text.len() - kept.len()
    }

    /// Replaces a part of the text, and puts the cursor behind it. A token that is not whole afterwards is no token.
    fn replace(&mut self, range: Range<usize>, text: &str) {
        self.pastes
            .retain(|paste| paste.end() <= range.start || paste.at >= range.end);
        for paste in &mut self.pastes {
            if paste.at >= range.end {
                paste.at = paste.at - range.len() + text.len();
            }
        }
        self.cursor = range.start + text.len();
        self.text.replace_range(range, text);
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
        let at = self.cursor;
        self.insert(&token);
        let place = self.pastes.partition_point(|paste| paste.at < at);
        self.pastes.insert(
            place,
            Paste {
                at,
                token,
                text: kept.to_owned(),
            },
        );
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
        // From the last one on, so that the offsets of the others hold.
        for paste in draft.pastes.into_iter().rev() {
            text.replace_range(paste.at..paste.end(), &paste.text);
        }
        text
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes of the character before the cursor, or of the whole token.
    fn unit_before(&self) -> usize {
        let token = self.pastes.iter().find(|paste| paste.end() == self.cursor);
        let glyph = || self.before().graphemes(true).next_back();
        token.map_or_else(
            || glyph().map_or(0, str::len),
            |paste| self.cursor - paste.at,
        )
    }

    /// Bytes of the character after the cursor, or of the whole token.
    fn unit_after(&self) -> usize {
        let token = self.pastes.iter().find(|paste| paste.at == self.cursor);
        let glyph = || self.after().graphemes(true).next();
        token.map_or_else(
            || glyph().map_or(0, str::len),
            |paste| paste.end() - self.cursor,
        )
    }

    pub(crate) fn backspace(&mut self) {
        self.remove_before(self.unit_before());
    }

    fn remove_before(&mut self, length: usize) {
        let start = self.cursor.saturating_sub(length);
        self.replace(start..self.cursor, "");
    }

    pub(crate) fn delete(&mut self) {
        self.replace(self.cursor..self.cursor + self.unit_after(), "");
    }

    pub(crate) fn left(&mut self) {
        self.cursor -= self.unit_before();
    }

    pub(crate) fn right(&mut self) {
        self.cursor += self.unit_after();
    }

    /// Beginning of the word before the cursor. A token is a word.
    fn word_start(&self) -> usize {
        let trimmed = self.before().trim_end();
        let token = |paste: &&Paste| paste.end() <= trimmed.len();
        if let Some(paste) = self.pastes.iter().rev().find(token)
            && paste.end() == trimmed.len()
        {
            return paste.at;
        }
        let after_space = trimmed
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, c)| at + c.len_utf8());
        let after_token = self.pastes.iter().rev().find(token).map_or(0, Paste::end);
        after_space.max(after_token)
    }

    /// End of the word after the cursor. A token is a word.
    fn word_end(&self) -> usize {
        let after = self.after();
        let start = self.cursor + after.len() - after.trim_start().len();
        let token = self.pastes.iter().find(|paste| paste.at >= start);
        if let Some(paste) = token.filter(|paste| paste.at == start) {
            return paste.end();
        }
        let space = after.trim_start().find(char::is_whitespace);
        let before_space = space.map_or(self.text.len(), |space| start + space);
        token.map_or(before_space, |paste| before_space.min(paste.at))
    }

    pub(crate) fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    pub(crate) fn word_right(&mut self) {
        self.cursor = self.word_end();
    }

    pub(crate) fn remove_word(&mut self) {
        self.replace(self.word_start()..self.cursor, "");
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
        self.replace(self.cursor..self.line_end(), "");
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
