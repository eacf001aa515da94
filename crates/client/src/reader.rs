//! Reads one agent's events over as many connections as it takes.
//!
//! It keeps a cursor: the last event it gave out. Whatever breaks, it comes back and continues after that event, so
//! its user sees every event once and in order, or an error. Giving up is bounded: so many failures in a row.
//! Not here: being waited for by several things at once; see `stream`.

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::exchange::{Answer, Ask, Patience, ask};
use holon_api::event::{EPOCH_HEADER, STREAM_ERROR};
use holon_api::{ErrorBody, EventEnvelope, Gap};
use holon_domain::AgentId;
use holon_domain::limits::{STREAM_IDLE_MS, STREAM_RETRIES};
use holon_sse::{Frame, Parser};
use hyper::Method;
use std::collections::VecDeque;
use std::time::Duration;

/// Most bytes of one frame that are read; the host's events are bounded far below it.
const MAX_FRAME_BYTES: usize = 8 << 20;
/// The first pause before coming back; doubles with each failure in a row.
const PAUSE_BASE_MS: u64 = 250;
/// The longest pause.
const PAUSE_MAX_MS: u64 = 5_000;

/// Events of one agent, as they come.
#[derive(Debug)]
pub(crate) struct Reader {
    endpoint: Endpoint,
    agent_id: AgentId,
    cursor: Option<u64>,
    /// The store the cursor belongs to, once known.
    epoch: Option<String>,
    failures: u32,
    open: Option<Open>,
}

/// A connection that delivers.
#[derive(Debug)]
struct Open {
    answer: Answer,
    parser: Parser,
    ready: VecDeque<Frame>,
    /// Whether it has delivered anything before; the first bytes come with the opening and prove little.
    delivered: bool,
}

/// What a frame means here.
enum Item {
    Event(Box<EventEnvelope>),
    /// The reader fell behind and was sent away; its cursor is good, or the host will say that it is not.
    ComeBack,
    /// The host failed while it streamed.
    Failed(Error),
    /// A notice this client does not know.
    Other,
}

impl Reader {
    pub(crate) const fn new(endpoint: Endpoint, agent_id: AgentId, cursor: Option<u64>) -> Self {
        Self {
            endpoint,
            agent_id,
            cursor,
            epoch: None,
            failures: 0,
            open: None,
        }
    }

    /// Opens the stream, so that what is committed from now on will be read; where it begins.
    pub(crate) async fn open(&mut self) -> Result<u64, Error> {
        loop {
            if let (Some(_), Some(cursor)) = (&self.open, self.cursor) {
                return Ok(cursor);
            }
            let step = self.advance().await;
            self.settle(step).await?;
        }
    }

    /// The next event. Comes back by itself when the connection breaks.
    pub(crate) async fn next(&mut self) -> Result<EventEnvelope, Error> {
        loop {
            let step = match self.take_ready() {
                Ok(Some(envelope)) => return Ok(envelope),
                Ok(None) => self.advance().await,
                Err(error) => Err(error),
            };
            self.settle(step).await?;
        }
    }

    /// One step towards the next event: connect, or take in more bytes.
    async fn advance(&mut self) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            self.open = Some(self.connect().await?);
            return Ok(());
        };
        let Some(bytes) = open.answer.chunk().await? else {
            return Err(self.interrupted("the stream ended"));
        };
        if std::mem::replace(&mut open.delivered, true) {
            self.failures = 0;
        }
        let mut frames = Vec::new();
        open.parser
            .push(&bytes, &mut frames)
            .map_err(|error| open.answer.unexpected(error.to_string()))?;
        for frame in frames {
            if frame.data.is_some() {
                open.ready.push_back(frame);
            } else {
                // Only a stream that began without a cursor learns it here.
                let position = frame.id.and_then(|id| id.parse().ok());
                self.cursor = self.cursor.or(position);
            }
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<Open, Error> {
        let target = match self.cursor {
            Some(cursor) => format!("/agents/{}/events/stream?after_seq={cursor}", self.agent_id),
            None => format!("/agents/{}/events/stream", self.agent_id),
        };
        let patience = Patience::Idle(Duration::from_millis(STREAM_IDLE_MS));
        let answer = ask(
            &self.endpoint,
            Ask {
                method: Method::GET,
                target,
                body: None,
                patience,
            },
        )
        .await?;
        if !answer.is_stream() {
            return Err(answer.unexpected("not an event stream".into()));
        }
        let epoch = answer.header(EPOCH_HEADER).map(str::to_owned);
        if self.epoch.is_some() && self.epoch != epoch {
            return Err(Error::StoreReplaced {
                endpoint: self.endpoint.to_string(),
            });
        }
        self.epoch = epoch;
        Ok(Open {
            answer,
            parser: Parser::new(MAX_FRAME_BYTES),
            ready: VecDeque::new(),
            delivered: false,
        })
    }

    /// The next event that has arrived, if one has.
    fn take_ready(&mut self) -> Result<Option<EventEnvelope>, Error> {
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        while let Some(frame) = open.ready.pop_front() {
            match read(&frame).map_err(|error| open.answer.unexpected(error.to_string()))? {
                Item::Event(envelope) => {
                    self.failures = 0;
                    // After a break the host may send again what was given out already.
                    if self.cursor.is_none_or(|cursor| envelope.event_seq > cursor) {
                        self.cursor = Some(envelope.event_seq);
                        return Ok(Some(*envelope));
                    }
                }
                Item::ComeBack => return Err(self.interrupted("the reader fell behind")),
                Item::Failed(error) => return Err(error),
                Item::Other => {}
            }
        }
        Ok(None)
    }

    fn interrupted(&self, reason: &str) -> Error {
        Error::Interrupted {
            endpoint: self.endpoint.to_string(),
            reason: reason.to_owned(),
        }
    }

    /// Lets a step stand, or waits before the next one, or gives up.
    async fn settle(&mut self, step: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = step else { return Ok(()) };
        self.open = None;
        if !error.is_passing() || self.failures >= STREAM_RETRIES {
            return Err(error);
        }
        let pause = PAUSE_BASE_MS
            .saturating_mul(1 << self.failures.min(10))
            .min(PAUSE_MAX_MS);
        self.failures += 1;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        Ok(())
    }
}

fn read(frame: &Frame) -> Result<Item, serde_json::Error> {
    let data = frame.data.as_deref().unwrap_or_default();
    if frame.id.is_some() {
        return serde_json::from_str(data).map(Box::new).map(Item::Event);
    }
    Ok(match frame.event.as_deref() {
        Some(Gap::EVENT) => Item::ComeBack,
        Some(STREAM_ERROR) => {
            let ErrorBody {
                ok: _,
                error,
                code,
                hint,
                extra,
            } = serde_json::from_str(data)?;
            Item::Failed(Error::Api {
                status: 503,
                code,
                message: error,
                hint,
                extra,
            })
        }
        Some(_) | None => Item::Other,
    })
}
