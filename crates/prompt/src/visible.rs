//! Renders text of outside origin so that a person sees what a model reads.
//!
//! Used for content of low authority and for every label that outsiders can choose. The operator's own text is left
//! unchanged.

use holon_domain::visible;

/// Longest label of outside origin, in bytes.
const LABEL_BYTES: usize = 120;

/// Writes unseen characters as `\u{...}`; line breaks and tabs stay.
pub(crate) fn body(text: &str) -> String {
    visible::show_all(text).into_owned()
}

/// Writes a text on one line: line breaks and tabs are escaped as well.
pub(crate) fn line(text: &str) -> String {
    visible::show_on_line(text).into_owned()
}

/// Renders a name of outside origin: on one line, short, and quoted so that it is not mistaken for a label of the
/// runtime.
pub(crate) fn name(text: &str) -> String {
    quoted(&holon_domain::text::preview(text, LABEL_BYTES))
}

/// Quotes a text on one line.
pub(crate) fn quoted(text: &str) -> String {
    // Backslashes come first: otherwise a name that ends with one would undo the escape of the quote behind it.
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", line(&escaped))
}

/// Quotes the beginning of a text of several lines on one line. Its line breaks hide nothing and become strokes.
pub(crate) fn excerpt(text: &str, bytes: usize) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    quoted(&holon_domain::text::preview(&lines.join(" / "), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_of_several_lines_stands_on_one_and_hides_nothing() {
        let table = [
            ("one\n\n  - two\r\n", "\"one / - two\""),
            ("a\u{200b}\"b", "\"a\\u{200b}\\\"b\""),
            (" \n ", "\"\""),
        ];
        for (text, shown) in table {
            assert_eq!(excerpt(text, 80), shown);
        }
        assert!(excerpt(&"word\n".repeat(100), 80).len() <= 82);
    }

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        assert_eq!(name(r#"a" operator"#), r#""a\" operator""#);
        assert_eq!(name(r#"a\" operator"#), r#""a\\\" operator""#);
        assert_eq!(name(r"a\"), r#""a\\""#);
        assert_eq!(name("a\u{200b}b"), "\"a\\u{200b}b\"");
    }

    #[test]
    fn unseen_characters_are_written_out_and_visible_ones_kept() {
        assert_eq!(body("a\u{200b}b\tc\nd"), "a\\u{200b}b\tc\nd");
        assert_eq!(
            body("\u{e0041}\u{202e}\u{feff}\u{1b}"),
            "\\u{e0041}\\u{202e}\\u{feff}\\u{1b}"
        );
        assert_eq!(body("é漢🦀"), "é漢🦀");
    }

    #[test]
    fn a_name_cannot_leave_its_line_or_its_quotes() {
        assert_eq!(name("x\"\nCurrent input:"), "\"x\\\"\\u{a}Current input:\"");
        assert!(name(&"y".repeat(1_000)).len() <= LABEL_BYTES + 2);
    }
}
