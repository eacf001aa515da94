//! A running command, as the host holds it.

use super::attach::{Probe, probe, wait_line};
use super::slice::{Slice, halves, so_far};
use super::{client, holder};
use crate::error::Error;
use crate::record::{Ended, Identity, Outcome, OutputFacts, Stream};
use crate::spec::{ShimSpec, WindowSize};
use crate::wire::{Answer, Ask, LINE_BYTES, Reply};
use holon_domain::command::CapturedStream;
use rustix::process::Signal;
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Child;
use tokio::sync::{Mutex, OnceCell};

/// How long a shim may take after a stop's grace to kill, to drain and to write its status. Far more than it needs on
/// a machine that is not choking: a shim that is killed because it is slow leaves no status.
const AFTER_GRACE: Duration = Duration::from_secs(30);
/// How long between looks at a shim that neither answers nor lets go of its lock.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a shim that is to stop its command is woken, in case something suspends it.
const NUDGE: Duration = Duration::from_millis(200);

/// A command under its shim. Dropping it changes nothing for the command.
#[derive(Debug)]
pub struct Task {
    state_dir: PathBuf,
    nonce: String,
    identity: Identity,
    waiting: Mutex<Waiting>,
    over: OnceCell<Result<Ended, Error>>,
}

/// Where the end is told.
#[derive(Debug)]
struct Waiting {
    line: Line,
    /// The shim, where we started it: to be reaped.
    shim: Option<Child>,
}

impl Task {
    pub(super) fn started(spec: ShimSpec, identity: Identity, line: Line, shim: Child) -> Self {
        Self {
            state_dir: spec.state_dir,
            nonce: spec.nonce,
            identity,
            waiting: Mutex::new(Waiting {
                line,
                shim: Some(shim),
            }),
            over: OnceCell::new(),
        }
    }

    pub(super) fn found(state_dir: &Path, nonce: &str, identity: Identity, line: Line) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            nonce: nonce.to_owned(),
            identity,
            waiting: Mutex::new(Waiting { line, shim: None }),
            over: OnceCell::new(),
        }
    }

    /// Whose command it is, since when it runs, and its process id to be shown to people.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Waits for the end. May be called by several at once, dropped and called again.
    ///
    /// # Errors
    /// [`Error::Lost`] when the shim died and left no status.
    pub async fn ended(&self) -> Result<Ended, Error> {
        self.over.get_or_init(|| self.wait()).await.clone()
    }

    async fn wait(&self) -> Result<Ended, Error> {
        let mut waiting = self.waiting.lock().await;
        loop {
            // A line that breaks off or makes no sense tells nothing; the directory does.
            if let Ok(Some(told)) = waiting.line.next::<Told>().await {
                let outcome = told.into_outcome();
                if let Some(shim) = &mut waiting.shim {
                    // It exits right after its last word; nothing else is of interest in that.
                    shim.wait().await.ok();
                }
                return settled(outcome);
            }
            match probe(&self.state_dir).await {
                Probe::Over(outcome) => return settled(Some(outcome)),
                // What ran has not never run: somebody removed its directory.
                Probe::Gone | Probe::NeverRan => return Err(Error::Lost),
                Probe::Held => match wait_line(&self.state_dir, &self.nonce).await {
                    Ok(line) => waiting.line = line,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
            }
        }
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

    /// Asks every process of the command to end, kills after `grace` whoever has not, and returns how it ended.
    ///
    /// # Errors
    /// [`Error::Lost`] when the shim itself had to be killed, or died before.
    pub async fn stop(&self, grace: Duration) -> Result<Ended, Error> {
        let limit = grace.saturating_add(AFTER_GRACE);
        let stopped = async {
            tokio::select! {
                ended = self.ended() => ended,
                never = self.press(grace) => match never {},
            }
        };
        if let Ok(ended) = tokio::time::timeout(limit, stopped).await {
            return ended;
        }
        // It is beyond talking to. Its direct child dies with it.
        holder::send(&self.state_dir, Signal::KILL).await;
        self.ended().await
    }

    /// Asks for a stop until it is granted, and has nobody sleep over it.
    async fn press(&self, grace: Duration) -> Infallible {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let ask = async {
            while self.ask(Ask::Stop { grace_ms }, &[]).await.is_err() {
                // Most often because it has ended.
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::join!(self.nudge(), ask).0
    }

    async fn nudge(&self) -> Infallible {
        loop {
            holder::send(&self.state_dir, Signal::CONT).await;
            tokio::time::sleep(NUDGE).await;
        }
    }

    async fn order(&self, ask: Ask, body: &[u8]) -> Result<(), Error> {
        match self.ask(ask, body).await? {
            (Answer::Done, _) => Ok(()),
            (other, _) => Err(unexpected(&other)),
        }
    }

    async fn ask(&self, ask: Ask, body: &[u8]) -> Result<(Answer, Vec<u8>), Error> {
        client::ask(&self.state_dir, &self.nonce, ask, body).await
    }

    /// The end, when that is why the shim does not answer.
    async fn if_ended(&self, error: Error) -> Result<Ended, Error> {
        match error {
            Error::Unreachable { .. } => match probe(&self.state_dir).await {
                Probe::Over(outcome) => settled(Some(outcome)),
                Probe::Gone | Probe::NeverRan => Err(Error::Lost),
                Probe::Held => Err(error),
            },
            other => Err(other),
        }
    }
}

fn settled(outcome: Option<Outcome>) -> Result<Ended, Error> {
    match outcome {
        Some(Outcome::Ended(ended)) => Ok(*ended),
        // A command we saw running was started; anything else is another's status.
        Some(Outcome::NotStarted { .. }) | None => Err(Error::Lost),
    }
}

fn unexpected(answer: &Answer) -> Error {
    Error::Unreachable {
        reason: format!("it answered something else: {answer:?}"),
    }
}

/// How the end is told: bare by a shim to whoever started it, as an answer to whoever asked.
#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
enum Told {
    Outcome(Outcome),
    Reply(Reply),
}

impl Told {
    fn into_outcome(self) -> Option<Outcome> {
        match self {
            Self::Outcome(outcome)
            | Self::Reply(Reply {
                answer: Answer::Over(outcome),
                ..
            }) => Some(outcome),
            Self::Reply(_) => None,
        }
    }
}

/// Lines of JSON from a shim. A read that was dropped goes on where it stood.
pub(super) struct Line {
    reader: BufReader<Box<dyn AsyncRead + Send + Sync + Unpin>>,
    line: Vec<u8>,
}

impl Line {
    pub(super) fn new(reader: Box<dyn AsyncRead + Send + Sync + Unpin>) -> Self {
        Self {
            reader: BufReader::with_capacity(4 << 10, reader),
            line: Vec::new(),
        }
    }

    /// The next line; none at the end.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        while self.line.last() != Some(&b'\n') {
            if self.line.len() > LINE_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let part = self.reader.fill_buf().await?;
            if part.is_empty() {
                return Ok(None);
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(part.len(), |end| end + 1);
            self.line
                .extend_from_slice(part.get(..used).unwrap_or_default());
            self.reader.consume(used);
        }
        let line = std::mem::take(&mut self.line);
        Ok(Some(serde_json::from_slice(&line)?))
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
