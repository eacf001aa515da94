//! The shim's socket: reads requests and writes replies without ever blocking.
//!
//! This file knows connections, lines and the nonce; the watch carries out the requests. A slow or silent client
//! costs a bounded buffer, and is disconnected for a newer one if there are too many.

use crate::record::Outcome;
use crate::wire::{
    Answer, BODY_BYTES, LINE_BYTES, Refusal, ReplyLine, Request, RequestLine, SOCKET, encode,
};
use rustix::event::PollFlags;
use rustix::fs::AtFlags;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// Most connections at once.
const CONNECTIONS: usize = 64;
/// Write timeout for a client that waits for the end.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    /// The request is being read.
    ReadingRequest,
    /// The client waits for the end.
    WaitingForEnd,
    /// The reply is being written.
    WritingReply,
}

#[derive(Debug)]
struct Connection {
    id: u64,
    stream: UnixStream,
    state: ConnectionState,
    /// The request as far as it was read, or the unwritten rest of the reply.
    bytes: Vec<u8>,
}

/// The listening socket and its open connections.
#[derive(Debug)]
pub(super) struct Server {
    dir: OwnedFd,
    listener: UnixListener,
    nonce: String,
    connections: Vec<Connection>,
    next_id: u64,
}

/// A complete request with a valid nonce.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub(super) request: Request,
    pub(super) body: Vec<u8>,
}

impl Server {
    /// Opens the socket in the command's directory. The umask of the process makes it private to the owner.
    pub(super) fn bind(dir: &OwnedFd, nonce: &str) -> io::Result<Self> {
        let dir = dir.try_clone()?;
        // The address of a socket has a short limit; this path is short even if the directory's is long.
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

    /// Descriptor to poll for new clients.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Descriptor and poll flags of each connection.
    pub(super) fn interests(&self) -> impl Iterator<Item = (u64, BorrowedFd<'_>, PollFlags)> {
        self.connections.iter().map(|connection| {
            let flags = match connection.state {
                // A waiting client is read only to detect that it disconnected.
                ConnectionState::ReadingRequest | ConnectionState::WaitingForEnd => PollFlags::IN,
                ConnectionState::WritingReply => PollFlags::OUT,
            };
            (connection.id, connection.stream.as_fd(), flags)
        })
    }

    /// Accepts all pending connections.
    pub(super) fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.connections.len() >= CONNECTIONS {
                let idle =
                    |connection: &Connection| connection.state != ConnectionState::WaitingForEnd;
                let oldest = self.connections.iter().position(idle).unwrap_or(0);
                self.connections.remove(oldest);
            }
            self.connections.push(Connection {
                id: self.next_id,
                stream,
                state: ConnectionState::ReadingRequest,
                bytes: Vec::new(),
            });
            self.next_id += 1;
        }
    }

    /// Continues a connection that is ready, and returns its request once it is complete.
    pub(super) fn advance(&mut self, id: u64) -> Option<ReceivedRequest> {
        let at = self.connections.iter().position(|found| found.id == id)?;
        let connection = self.connections.get_mut(at)?;
        let step = match connection.state {
            ConnectionState::ReadingRequest => connection.read(),
            ConnectionState::WaitingForEnd => connection.check_waiting(),
            ConnectionState::WritingReply => connection.write(),
        };
        match step {
            Step::More => None,
            Step::Closed => {
                self.connections.remove(at);
                None
            }
            Step::Request(request_line, body) if request_line.nonce == self.nonce => {
                Some(ReceivedRequest {
                    request: request_line.request,
                    body,
                })
            }
            Step::Request(..) => {
                self.answer(id, Answer::Refused(Refusal::Nonce), &[]);
                None
            }
            Step::Invalid => {
                self.answer(id, Answer::Refused(Refusal::Unknown), &[]);
                None
            }
        }
    }

    /// Sends the answer to a request.
    pub(super) fn answer(&mut self, id: u64, answer: Answer, body: &[u8]) {
        let Some(at) = self.connections.iter().position(|found| found.id == id) else {
            return;
        };
        let reply = ReplyLine {
            answer,
            body: body.len(),
        };
        let written = match (self.connections.get_mut(at), encode(&reply, body)) {
            (Some(connection), Ok(bytes)) => {
                connection.state = ConnectionState::WritingReply;
                connection.bytes = bytes;
                connection.write()
            }
            (None, _) | (_, Err(_)) => Step::Closed,
        };
        if matches!(written, Step::Closed) {
            self.connections.remove(at);
        }
    }

    /// Keeps a connection open until the end of the command.
    pub(super) fn wait_for_end(&mut self, id: u64) {
        let found = self.connections.iter_mut().find(|found| found.id == id);
        if let Some(connection) = found {
            connection.state = ConnectionState::WaitingForEnd;
            connection.bytes = Vec::new();
        }
    }

    /// Sends the outcome to every waiting client and closes the socket.
    pub(super) fn finish(self, outcome: &Outcome) {
        // The name is removed first: a new client then reads the status file.
        rustix::fs::unlinkat(&self.dir, SOCKET, AtFlags::empty()).ok();
        for mut connection in self.connections {
            let bytes = match connection.state {
                ConnectionState::WaitingForEnd => {
                    let answer = Answer::Ended(outcome.clone());
                    encode(&ReplyLine { answer, body: 0 }, &[]).unwrap_or_default()
                }
                ConnectionState::WritingReply => std::mem::take(&mut connection.bytes),
                ConnectionState::ReadingRequest => continue,
            };
            let stream = &mut connection.stream;
            let written = stream
                .set_nonblocking(false)
                .and_then(|()| stream.set_write_timeout(Some(FINAL_WRITE_TIMEOUT)))
                .and_then(|()| stream.write_all(&bytes));
            // A client that does not read finds the status on disk.
            written.ok();
        }
    }
}

/// Result of continuing a connection.
enum Step {
    More,
    Closed,
    Request(RequestLine, Vec<u8>),
    Invalid,
}

impl Connection {
    fn read(&mut self) -> Step {
        let mut chunk = [0; 16 << 10];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Step::Closed,
                Ok(read) => {
                    self.bytes
                        .extend_from_slice(chunk.get(..read).unwrap_or_default());
                    if self.bytes.len() > LINE_BYTES + BODY_BYTES {
                        return Step::Closed;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.parse_request(),
                Err(_) => return Step::Closed,
            }
        }
    }

    fn parse_request(&self) -> Step {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            return if self.bytes.len() > LINE_BYTES {
                Step::Invalid
            } else {
                Step::More
            };
        };
        let (line, rest) = self.bytes.split_at(end);
        let body = rest.get(1..).unwrap_or_default();
        match serde_json::from_slice::<RequestLine>(line) {
            Ok(request_line) if request_line.body > BODY_BYTES => Step::Invalid,
            Ok(request_line) if body.len() < request_line.body => Step::More,
            Ok(request_line) => {
                let body = body.get(..request_line.body).unwrap_or_default().to_vec();
                Step::Request(request_line, body)
            }
            Err(_) => Step::Invalid,
        }
    }

    fn check_waiting(&mut self) -> Step {
        match self.stream.read(&mut [0; 64]) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Step::More,
            // A waiting client has nothing to send, so any data or end means that it is gone.
            Ok(_) | Err(_) => Step::Closed,
        }
    }

    fn write(&mut self) -> Step {
        while !self.bytes.is_empty() {
            match self.stream.write(&self.bytes) {
                Ok(written) if written > 0 => drop(self.bytes.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::More,
                Ok(_) | Err(_) => return Step::Closed,
            }
        }
        Step::Closed
    }
}
