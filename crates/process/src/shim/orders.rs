//! What the shim does when it is asked: input, terminal size, signals, stop, and what it knows of the output.

use super::server::Asked;
use super::watch::Watch;
use crate::record::Stream;
use crate::spec::WindowSize;
use crate::wire::{Answer, Ask, BODY_BYTES, Refusal};
use rustix::process::Signal;
use std::time::Duration;

impl Watch {
    /// Does what is asked for and answers it.
    pub(super) fn obey(&mut self, id: u64, asked: &Asked) {
        let answer = match asked.ask.clone() {
            Ask::Hello => Answer::Hello(self.identity.clone()),
            Ask::Wait => return self.server.hold(id),
            Ask::Input { number } => done(self.child.input.accept(number, &asked.body)),
            Ask::CloseInput { number } => done(self.child.input.close(number)),
            Ask::Resize { rows, columns } => self.resize(WindowSize { rows, columns }),
            Ask::Signal { signal } => self.pass_on(signal),
            Ask::Stop { grace_ms } => {
                self.stop(Duration::from_millis(grace_ms));
                Answer::Done
            }
            Ask::Facts => Answer::Facts(self.facts()),
            Ask::Tail { stream, after, max } => return self.tail(id, stream, after, max),
        };
        self.server.answer(id, answer, &[]);
    }

    fn resize(&self, size: WindowSize) -> Answer {
        match self.child.resize(size) {
            Some(Ok(())) => Answer::Done,
            Some(Err(_)) | None => Answer::Refused(Refusal::NoTerminal),
        }
    }

    fn pass_on(&self, signal: i32) -> Answer {
        let Some(signal) = Signal::from_named_raw(signal) else {
            return Answer::Refused(Refusal::Unknown);
        };
        self.signal(signal);
        Answer::Done
    }

    fn tail(&mut self, id: u64, stream: Stream, after: u64, max: usize) {
        let Some(sink) = self.sink(stream) else {
            return self
                .server
                .answer(id, Answer::Refused(Refusal::NoStream), &[]);
        };
        let (at, bytes) = sink.tail_from(after, max.min(BODY_BYTES));
        let total = sink.facts().total_bytes;
        let bytes = bytes.to_vec();
        self.server.answer(id, Answer::Tail { at, total }, &bytes);
    }
}

fn done(result: Result<(), Refusal>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(refusal) => Answer::Refused(refusal),
    }
}
