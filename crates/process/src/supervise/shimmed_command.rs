//! A running command, as the host holds it.

use super::birth_record::BirthRecord;
use super::line::LineReader;
use super::probe::{CommandLocator, LockHeld, probe};
use super::slice::{Slice, SliceRange, capture_so_far, end_ranges};
use super::{claim_lock, client};
use crate::error::Error;
use crate::record::{EndRecord, Identity, OutputRecord, Stream};
use crate::spec::{ShimSpec, VERSION, WindowSize};
use crate::wire::{Answer, Request};
use holon_domain::command::{CapturedStream, CommandState};
use holon_domain::time::Timestamp;
use std::path::PathBuf;
use tokio::process::Child;
use tokio::sync::{Mutex, OnceCell};

/// A command under its shim. All methods talk to the shim over its socket. Dropping this handle does not affect the
/// command.
#[derive(Debug)]
pub struct ShimmedCommand {
    pub(super) claim_dir: PathBuf,
    pub(super) nonce: String,
    identity: Identity,
    /// Birth record of its processes, held here because its directory can be removed.
    pub(super) birth_record: Option<BirthRecord>,
    /// True if the shim had answered when the command was found or started.
    answered: bool,
    pub(super) end_channel: Mutex<EndChannel>,
    pub(super) end: OnceCell<Result<EndRecord, Error>>,
}

/// The connection on which the shim reports the end.
#[derive(Debug)]
pub(super) struct EndChannel {
    pub(super) line: LineReader,
    /// The shim process if this host started it, to be reaped.
    pub(super) shim: Option<Child>,
}

impl ShimmedCommand {
    pub(super) fn started(
        spec: ShimSpec,
        identity: Identity,
        line: LineReader,
        shim: Option<Child>,
    ) -> Self {
        Self {
            birth_record: BirthRecord::from_identity(&identity),
            claim_dir: spec.claim_dir,
            nonce: spec.nonce,
            identity,
            answered: true,
            end_channel: Mutex::new(EndChannel { line, shim }),
            end: OnceCell::new(),
        }
    }

    pub(super) fn found(locator: CommandLocator<'_>, identity: Identity, line: LineReader) -> Self {
        Self {
            claim_dir: locator.claim_dir.to_owned(),
            nonce: locator.nonce.to_owned(),
            birth_record: BirthRecord::from_identity(&identity),
            identity,
            answered: true,
            end_channel: Mutex::new(EndChannel { line, shim: None }),
            end: OnceCell::new(),
        }
    }

    /// Creates a command whose shim has held its lock since `claimed_at` and has not answered. The identity is taken
    /// from its directory.
    pub(super) fn unanswered(
        locator: CommandLocator<'_>,
        claimed_at: Timestamp,
        birth_record: Option<BirthRecord>,
    ) -> Self {
        let identity = Identity {
            version: VERSION,
            task_id: locator.task_id.to_owned(),
            pid: birth_record.as_ref().map_or(0, BirthRecord::leader),
            started_at: claimed_at,
            birth_record: None,
        };
        Self {
            claim_dir: locator.claim_dir.to_owned(),
            nonce: locator.nonce.to_owned(),
            birth_record,
            identity,
            answered: false,
            // Empty from the start, so that a waiting caller checks the directory and connects to the shim again.
            end_channel: Mutex::new(EndChannel {
                line: LineReader::new(Box::new(tokio::io::empty())),
                shim: None,
            }),
            end: OnceCell::new(),
        }
    }

    /// Returns true if the shim had answered when the command was found. A shim that had not answered holds its lock and
    /// may answer later.
    pub const fn has_answered(&self) -> bool {
        self.answered
    }

    /// Returns the identity: command, start time, and a process id for display.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the facts about the output so far.
    ///
    /// # Errors
    /// Fails if the shim does not answer.
    pub async fn output(&self) -> Result<OutputRecord, Error> {
        match self.request(Request::Facts, &[]).await {
            Ok((Answer::Facts(facts), _)) => Ok(facts),
            Ok((other, _)) => Err(unexpected(&other)),
            Err(error) => self.if_ended(error).await.map(|ended| ended.output),
        }
    }

    /// Reads at most `max` bytes of a stream from offset `after` on.
    ///
    /// # Errors
    /// Fails if there is no such stream, the shim does not answer, or the file cannot be read.
    pub async fn slice(&self, stream: Stream, after: u64, max: usize) -> Result<Slice, Error> {
        let output = self.output().await?;
        self.slice_of(&output, stream, SliceRange { after, max })
            .await
    }

    /// Reads a range of a stream by facts that were read before. The part that is held in memory may have moved on
    /// since.
    async fn slice_of(
        &self,
        output: &OutputRecord,
        stream: Stream,
        range: SliceRange,
    ) -> Result<Slice, Error> {
        let SliceRange { after, max } = range;
        let facts = output.stream(stream).ok_or(Error::NoStream)?;
        if after < facts.head_bytes || facts.tail_at.is_some() || facts.tail_bytes == 0 {
            return facts.slice(after, max).await;
        }
        match self
            .request(Request::Tail { stream, after, max }, &[])
            .await
        {
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

    /// Returns head and tail of a stream as text, at most `capture_bytes` of it. Reading on at its end repeats and
    /// skips nothing, also if the command prints meanwhile.
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

    /// Like [`preview`](Self::preview), for facts that were read before.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub async fn preview_of(
        &self,
        output: &OutputRecord,
        stream: Stream,
        capture_bytes: usize,
    ) -> Result<CapturedStream, Error> {
        let facts = output.stream(stream).ok_or(Error::NoStream)?;
        let [head, tail] = end_ranges(facts, capture_bytes);
        let head = self.slice_of(output, stream, head).await?;
        let tail = self.slice_of(output, stream, tail).await?;
        Ok(capture_so_far(head, &tail, facts.total_bytes))
    }

    /// Writes a piece of input (at most a mebibyte) to the command, and returns its length.
    ///
    /// Numbers start at 1 and grow, with gaps allowed. A number that is not greater than the last accepted one counts
    /// as written and is not written again, so retry one piece, or drop it, before the next.
    ///
    /// # Errors
    /// Fails if the command accepts no input or not this much, or the shim does not answer. A retry is safe, and a
    /// refused piece has not used its number.
    pub async fn input(&self, number: u64, bytes: &[u8]) -> Result<usize, Error> {
        self.expect_done(Request::Input { number }, bytes).await?;
        Ok(bytes.len())
    }

    /// Closes the command's input after everything before `number`, which counts like a piece of input.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub async fn close_input(&self, number: u64) -> Result<(), Error> {
        self.expect_done(Request::CloseInput { number }, &[]).await
    }

    /// Writes a piece of an operator's input, as [`input`](Self::input). Its numbers are counted apart.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub async fn operator_input(&self, number: u64, bytes: &[u8]) -> Result<usize, Error> {
        self.expect_done(Request::OperatorInput { number }, bytes)
            .await?;
        Ok(bytes.len())
    }

    /// Closes the command's input for an operator, as [`close_input`](Self::close_input).
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub async fn close_operator_input(&self, number: u64) -> Result<(), Error> {
        self.expect_done(Request::OperatorCloseInput { number }, &[])
            .await
    }

    /// Changes the size of the command's terminal.
    ///
    /// # Errors
    /// Fails if there is no terminal, or the shim does not answer.
    pub async fn resize(&self, size: WindowSize) -> Result<(), Error> {
        let WindowSize { rows, columns } = size;
        self.expect_done(Request::Resize { rows, columns }, &[])
            .await
    }

    /// Sends a signal to the foreground processes of the command, as a key typed at a terminal does.
    ///
    /// # Errors
    /// Fails if there is no such signal, or the shim does not answer.
    pub async fn signal(&self, signal: i32) -> Result<(), Error> {
        self.expect_done(Request::Signal { signal }, &[]).await
    }

    async fn expect_done(&self, request: Request, body: &[u8]) -> Result<(), Error> {
        match self.request(request, body).await? {
            (Answer::Done, _) => Ok(()),
            (other, _) => Err(unexpected(&other)),
        }
    }

    pub(super) async fn request(
        &self,
        request: Request,
        body: &[u8],
    ) -> Result<(Answer, Vec<u8>), Error> {
        let exchange = client::request(&self.claim_dir, &self.nonce, request, body);
        claim_lock::with_wakeups(&self.claim_dir, exchange).await
    }

    /// Returns the end of the command if that is the reason the shim does not answer.
    async fn if_ended(&self, error: Error) -> Result<EndRecord, Error> {
        match error {
            Error::Unreachable { .. } => match probe(&self.claim_dir).await {
                CommandState::Ended(ended) => Ok(*ended),
                CommandState::StartFailed(_)
                | CommandState::NeverStarted
                | CommandState::Unknown(_) => Err(Error::Lost),
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
