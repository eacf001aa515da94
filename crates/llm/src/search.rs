//! Finds a secret in a text, also with JSON escapes between its characters.
//!
//! Pure. A text is read in units: one character with the backslashes before it, or `\u` and four hex digits. Escapes of
//! any depth read the same, so a key inside JSON inside JSON is found without parsing either.

use std::ops::Range;

/// A secret, prepared for searching.
pub(crate) struct Needle {
    text: String,
    units: Vec<char>,
}

impl Needle {
    /// Prepares a secret for searching.
    pub(crate) fn new(text: &str) -> Self {
        let units = Units(text).map(|(unit, _)| unit).collect();
        Self {
            text: text.to_owned(),
            units,
        }
    }
}

/// Iterates over the units of a text: the character each stands for, and its length in bytes.
struct Units<'a>(&'a str);

impl Iterator for Units<'_> {
    type Item = (char, usize);

    fn next(&mut self) -> Option<(char, usize)> {
        let escapes = self.0.bytes().take_while(|byte| *byte == b'\\').count();
        let rest = self.0.get(escapes..)?;
        let unit = match (rest.chars().next(), escapes) {
            (None, 0) => return None,
            (None, _) => ('\\', escapes),
            (Some(plain), 0) => (plain, plain.len_utf8()),
            (Some(escaped), _) => match decode_unicode_escape(rest) {
                Some(code) => (code, escapes + 5),
                None => (escaped, escapes + escaped.len_utf8()),
            },
        };
        self.0 = self.0.get(unit.1..)?;
        Some(unit)
    }
}

/// Decodes the character that `uXXXX` spells.
fn decode_unicode_escape(text: &str) -> Option<char> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

/// Result of comparing a secret with a text at one position.
enum Match {
    /// The whole secret, with its length in bytes including escapes.
    CompleteBody(usize),
    /// The text ends inside the secret.
    Partial,
    No,
}

fn compare(text: &str, needle: &Needle) -> Match {
    let mut units = Units(text);
    let mut bytes = 0;
    for wanted in &needle.units {
        let rest = units.0;
        match units.next() {
            Some((unit, taken)) if unit == *wanted => bytes += taken,
            Some(_) if !is_cut_escape(rest) => return Match::No,
            Some(_) | None => return Match::Partial,
        }
    }
    Match::CompleteBody(bytes)
}

/// Returns true if a text ends inside the escape it begins with.
fn is_cut_escape(text: &str) -> bool {
    let escaped = text.trim_start_matches('\\');
    let digits = escaped.strip_prefix('u');
    let is_short = |digits: &str| digits.len() < 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    escaped.len() < text.len() && (escaped.is_empty() || digits.is_some_and(is_short))
}

/// Finds all occurrences of the secrets in a text, in order and merged where they touch.
pub(crate) fn spans(text: &str, needles: &[Needle]) -> Vec<Range<usize>> {
    let escaped = text.contains('\\');
    let mut found: Vec<Range<usize>> = Vec::new();
    for needle in needles.iter().filter(|needle| !needle.units.is_empty()) {
        if escaped {
            found.extend(find_escaped(text, needle));
        } else {
            let plain = text.match_indices(&needle.text);
            found.extend(plain.map(|(at, hit)| at..at + hit.len()));
        }
    }
    found.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for span in found {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

fn find_escaped(text: &str, needle: &Needle) -> Vec<Range<usize>> {
    let (mut spans, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..)
        && let Some((_, step)) = Units(rest).next()
    {
        at += match compare(rest, needle) {
            Match::CompleteBody(bytes) => {
                spans.push(at..at + bytes);
                bytes
            }
            Match::Partial | Match::No => step,
        };
    }
    spans
}

/// Finds where a text ends in an incomplete secret.
pub(crate) fn find_partial_at_end(text: &str, needle: &Needle) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some((_, step)) = Units(rest).next()
    {
        if matches!(compare(rest, needle), Match::Partial) {
            return Some(at);
        }
        at += step;
    }
    None
}

/// Returns the length of a text without an escape at its end that more text could complete.
pub(crate) fn whole_escapes(text: &str) -> usize {
    let digits = text
        .trim_end_matches(|letter: char| letter.is_ascii_hexdigit())
        .len();
    let is_open = |head: &str, tail: &str| tail.len() < 4 && head.ends_with("\\u");
    let head = match (text.get(..digits), text.get(digits..)) {
        (Some(head), Some(tail)) if is_open(head, tail) => head.trim_end_matches('u'),
        _ => text,
    };
    head.trim_end_matches('\\').len()
}

/// Removes spans from a text that starts `offset` bytes into the text they were found in. The placeholder is put where
/// a span begins; for a span that began before this text nothing is inserted.
pub(crate) fn remove_spans(
    text: &str,
    offset: usize,
    spans: &[Range<usize>],
    placeholder: &str,
) -> String {
    let (mut kept, mut at) = (String::new(), 0);
    for span in spans {
        if span.end <= offset || span.start >= offset + text.len() {
            continue;
        }
        let start = span.start.saturating_sub(offset);
        kept.push_str(text.get(at..start).unwrap_or_default());
        if span.start >= offset {
            kept.push_str(placeholder);
        }
        at = (span.end - offset).min(text.len());
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-canary/8d1f0c";

    fn hidden(text: &str) -> String {
        let spans = spans(text, &[Needle::new(KEY)]);
        remove_spans(text, 0, &spans, "*")
    }

    #[test]
    fn a_secret_is_found_plain_and_behind_escapes_of_any_depth() {
        for (text, left) in [
            (KEY.to_owned(), "*"),
            (format!("<{KEY}{KEY}>"), "<*>"),
            (r"a \n sk-canary\/8d1f0c b".to_owned(), r"a \n * b"),
            (r"\u0073k-canary/8d1f0\u0063!".to_owned(), "*!"),
            (
                r#"{\"k\":\"\\u0073k-canary\\\/8d1f0c\"}"#.to_owned(),
                r#"{\"k\":\"*\"}"#,
            ),
            (r"sk-canary\".to_owned(), r"sk-canary\"),
            ("sk-canary/8d1f0".to_owned(), "sk-canary/8d1f0"),
            (r"\u007 \uzzzz é\".to_owned(), r"\u007 \uzzzz é\"),
        ] {
            assert_eq!(hidden(&text), left, "{text}");
        }
    }

    #[test]
    fn a_secret_with_a_backslash_in_it_is_found_as_it_is_and_escaped() {
        let needle = [Needle::new(r"pass\word\1")];
        for text in [r"pass\word\1", r"pass\\word\\1"] {
            let found = spans(text, &needle);
            assert_eq!(remove_spans(text, 0, &found, "*"), "*", "{text}");
        }
    }

    #[test]
    fn secrets_that_overlap_leave_nothing_of_either() {
        let needles = [
            Needle::new("abcdef"),
            Needle::new("cdefgh"),
            Needle::new("cd"),
        ];
        assert_eq!(spans("xabcdefghx cd", &needles), [1..9, 11..13]);
    }

    #[test]
    fn the_beginning_of_a_secret_is_seen_where_a_text_was_cut() {
        let needle = Needle::new(KEY);
        for (text, at) in [
            ("key sk-can", Some(4)),
            (r"key \u0073k-", Some(4)),
            (r"key \u0073k\u00", Some(4)),
            (r"key \u0073k\", Some(4)),
            ("sk-sk-", Some(3)),
            ("key sk-canary/8d1f0c", None),
            ("nothing", None),
            ("", None),
        ] {
            assert_eq!(find_partial_at_end(text, &needle), at, "{text}");
        }
    }
}
