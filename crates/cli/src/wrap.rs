//! Wraps lines of text for people at the width of a terminal. Widths are counted in columns: a Chinese, Japanese or
//! Korean character takes two.

use holon_presentation::text::{glyphs, text_width};

/// Indentation of the continuation lines of a line without columns.
const INDENT: usize = 4;
/// Largest column that counts as the second one. A gap further right is part of a text.
const MAX_INDENT: usize = 16;

/// Wraps each line that is wider than `width` columns, between words and between wide characters. Continuation lines
/// begin under the second column of a line that has one. A word that is longer than a line stays whole, so that it can be
/// copied.
pub(crate) fn wrap(words: &str, width: usize) -> String {
    let lines: Vec<String> = words.lines().map(|line| wrap_line(line, width)).collect();
    lines.join("\n")
}

fn wrap_line(line: &str, width: usize) -> String {
    if text_width(line) <= width {
        return line.to_owned();
    }
    let column = second_column(line).filter(|column| *column <= MAX_INDENT);
    let indent = " ".repeat(column.unwrap_or(INDENT));
    let (mut wrapped, mut column, mut is_begun) = (String::new(), 0, false);
    for piece in pieces(line) {
        let columns = text_width(piece.trim_end_matches(' '));
        if is_begun && columns > 0 && column + columns > width {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.push_str(&indent);
            column = indent.len();
        }
        is_begun |= columns > 0;
        wrapped.push_str(piece);
        column += text_width(piece);
    }
    wrapped.truncate(wrapped.trim_end_matches(' ').len());
    wrapped
}

/// Cuts a line where it may be broken: behind spaces, and between a wide character and its neighbours.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut before: Option<&str> = None;
    for glyph in glyphs(line) {
        let breaks = match before {
            Some(" ") => glyph != " ",
            Some(left) => glyph != " " && (text_width(left) == 2 || text_width(glyph) == 2),
            None => false,
        };
        if breaks {
            pieces.extend(line.get(start..at));
            start = at;
        }
        at += glyph.len();
        before = Some(glyph);
    }
    pieces.extend(line.get(start..));
    pieces
}

/// Returns the column after the first gap of two or more spaces behind a word.
fn second_column(line: &str) -> Option<usize> {
    let start = line.len() - line.trim_start_matches(' ').len();
    let gap = start + line.get(start..)?.find("  ")?;
    let rest = line.get(gap..)?.trim_start_matches(' ');
    let before = line.get(..line.len() - rest.len())?;
    (!rest.is_empty()).then(|| text_width(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_go_on_under_their_second_column() {
        let line = "why        it waits for the first of several things to happen";
        assert_eq!(
            wrap(line, 40),
            "why        it waits for the first of\n           several things to happen"
        );
        assert_eq!(wrap("short\nlines", 40), "short\nlines");
    }

    #[test]
    fn lines_without_columns_are_indented_and_long_words_stay_whole() {
        let path = "x".repeat(50);
        assert_eq!(
            wrap(&format!("see {path} for more of the same thing"), 40),
            format!("see\n    {path}\n    for more of the same thing")
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_may_be_parted() {
        let wrapped = wrap(&"漢字仮名交じり文".repeat(4), 41);
        for line in wrapped.lines() {
            assert!(text_width(line) <= 41, "{line}");
        }
        assert_eq!(wrapped.lines().count(), 2, "{wrapped}");
        let family = "👩\u{200d}👩\u{200d}👧";
        let wrapped = wrap(&family.repeat(30), 40);
        assert_eq!(wrapped.matches(family).count(), 30, "{wrapped}");
        assert_eq!(wrapped.lines().count(), 2, "{wrapped}");
        let marked = wrap(&"か\u{3099}".repeat(30), 40);
        assert!(!marked.contains("\u{20}\u{3099}"), "{marked}");
        assert!(
            marked.lines().all(|line| text_width(line) <= 40),
            "{marked}"
        );
    }
}
