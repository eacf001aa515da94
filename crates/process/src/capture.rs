//! Bounded capture of one output stream: its head, its tail, and the count of the bytes dropped between.
//!
//! Bytes go in, text comes out. A stream of any length costs at most about one and a half captures of memory. Invalid
//! UTF-8 becomes U+FFFD, so the text of binary output can be up to three times its bytes.

use holon_domain::command::CapturedStream;

/// The part of a stream that is kept while it is read.
#[derive(Debug)]
pub(crate) struct Capture {
    head_bytes: usize,
    tail_bytes: usize,
    head: Vec<u8>,
    /// Up to twice `tail_bytes`, so that old bytes are removed rarely and not at each read.
    tail: Vec<u8>,
    total: u64,
}

impl Capture {
    /// Creates a capture of at most `capture_bytes`, half for each end.
    pub(crate) fn new(capture_bytes: usize) -> Self {
        let head_bytes = capture_bytes / 2;
        Self {
            head_bytes,
            tail_bytes: capture_bytes - head_bytes,
            head: Vec::new(),
            tail: Vec::new(),
            total: 0,
        }
    }

    /// Adds the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self
            .head_bytes
            .saturating_sub(self.head.len())
            .min(bytes.len());
        let (to_head, to_tail) = bytes.split_at(room);
        self.head.extend_from_slice(to_head);
        self.tail.extend_from_slice(to_tail);
        if self.tail.len() > self.tail_bytes.saturating_mul(2) {
            self.trim_tail();
        }
    }

    fn trim_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(self.tail_bytes);
        self.tail.drain(..excess);
    }

    /// Returns the stream as text, cut between characters.
    pub(crate) fn finish(mut self) -> CapturedStream {
        self.trim_tail();
        capture_ends(self.head, self.tail, self.total)
    }
}

/// Returns a stream of `total` bytes as text, of which `head` and `tail` were kept, cut between characters.
pub(crate) fn capture_ends(mut head: Vec<u8>, mut tail: Vec<u8>, total: u64) -> CapturedStream {
    if (head.len() + tail.len()) as u64 >= total {
        head.append(&mut tail);
        return CapturedStream {
            head: into_text(head),
            tail: String::new(),
            total_bytes: total,
            ..CapturedStream::default()
        };
    }
    head.truncate(whole_prefix(&head));
    tail.drain(..whole_suffix(&tail));
    let kept = (head.len() + tail.len()) as u64;
    CapturedStream {
        head: into_text(head),
        tail: into_text(tail),
        total_bytes: total,
        dropped_bytes: total.saturating_sub(kept),
        ..CapturedStream::default()
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Length of `bytes` without a character that the cut left incomplete at the end.
fn whole_prefix(bytes: &[u8]) -> usize {
    let lead = bytes
        .iter()
        .rev()
        .take(4)
        .position(|byte| !is_continuation(*byte));
    match lead {
        Some(back) if back + 1 < char_width(bytes[bytes.len() - 1 - back]) => {
            bytes.len() - 1 - back
        }
        Some(_) | None => bytes.len(),
    }
}

/// Offset of the first whole character, if the cut left the end of another one before it.
fn whole_suffix(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(3)
        .take_while(|byte| is_continuation(**byte))
        .count()
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Length of the character a lead byte announces; 1 for a byte that leads none.
const fn char_width(lead: u8) -> usize {
    match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        0x00..=0xC1 | 0xF5..=0xFF => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capture(bytes: &[u8], capture_bytes: usize) -> CapturedStream {
        let mut capture = Capture::new(capture_bytes);
        capture.push(bytes);
        capture.finish()
    }

    #[test]
    fn a_stream_that_fits_is_all_head() {
        for max in [5, 6, 100] {
            let stream = capture(b"hello", max);
            assert_eq!(
                (
                    stream.head.as_str(),
                    stream.tail.as_str(),
                    stream.dropped_bytes
                ),
                ("hello", "", 0)
            );
        }
    }

    #[test]
    fn a_longer_stream_keeps_both_ends() {
        let stream = capture(b"0123456789", 4);
        assert_eq!((stream.head.as_str(), stream.tail.as_str()), ("01", "89"));
        assert_eq!((stream.total_bytes, stream.dropped_bytes), (10, 6));
    }

    #[test]
    fn cuts_fall_between_characters() {
        // Each character has three bytes, so a cut after four or before the last four falls inside one.
        let stream = capture("漢字仮名交".as_bytes(), 8);
        assert_eq!((stream.head.as_str(), stream.tail.as_str()), ("漢", "交"));
        assert_eq!((stream.total_bytes, stream.dropped_bytes), (15, 9));
    }

    #[test]
    fn broken_utf8_is_replaced_and_nul_kept() {
        assert_eq!(capture(b"a\0\xff\xfeb", 64).head, "a\0\u{fffd}\u{fffd}b");
    }

    #[test]
    fn a_capture_of_nothing_only_counts() {
        let stream = capture(b"hello", 0);
        assert_eq!(
            (
                stream.head.as_str(),
                stream.tail.as_str(),
                stream.dropped_bytes
            ),
            ("", "", 5)
        );
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_how_the_bytes_arrive(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), chunk in 1_usize..50, max in 0_usize..200,
        ) {
            let mut pieces = Capture::new(max);
            for piece in bytes.chunks(chunk) {
                pieces.push(piece);
                prop_assert!(pieces.head.len() + pieces.tail.len() <= 2 * max);
            }
            prop_assert_eq!(pieces.finish(), capture(&bytes, max));
        }

        #[test]
        fn text_is_never_torn_and_every_byte_is_accounted_for(text in "\\PC{0,100}", max in 0_usize..120) {
            let stream = capture(text.as_bytes(), max);
            prop_assert!(text.starts_with(&stream.head) && text.ends_with(&stream.tail));
            let kept = (stream.head.len() + stream.tail.len()) as u64;
            prop_assert_eq!(kept + stream.dropped_bytes, stream.total_bytes);
            prop_assert!(kept <= max as u64);
        }
    }
}
