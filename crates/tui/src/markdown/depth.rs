//! Bounds how deep one line can nest: a parser looks at every open list and quote for each line that follows.

use pulldown_cmark::{CowStr, Event};
use std::borrow::Cow;
use std::ops::Range;

/// Marks of lists and quotes that count at the beginning of a line.
const MARKS: usize = 32;

/// A text in which no line has more marks than count.
#[derive(Debug)]
pub(super) struct BoundedText<'a> {
    text: Cow<'a, str>,
    /// Places of the backslashes that were added to the text.
    added: Vec<usize>,
}

impl<'a> BoundedText<'a> {
    /// Takes the meaning of the marks beyond the bound by a backslash, so that they are shown as they are written.
    pub(super) fn new(text: &'a str) -> Self {
        let mut added = Vec::new();
        let mut start = 0;
        for line in text.split('\n') {
            added.extend(surplus(line).map(|at| start + at));
            start += line.len() + 1;
        }
        if added.is_empty() {
            let text = Cow::Borrowed(text);
            return Self { text, added };
        }
        let mut bounded = String::with_capacity(text.len() + added.len());
        let mut taken = 0;
        for place in &mut added {
            bounded.push_str(text.get(taken..*place).unwrap_or_default());
            taken = *place;
            *place = bounded.len();
            bounded.push('\\');
        }
        bounded.push_str(text.get(taken..).unwrap_or_default());
        let text = Cow::Owned(bounded);
        Self { text, added }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Takes the backslashes that were added out of an event that holds them as text. They are text in a block of code
    /// or HTML, and only a parser knows what is in one.
    pub(super) fn as_written<'b>(&self, event: Event<'b>, place: &Range<usize>) -> Event<'b> {
        match event {
            Event::Text(text) => Event::Text(self.written(text, place)),
            Event::Html(html) => Event::Html(self.written(html, place)),
            other => other,
        }
    }

    fn written<'b>(&self, text: CowStr<'b>, place: &Range<usize>) -> CowStr<'b> {
        let from = self.added.partition_point(|at| *at < place.start);
        let to = self.added.partition_point(|at| *at < place.end);
        let inside = self.added.get(from..to).unwrap_or_default();
        if inside.is_empty() || text.len() != place.len() {
            return text;
        }
        let mut written = text.into_string();
        for at in inside.iter().rev() {
            written.remove(at - place.start);
        }
        written.into()
    }
}

/// Finds the character by which the first mark beyond the bound is told from a text.
fn surplus(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut at = 0;
    for _ in 0..MARKS {
        at = mark(bytes, at)? + 1;
    }
    let first = mark(bytes, at)?;
    // A line of such signs alone is a rule.
    let is_rule = |sign: u8| bytes.iter().all(|byte| [sign, b' '].contains(byte));
    (!is_rule(b'-') && !is_rule(b'*')).then_some(first)
}

/// Finds the last byte of the mark that follows after spaces.
fn mark(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let at = from + rest.iter().position(|byte| *byte != b' ')?;
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    let last = at + digits;
    let is_apart = bytes.get(last + 1).is_none_or(|byte| *byte == b' ');
    let is_mark = match bytes.get(last)? {
        b'>' => digits == 0,
        b'-' | b'+' | b'*' => digits == 0 && is_apart,
        b'.' | b')' => digits > 0 && is_apart,
        _ => false,
    };
    is_mark.then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marks_beyond_the_bound_lose_their_meaning() {
        for (mark, escaped) in [
            ("> ", "\\> "),
            (">", "\\>"),
            ("- ", "\\- "),
            ("  + ", "  \\+ "),
            ("* ", "\\* "),
            ("12. ", "12\\. "),
            ("1) ", "1\\) "),
        ] {
            let fits = format!("a\n{}x\n", mark.repeat(MARKS));
            assert_eq!(BoundedText::new(&fits).text(), fits, "{mark}");
            let more = format!("a\n{}x\n> b", mark.repeat(MARKS + 2));
            let expected = format!("a\n{}{escaped}{mark}x\n> b", mark.repeat(MARKS));
            assert_eq!(BoundedText::new(&more).text(), expected, "{mark}");
        }
        for same in [
            "- ".repeat(200),
            "-".repeat(200),
            "*".repeat(200),
            "1".repeat(200),
        ] {
            assert_eq!(BoundedText::new(&same).text(), same);
        }
    }
}
