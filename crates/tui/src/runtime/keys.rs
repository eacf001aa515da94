//! Turns the bytes of a terminal into keys and pastes. It reads no terminal and knows no clock.
//!
//! A terminal marks the beginning and the end of a paste. If the end is lost, for example because the connection to the
//! terminal dropped it, the paste ends by the first key after a silence, so that it never holds the keyboard. A chunk
//! that is longer than a key goes on with the paste also after a silence: a slow connection does not turn pasted line
//! breaks into keys that send.

mod sequence;

use crate::msg::Msg;
use sequence::{Parsed, parse};
use std::time::Duration;

/// Silence after which an open paste is shown, and after which a key ends it.
pub(super) const SILENCE: Duration = Duration::from_millis(500);
/// Most bytes that one key sends. Some keys send a sequence, and a key that is held repeats it.
const KEY_BYTES: usize = 16;
/// Most bytes of a paste that are held until its end. What is longer is passed on in pieces.
const PASTE_BYTES: usize = 16 << 20;
/// Longest sequence of a key. What is longer is no key.
const SEQUENCE_BYTES: usize = 64;
/// End of a paste.
const PASTE_END: &[u8] = b"\x1b[201~";
/// Key that interrupts, as a terminal in raw mode sends it.
const INTERRUPT: &[u8] = &[0x03];

/// One read from the terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    pub(super) bytes: &'a [u8],
    /// True if the read filled its buffer, so that a sequence may go on in the next one.
    pub(super) is_full: bool,
    /// Time since the read before.
    pub(super) silence: Duration,
}

/// The state between two reads.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Beginning of a sequence.
    pending: Vec<u8>,
    /// Bytes of the open paste that were not passed on.
    paste: Option<Vec<u8>>,
}

impl Keys {
    /// Takes one read and returns what it completes.
    pub(super) fn take(&mut self, chunk: Chunk<'_>) -> Vec<Msg> {
        let mut found = Vec::new();
        if self.ends_paste(chunk) {
            found.extend(self.paste.take().and_then(|text| message(&text)));
        }
        if chunk.silence >= SILENCE {
            // The rest of a sequence was lost.
            self.pending.clear();
        }
        for (place, byte) in chunk.bytes.iter().enumerate() {
            let more = chunk.is_full || place + 1 < chunk.bytes.len();
            found.extend(self.take_byte(*byte, more));
        }
        found
    }

    /// Returns what of an open paste has come. Called after a silence.
    pub(super) fn flush(&mut self) -> Option<Msg> {
        let held = self.paste.as_mut()?;
        let kept = held.split_off(held.len() - unfinished(held));
        let shown = std::mem::replace(held, kept);
        message(&shown)
    }

    /// Returns true if the read is a key that follows a paste whose end was lost.
    fn ends_paste(&self, chunk: Chunk<'_>) -> bool {
        let Some(held) = &self.paste else {
            return false;
        };
        if chunk.bytes == INTERRUPT {
            return true;
        }
        let is_key = chunk.silence >= SILENCE && chunk.bytes.len() <= KEY_BYTES;
        let tail = held.len().saturating_sub(PASTE_END.len() - 1);
        let mut read = held.get(tail..).unwrap_or_default().to_vec();
        read.extend_from_slice(chunk.bytes);
        is_key
            && !read
                .windows(PASTE_END.len())
                .any(|bytes| bytes == PASTE_END)
    }

    fn take_byte(&mut self, byte: u8, more: bool) -> Option<Msg> {
        if let Some(held) = &mut self.paste {
            held.push(byte);
            if held.ends_with(PASTE_END) {
                let text = held.len() - PASTE_END.len();
                let pasted = message(held.get(..text).unwrap_or_default());
                self.paste = None;
                return pasted;
            }
            return match held.len() < PASTE_BYTES {
                true => None,
                false => self.flush(),
            };
        }
        self.pending.push(byte);
        let parsed = match parse(&self.pending, more) {
            Parsed::Unfinished if self.pending.len() < SEQUENCE_BYTES => return None,
            parsed => parsed,
        };
        self.pending.clear();
        match parsed {
            Parsed::Key(key) => Some(Msg::Key(key)),
            Parsed::PasteBegins => {
                self.paste = Some(Vec::new());
                None
            }
            Parsed::Unknown | Parsed::Unfinished => None,
        }
    }
}

fn message(pasted: &[u8]) -> Option<Msg> {
    let text = String::from_utf8_lossy(pasted).into_owned();
    (!text.is_empty()).then_some(Msg::Paste(text))
}

/// Returns the number of bytes at the end of a paste that may belong to what comes next: a part of its end, or of a
/// character.
fn unfinished(held: &[u8]) -> usize {
    let begins_end = |count: &usize| {
        let beginning = PASTE_END.get(..*count);
        beginning.is_some_and(|beginning| held.ends_with(beginning))
    };
    let of_end = (1..PASTE_END.len()).rev().find(begins_end).unwrap_or(0);
    let of_character = match std::str::from_utf8(held) {
        Err(error) if error.error_len().is_none() => held.len() - error.valid_up_to(),
        Ok(_) | Err(_) => 0,
    };
    of_end.max(of_character)
}

#[cfg(test)]
mod tests;
