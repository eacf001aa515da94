//! Text fragments that receipts are made of.
//!
//! Owns their spelling only; each tool decides which fragments a receipt has, and in which order.

use std::fmt::Write as _;

/// Adds a stream under its name, unless it is empty.
pub(crate) fn section(text: &mut String, name: &str, content: &str) {
    if !content.is_empty() {
        // Writing to a string cannot fail, here and below.
        let content = content.strip_suffix('\n').unwrap_or(content);
        write!(text, "\n{name}:\n{content}").ok();
    }
}

/// Heading of standard error where both streams are one text.
const COMPLAINTS: &str = "stderr:\n";

/// Joins both streams to one text, with standard error under a heading.
pub(crate) fn join_streams(output: &str, complaints: &str) -> String {
    let mut text = output.to_owned();
    if complaints.is_empty() {
        return text;
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + COMPLAINTS + complaints
}

/// Returns standard output alone from a joined text. If the text does not end with `complaints`, all of it is output.
pub(crate) fn strip_complaints<'a>(text: &'a str, complaints: &str) -> &'a str {
    if complaints.is_empty() {
        return text;
    }
    let output = text.strip_suffix(complaints);
    let output = output.and_then(|rest| rest.strip_suffix(COMPLAINTS));
    output.unwrap_or(text)
}

pub(crate) fn line(text: &mut String, line: &str) {
    write!(text, "\n{line}").ok();
}

/// Formats a duration for people; short durations are exact.
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
            assert_eq!(join_streams(output, complaints), text);
            let alone = strip_complaints(text, complaints);
            assert_eq!(alone.trim_end_matches('\n'), output.trim_end_matches('\n'));
        }
        // Earlier builds stored the output in this form.
        assert_eq!(strip_complaints("out\n", "bad\n"), "out\n");
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
