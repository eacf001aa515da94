//! The command's standard input: numbered pieces, each written once, and a bound on what waits.
//!
//! A piece is taken whole or refused. A terminal that edits lines takes only so much of one line and drops the rest
//! without a word, so such a line is refused here.

use super::Start;
use super::line::LineMode;
use crate::wire::{BODY_BYTES, Refusal};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a program that reads a terminal byte by byte takes for the end of its input.
const END_OF_TRANSMISSION: u8 = 4;

/// How the input of a command is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// By closing its pipe.
    Pipe,
    /// By typing the end: the terminal itself stays.
    Terminal,
}

/// Where input goes.
#[derive(Debug)]
pub(super) struct Input {
    /// None: it takes none, or no more.
    target: Option<OwnedFd>,
    closing: Closing,
    pending: VecDeque<u8>,
    close_asked: bool,
    /// Bytes of a terminal's line that were taken and are not ended.
    open_line: usize,
    /// The greatest number taken so far.
    last: u64,
}

impl Input {
    /// Input to a descriptor that does not block.
    pub(super) const fn new(target: Option<OwnedFd>, closing: Closing) -> Self {
        Self {
            target,
            closing,
            pending: VecDeque::new(),
            close_asked: false,
            open_line: 0,
            last: 0,
        }
    }

    /// What to wait for while there is something to write.
    pub(super) fn wanting(&self) -> Option<BorrowedFd<'_>> {
        let target = self.target.as_ref()?;
        (!self.pending.is_empty()).then(|| target.as_fd())
    }

    /// Takes piece `number`, unless it or a later one was taken before. Numbers only have to grow: a piece that was
    /// refused may come again with a greater one, or never. A refused piece counts for nothing.
    pub(super) fn accept(&mut self, number: u64, bytes: &[u8]) -> Result<(), Refusal> {
        if self.seen(number)? {
            return Ok(());
        }
        self.has_room(bytes.len())?;
        let open_line = match self.line_mode() {
            Some(mode) => mode.fit(self.open_line, bytes)?,
            None => 0,
        };
        self.pending.extend(bytes);
        self.flush();
        if self.target.is_none() {
            return Err(Refusal::InputClosed);
        }
        self.open_line = open_line;
        self.last = number;
        Ok(())
    }

    /// How the terminal edits lines; none for a pipe, and for a terminal that hands on every byte.
    fn line_mode(&self) -> Option<LineMode> {
        match (self.closing, &self.target) {
            (Closing::Terminal, Some(terminal)) => LineMode::of(terminal),
            (Closing::Terminal | Closing::Pipe, _) => None,
        }
    }

    /// Closes the input after everything taken so far; numbered like a piece.
    pub(super) fn close(&mut self, number: u64) -> Result<(), Refusal> {
        if self.seen(number)? {
            return Ok(());
        }
        match self.closing {
            Closing::Pipe => self.close_asked = true,
            Closing::Terminal => {
                let end = self.line_mode().map(|mode| mode.end_of_input);
                let end = end.unwrap_or(END_OF_TRANSMISSION);
                // The first end after an open line only hands the line to its reader.
                let ends = if self.open_line > 0 { 2 } else { 1 };
                self.has_room(ends)?;
                self.pending.extend(std::iter::repeat_n(end, ends));
                self.open_line = 0;
            }
        }
        self.last = number;
        self.flush();
        Ok(())
    }

    fn has_room(&self, bytes: usize) -> Result<(), Refusal> {
        let pending = self.pending.len();
        if pending + bytes > BODY_BYTES {
            let pending = pending as u64;
            return Err(Refusal::InputFull { pending });
        }
        Ok(())
    }

    /// Whether the number was taken before; an error when nothing can be taken now.
    const fn seen(&self, number: u64) -> Result<bool, Refusal> {
        if number <= self.last {
            return Ok(true);
        }
        if self.target.is_none() || self.close_asked {
            return Err(Refusal::InputClosed);
        }
        Ok(false)
    }

    /// Writes as much as is taken without waiting.
    pub(super) fn flush(&mut self) {
        while let Some(target) = &self.target {
            let (part, _) = self.pending.as_slices();
            if part.is_empty() {
                if self.close_asked {
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

/// A descriptor for input, or none for a command that takes none.
pub(super) fn target(accepts: bool, fd: &OwnedFd) -> Start<Option<OwnedFd>> {
    accepts.then(|| super::share(fd)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn input() -> (OwnedFd, Input) {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        (reader, Input::new(Some(writer), Closing::Pipe))
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
            assert_eq!(input.accept(number, bytes), Ok(()));
        }
        assert_eq!(read(&reader), b"ab");
    }

    #[test]
    fn numbers_may_have_gaps_and_what_lies_before_the_last_is_over() {
        let (reader, mut input) = input();
        for (number, bytes) in [(7, b"a"), (9, b"b"), (8, b"c"), (9, b"b"), (u64::MAX, b"d")] {
            assert_eq!(input.accept(number, bytes), Ok(()));
        }
        assert_eq!(read(&reader), b"abd");
    }

    #[test]
    fn a_closed_input_takes_nothing_but_still_knows_what_it_took() {
        let (reader, mut input) = input();
        input.accept(1, b"a").unwrap();
        input.close(2).unwrap();
        assert_eq!(input.close(2), Ok(()));
        assert_eq!(input.accept(1, b"a"), Ok(()));
        assert_eq!(input.accept(3, b"c"), Err(Refusal::InputClosed));
        assert_eq!(
            input.accept(3, b"c"),
            Err(Refusal::InputClosed),
            "a refusal is not a number taken"
        );
        assert_eq!(read(&reader), b"a");
        assert_eq!(read(&reader), b"", "the pipe is closed");
    }

    #[test]
    fn a_piece_that_no_reader_can_get_is_refused_and_counts_for_nothing() {
        let (reader, mut input) = input();
        input.accept(1, b"a").unwrap();
        drop(reader);
        for _ in 0..2 {
            assert_eq!(input.accept(2, b"b"), Err(Refusal::InputClosed));
        }
        assert_eq!(input.accept(1, b"a"), Ok(()), "what was taken stays taken");
    }

    #[test]
    fn what_waits_is_bounded_and_a_refused_piece_counts_for_nothing() {
        let (reader, mut input) = input();
        let piece = vec![b'x'; BODY_BYTES];
        input.accept(1, &piece).unwrap();
        for number in [2, 5, 2] {
            assert!(matches!(
                input.accept(number, &piece),
                Err(Refusal::InputFull { pending }) if pending > 0
            ));
        }
        while !input.pending.is_empty() {
            rustix::io::read(&reader, &mut vec![0; BODY_BYTES]).unwrap();
            input.flush();
        }
        while rustix::io::read(&reader, &mut vec![0; BODY_BYTES]).is_ok() {}
        input.accept(3, b"later").unwrap();
        assert_eq!(read(&reader), b"later");
    }
}
