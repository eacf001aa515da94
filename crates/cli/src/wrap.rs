//! Wraps lines of text for people at the width of a terminal.

/// Indentation of the continuation lines of a line without columns.
const INDENT: usize = 4;
/// Largest column that counts as the second one. A gap further right is part of a text.
const MAX_INDENT: usize = 16;

/// Wraps each line that is longer than `width` characters, between words. Continuation lines begin under the second
/// column of a line that has one. A word that is longer than a line stays whole, so that it can be copied.
pub(crate) fn wrap(words: &str, width: usize) -> String {
    let lines: Vec<String> = words.lines().map(|line| wrap_line(line, width)).collect();
    lines.join("\n")
}

fn wrap_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let column = second_column(line).filter(|column| *column <= MAX_INDENT);
    let indent = " ".repeat(column.unwrap_or(INDENT));
    let (mut wrapped, mut column, mut is_begun) = (String::new(), 0, false);
    for piece in line.split_inclusive(' ') {
        let length = piece.trim_end_matches(' ').chars().count();
        if is_begun && length > 0 && column + length > width {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.push_str(&indent);
            column = indent.len();
        }
        is_begun |= length > 0;
        wrapped.push_str(piece);
        column += piece.chars().count();
    }
    wrapped.truncate(wrapped.trim_end_matches(' ').len());
    wrapped
}

/// Returns the column after the first gap of two or more spaces behind a word.
fn second_column(line: &str) -> Option<usize> {
    let start = line.len() - line.trim_start_matches(' ').len();
    let gap = start + line.get(start..)?.find("  ")?;
    let rest = line.get(gap..)?.trim_start_matches(' ');
    let before = line.get(..line.len() - rest.len())?;
    (!rest.is_empty()).then(|| before.chars().count())
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
}
