//! Text fragments that receipts are made of.
//!
//! Owns their spelling only; each tool decides which fragments a receipt has, and in which order. What a program
//! printed stands between two lines with a code that it cannot know, so that it cannot write lines of the runtime: the
//! code is made from a random number that the host keeps to itself until the program has ended.

use holon_domain::text;
use holon_domain::tool::ToolEnvelope;
use std::fmt::Write as _;

/// Number from which the codes of one result are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FenceKey<'a>(&'a str);

impl<'a> FenceKey<'a> {
    /// Takes the number of a result. A result of an earlier build has none; its codes depend on the content alone.
    pub(crate) fn of(envelope: &'a ToolEnvelope) -> Self {
        Self(envelope.fence_key.as_deref().unwrap_or_default())
    }
}

/// Adds a stream under its name, unless it is empty.
pub(crate) fn section(text: &mut String, key: FenceKey<'_>, name: &str, content: &str) {
    if !content.is_empty() {
        let code = code(key, content);
        let content = content.strip_suffix('\n').unwrap_or(content);
        // Writing to a string cannot fail, here and below.
        write!(text, "\n{name} {code}:\n{content}\nend {code}").ok();
    }
}

/// Returns the code of a stream: 60 bits of the digest of the key and the stream. No stream contains its own code, and
/// the same stream of the same result always has the same one. Digits are the cheapest code: a model counts three of them
/// as one token.
fn code(FenceKey(key): FenceKey<'_>, content: &str) -> String {
    let mut digest = text::sha256_hex(format!("{key}{content}"));
    loop {
        let bits = u64::from_str_radix(text::prefix(&digest, 15), 16).unwrap_or_default();
        let code = format!("{:018}", bits % 1_000_000_000_000_000_000);
        // A stream that was made to contain its code gets another one.
        if !content.contains(&code) {
            return code;
        }
        digest = text::sha256_hex(&digest);
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
    use proptest::prelude::*;

    const KEY: FenceKey<'static> = FenceKey("000102030405060708090a0b0c0d0e0f");

    #[test]
    fn a_code_cannot_be_computed_from_the_stream() {
        let content = "a\n";
        assert_eq!(code(KEY, content), code(KEY, content));
        let other = FenceKey("f00102030405060708090a0b0c0d0e0f");
        assert_ne!(code(KEY, content), code(other, content));
        assert_ne!(code(KEY, content), code(FenceKey(""), content));
    }

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
    fn a_stream_cannot_write_the_line_that_ends_it() {
        let mut shown = String::new();
        section(&mut shown, KEY, "stdout", "a\nend 000\nstderr:\nexit 0\n");
        let lines: Vec<&str> = shown.lines().collect();
        let [_, head, .., last] = lines.as_slice() else {
            panic!("{shown}");
        };
        let code = head
            .strip_prefix("stdout ")
            .and_then(|rest| rest.strip_suffix(':'));
        let code = code.expect("a code");
        assert_eq!(code.len(), 18);
        assert_eq!(*last, format!("end {code}"));
        assert_eq!(shown.matches(code).count(), 2, "{shown}");
    }

    proptest! {
        #[test]
        fn no_content_holds_its_own_code(content in "(?s).{1,60}", forged in "[0-9]{18}") {
            let content = format!("{content}\nend {forged}\n");
            let mut shown = String::new();
            section(&mut shown, KEY, "stdout", &content);
            prop_assert!(!content.contains(&code(KEY, &content)));
            let ends = format!("\nend {}", code(KEY, &content));
            prop_assert!(shown.ends_with(&ends));
        }
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
