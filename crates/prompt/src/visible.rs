//! Escapes characters that a person would not see and a model would read.
//!
//! Used for content of low authority and for every label that outsiders can choose. The operator's own text is left
//! unchanged.

/// Longest label of outside origin, in bytes.
const LABEL_BYTES: usize = 120;

/// Writes unseen characters as `\u{...}`; line breaks and tabs stay.
pub(crate) fn body(text: &str) -> String {
    escape(text, |c| c != '\n' && c != '\t' && is_unseen(c))
}

/// Writes a text on one line: line breaks and tabs are escaped as well.
pub(crate) fn line(text: &str) -> String {
    escape(text, is_unseen)
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

fn escape(text: &str, hidden: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) {
            shown.extend(c.escape_unicode())
        } else {
            shown.push(c)
        }
    }
    shown
}

/// Returns true for control characters, and for characters that take no space or change the reading order.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{180b}'..='\u{180f}'
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // fillers without ink
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' // zero width, separators, direction
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' // variation selectors, used to carry bytes
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}' // tags, an unseen alphabet
        )
}

#[cfg(test)]
mod tests {
    use super::*;

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
