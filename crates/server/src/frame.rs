//! Fields of the frames of an event stream: opening, event, notice and heartbeat. `holon_sse` encodes them.

use bytes::BytesMut;
use holon_sse::Frame;

/// Writes a comment that keeps the connection alive.
pub(crate) fn heartbeat(into: &mut BytesMut) {
    holon_sse::write_comment(into, "heartbeat");
}

/// Writes the first frame: the reconnect delay and the start cursor. It carries no data, so a reader takes the cursor
/// over without seeing an event.
pub(crate) fn opening(into: &mut BytesMut, retry_ms: u64, cursor: u64) {
    let cursor = cursor.to_string();
    let frame = Frame {
        id: Some(cursor.as_str()),
        event: None,
        data: None,
        retry_ms: Some(retry_ms),
    };
    frame.write(into);
}

/// Writes an event frame, whose id moves the reader's cursor.
pub(crate) fn event(into: &mut BytesMut, seq: u64, name: &str, data: &str) {
    named(into, Some(&seq.to_string()), name, data);
}

/// Writes a frame without id, which leaves the reader's cursor unchanged.
pub(crate) fn notice(into: &mut BytesMut, name: &str, data: &str) {
    named(into, None, name, data);
}

fn named(into: &mut BytesMut, id: Option<&str>, name: &str, data: &str) {
    let frame = Frame {
        id,
        event: Some(name),
        data: Some(data),
        retry_ms: None,
    };
    frame.write(into);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut BytesMut)) -> String {
        let mut bytes = BytesMut::new();
        write(&mut bytes);
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_frame_is_id_event_data_and_an_empty_line() {
        assert_eq!(
            text(|b| event(b, 7, "turn_started", "{}")),
            "id: 7\nevent: turn_started\ndata: {}\n\n"
        );
        assert_eq!(text(|b| notice(b, "gap", "{}")), "event: gap\ndata: {}\n\n");
        assert_eq!(text(|b| opening(b, 1_000, 4)), "retry: 1000\nid: 4\n\n");
        assert_eq!(text(heartbeat), ": heartbeat\n\n");
    }
}
