//! Event streams: replay after a cursor, then live events.
//!
//! Owns one task per open stream. Notices of the feed wake the task, and it reads pages by cursor. A lost notice
//! therefore costs nothing, and no event is skipped or sent twice. A stream buffers a few chunks at most, and a slow
//! reader holds back only its own task. The engine owns the events, `api` owns their shape, and `source` reads the events
//! of one agent or of the host. A stream of an agent that is deleted ends with the frame `agent_deleted`.
//!
//! A reader may also ask for deltas: text of answers that are still arriving. They are provisional and have no id. A
//! reader that lags misses deltas without notice, and never an event. The deltas of a round go before its recorded
//! event, which replaces them.

mod replay;

use crate::chunks::{ChunkSender, ReaderGone, StreamKind};
use crate::frame;
use crate::refusal::{Refusal, RequestFault};
use crate::source::{EventSource, SourceEntry, SourcePage};
use crate::state::{Connection, Host, ReadState};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use holon_api::event::{ASSISTANT_DELTA, EPOCH_HEADER, STREAM_ERROR};
use holon_api::{AgentDeleted, Gap, Projection};
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::feed::FeedNotice;
use holon_domain::limits::{STREAM_HEARTBEAT_MS, STREAM_LAG};
use holon_engine::{Error, ReadHandle};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// Reconnect delay suggested to readers, in milliseconds.
const RETRY_MS: u64 = 1_000;
/// Target size of a chunk; frames are sent together up to about this many bytes.
const CHUNK_BYTES: usize = 32 << 10;

/// Parameters of a stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamRequest {
    pub(crate) source: EventSource,
    pub(crate) cursor: Option<u64>,
    pub(crate) limit: u64,
    pub(crate) projection: Projection,
    /// True if the reader also asks for text of answers that are still arriving.
    pub(crate) deltas: bool,
    pub(crate) connection: Option<Connection>,
}

/// Opens a stream. All refusals come before the first byte.
pub(crate) async fn open(state: &ReadState, request: StreamRequest) -> Result<Response, Refusal> {
    let (chunks, received) =
        ChunkSender::open(&state.host, StreamKind::Events, request.connection.clone())?;
    // Subscribe before reading the position, so that every later commit is noticed.
    let notices = request.source.subscribe(&state.reads);
    let deltas = request
        .source
        .subscribe_to_deltas(&state.reads, request.deltas);
    let cursor = start_cursor(&state.stream_reads, &request).await?;
    let pump = Pump {
        reads: Arc::clone(&state.stream_reads),
        host: Arc::clone(&state.host),
        request,
        cursor,
        deltas,
        chunks,
    };
    state.host.tasks.spawn(pump.run(notices));
    Ok(respond(received, state.reads.epoch()))
}

/// Builds the response whose body is these chunks.
pub(crate) fn respond(chunks: mpsc::Receiver<Bytes>, epoch: &str) -> Response {
    let body = Body::from_stream(ReceiverStream::new(chunks).map(Ok::<Bytes, Infallible>));
    let headers = [
        (CONTENT_TYPE, holon_sse::MEDIA_TYPE),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (HeaderName::from_static(EPOCH_HEADER), epoch),
    ];
    (headers, body).into_response()
}

/// Returns the start cursor: the given one if this store can resume from it, otherwise the newest event.
async fn start_cursor(reads: &ReadHandle, request: &StreamRequest) -> Result<u64, Refusal> {
    let newest = request.source.newest(reads, request.cursor).await?;
    match request.cursor {
        None => Ok(newest),
        Some(cursor) if cursor <= newest => Ok(cursor),
        Some(cursor) => Err(refuse_cursor_ahead(cursor, newest)),
    }
}

/// Refuses a cursor that this store has not issued. The stream would otherwise wait in silence.
pub(crate) fn refuse_cursor_ahead(cursor: u64, newest: u64) -> Refusal {
    let message = format!("there is no event {cursor} yet; the newest is {newest}");
    RequestFault::CURSOR_AHEAD
        .refuse(message)
        .with("newest_seq", newest)
}

/// Reason for the end of a stream.
enum StreamEnd {
    /// The reader disconnected, or the host shuts down.
    Quiet,
    /// This frame is sent to the reader before the end.
    Last(BytesMut),
}

struct Pump {
    reads: Arc<ReadHandle>,
    host: Arc<Host>,
    request: StreamRequest,
    cursor: u64,
    /// Absent if the reader did not ask for deltas.
    deltas: Option<broadcast::Receiver<Arc<AssistantDelta>>>,
    chunks: ChunkSender,
}

impl Pump {
    async fn run(mut self, notices: broadcast::Receiver<FeedNotice>) {
        let end = match self.pump(notices).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        if let StreamEnd::Last(chunk) = end {
            // The reader may already be gone, so a failure to send does not matter.
            drop(self.send(chunk).await);
        }
    }

    async fn pump(
        &mut self,
        mut notices: broadcast::Receiver<FeedNotice>,
    ) -> Result<Infallible, StreamEnd> {
        let mut opening = BytesMut::new();
        frame::opening(&mut opening, RETRY_MS, self.cursor);
        self.send(opening).await?;
        self.replay().await?;
        loop {
            self.wait_for_notice(&mut notices).await?;
            self.follow().await?;
        }
    }

    /// Sends new events. A reader that has fallen too far behind gets a gap frame and is disconnected.
    async fn follow(&mut self) -> Result<(), StreamEnd> {
        loop {
            let page = self.read_page().await?;
            // Entries that are not shown before the first shown one do not count: they did not wake the stream.
            let first = page.entries.first().map(SourceEntry::seq);
            let lag = |seq: u64| {
                let before = seq.saturating_sub(1);
                self.request.source.lag(before, page.newest_seq)
            };
            if first.map_or(0, lag) > STREAM_LAG as u64 {
                return Err(end_with_gap(Gap {
                    after_seq: self.cursor,
                    newest_seq: page.newest_seq,
                    oldest_seq: None,
                }));
            }
            let start = self.cursor;
            let chunks = self.render(&page)?;
            if !self.send_page(&page, start, chunks).await? {
                return Ok(());
            }
        }
    }

    async fn read_page(&self) -> Result<SourcePage, StreamEnd> {
        let (source, limit) = (&self.request.source, self.request.limit);
        let read = source.read(&self.reads, self.cursor, limit).await;
        read.map_err(|error| match error {
            Error::CursorTooOld {
                oldest_seq,
                newest_seq,
            } => end_with_gap(Gap {
                after_seq: self.cursor,
                newest_seq,
                oldest_seq: Some(oldest_seq),
            }),
            // The agent existed when the stream began.
            Error::AgentNotFound { agent_id } | Error::AgentReplaced { agent_id, .. } => {
                let deleted = AgentDeleted {
                    agent_id,
                    after_seq: self.cursor,
                };
                end_with_notice(AgentDeleted::EVENT, &deleted)
            }
            other => end_with_error(Refusal::from(other)),
        })
    }

    /// Sends the chunks of a page that began at a cursor, and returns true if there may be more events. A page that has
    /// more to come and does not move the cursor ends the stream: it would be read for ever, and nothing sent would tell
    /// that the reader left.
    async fn send_page(
        &self,
        page: &SourcePage,
        start: u64,
        chunks: Vec<BytesMut>,
    ) -> Result<bool, StreamEnd> {
        for chunk in chunks {
            self.send(chunk).await?;
        }
        if page.has_more && self.cursor == start {
            return Err(end_with_error(stuck_at(start)));
        }
        Ok(page.has_more)
    }

    /// Waits for a notice about this source; sends deltas and heartbeats meanwhile. Lost notices count as one.
    async fn wait_for_notice(
        &mut self,
        notices: &mut broadcast::Receiver<FeedNotice>,
    ) -> Result<(), StreamEnd> {
        let mut beat = tokio::time::interval(Duration::from_millis(STREAM_HEARTBEAT_MS));
        beat.reset();
        loop {
            tokio::select! {
                notice = notices.recv() => match notice {
                    Ok(notice) if self.request.source.concerns(&notice, self.cursor) => return Ok(()),
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return Ok(()),
                    Err(RecvError::Closed) => return Err(StreamEnd::Quiet),
                },
                delta = next_delta(&mut self.deltas) => {
                    let mut chunk = BytesMut::new();
                    self.request.source.write_delta(&mut chunk, &delta);
                    for chunk in self.ready_deltas(chunk) {
                        self.send(chunk).await?;
                        beat.reset();
                    }
                }
                _ = beat.tick() => {
                    let mut chunk = BytesMut::new();
                    frame::heartbeat(&mut chunk);
                    self.send(chunk).await?;
                }
                () = self.chunks.closed() => return Err(StreamEnd::Quiet),
                () = self.host.shutdown.cancelled() => return Err(StreamEnd::Quiet),
            }
        }
    }

    async fn send(&self, chunk: BytesMut) -> Result<(), StreamEnd> {
        let sent = self.chunks.send(chunk).await;
        sent.map_err(|ReaderGone| StreamEnd::Quiet)
    }
}

/// Waits for the next delta of the agent; without end if the reader did not ask for deltas.
async fn next_delta(
    deltas: &mut Option<broadcast::Receiver<Arc<AssistantDelta>>>,
) -> Arc<AssistantDelta> {
    while let Some(receiver) = deltas {
        match receiver.recv().await {
            Ok(delta) => return delta,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => *deltas = None,
        }
    }
    std::future::pending().await
}

/// Writes the frame of a delta if it is one of this agent.
pub(crate) fn write_delta(chunk: &mut BytesMut, agent_id: &AgentId, delta: &AssistantDelta) {
    if delta.agent_id == *agent_id
        && let Ok(data) = serde_json::to_string(delta)
    {
        frame::notice(chunk, ASSISTANT_DELTA, &data);
    }
}

/// Returns the refusal for something that JSON cannot express, which no payload type holds.
pub(crate) fn internal(error: &serde_json::Error) -> Refusal {
    Refusal::from(Error::Internal {
        message: error.to_string(),
    })
}

/// Returns the refusal for a page after which the same page would be read again.
fn stuck_at(cursor: u64) -> Refusal {
    Refusal::from(Error::Internal {
        message: format!("the page after {cursor} does not lead further"),
    })
}

fn end_with_gap(gap: Gap) -> StreamEnd {
    end_with_notice(Gap::EVENT, &gap)
}

fn end_with_error(refusal: Refusal) -> StreamEnd {
    end_with_notice(STREAM_ERROR, &refusal.into_body())
}

fn end_with_notice(name: &str, data: &impl serde::Serialize) -> StreamEnd {
    let mut chunk = BytesMut::new();
    let data = serde_json::to_string(data).unwrap_or_default();
    frame::notice(&mut chunk, name, &data);
    StreamEnd::Last(chunk)
}

#[cfg(test)]
pub(crate) mod tests;
