//! The shim's socket: questions in, answers out, never waiting for anybody.
//!
//! Knows connections, lines and the nonce; what a question means is decided by the watch. A client that is slow or
//! silent costs a bounded buffer, and gives up its place to a newer one when there are too many.

use crate::record::Outcome;
use crate::wire::{Answer, Ask, BODY_BYTES, LINE_BYTES, Question, Refusal, Reply, SOCKET, encode};
use rustix::event::PollFlags;
use rustix::fs::AtFlags;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// Most connections at once.
const CONNECTIONS: usize = 64;
/// How long somebody who waited for the end may take to read it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its question is not read to the end.
    Asking,
    /// It asked for the end.
    Waiting,
    /// Its answer is not written to the end.
    Answering,
}

#[derive(Debug)]
struct Connection {
    id: u64,
    stream: UnixStream,
    state: State,
    /// The question so far, or what is left of the answer.
    bytes: Vec<u8>,
}

/// The socket and its connections.
#[derive(Debug)]
pub(super) struct Server {
    dir: OwnedFd,
    listener: UnixListener,
    nonce: String,
    connections: Vec<Connection>,
    next_id: u64,
}

/// A question that was read to its end.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ask: Ask,
    pub(super) body: Vec<u8>,
}

impl Server {
    /// Opens the socket in the task's directory, for the owner alone as the process's mask has it.
    pub(super) fn bind(dir: &OwnedFd, nonce: &str) -> io::Result<Self> {
        let dir = dir.try_clone()?;
        // A socket's path has a short limit; this one is short however long the directory's is.
        let path = format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd());
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            dir,
            listener,
            nonce: nonce.to_owned(),
            connections: Vec::new(),
            next_id: 0,
        })
    }

    /// The socket, to wait for callers.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// What to wait for on each connection.
    pub(super) fn interests(&self) -> impl Iterator<Item = (u64, BorrowedFd<'_>, PollFlags)> {
        self.connections.iter().map(|connection| {
            let flags = match connection.state {
                // Of somebody who waits, only its going away is of interest.
                State::Asking | State::Waiting => PollFlags::IN,
                State::Answering => PollFlags::OUT,
            };
            (connection.id, connection.stream.as_fd(), flags)
        })
    }

    /// Takes the callers that have come.
    pub(super) fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.connections.len() >= CONNECTIONS {
                let idle = |connection: &Connection| connection.state != State::Waiting;
                let oldest = self.connections.iter().position(idle).unwrap_or(0);
                self.connections.remove(oldest);
            }
            self.connections.push(Connection {
                id: self.next_id,
                stream,
                state: State::Asking,
                bytes: Vec::new(),
            });
            self.next_id += 1;
        }
    }

    /// Goes on with a connection that is ready, and returns its question once it is whole.
    pub(super) fn advance(&mut self, id: u64) -> Option<Asked> {
        let at = self.connections.iter().position(|found| found.id == id)?;
        let connection = self.connections.get_mut(at)?;
        let step = match connection.state {
            State::Asking => connection.read(),
            State::Waiting => connection.still_there(),
            State::Answering => connection.write(),
        };
        match step {
            Step::More => None,
            Step::Over => {
                self.connections.remove(at);
                None
            }
            Step::Asked(question, body) if question.nonce == self.nonce => Some(Asked {
                ask: question.ask,
                body,
            }),
            Step::Asked(..) => {
                self.answer(id, Answer::Refused(Refusal::Nonce), &[]);
                None
            }
            Step::Nonsense => {
                self.answer(id, Answer::Refused(Refusal::Unknown), &[]);
                None
            }
        }
    }

    /// Answers a question.
    pub(super) fn answer(&mut self, id: u64, answer: Answer, body: &[u8]) {
        let Some(at) = self.connections.iter().position(|found| found.id == id) else {
            return;
        };
        let reply = Reply {
            answer,
            body: body.len(),
        };
        let written = match (self.connections.get_mut(at), encode(&reply, body)) {
            (Some(connection), Ok(bytes)) => {
                connection.state = State::Answering;
                connection.bytes = bytes;
                connection.write()
            }
            (None, _) | (_, Err(_)) => Step::Over,
        };
        if matches!(written, Step::Over) {
            self.connections.remove(at);
        }
    }

    /// Has a connection wait for the end.
    pub(super) fn hold(&mut self, id: u64) {
        let found = self.connections.iter_mut().find(|found| found.id == id);
        if let Some(connection) = found {
            connection.state = State::Waiting;
            connection.bytes = Vec::new();
        }
    }

    /// Tells everybody who waits, and closes.
    pub(super) fn finish(self, outcome: &Outcome) {
        // The name goes first: who comes now finds the status.
        rustix::fs::unlinkat(&self.dir, SOCKET, AtFlags::empty()).ok();
        for mut connection in self.connections {
            let bytes = match connection.state {
                State::Waiting => {
                    let answer = Answer::Over(outcome.clone());
                    encode(&Reply { answer, body: 0 }, &[]).unwrap_or_default()
                }
                State::Answering => std::mem::take(&mut connection.bytes),
                State::Asking => continue,
            };
            let stream = &mut connection.stream;
            let told = stream
                .set_nonblocking(false)
                .and_then(|()| stream.set_write_timeout(Some(LAST_WORDS)))
                .and_then(|()| stream.write_all(&bytes));
            // Who does not read finds the status on disk.
            told.ok();
        }
    }
}

/// What came of going on with a connection.
enum Step {
    More,
    Over,
    Asked(Question, Vec<u8>),
    Nonsense,
}

impl Connection {
    fn read(&mut self) -> Step {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Step::Over,
                Ok(read) => {
                    self.bytes
                        .extend_from_slice(chunk.get(..read).unwrap_or_default());
                    if self.bytes.len() > LINE_BYTES + BODY_BYTES {
                        return Step::Over;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.question(),
                Err(_) => return Step::Over,
            }
        }
    }

    fn question(&self) -> Step {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            return if self.bytes.len() > LINE_BYTES {
                Step::Nonsense
            } else {
                Step::More
            };
        };
        let (line, rest) = self.bytes.split_at(end);
        let body = rest.get(1..).unwrap_or_default();
        match serde_json::from_slice::<Question>(line) {
            Ok(question) if question.body > BODY_BYTES => Step::Nonsense,
            Ok(question) if body.len() < question.body => Step::More,
            Ok(question) => {
                let body = body.get(..question.body).unwrap_or_default().to_vec();
                Step::Asked(question, body)
            }
            Err(_) => Step::Nonsense,
        }
    }

    fn still_there(&mut self) -> Step {
        match self.stream.read(&mut [0; 64]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Step::More,
            // It has nothing more to say; whatever it said, it is not waiting.
            Ok(_) | Err(_) => Step::Over,
        }
    }

    fn write(&mut self) -> Step {
        while !self.bytes.is_empty() {
            match self.stream.write(&self.bytes) {
                Ok(written) if written > 0 => drop(self.bytes.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::More,
                Ok(_) | Err(_) => return Step::Over,
            }
        }
        Step::Over
    }
}
