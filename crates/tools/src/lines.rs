//! Pieces that receipts in words are made of.
//!
//! Owns their spelling only; which of them a receipt has, and in which order, stands with each tool.

use std::fmt::Write as _;

/// Adds a stream under its name, if it has anything.
pub(crate) fn section(text: &mut String, name: &str, content: &str) {
    if !content.is_empty() {
        // Writing to a string cannot fail, here and below.
        let content = content.strip_suffix('\n').unwrap_or(content);
        write!(text, "\n{name}:\n{content}").ok();
    }
}

/// What stands before the complaints where both streams are one text.
const COMPLAINTS: &str = "stderr:\n";

/// Both streams as one text, the complaints under their name.
pub(crate) fn joined(output: &str, complaints: &str) -> String {
    let mut text = output.to_owned();
    if complaints.is_empty() {
        return text;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + COMPLAINTS + complaints
}

/// The output alone out of a text of both streams. Where the complaints do not stand at its end, all of it is output.
pub(crate) fn without_complaints<'a>(text: &'a str, complaints: &str) -> &'a str {
    if complaints.is_empty() {
        return text;
    }
    let output = text.strip_suffix(complaints);
    let output = output.and_then(|rest| rest.strip_suffix(COMPLAINTS));
    output.unwrap_or(text)
}

/// Adds one line.
pub(crate) fn line(text: &mut String, line: &str) {
    write!(text, "\n{line}").ok();
}

/// A span of time as people say it: exact while it is short.
pub(crate) fn span(millis: u64) -> String {
    let seconds = millis / 1_000;
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600_000.. => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_streams_are_one_text_and_come_apart_again() {
        for (output, complaints, text) in [
            ("", "", ""),
            ("out\n", "", "out\n"),
            ("", "bad\n", "stderr:\nbad\n"),
            ("out\n", "bad\n", "out\nstderr:\nbad\n"),
            ("out", "bad", "out\nstderr:\nbad"),
        ] {
            assert_eq!(joined(output, complaints), text);
            let alone = without_complaints(text, complaints);
            assert_eq!(alone.trim_end_matches('\n'), output.trim_end_matches('\n'));
        }
        // As earlier builds stored it.
        assert_eq!(without_complaints("out\n", "bad\n"), "out\n");
    }

    #[test]
    fn a_span_is_told_in_the_unit_that_fits_it() {
        let told = [
            0, 999, 1_000, 12_345, 59_999, 60_000, 3_599_999, 3_600_000, 90_061_000,
        ]
        .map(span);
        assert_eq!(
            told,
            [
                "0 ms",
                "999 ms",
                "1.0 s",
                "12.3 s",
                "59.9 s",
                "1 min 0 s",
                "59 min 59 s",
                "1 h 0 min",
                "25 h 1 min"
            ]
        );
    }
}
