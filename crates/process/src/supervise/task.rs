//! A running command, as the host holds it.

use super::born::Born;
use super::line::Line;
use super::probe::{LockHeld, Sought, probe};
use super::slice::{Slice, halves, so_far};
use super::{client, holder};
use crate::error::Error;
use crate::record::{Ended, Identity, OutputFacts, Stream};
use crate::spec::{ShimSpec, VERSION, WindowSize};
use crate::wire::{Answer, Ask};
use holon_domain::command::{CapturedStream, CommandState};
use holon_domain::time::Timestamp;
use std::path::PathBuf;
use tokio::process::Child;
use tokio::sync::{Mutex, OnceCell};

/// A command under its shim. Dropping it changes nothing for the command.
#[derive(Debug)]
pub struct Task {
    pub(super) state_dir: PathBuf,
    pub(super) nonce: String,
    identity: Identity,
    /// Who its processes are, held here because its directory can be removed.
    pub(super) born: Option<Born>,
    /// Whether its shim had answered when the task was found or started.
    answered: bool,
    pub(super) waiting: Mutex<Waiting>,
    pub(super) over: OnceCell<Result<Ended, Error>>,
}

/// Where the end is told.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) line: Line,
    /// The shim, where we started it: to be reaped.
    pub(super) shim: Option<Child>,
}

impl Task {
    pub(super) fn started(
        spec: ShimSpec,
        identity: Identity,
        line: Line,
        shim: Option<Child>,
    ) -> Self {
        Self {
            born: Born::told(&identity),
            state_dir: spec.state_dir,
            nonce: spec.nonce,
            identity,
            answered: true,
            waiting: Mutex::new(Waiting { line, shim }),
            over: OnceCell::new(),
        }
    }

    pub(super) fn found(sought: Sought<'_>, identity: Identity, line: Line) -> Self {
        Self {
            state_dir: sought.state_dir.to_owned(),
            nonce: sought.nonce.to_owned(),
            born: Born::told(&identity),
            identity,
            answered: true,
            waiting: Mutex::new(Waiting { line, shim: None }),
            over: OnceCell::new(),
        }
    }

    /// A task whose shim holds its lock since `claimed_at` and has not answered. What the shim would say of itself is
    /// taken from its directory.
    pub(super) fn unanswered(
        sought: Sought<'_>,
        claimed_at: Timestamp,
        born: Option<Born>,
    ) -> Self {
        let identity = Identity {
            version: VERSION,
            task_id: sought.task_id.to_owned(),
            pid: born.as_ref().map_or(0, Born::leader),
            started_at: claimed_at,
            born: None,
        };
        Self {
            state_dir: sought.state_dir.to_owned(),
            nonce: sought.nonce.to_owned(),
            born,
            identity,
            answered: false,
            // At its end from the start, so that whoever waits looks at the directory and asks the shim anew.
            waiting: Mutex::new(Waiting {
                line: Line::new(Box::new(tokio::io::empty())),
                shim: None,
            }),
            over: OnceCell::new(),
        }
    }

    /// Whether its shim had answered when the task was found. One that had not holds its lock, and may answer later.
    pub const fn has_answered(&self) -> bool {
        self.answered
    }

    /// Whose command it is, since when it runs, and its process id to be shown to people.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What is kept of the output so far.
    ///
    /// # Errors
    /// When the shim does not answer.
    pub async fn output(&self) -> Result<OutputFacts, Error> {
        match self.ask(Ask::Facts, &[]).await {
            Ok((Answer::Facts(facts), _)) => Ok(facts),
            Ok((other, _)) => Err(unexpected(&other)),
            Err(error) => self.if_ended(error).await.map(|ended| ended.output),
        }
    }

    /// At most `max` bytes of a stream from offset `after` on.
    ///
    /// # Errors
    /// When there is no such stream, the shim does not answer or the file cannot be read.
    pub async fn slice(&self, stream: Stream, after: u64, max: usize) -> Result<Slice, Error> {
        let output = self.output().await?;
        self.slice_of(&output, stream, (after, max)).await
    }

    /// The same for who knows what is kept. The part that is held in memory may have moved on since.
    async fn slice_of(
        &self,
        output: &OutputFacts,
        stream: Stream,
        (after, max): (u64, usize),
    ) -> Result<Slice, Error> {
        let facts = output.stream(stream).ok_or(Error::NoStream)?;
        if after < facts.head_bytes || facts.tail_at.is_some() || facts.tail_bytes == 0 {
            return facts.slice(after, max).await;
        }
        match self.ask(Ask::Tail { stream, after, max }, &[]).await {
            Ok((Answer::Tail { at, total }, bytes)) => Ok(Slice {
                at,
                bytes,
                total_bytes: total,
            }),
            Ok((other, _)) => Err(unexpected(&other)),
            Err(error) => {
                let ended = self.if_ended(error).await?;
                let facts = ended.output.stream(stream).ok_or(Error::NoStream)?;
                facts.slice(after, max).await
            }
        }
    }

    /// Head and tail of a stream as text, at most `capture_bytes` of it. Its end is where reading on begins: whatever
    /// is printed meanwhile, nothing is shown twice and nothing is passed over.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub async fn preview(
        &self,
        stream: Stream,
        capture_bytes: usize,
    ) -> Result<CapturedStream, Error> {
        let output = self.output().await?;
        self.preview_of(&output, stream, capture_bytes).await
    }

    /// The same of the stream as it was when `output` was kept of it.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub async fn preview_of(
        &self,
        output: &OutputFacts,
        stream: Stream,
        capture_bytes: usize,
    ) -> Result<CapturedStream, Error> {
        let facts = output.stream(stream).ok_or(Error::NoStream)?;
        let (head, tail) = halves(facts, capture_bytes);
        let head = self.slice_of(output, stream, head).await?;
        let tail = self.slice_of(output, stream, tail).await?;
        Ok(so_far(head, &tail, facts.total_bytes))
    }

    /// Gives the command a piece of input (at most a mebibyte), and returns how many bytes it was given.
    ///
    /// Numbers begin at 1 or above and grow, with gaps if need be. One that is not greater than the last one taken
    /// counts as taken and is not given again, so ask again for one piece, or give it up, before the next.
    ///
    /// # Errors
    /// When the command takes no input or not this much, or the shim does not answer. Asking again is harmless, and a
    /// piece that was refused has not used up its number.
    pub async fn input(&self, number: u64, bytes: &[u8]) -> Result<usize, Error> {
        self.order(Ask::Input { number }, bytes).await?;
        Ok(bytes.len())
    }

    /// Closes the command's input after everything before `number`; the number counts like one of input.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub async fn close_input(&self, number: u64) -> Result<(), Error> {
        self.order(Ask::CloseInput { number }, &[]).await
    }

    /// Changes the size of the command's terminal.
    ///
    /// # Errors
    /// When there is no terminal, or the shim does not answer.
    pub async fn resize(&self, size: WindowSize) -> Result<(), Error> {
        let WindowSize { rows, columns } = size;
        self.order(Ask::Resize { rows, columns }, &[]).await
    }

    /// Sends a signal to the processes in the command's foreground, as a key typed at a terminal does.
    ///
    /// # Errors
    /// When there is no such signal, or the shim does not answer.
    pub async fn signal(&self, signal: i32) -> Result<(), Error> {
        self.order(Ask::Signal { signal }, &[]).await
    }

    async fn order(&self, ask: Ask, body: &[u8]) -> Result<(), Error> {
        match self.ask(ask, body).await? {
            (Answer::Done, _) => Ok(()),
            (other, _) => Err(unexpected(&other)),
        }
    }

    pub(super) async fn ask(&self, ask: Ask, body: &[u8]) -> Result<(Answer, Vec<u8>), Error> {
        let asked = client::ask(&self.state_dir, &self.nonce, ask, body);
        holder::woken(&self.state_dir, asked).await
    }

    /// The end, when that is why the shim does not answer.
    async fn if_ended(&self, error: Error) -> Result<Ended, Error> {
        match error {
            Error::Unreachable { .. } => match probe(&self.state_dir).await {
                CommandState::Ended(ended) => Ok(*ended),
                CommandState::Failed(_) | CommandState::NeverStarted | CommandState::Unknown(_) => {
                    Err(Error::Lost)
                }
                CommandState::Running(LockHeld) => Err(error),
            },
            other => Err(other),
        }
    }
}

fn unexpected(answer: &Answer) -> Error {
    Error::Unreachable {
        reason: format!("it answered something else: {answer:?}"),
    }
}
