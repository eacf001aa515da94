//! Text helpers: cut without breaking a character, spell counts, and estimate tokens (`tokens`).

pub use holon_tokens::{estimate as estimate_tokens, prefix as prefix_of_tokens};

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Returns the longest prefix of `text` that fits in `max_bytes` and ends on a character boundary.
#[must_use]
pub fn prefix(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the longest suffix of `text` that fits in `max_bytes` and starts on a character boundary.
#[must_use]
pub fn suffix(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// Cuts `text` to `max_bytes`, with an ellipsis if something was left out.
#[must_use]
pub fn preview(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!(
        "{}…",
        prefix(text, max_bytes.saturating_sub('…'.len_utf8()))
    )
}

/// Cuts `text` in the middle to `max_bytes`: two thirds of its beginning and one third of its end stay.
#[must_use]
pub fn cut_middle(text: &str, max_bytes: usize) -> String {
    const GAP: &str = " … ";
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let room = max_bytes.saturating_sub(GAP.len());
    let end = room / 3;
    format!("{}{GAP}{}", prefix(text, room - end), suffix(text, end))
}

/// Returns true for characters that no name may hold because they control a display: control characters, line ends and
/// tabs, and the marks that change the direction of writing, which can make one name look like another. Text on a display
/// is shown by [`crate::visible`], which knows more of them.
#[must_use]
pub const fn is_display_control(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Spells a number of things: `1 model round`, `2 model rounds`.
#[must_use]
pub fn pluralize(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Longer names are not compared: they are no typing errors, and the comparison takes quadratic time.
const LONGEST_NAME: usize = 200;

/// Returns the known name that `asked` is most likely a misspelling of, if one is near enough.
#[must_use]
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if asked.len() > LONGEST_NAME {
        return None;
    }
    let by_distance = known.into_iter().map(|name| (distance(asked, name), name));
    let (edits, name) = by_distance.min()?;
    (edits <= name.len().div_ceil(3)).then_some(name)
}

/// Counts the edits (insert, delete, replace) that turn `left` into `right`. Keeps one row of the table at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

/// Returns the SHA-256 of a text or of bytes, in hex.
#[must_use]
pub fn sha256_hex(content: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(content.as_ref()))
}

/// Returns bytes in lower-case hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_in_the_middle_keeps_its_beginning_and_its_end() {
        for (text, most, cut) in [
            ("short", 5, "short"),
            ("abcdefghijklmnop", 14, "abcdef … nop"),
            ("äöüäöüäöüäöü", 15, "äöü … ü"),
        ] {
            let found = cut_middle(text, most);
            assert!(found.len() <= most, "{found}");
            assert_eq!(found, cut);
        }
    }

    #[test]
    fn cuts_never_split_a_character() {
        let text = "aé漢🦀z";
        for max in 0..=text.len() + 2 {
            assert!(text.starts_with(prefix(text, max)) && prefix(text, max).len() <= max);
            assert!(text.ends_with(suffix(text, max)) && suffix(text, max).len() <= max);
        }
        assert_eq!(prefix(text, 2), "a");
        assert_eq!(suffix(text, 4), "z");
    }

    #[test]
    fn a_preview_marks_what_it_left_out() {
        assert_eq!(preview("short", 5), "short");
        assert_eq!(preview("longer text", 8), "longe…");
    }

    #[test]
    fn what_steers_a_display_is_told_from_what_stands_on_it() {
        for c in "\0\t\n\r\u{1b}\u{7f}\u{80}\u{9b}\u{9f}\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}".chars() {
            assert!(is_display_control(c), "{c:?}");
        }
        for c in " a~\u{a0}é\u{200b}\u{200d}\u{2010}\u{202f}\u{2065}漢🦀".chars() {
            assert!(!is_display_control(c), "{c:?}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        for (left, right, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("model.defualt", "model.default", 2),
        ] {
            assert_eq!(distance(left, right), edits, "{left:?} to {right:?}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_finds_its_name_and_nonsense_finds_none() {
        let known = ["anthropic", "openai", "openai-codex"];
        assert_eq!(nearest("antropic", known), Some("anthropic"));
        assert_eq!(nearest("opanai", known), Some("openai"));
        assert_eq!(nearest("codex-openai", known), None);
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("x", []), None);
        assert_eq!(nearest(&"openai".repeat(100), known), None);
    }
}
