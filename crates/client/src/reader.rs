//! Reads the events of one agent or of the host and reconnects when the connection breaks.
//!
//! The reader keeps a cursor: the sequence number of the last event it returned. After a failure it reconnects and
//! resumes from the cursor, so the caller sees every event once and in order, or an error. It gives up after
//! `STREAM_RETRIES` failures in a row. Its futures are not cancel-safe; `stream` gives callers one that is.

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::exchange::{HttpRequest, HttpResponse, ReadTimeout, RequestBody, send_request};
use crate::query::with_query;
use crate::retry;
use crate::stream::{StreamItem, StreamPosition, StreamSource};
use holon_api::event::{ASSISTANT_DELTA, EPOCH_HEADER, STREAM_ERROR};
use holon_api::{AgentDeleted, ErrorBody, EventEnvelope, Gap};
use holon_domain::delta::AssistantDelta;
use holon_domain::limits::{STREAM_IDLE_MS, STREAM_RETRIES};
use holon_sse::{Frame, Parser};
use hyper::Method;
use std::collections::VecDeque;
use std::time::Duration;

/// Upper bound on the bytes of one frame; the host's events are far smaller.
const MAX_FRAME_BYTES: usize = 8 << 20;

/// Cursor and connection of one event stream.
#[derive(Debug)]
pub(crate) struct Reader {
    endpoint: Endpoint,
    source: StreamSource,
    cursor: Option<u64>,
    /// True if the host is asked for deltas too.
    deltas: bool,
    /// Identity of the store the cursor belongs to; absent before the first connection.
    epoch: Option<String>,
    failures: u32,
    connection: Option<Connection>,
}

/// An open connection and the frames that arrived on it.
#[derive(Debug)]
struct Connection {
    response: HttpResponse,
    parser: Parser,
    ready: VecDeque<Frame>,
    /// True once the connection delivered bytes. The first bytes arrive with the opening and do not reset the failure
    /// count.
    delivered: bool,
}

/// Meaning of a frame.
pub(crate) enum FrameContent {
    Event(Box<EventEnvelope>),
    /// Text of an answer that is still arriving. It has no position, so the cursor stays.
    Delta(AssistantDelta),
    /// The host closed the stream because the reader fell behind. The reader reconnects with its cursor.
    Gap,
    /// The agent was deleted, and the stream ends. Nothing can be resumed.
    Deleted(AgentDeleted),
    /// The host reported a failure and ends the stream.
    Failed(Error),
    /// A frame of a kind that this client does not know; it is ignored.
    Other,
}

impl Reader {
    pub(crate) fn new(
        endpoint: Endpoint,
        source: StreamSource,
        position: StreamPosition,
        deltas: bool,
    ) -> Self {
        Self {
            endpoint,
            source,
            cursor: position.cursor,
            deltas,
            epoch: position.epoch,
            failures: 0,
            connection: None,
        }
    }

    /// Opens the stream, so that events committed from now on are read. Returns the position at which it begins.
    pub(crate) async fn open(&mut self) -> Result<StreamPosition, Error> {
        loop {
            if self.connection.is_some() && self.cursor.is_some() {
                return Ok(StreamPosition {
                    cursor: self.cursor,
                    epoch: self.epoch.clone(),
                });
            }
            let step = self.advance().await;
            self.retry_or_fail(step).await?;
        }
    }

    /// Returns the next event or delta. Reconnects when the connection breaks.
    pub(crate) async fn next(&mut self) -> Result<StreamItem, Error> {
        loop {
            let step = match self.take_ready() {
                Ok(Some(item)) => return Ok(item),
                Ok(None) => self.advance().await,
                Err(error) => Err(error),
            };
            self.retry_or_fail(step).await?;
        }
    }

    /// Makes one step towards the next event: connects, or reads more bytes.
    async fn advance(&mut self) -> Result<(), Error> {
        let Some(connection) = &mut self.connection else {
            self.connection = Some(self.connect().await?);
            return Ok(());
        };
        let Some(bytes) = connection.response.chunk().await? else {
            return Err(self.interrupted("the stream ended"));
        };
        if std::mem::replace(&mut connection.delivered, true) {
            self.failures = 0;
        }
        let mut frames = Vec::new();
        connection
            .parser
            .push(&bytes, &mut frames)
            .map_err(|error| connection.response.unexpected(error.to_string()))?;
        for frame in frames {
            if frame.data.is_some() {
                connection.ready.push_back(frame);
            } else {
                // Only a stream that began without a cursor learns its position here.
                let position = frame.id.and_then(|id| id.parse().ok());
                self.cursor = self.cursor.or(position);
            }
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<Connection, Error> {
        let target = with_query(
            &self.source.path(),
            [
                ("after_seq", self.cursor.map(|cursor| cursor.to_string())),
                ("deltas", self.deltas.then(|| "true".to_owned())),
            ],
        );
        let timeout = ReadTimeout::Idle(Duration::from_millis(STREAM_IDLE_MS));
        let response = send_request(
            &self.endpoint,
            HttpRequest {
                method: Method::GET,
                target,
                body: RequestBody::Empty,
                key: None,
                timeout,
            },
        )
        .await?;
        if !response.is_stream() {
            return Err(response.unexpected("not an event stream".into()));
        }
        let epoch = response.header(EPOCH_HEADER).map(str::to_owned);
        if self.epoch.is_some() && self.epoch != epoch {
            return Err(Error::StoreReplaced {
                endpoint: self.endpoint.to_string(),
            });
        }
        self.epoch = epoch;
        Ok(Connection {
            response,
            parser: Parser::new(MAX_FRAME_BYTES),
            ready: VecDeque::new(),
            delivered: false,
        })
    }

    /// Returns the next event or delta that has already arrived, if there is one.
    fn take_ready(&mut self) -> Result<Option<StreamItem>, Error> {
        let Some(connection) = &mut self.connection else {
            return Ok(None);
        };
        while let Some(frame) = connection.ready.pop_front() {
            match decode_frame(&frame)
                .map_err(|error| connection.response.unexpected(error.to_string()))?
            {
                FrameContent::Event(envelope) => {
                    self.failures = 0;
                    // After a reconnect the host may repeat events that were already returned.
                    let position = self.source.cursor_of(&envelope);
                    if self.cursor.is_none_or(|cursor| position > cursor) {
                        self.cursor = Some(position);
                        return Ok(Some(StreamItem::Event(envelope)));
                    }
                }
                FrameContent::Delta(delta) => return Ok(Some(StreamItem::Delta(delta))),
                FrameContent::Gap => return Err(self.interrupted("the reader fell behind")),
                FrameContent::Deleted(deleted) => {
                    return Err(Error::AgentDeleted {
                        agent_id: deleted.agent_id,
                    });
                }
                FrameContent::Failed(error) => return Err(error),
                FrameContent::Other => {}
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

    /// Passes a successful step. After a transient failure, drops the connection and waits for the backoff; after any
    /// other failure, or too many in a row, returns the error.
    async fn retry_or_fail(&mut self, step: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = step else { return Ok(()) };
        self.connection = None;
        if !error.is_transient() || self.failures >= STREAM_RETRIES {
            return Err(error);
        }
        retry::back_off(self.failures).await;
        self.failures += 1;
        Ok(())
    }
}

pub(crate) fn decode_frame(frame: &Frame) -> Result<FrameContent, serde_json::Error> {
    let data = frame.data.as_deref().unwrap_or_default();
    if frame.id.is_some() {
        return serde_json::from_str(data)
            .map(Box::new)
            .map(FrameContent::Event);
    }
    Ok(match frame.event.as_deref() {
        // A delta is provisional, so one of another shape is passed over.
        Some(ASSISTANT_DELTA) => {
            serde_json::from_str(data).map_or(FrameContent::Other, FrameContent::Delta)
        }
        Some(Gap::EVENT) => FrameContent::Gap,
        Some(AgentDeleted::EVENT) => FrameContent::Deleted(serde_json::from_str(data)?),
        Some(STREAM_ERROR) => {
            let ErrorBody {
                ok: _,
                error,
                code,
                hint,
                extra,
            } = serde_json::from_str(data)?;
            FrameContent::Failed(Error::Api {
                status: 503,
                code,
                message: error,
                hint,
                extra,
            })
        }
        Some(_) | None => FrameContent::Other,
    })
}
