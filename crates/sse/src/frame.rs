//! One frame of an event stream, and how frames and comments are written.
//!
//! Whatever text a frame holds, the bytes written for it are one frame: line ends cannot break a field in two.

use bytes::BufMut;

/// The fields between two empty lines of a stream.
///
/// A frame with data is an event. A frame without data delivers nothing to read, but its id still moves the reader's
/// position and its retry hint still counts; servers open a stream with such a frame.
///
/// The parser gives `Frame<String>`; to write one, `Frame<&str>` borrows what it sends.
///
/// ```
/// use holon_sse::Frame;
///
/// let mut bytes = Vec::new();
/// let frame = Frame { id: Some("7"), event: Some("turn_started"), data: Some("{}"), retry_ms: None };
/// frame.write(&mut bytes);
/// assert_eq!(bytes, b"id: 7\nevent: turn_started\ndata: {}\n\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame<T = String> {
    /// Position of this frame, for `Last-Event-ID`. `None` leaves the reader's position where it was.
    pub id: Option<T>,
    /// Event name. `None`, like an empty name on the wire, means the standard's default, `message`.
    pub event: Option<T>,
    /// Data lines joined by line feeds. `None` without any data line; an empty data line is `Some("")`.
    pub data: Option<T>,
    /// Milliseconds the reader should wait before it reconnects.
    pub retry_ms: Option<u64>,
}

impl<T: AsRef<str>> Frame<T> {
    /// Appends the frame. Line ends in the id and the name are removed, as is a NUL in the id, since no reader would
    /// accept them. Each line of the data becomes a data line, so a carriage return reaches the reader as a line feed.
    pub fn write(&self, into: &mut impl BufMut) {
        if let Some(retry_ms) = self.retry_ms {
            put_field(into, "retry", &retry_ms.to_string());
        }
        if let Some(id) = &self.id {
            put_field(into, "id", &without(id.as_ref(), &['\n', '\r', '\0']));
        }
        if let Some(event) = &self.event {
            put_field(into, "event", &without(event.as_ref(), &['\n', '\r']));
        }
        if let Some(data) = &self.data {
            put_lines(into, "data", data.as_ref());
        }
        into.put_slice(b"\n");
    }
}

/// Appends a comment, which readers skip; sent on an idle stream, it shows that the connection is alive.
pub fn write_comment(into: &mut impl BufMut, text: &str) {
    put_lines(into, "", text);
    into.put_slice(b"\n");
}

fn put_field(into: &mut impl BufMut, name: &str, value: &str) {
    for part in [name, ": ", value, "\n"] {
        into.put_slice(part.as_bytes());
    }
}

fn without(text: &str, removed: &[char]) -> String {
    text.replace(removed, "")
}

/// Writes a field for each line of the text, also for the empty one after a last line end.
fn put_lines(into: &mut impl BufMut, name: &str, text: &str) {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once(['\n', '\r']) {
        put_field(into, name, line);
        let end = rest.strip_prefix(line).unwrap_or_default();
        rest = end.strip_prefix("\r\n").unwrap_or(after);
    }
    put_field(into, name, rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Frame<&str> = Frame {
        id: None,
        event: None,
        data: None,
        retry_ms: None,
    };

    fn written(frame: Frame<&str>) -> String {
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_frame_is_its_fields_and_an_empty_line() {
        let event = Frame {
            id: Some("7"),
            event: Some("turn_started"),
            data: Some("{}"),
            ..NOTHING
        };
        assert_eq!(written(event), "id: 7\nevent: turn_started\ndata: {}\n\n");
        let opening = Frame {
            id: Some("4"),
            retry_ms: Some(1_000),
            ..NOTHING
        };
        assert_eq!(written(opening), "retry: 1000\nid: 4\n\n");
    }

    #[test]
    fn an_id_or_a_name_cannot_smuggle_in_a_line() {
        let forged = Frame {
            id: Some("1\0\ndata: forged"),
            event: Some("x\ndata: forged\r\n"),
            ..NOTHING
        };
        assert_eq!(
            written(forged),
            "id: 1data: forged\nevent: xdata: forged\n\n"
        );
    }

    #[test]
    fn every_line_of_the_data_is_a_data_line_whatever_ends_it() {
        let data = Frame {
            data: Some("a\nb\r\nc\rd\n\r\r\n"),
            ..NOTHING
        };
        assert_eq!(
            written(data),
            "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: \ndata: \n\n"
        );
    }

    #[test]
    fn a_comment_of_two_lines_stays_a_comment() {
        let mut bytes = Vec::new();
        write_comment(&mut bytes, "heart\nbeat");
        assert_eq!(bytes, b": heart\n: beat\n\n");
    }
}
