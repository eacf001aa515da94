//! The command's standard input: numbered pieces, each written once, with a bound on the buffered bytes.
//!
//! A piece is accepted whole or refused. A terminal in line mode silently drops what exceeds its line limit, so such
//! a line is refused here.

use super::StartResult;
use super::line::LineMode;
use crate::wire::{BODY_BYTES, Refusal};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Character that programs on a terminal in raw mode take for the end of input.
const END_OF_TRANSMISSION: u8 = 4;

/// The way the input of a command is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseMethod {
    Pipe,
    /// Writes the end-of-input character; the terminal itself stays open.
    Terminal,
}

/// The source of a piece of input. Each numbers its pieces by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    Agent,
    Operator,
}

/// The input of a command and the bytes that wait to be written.
#[derive(Debug)]
pub(super) struct Input {
    /// `None` if the command takes no input, or its input is closed.
    target: Option<OwnedFd>,
    closing: CloseMethod,
    pending: VecDeque<u8>,
    is_closing: bool,
    /// Bytes of the terminal's current line that were accepted so far.
    line_bytes: usize,
    /// Greatest number of the agent that was accepted so far.
    last: u64,
    /// Greatest number of an operator that was accepted so far.
    last_of_operator: u64,
}

impl Input {
    /// Creates the input for a non-blocking descriptor.
    pub(super) const fn new(target: Option<OwnedFd>, closing: CloseMethod) -> Self {
        Self {
            target,
            closing,
            pending: VecDeque::new(),
            is_closing: false,
            line_bytes: 0,
            last: 0,
            last_of_operator: 0,
        }
    }

    /// Descriptor to poll for writing while bytes wait.
    pub(super) fn poll_target(&self) -> Option<BorrowedFd<'_>> {
        let target = self.target.as_ref()?;
        (!self.pending.is_empty()).then(|| target.as_fd())
    }

    /// Accepts piece `number`, unless it or a later one was accepted before. Numbers only have to grow: a refused
    /// piece may come again with a greater number, or never. A refused piece has no effect.
    pub(super) fn accept(
        &mut self,
        writer: Writer,
        number: u64,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        if self.was_accepted(writer, number)? {
            return Ok(());
        }
        self.check_space(bytes.len())?;
        let line_bytes = match self.line_mode() {
            Some(mode) => mode.fit(self.line_bytes, bytes)?,
            None => 0,
        };
        self.pending.extend(bytes);
        self.flush();
        if self.target.is_none() {
            return Err(Refusal::InputClosed);
        }
        self.line_bytes = line_bytes;
        *self.last_of(writer) = number;
        Ok(())
    }

    /// Reads the line mode of the terminal; `None` for a pipe, and for a terminal in raw mode.
    fn line_mode(&self) -> Option<LineMode> {
        match (self.closing, &self.target) {
            (CloseMethod::Terminal, Some(terminal)) => LineMode::read(terminal),
            (CloseMethod::Terminal | CloseMethod::Pipe, _) => None,
        }
    }

    /// Closes the input after everything accepted so far; numbered like a piece.
    pub(super) fn close(&mut self, writer: Writer, number: u64) -> Result<(), Refusal> {
        if self.was_accepted(writer, number)? {
            return Ok(());
        }
        match self.closing {
            CloseMethod::Pipe => self.is_closing = true,
            CloseMethod::Terminal => {
                let end = self.line_mode().map(|mode| mode.end_of_input);
                let end = end.unwrap_or(END_OF_TRANSMISSION);
                // The first end-of-input character after an open line only hands the line to its reader.
                let ends = if self.line_bytes > 0 { 2 } else { 1 };
                self.check_space(ends)?;
                self.pending.extend(std::iter::repeat_n(end, ends));
                self.line_bytes = 0;
            }
        }
        *self.last_of(writer) = number;
        self.flush();
        Ok(())
    }

    fn check_space(&self, bytes: usize) -> Result<(), Refusal> {
        let pending = self.pending.len();
        if pending + bytes > BODY_BYTES {
            let pending = pending as u64;
            return Err(Refusal::InputFull { pending });
        }
        Ok(())
    }

    /// Returns the greatest number of a writer that was accepted so far.
    const fn last_of(&mut self, writer: Writer) -> &mut u64 {
        match writer {
            Writer::Agent => &mut self.last,
            Writer::Operator => &mut self.last_of_operator,
        }
    }

    /// Returns true if the number was accepted before; an error if no input can be accepted now.
    const fn was_accepted(&mut self, writer: Writer, number: u64) -> Result<bool, Refusal> {
        if number <= *self.last_of(writer) {
            return Ok(true);
        }
        if self.target.is_none() || self.is_closing {
            return Err(Refusal::InputClosed);
        }
        Ok(false)
    }

    /// Writes as many bytes as the descriptor accepts without blocking.
    pub(super) fn flush(&mut self) {
        while let Some(target) = &self.target {
            let (part, _) = self.pending.as_slices();
            if part.is_empty() {
                if self.is_closing {
                    self.target = None;
                }
                return;
            }
            match rustix::io::write(target, part) {
                Ok(written) => drop(self.pending.drain(..written)),
                Err(Errno::AGAIN | Errno::INTR) => return,
                // The reader has closed its end, or the terminal is hung up.
                Err(_) => {
                    self.target = None;
                    self.pending = VecDeque::new();
                }
            }
        }
    }
}

/// Returns a descriptor for input; `None` for a command that accepts none.
pub(super) fn target(accepts: bool, fd: &OwnedFd) -> StartResult<Option<OwnedFd>> {
    accepts.then(|| super::share(fd)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn input() -> (OwnedFd, Input) {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        (reader, Input::new(Some(writer), CloseMethod::Pipe))
    }

    fn read(reader: &OwnedFd) -> Vec<u8> {
        let mut buffer = vec![0; 100];
        let read = rustix::io::read(reader, &mut buffer).unwrap();
        buffer.truncate(read);
        buffer
    }

    #[test]
    fn a_repeated_piece_is_written_once() {
        let (reader, mut input) = input();
        for (number, bytes) in [(1, b"a"), (1, b"a"), (2, b"b"), (1, b"a"), (2, b"b")] {
            assert_eq!(input.accept(Writer::Agent, number, bytes), Ok(()));
        }
        assert_eq!(read(&reader), b"ab");
    }

    #[test]
    fn an_operator_numbers_its_pieces_apart_from_the_agent() {
        let (reader, mut input) = input();
        for (writer, number, bytes) in [
            (Writer::Agent, 900, b"a"),
            (Writer::Operator, 1, b"b"),
            (Writer::Operator, 1, b"b"),
            (Writer::Agent, 901, b"c"),
            (Writer::Operator, 2, b"d"),
        ] {
            assert_eq!(input.accept(writer, number, bytes), Ok(()));
        }
        assert_eq!(read(&reader), b"abcd");
    }

    #[test]
    fn numbers_may_have_gaps_and_what_lies_before_the_last_is_over() {
        let (reader, mut input) = input();
        for (number, bytes) in [(7, b"a"), (9, b"b"), (8, b"c"), (9, b"b"), (u64::MAX, b"d")] {
            assert_eq!(input.accept(Writer::Agent, number, bytes), Ok(()));
        }
        assert_eq!(read(&reader), b"abd");
    }

    #[test]
    fn a_closed_input_takes_nothing_but_still_knows_what_it_took() {
        let (reader, mut input) = input();
        input.accept(Writer::Agent, 1, b"a").unwrap();
        input.close(Writer::Agent, 2).unwrap();
        assert_eq!(input.close(Writer::Agent, 2), Ok(()));
        assert_eq!(input.accept(Writer::Agent, 1, b"a"), Ok(()));
        assert_eq!(
            input.accept(Writer::Agent, 3, b"c"),
            Err(Refusal::InputClosed)
        );
        assert_eq!(
            input.accept(Writer::Agent, 3, b"c"),
            Err(Refusal::InputClosed),
            "a refusal is not a number taken"
        );
        assert_eq!(read(&reader), b"a");
        assert_eq!(read(&reader), b"", "the pipe is closed");
    }

    #[test]
    fn a_piece_that_no_reader_can_get_is_refused_and_counts_for_nothing() {
        let (reader, mut input) = input();
        input.accept(Writer::Agent, 1, b"a").unwrap();
        drop(reader);
        for _ in 0..2 {
            assert_eq!(
                input.accept(Writer::Agent, 2, b"b"),
                Err(Refusal::InputClosed)
            );
        }
        assert_eq!(
            input.accept(Writer::Agent, 1, b"a"),
            Ok(()),
            "what was taken stays taken"
        );
    }

    #[test]
    fn what_waits_is_bounded_and_a_refused_piece_counts_for_nothing() {
        let (reader, mut input) = input();
        let piece = vec![b'x'; BODY_BYTES];
        input.accept(Writer::Agent, 1, &piece).unwrap();
        for number in [2, 5, 2] {
            assert!(matches!(
                input.accept(Writer::Agent, number, &piece),
                Err(Refusal::InputFull { pending }) if pending > 0
            ));
        }
        while !input.pending.is_empty() {
            rustix::io::read(&reader, &mut vec![0; BODY_BYTES]).unwrap();
            input.flush();
        }
        while rustix::io::read(&reader, &mut vec![0; BODY_BYTES]).is_ok() {}
        input.accept(Writer::Agent, 3, b"later").unwrap();
        assert_eq!(read(&reader), b"later");
    }
}
