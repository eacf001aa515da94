//! The line mode of a terminal, and the longest line it accepts.
//!
//! In canonical mode a terminal buffers a line until it ends, and silently drops bytes beyond the limit of its
//! buffer.

use crate::wire::Refusal;
use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, Termios, tcgetattr};
use std::os::fd::OwnedFd;

/// Longest line a terminal accepts before the character that ends it.
const LINE_BYTES: usize = 4095;

/// The line mode of a terminal at this moment. A program may change it at any time.
#[derive(Debug, Clone)]
pub(super) struct LineMode {
    /// Character that ends the input at the beginning of a line, and ends the line elsewhere.
    pub(super) end_of_input: u8,
    /// Characters that end or discard a line.
    breaks: Vec<u8>,
}

impl LineMode {
    /// Reads the mode; `None` if the terminal is in raw mode or cannot be asked.
    pub(super) fn read(terminal: &OwnedFd) -> Option<Self> {
        let settings = tcgetattr(terminal).ok()?;
        settings
            .local_modes
            .contains(LocalModes::ICANON)
            .then(|| Self::from_settings(&settings))
    }

    fn from_settings(settings: &Termios) -> Self {
        let code = |index: SpecialCodeIndex| settings.special_codes[index];
        let mut breaks = vec![b'\n'];
        if settings.input_modes.contains(InputModes::ICRNL) {
            breaks.push(b'\r');
        }
        let codes = [
            SpecialCodeIndex::VEOF,
            SpecialCodeIndex::VEOL,
            SpecialCodeIndex::VEOL2,
            SpecialCodeIndex::VKILL,
        ];
        // A code of 0 means that the character is disabled.
        breaks.extend(codes.map(code).into_iter().filter(|code| *code != 0));
        Self {
            end_of_input: code(SpecialCodeIndex::VEOF),
            breaks,
        }
    }

    /// Returns the length of the open line after `bytes`, if `open_line` bytes were open before.
    ///
    /// # Errors
    /// Fails if a line is longer than the terminal accepts.
    pub(super) fn fit(&self, open_line: usize, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut open_line = open_line;
        for line in bytes.split_inclusive(|byte| self.breaks.contains(byte)) {
            let is_ended = line.last().is_some_and(|last| self.breaks.contains(last));
            let length = open_line + line.len() - usize::from(is_ended);
            if length > LINE_BYTES {
                return Err(Refusal::LineTooLong {
                    bytes: length as u64,
                    most: LINE_BYTES as u64,
                });
            }
            open_line = if is_ended { 0 } else { length };
        }
        Ok(open_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode() -> LineMode {
        LineMode {
            end_of_input: 4,
            breaks: vec![b'\n', 4],
        }
    }

    #[test]
    fn a_line_may_come_in_pieces_and_is_as_long_as_all_of_them() {
        assert_eq!(mode().fit(0, b"ab"), Ok(2));
        assert_eq!(mode().fit(2, b"c\nde"), Ok(2));
        assert_eq!(mode().fit(2, b"\n"), Ok(0));
        assert_eq!(mode().fit(2, b"\x04"), Ok(0));
        assert_eq!(mode().fit(7, b""), Ok(7));
    }

    #[test]
    fn a_line_that_does_not_fit_is_refused_wherever_it_stands() {
        let line = |bytes: usize| vec![b'x'; bytes];
        assert_eq!(mode().fit(0, &line(4095)), Ok(4095));
        assert_eq!(mode().fit(4095, b"\n"), Ok(0));
        let too_long = |bytes| Err(Refusal::LineTooLong { bytes, most: 4095 });
        assert_eq!(mode().fit(0, &line(4096)), too_long(4096));
        assert_eq!(mode().fit(4095, b"x\n"), too_long(4096));
        let second = [b"a\n".to_vec(), line(5000), b"\n".to_vec()].concat();
        assert_eq!(mode().fit(0, &second), too_long(5000));
    }
}
