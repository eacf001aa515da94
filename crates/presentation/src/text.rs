//! Text on a display: visible control characters, cuts with a note, and the width of characters.
//!
//! Every text of an event passes through here before it becomes part of an item.

use holon_domain::text::{prefix, suffix};
use holon_domain::visible::{is_ordinary, is_unseen, replace_hidden};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Bytes of the body of an item. Texts of events are shorter; this bounds those of a newer host.
pub const BODY_BYTES: usize = 4_000;
/// Bytes of a title.
pub const TITLE_BYTES: usize = 120;
/// Bytes of a summary line.
pub const SUMMARY_BYTES: usize = 300;

/// Replaces control characters, apart from line ends and tabs, by their pictures, and other unseen characters by the
/// replacement character. Unseen ones that a script or an emoji needs stay.
#[must_use]
pub fn show_controls(words: &str) -> String {
    replace_hidden(words, is_hidden, |c, shown| shown.push(picture(c))).into_owned()
}

fn is_hidden(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_unseen(c)
}

/// Returns the character that stands for a hidden one. The second set of control characters, which includes an eight-bit
/// escape, has no pictures.
fn picture(c: char) -> char {
    match c {
        '\u{7f}' => '\u{2421}',
        c if u32::from(c) < 0x20 => {
            char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => char::REPLACEMENT_CHARACTER,
    }
}

/// Shows a text that arrives in pieces like `show_controls` shows the whole. An unseen character at the end of a piece is
/// held back, because the next one decides if it is ordinary.
#[derive(Debug, Default)]
pub struct ShownPieces {
    before: Option<char>,
    held: Option<char>,
}

impl ShownPieces {
    /// Creates the state before the first piece.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            before: None,
            held: None,
        }
    }

    /// Takes a piece and returns what can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len() + 4);
        for c in piece.chars() {
            self.release(Some(c), &mut shown);
            if is_hidden(c) {
                self.held = Some(c);
            } else {
                shown.push(c);
                self.before = Some(c);
            }
        }
        shown
    }

    /// Ends the text and returns what was held back.
    pub fn finish(&mut self) -> String {
        let mut shown = String::new();
        self.release(None, &mut shown);
        self.before = None;
        shown
    }

    fn release(&mut self, after: Option<char>, shown: &mut String) {
        if let Some(held) = self.held.take() {
            let stays = is_ordinary(self.before, held, after);
            shown.push(if stays { held } else { picture(held) });
            self.before = Some(held);
        }
    }
}

/// Makes control characters visible and writes the text on one line.
#[must_use]
pub fn one_line(words: &str) -> String {
    let words = words.replace("\r\n", "\n");
    let line: Vec<&str> = words
        .split(['\n', '\t', '\u{2028}', '\u{2029}'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    show_controls(&line.join(" "))
}

/// Makes control characters visible, and cuts a long text with a note of how much is left out.
#[must_use]
pub fn cut(words: &str, max_bytes: usize) -> String {
    let words = show_controls(words.replace("\r\n", "\n").trim_end());
    if words.len() <= max_bytes {
        return words;
    }
    let kept = prefix(&words, max_bytes);
    let left = words.len() - kept.len();
    format!("{}…\n({left} more bytes are not shown)", kept.trim_end())
}

/// Makes control characters visible, and keeps the end of a long text with a note of how much stands before it.
pub(crate) fn cut_front(words: &str, dropped: u64, max_bytes: usize) -> String {
    let kept = suffix(words, max_bytes);
    let left = dropped + (words.len() - kept.len()) as u64;
    let shown = show_controls(kept);
    if left == 0 {
        return shown;
    }
    format!("({left} bytes stand before)\n…{shown}")
}

/// Writes a text on one bounded line.
#[must_use]
pub fn cut_line(words: &str, max_bytes: usize) -> String {
    holon_domain::text::preview(&one_line(words), max_bytes)
}

/// Cuts a text into characters as a reader sees them: a letter with its marks, or an emoji that several code points make.
pub fn glyphs(text: &str) -> impl Iterator<Item = &str> {
    text.graphemes(true)
}

/// Returns the columns that a text takes on a terminal.
#[must_use]
pub fn text_width(text: &str) -> usize {
    text.width()
}

/// Cuts a text so that it takes at most `columns` columns, between characters as a reader sees them.
#[must_use]
pub fn cut_columns(text: &str, columns: usize) -> String {
    let mut used = 0;
    let fits = |glyph: &&str| {
        used += text_width(glyph);
        used <= columns
    };
    glyphs(text).take_while(fits).collect()
}

/// Adds spaces to a text until it takes `columns` columns.
#[must_use]
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text_width(text));
    format!("{text}{:missing$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            show_controls("a\u{1b}[31mred\u{7}\u{9b}2J\r\n\tb"),
            "a␛[31mred␇\u{fffd}2J␍\n\tb"
        );
        assert_eq!(
            show_controls("user\u{202e}nimda\u{2066}\u{200f}é漢"),
            "user\u{fffd}nimda\u{fffd}\u{fffd}é漢"
        );
        assert_eq!(one_line("a\r\nb\tc\u{1b}[2J\n\n"), "a b c␛[2J");
    }

    #[test]
    fn unseen_characters_are_shown_unless_a_script_or_an_emoji_needs_them() {
        for (text, shown) in [
            ("pass\u{200b}word", "pass\u{fffd}word"),
            ("a\u{2028}b\u{2029}c", "a\u{fffd}b\u{fffd}c"),
            ("hi\u{e0069}\u{e0067}", "hi\u{fffd}\u{fffd}"),
            ("a\u{2060}b\u{feff}", "a\u{fffd}b\u{fffd}"),
            (
                "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
                "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            ),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
        ] {
            assert_eq!(show_controls(text), shown, "{text:?}");
            let mut pieces = ShownPieces::new();
            let mut in_pieces: String = text
                .chars()
                .map(|c| pieces.push(c.encode_utf8(&mut [0; 4])))
                .collect();
            in_pieces += &pieces.finish();
            assert_eq!(in_pieces, shown, "{text:?} in pieces");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_how_much_is_left_out() {
        assert_eq!(cut("short\r\n", 5), "short");
        assert_eq!(cut("漢字仮名", 7), "漢字…\n(6 more bytes are not shown)");
        assert_eq!(cut_front("abcdef", 0, 6), "abcdef");
        assert_eq!(cut_front("abcdef", 4, 2), "(8 bytes stand before)\n…ef");
    }

    #[test]
    fn widths_follow_the_terminal() {
        for (text, columns) in [
            ("plain", 5),
            ("漢字", 4),
            ("한국어", 6),
            ("カナ", 4),
            ("ｗｉｄｅ", 8),
            ("é", 1),
            ("e\u{301}", 1),
            ("🦀!", 3),
            ("──┐", 3),
            ("✓ ✗ …", 5),
            ("👩\u{200d}👩\u{200d}👧", 2),
            ("❤\u{fe0f}", 2),
            ("👍🏽", 2),
            ("", 0),
        ] {
            assert_eq!(text_width(text), columns, "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_and_padded_by_columns() {
        assert_eq!(cut_columns("漢字仮名", 5), "漢字");
        assert_eq!(cut_columns("ab", 0), "");
        assert_eq!(cut_columns("a👩\u{200d}👩\u{200d}👧b", 2), "a");
        assert_eq!(
            cut_columns("a👩\u{200d}👩\u{200d}👧b", 3),
            "a👩\u{200d}👩\u{200d}👧"
        );
        assert_eq!(cut_columns("か\u{3099}か", 3), "か\u{3099}");
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(pad("long", 2), "long");
    }
}
