//! The event stream that a caller holds: a reader task with a short queue in front of it.
//!
//! Callers wait for the next event in a `select` and often cancel that wait. A cancelled wait must not lose a half-made
//! connection or a backoff, so the reader runs in a task of its own, which ends with the stream.

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::reader::Reader;
use holon_api::EventEnvelope;
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Number of events that the reader task reads ahead.
const QUEUE_LENGTH: usize = 64;

/// One item of a stream.
#[derive(Debug)]
pub enum StreamItem {
    Event(Box<EventEnvelope>),
    /// Text of an answer that is still arriving. The event of the recorded round replaces it.
    Delta(AssistantDelta),
}

/// Source of a stream.
#[derive(Debug, Clone)]
pub(crate) enum StreamSource {
    /// One agent; cursors are its event numbers.
    Agent(AgentId),
    /// All public agents; cursors are the host's.
    Host,
}

impl StreamSource {
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Agent(agent_id) => format!("/agents/{agent_id}/events/stream"),
            Self::Host => "/events/stream".to_owned(),
        }
    }

    /// Returns the cursor of an event in this source. The host's stream gives every event one.
    pub(crate) fn cursor_of(&self, envelope: &EventEnvelope) -> u64 {
        match self {
            Self::Agent(_) => envelope.event_seq,
            Self::Host => envelope.host_seq.unwrap_or_default(),
        }
    }
}

/// Stream of the events of one agent or of the host. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    endpoint: Endpoint,
    source: StreamSource,
    position: StreamPosition,
    deltas: bool,
    task: Option<ReaderTask>,
}

/// Place in a stream from which a reader resumes.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamPosition {
    /// Sequence number of the last event; absent before the stream is open.
    pub(crate) cursor: Option<u64>,
    /// Identity of the store that the cursor belongs to; absent before the stream is open. It outlives a reader that gave
    /// up, so that its successor does not continue in another store.
    pub(crate) epoch: Option<String>,
}

/// A running reader task and the queue it fills.
#[derive(Debug)]
struct ReaderTask {
    signals: mpsc::Receiver<Signal>,
    opened: bool,
    /// Aborts the reader when the stream is dropped.
    _task: JoinSet<()>,
}

#[derive(Debug)]
enum Signal {
    /// The stream is open and begins here.
    Opened(StreamPosition),
    Item(StreamItem),
    Failed(Error),
}

impl EventStream {
    pub(crate) const fn new(endpoint: Endpoint, source: StreamSource, cursor: Option<u64>) -> Self {
        Self {
            endpoint,
            source,
            position: StreamPosition {
                cursor,
                epoch: None,
            },
            deltas: false,
            task: None,
        }
    }

    /// Asks the host for deltas too; `next_item` returns them. Applies when the stream is opened.
    #[must_use]
    pub const fn with_deltas(mut self) -> Self {
        self.deltas = true;
        self
    }

    /// Names the store that the cursor belongs to. The host refuses the cursor if it has another store.
    #[must_use]
    pub fn of_epoch(mut self, epoch: Option<String>) -> Self {
        self.position.epoch = epoch;
        self
    }

    /// Returns the cursor of the last returned event, or the position at which the stream began; `None` before
    /// it is open.
    #[must_use]
    pub const fn cursor(&self) -> Option<u64> {
        self.position.cursor
    }

    /// Opens the stream, so that events committed from now on are seen. `next` opens it too; this method is for callers
    /// that must be listening before they act. Cancel-safe.
    ///
    /// # Errors
    /// The same errors as `next`.
    pub async fn open(&mut self) -> Result<(), Error> {
        while !self.task.as_ref().is_some_and(|task| task.opened) {
            // The first signal is either `Opened` or a failure.
            self.next_signal().await?;
        }
        Ok(())
    }

    /// Returns the next event and passes over deltas. After a broken connection the stream resumes from its cursor.
    /// Cancel-safe: no event is lost.
    ///
    /// # Errors
    /// When the host refuses (an old cursor, an unknown agent, a wrong token), when the agent was deleted, when the host
    /// has another store than before, or when it was unreachable too many times in a row. The next call starts over
    /// from the cursor.
    pub async fn next(&mut self) -> Result<EventEnvelope, Error> {
        loop {
            if let StreamItem::Event(envelope) = self.next_item().await? {
                return Ok(*envelope);
            }
        }
    }

    /// Returns the next event or delta. Cancel-safe like `next`. A delta has no position: it does not move the cursor,
    /// and deltas that were sent while the connection was broken are lost.
    ///
    /// # Errors
    /// The same errors as `next`.
    pub async fn next_item(&mut self) -> Result<StreamItem, Error> {
        loop {
            if let Some(item) = self.next_signal().await? {
                return Ok(item);
            }
        }
    }

    /// Waits for the reader's next signal and returns its item, if it carries one.
    async fn next_signal(&mut self) -> Result<Option<StreamItem>, Error> {
        let task = self.task.get_or_insert_with(|| {
            let (endpoint, source) = (self.endpoint.clone(), self.source.clone());
            ReaderTask::start(Reader::new(
                endpoint,
                source,
                self.position.clone(),
                self.deltas,
            ))
        });
        match task.signals.recv().await {
            Some(Signal::Opened(position)) => {
                task.opened = true;
                self.position = position;
                Ok(None)
            }
            Some(Signal::Item(item)) => {
                if let StreamItem::Event(envelope) = &item {
                    self.position.cursor = Some(self.source.cursor_of(envelope));
                }
                Ok(Some(item))
            }
            Some(Signal::Failed(error)) => {
                self.task = None;
                Err(error)
            }
            None => {
                self.task = None;
                let endpoint = self.endpoint.to_string();
                Err(Error::Interrupted {
                    endpoint,
                    reason: "the reader ended".into(),
                })
            }
        }
    }
}

impl ReaderTask {
    fn start(reader: Reader) -> Self {
        let (sender, signals) = mpsc::channel(QUEUE_LENGTH);
        let mut task = JoinSet::new();
        task.spawn(run_reader(reader, sender));
        Self {
            signals,
            opened: false,
            _task: task,
        }
    }
}

/// Runs a reader until the stream is dropped or the reader fails.
async fn run_reader(mut reader: Reader, sender: mpsc::Sender<Signal>) {
    let mut signal = match reader.open().await {
        Ok(position) => Signal::Opened(position),
        Err(error) => Signal::Failed(error),
    };
    loop {
        let last = matches!(signal, Signal::Failed(_));
        if sender.send(signal).await.is_err() || last {
            return;
        }
        signal = match reader.next().await {
            Ok(item) => Signal::Item(item),
            Err(error) => Signal::Failed(error),
        };
    }
}
