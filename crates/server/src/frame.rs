//! Stream frames as bytes. Data is JSON on one line, so no frame can be torn open by what is in it.

use bytes::{BufMut as _, BytesMut};

/// A comment that keeps the connection alive.
pub(crate) const HEARTBEAT: &[u8] = b": heartbeat\n\n";

/// The first frame: how soon to come back, and the cursor this stream starts from. It carries no data, so a reader
/// takes the cursor over without seeing an event.
pub(crate) fn opening(into: &mut BytesMut, retry_ms: u64, cursor: u64) {
    into.put_slice(format!("retry: {retry_ms}\nid: {cursor}\n\n").as_bytes());
}

/// A frame that moves the cursor.
pub(crate) fn event(into: &mut BytesMut, seq: u64, name: &str, data: &str) {
    into.put_slice(format!("id: {seq}\n").as_bytes());
    notice(into, name, data);
}

/// A frame that does not.
pub(crate) fn notice(into: &mut BytesMut, name: &str, data: &str) {
    into.put_slice(b"event: ");
    put_line(into, name);
    into.put_slice(b"\ndata: ");
    put_line(into, data);
    into.put_slice(b"\n\n");
}

/// Line ends cannot stand inside a line; names of events of other builds are not ours to trust.
fn put_line(into: &mut BytesMut, text: &str) {
    for part in text.split(['\n', '\r']) {
        into.put_slice(part.as_bytes());
    }
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
    }

    #[test]
    fn a_name_cannot_smuggle_in_a_line() {
        assert_eq!(
            text(|b| notice(b, "x\ndata: forged\r\n", "{}")),
            "event: xdata: forged\ndata: {}\n\n"
        );
    }
}
