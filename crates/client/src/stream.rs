//! The stream a caller holds: a reader that works on its own, and a short queue in front of it.
//!
//! Callers wait for the next event beside other things and give the wait up again and again. The reader must not lose
//! a half-made connection or a pause by that, so it is a task of its own, which ends with the stream.

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::reader::Reader;
use holon_api::EventEnvelope;
use holon_domain::AgentId;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Events that are read ahead.
const AHEAD: usize = 64;

/// Events of one agent, as they come. Dropping it ends it.
#[derive(Debug)]
pub struct EventStream {
    endpoint: Endpoint,
    agent_id: AgentId,
    cursor: Option<u64>,
    reading: Option<Reading>,
}

/// A reader at work.
#[derive(Debug)]
struct Reading {
    signals: mpsc::Receiver<Signal>,
    opened: bool,
    /// Ends the reader when the stream is dropped.
    _task: JoinSet<()>,
}

#[derive(Debug)]
enum Signal {
    /// It listens from here on.
    Opened(u64),
    Event(Box<EventEnvelope>),
    Failed(Error),
}

impl EventStream {
    pub(crate) const fn new(endpoint: Endpoint, agent_id: AgentId, cursor: Option<u64>) -> Self {
        Self {
            endpoint,
            agent_id,
            cursor,
            reading: None,
        }
    }

    /// The last event that was given out, or the position the stream began at; none before it is open.
    #[must_use]
    pub const fn cursor(&self) -> Option<u64> {
        self.cursor
    }

    /// Opens the stream, so that what is committed from now on will be seen. `next` does it by itself; this is for
    /// callers who must be listening before they act. May be given up and called again.
    ///
    /// # Errors
    /// As `next`.
    pub async fn open(&mut self) -> Result<(), Error> {
        while !self.reading.as_ref().is_some_and(|reading| reading.opened) {
            // Before it has opened, it gives out nothing else.
            self.signal().await?;
        }
        Ok(())
    }

    /// The next event. A broken connection is made again from the last event on. May be given up and called again:
    /// no event is lost by that.
    ///
    /// # Errors
    /// When the host refuses (an old cursor, an unknown agent, a wrong token), has another store than before, or was
    /// not to be reached so many times in a row. Called again after that, it tries afresh.
    pub async fn next(&mut self) -> Result<EventEnvelope, Error> {
        loop {
            if let Some(envelope) = self.signal().await? {
                return Ok(envelope);
            }
        }
    }

    /// Takes what the reader has to say; the event, if it is one.
    async fn signal(&mut self) -> Result<Option<EventEnvelope>, Error> {
        let reading = self
            .reading
            .get_or_insert_with(|| Reading::start(&self.endpoint, &self.agent_id, self.cursor));
        match reading.signals.recv().await {
            Some(Signal::Opened(cursor)) => {
                reading.opened = true;
                self.cursor = Some(cursor);
                Ok(None)
            }
            Some(Signal::Event(envelope)) => {
                self.cursor = Some(envelope.event_seq);
                Ok(Some(*envelope))
            }
            Some(Signal::Failed(error)) => {
                self.reading = None;
                Err(error)
            }
            None => {
                self.reading = None;
                let endpoint = self.endpoint.to_string();
                Err(Error::Interrupted {
                    endpoint,
                    reason: "the reader ended".into(),
                })
            }
        }
    }
}

impl Reading {
    fn start(endpoint: &Endpoint, agent_id: &AgentId, cursor: Option<u64>) -> Self {
        let reader = Reader::new(endpoint.clone(), agent_id.clone(), cursor);
        let (sender, signals) = mpsc::channel(AHEAD);
        let mut task = JoinSet::new();
        task.spawn(read(reader, sender));
        Self {
            signals,
            opened: false,
            _task: task,
        }
    }
}

/// Reads until somebody stops it or it has to give up.
async fn read(mut reader: Reader, sender: mpsc::Sender<Signal>) {
    let mut signal = match reader.open().await {
        Ok(cursor) => Signal::Opened(cursor),
        Err(error) => Signal::Failed(error),
    };
    loop {
        let last = matches!(signal, Signal::Failed(_));
        if sender.send(signal).await.is_err() || last {
            return;
        }
        signal = match reader.next().await {
            Ok(envelope) => Signal::Event(Box::new(envelope)),
            Err(error) => Signal::Failed(error),
        };
    }
}
