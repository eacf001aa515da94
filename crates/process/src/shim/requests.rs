//! Handles requests of the host: input, terminal size, signals, stop, and facts about the output.

use super::input::Writer;
use super::server::ReceivedRequest;
use super::watch::Watch;
use crate::record::Stream;
use crate::spec::WindowSize;
use crate::wire::{Answer, BODY_BYTES, Refusal, Request};
use rustix::process::Signal;
use std::time::Duration;

impl Watch {
    /// Carries out a request and sends the answer.
    pub(super) fn handle_request(&mut self, id: u64, received: &ReceivedRequest) {
        let answer = match received.request.clone() {
            Request::Hello => Answer::Hello(self.identity.clone()),
            Request::Wait => return self.server.wait_for_end(id),
            Request::Input { number } => answer_of(self.child.input.accept(
                Writer::Agent,
                number,
                &received.body,
            )),
            Request::CloseInput { number } => {
                answer_of(self.child.input.close(Writer::Agent, number))
            }
            Request::OperatorInput { number } => {
                let accepted = self
                    .child
                    .input
                    .accept(Writer::Operator, number, &received.body);
                answer_of(accepted)
            }
            Request::OperatorCloseInput { number } => {
                answer_of(self.child.input.close(Writer::Operator, number))
            }
            Request::Resize { rows, columns } => self.resize(WindowSize { rows, columns }),
            Request::Signal { signal } => self.forward_signal(signal),
            Request::Stop { grace_ms } => {
                self.stop(Duration::from_millis(grace_ms));
                Answer::Done
            }
            Request::Facts => Answer::Facts(self.facts()),
            Request::Tail { stream, after, max } => return self.tail(id, stream, after, max),
        };
        self.server.answer(id, answer, &[]);
    }

    fn resize(&self, size: WindowSize) -> Answer {
        match self.child.resize(size) {
            Some(Ok(())) => Answer::Done,
            Some(Err(_)) | None => Answer::Refused(Refusal::NoTerminal),
        }
    }

    fn forward_signal(&self, signal: i32) -> Answer {
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

fn answer_of(result: Result<(), Refusal>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(refusal) => Answer::Refused(refusal),
    }
}
