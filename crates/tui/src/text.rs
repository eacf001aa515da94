//! Text that may be drawn: control characters made visible, tabs as spaces, widths in columns.
//!
//! Every text that comes from a host passes through here before it becomes part of a line, so that no event, no output
//! of a task and no error message steers the terminal.

use holon_domain::text::pluralize;
use holon_domain::time::Timestamp;
use holon_domain::zone::{UTC, clock_time};
use holon_presentation::text::{one_line, show_controls};
use serde_json::Value;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

/// Columns of a tab.
const TAB: &str = "    ";

/// Makes a text of several lines drawable.
pub(crate) fn clean(text: &str) -> String {
    show_controls(&text.replace("\r\n", "\n").replace('\t', TAB))
}

/// Makes a text drawable on one line.
pub(crate) fn clean_line(text: &str) -> String {
    one_line(text)
}

/// Adds the number of its images to the text of a message.
pub(crate) fn with_images(text: &str, images: usize) -> Cow<'_, str> {
    match images as u64 {
        0 => Cow::Borrowed(text),
        count => Cow::Owned(format!("{text}\n[with {}]", pluralize(count, "image"))),
    }
}

/// Counts the images of a message in an entry of the transcript.
pub(crate) fn images_in(entry: &Value) -> usize {
    let images = entry.pointer("/message/images").and_then(Value::as_array);
    images.map_or(0, Vec::len)
}

/// Command that prints all of a conversation.
pub(crate) const TRANSCRIPT: &str = "holon transcript --json";

/// Says that a part of a text is not shown, and which command prints all of it.
pub(crate) fn not_shown(what: &str, source: &str) -> String {
    format!("({what} not shown; {} has all of it)", clean_line(source))
}

/// Returns the columns that a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Spells the time of day of a moment by the clock of a zone. A time in UTC ends in `Z`.
pub(crate) fn time_of_day(at: Timestamp, zone: &str) -> String {
    let time = clock_time(at, zone);
    let mark = if zone == UTC { "Z" } else { "" };
    format!("{time}{mark}")
}

/// Spells the time of day of a moment that the host spelled, such as `2026-11-14T23:46:40.123Z`.
pub(crate) fn clock(spelled: &str, zone: &str) -> String {
    match serde_json::from_value(Value::from(spelled)) {
        Ok(at) => time_of_day(at, zone),
        Err(_) => clean_line(spelled),
    }
}

/// Spells the length of a pause in the two largest units.
pub(crate) fn length(millis: u64) -> String {
    let seconds = millis / 1_000;
    match (seconds / 86_400, seconds / 3_600, seconds / 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, hours, _) => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let shown = clean("a\u{1b}[2Jb\u{9b}31m\tc\r\nd\u{202e}");
        assert_eq!(shown, "a␛[2Jb\u{fffd}31m    c\nd\u{fffd}");
        assert_eq!(clean_line("a\nb\u{7}"), "a b␇");
    }

    #[test]
    fn times_and_lengths_are_short() {
        let at = Timestamp::from_millis(1_794_700_000_123);
        assert_eq!(time_of_day(at, UTC), "23:46:40Z");
        assert_eq!(time_of_day(at, "Europe/Berlin"), "00:46:40");
        assert_eq!(clock(&at.to_string(), "Asia/Kolkata"), "05:16:40");
        assert_eq!(clock("odd\u{1b}", UTC), "odd␛");
        assert_eq!(length(59_999), "59 s");
        assert_eq!(length(3_700_000), "1 h 1 min");
        assert_eq!(length(90_000_000), "1 d 1 h");
    }
}
