//! One connection: reads its requests one after another and writes the scripted answers.

use super::answer::{Answer, Ending, Framing, Piece, Reaction};
use super::http::read_request;
use super::round::{Point, Round};
use super::shared::{Shared, ThreadSignal};
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

/// Bytes of a filler written at once.
const BLOCK: usize = 64 << 10;

/// A connection and the state it shares with the others.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Arc<TcpStream>,
    pub(super) shared: Arc<Shared>,
    pub(super) number: usize,
}

/// The step after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    End,
}

/// The reason why an answer was not written to its end.
enum WriteAbort {
    /// The server is stopping.
    Stopped,
    HungUp,
}

impl From<io::Error> for WriteAbort {
    fn from(_: io::Error) -> Self {
        Self::HungUp
    }
}

/// The gates at which an answer is held.
pub(super) struct AnswerGates(Vec<(Point, String)>);

impl AnswerGates {
    /// An answer without gates.
    pub(super) const NONE: Self = Self(Vec::new());

    /// The gates of a round.
    pub(super) fn of(round: &Round) -> Self {
        Self(round.style.holds.clone())
    }
}

impl Connection {
    /// Answers requests until the connection ends. `react` decides about each.
    pub(super) fn serve(
        self,
        mut react: impl FnMut(super::RecordedRequest) -> (Reaction, AnswerGates),
    ) {
        let mut reader = BufReader::new(&*self.stream);
        loop {
            let request = match read_request(&mut reader, self.number) {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return self.shared.complain(format!("no HTTP request: {error}"));
                }
                // The client reset the connection.
                Err(_) => return,
            };
            let (reaction, holds) = react(request);
            match self.play(&reaction, &holds) {
                Ok(Next::Request) => {}
                Ok(Next::End) | Err(WriteAbort::Stopped) => return,
                Err(WriteAbort::HungUp) => return self.shared.hung_up(),
            }
        }
    }

    fn play(&self, reaction: &Reaction, holds: &AnswerGates) -> Result<Next, WriteAbort> {
        self.pass(holds, Point::BeforeHeaders)?;
        match reaction {
            Reaction::Answer(answer) => self.send(answer, holds),
            Reaction::Silence => self.await_hang_up(),
            Reaction::Reset => self.reset(),
            Reaction::Close => Ok(Next::End),
        }
    }

    fn send(&self, answer: &Answer, holds: &AnswerGates) -> Result<Next, WriteAbort> {
        self.write(head(answer).as_bytes())?;
        self.pass(holds, Point::AfterHeaders)?;
        for (sent, piece) in answer.pieces.iter().enumerate() {
            self.pass(holds, Point::AfterPieces(sent))?;
            self.send_piece(piece, answer)?;
        }
        self.pass(holds, Point::AfterPieces(answer.pieces.len()))?;
        match answer.ending {
            Ending::Kept | Ending::Closed => {
                if answer.framing == Framing::Chunked {
                    self.write(b"0\r\n\r\n")?;
                }
                Ok(match answer.ending {
                    Ending::Kept => Next::Request,
                    Ending::Closed | Ending::Cut | Ending::Reset | Ending::Stalled => Next::End,
                })
            }
            Ending::Cut => Ok(Next::End),
            Ending::Reset => self.reset(),
            Ending::Stalled => self.await_hang_up(),
        }
    }

    fn send_piece(&self, piece: &Piece, answer: &Answer) -> Result<(), WriteAbort> {
        match piece {
            Piece::Bytes(bytes) if answer.drip.is_none() => self.write_framed(bytes, answer),
            Piece::Bytes(bytes) => bytes.iter().try_for_each(|byte| self.drip(*byte, answer)),
            Piece::Filler { byte, count } if answer.drip.is_some() => {
                (0..*count).try_for_each(|_| self.drip(*byte, answer))
            }
            Piece::Filler { byte, count } => {
                let block = vec![*byte; BLOCK];
                let mut left = *count;
                while left > 0 {
                    let size = BLOCK.min(usize::try_from(left).unwrap_or(BLOCK));
                    self.write_framed(block.get(..size).unwrap_or(&block), answer)?;
                    left -= size as u64;
                }
                Ok(())
            }
        }
    }

    fn drip(&self, byte: u8, answer: &Answer) -> Result<(), WriteAbort> {
        let pause = answer.drip.unwrap_or_default();
        match self.shared.pace(pause) {
            ThreadSignal::Continue => self.write_framed(&[byte], answer),
            ThreadSignal::Stop => Err(WriteAbort::Stopped),
        }
    }

    fn write_framed(&self, bytes: &[u8], answer: &Answer) -> Result<(), WriteAbort> {
        match answer.framing {
            Framing::Length(_) => self.write(bytes),
            // An empty chunk would end the body.
            Framing::Chunked if bytes.is_empty() => Ok(()),
            Framing::Chunked => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                self.write(&chunk)
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), WriteAbort> {
        Ok((&*self.stream).write_all(bytes)?)
    }

    fn pass(&self, holds: &AnswerGates, here: Point) -> Result<(), WriteAbort> {
        for (_, gate) in holds.0.iter().filter(|(point, _)| *point == here) {
            if self.shared.pass(gate) == ThreadSignal::Stop {
                return Err(WriteAbort::Stopped);
            }
        }
        Ok(())
    }

    /// Reads until the client disconnects.
    fn await_hang_up(&self) -> Result<Next, WriteAbort> {
        let mut ignored = [0; 64];
        while (&*self.stream).read(&mut ignored)? > 0 {}
        Err(WriteAbort::HungUp)
    }

    /// Makes the close of the connection a reset instead of an orderly end.
    fn reset(&self) -> Result<Next, WriteAbort> {
        let linger = Some(std::time::Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(&*self.stream, linger)
            .expect("a socket takes this option");
        Ok(Next::End)
    }
}

fn head(answer: &Answer) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&match answer.framing {
        Framing::Length(length) => format!("content-length: {length}\r\n"),
        Framing::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
    });
    if answer.ending == Ending::Closed {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    head
}
