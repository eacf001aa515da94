//! The command's standard input: numbered pieces, each written once, and a bound on what waits.

use super::Start;
use crate::wire::{BODY_BYTES, Refusal};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a terminal takes for the end of its input.
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
    next: u64,
}

impl Input {
    /// Input to a descriptor that does not block.
    pub(super) const fn new(target: Option<OwnedFd>, closing: Closing) -> Self {
        Self {
            target,
            closing,
            pending: VecDeque::new(),
            close_asked: false,
            next: 1,
        }
    }

    /// What to wait for while there is something to write.
    pub(super) fn wanting(&self) -> Option<BorrowedFd<'_>> {
        let target = self.target.as_ref()?;
        (!self.pending.is_empty()).then(|| target.as_fd())
    }

    /// Takes piece `number`, unless it was taken before.
    pub(super) fn accept(&mut self, number: u64, bytes: &[u8]) -> Result<(), Refusal> {
        if self.seen(number)? {
            return Ok(());
        }
        if self.pending.len() + bytes.len() > BODY_BYTES {
            return Err(Refusal::InputFull {
                pending: self.pending.len() as u64,
            });
        }
        self.next += 1;
        self.pending.extend(bytes);
        self.flush();
        Ok(())
    }

    /// Closes the input after everything taken so far; numbered like a piece.
    pub(super) fn close(&mut self, number: u64) -> Result<(), Refusal> {
        if self.seen(number)? {
            return Ok(());
        }
        self.next += 1;
        match self.closing {
            Closing::Pipe => self.close_asked = true,
            Closing::Terminal => self.pending.push_back(END_OF_TRANSMISSION),
        }
        self.flush();
        Ok(())
    }

    /// Whether the number was taken before; an error when it cannot be taken now.
    fn seen(&self, number: u64) -> Result<bool, Refusal> {
        if number < self.next {
            return Ok(true);
        }
        if self.target.is_none() || self.close_asked {
            return Err(Refusal::InputClosed);
        }
        if number > self.next {
            return Err(Refusal::InputGap {
                expected: self.next,
            });
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
                // Nobody reads any more.
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
    fn a_piece_out_of_order_is_refused_with_the_number_that_is_due() {
        let (_reader, mut input) = input();
        assert_eq!(
            input.accept(2, b"b"),
            Err(Refusal::InputGap { expected: 1 })
        );
    }

    #[test]
    fn a_closed_input_takes_nothing_but_still_knows_what_it_took() {
        let (reader, mut input) = input();
        input.accept(1, b"a").unwrap();
        input.close(2).unwrap();
        assert_eq!(input.close(2), Ok(()));
        assert_eq!(input.accept(1, b"a"), Ok(()));
        assert_eq!(input.accept(3, b"c"), Err(Refusal::InputClosed));
        assert_eq!(read(&reader), b"a");
        assert_eq!(read(&reader), b"", "the pipe is closed");
    }

    #[test]
    fn what_waits_is_bounded() {
        let (_reader, mut input) = input();
        let piece = vec![b'x'; BODY_BYTES];
        input.accept(1, &piece).unwrap();
        assert!(matches!(
            input.accept(2, &piece),
            Err(Refusal::InputFull { pending }) if pending > 0
        ));
    }
}
