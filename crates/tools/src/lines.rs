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
