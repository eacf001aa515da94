//! Event streams: replay after a cursor, then live.
//!
//! Owns one task per open stream. It is woken by news and reads pages by cursor, so news that is lost costs nothing
//! and no event is skipped or sent twice. Memory per stream is a few chunks: a reader that is slow holds its own task
//! back and nobody else. Not here: which events exist (the engine) and how they look (`api`).

use crate::frame;
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Connection, Host, ReadState};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use holon_api::event::{EPOCH_HEADER, STREAM_ERROR};
use holon_api::{EventEnvelope, Gap, Projection};
use holon_domain::AgentId;
use holon_domain::feed::{EventOrder, EventPage, EventQuery, FeedNotice};
use holon_domain::limits::{STREAM_HEARTBEAT_MS, STREAM_LAG, STREAM_STALL_MS};
use holon_engine::{Error, Reads};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// What a reader is asked to wait before it comes back.
const RETRY_MS: u64 = 1_000;
/// Chunks that may wait for the connection.
const CHUNKS: usize = 4;
/// Frames are sent together up to about this many bytes.
const CHUNK_BYTES: usize = 32 << 10;

/// What a stream was asked for.
#[derive(Debug, Clone)]
pub(crate) struct StreamRequest {
    pub(crate) agent_id: AgentId,
    pub(crate) cursor: Option<u64>,
    pub(crate) limit: u64,
    pub(crate) projection: Projection,
    pub(crate) connection: Option<Connection>,
}

/// Opens a stream, or refuses before anything of it was sent.
pub(crate) async fn open(state: &ReadState, request: StreamRequest) -> Result<Response, Refusal> {
    let permit = Arc::clone(&state.host.streams)
        .try_acquire_owned()
        .map_err(|_| too_many())?;
    // News first, position second: whatever is committed after the position was read is news.
    let news = state.reads.subscribe();
    let cursor = start(&state.reads, &request).await?;
    let (chunks, received) = mpsc::channel(CHUNKS);
    let pump = Pump {
        reads: state.reads.clone(),
        host: Arc::clone(&state.host),
        request,
        cursor,
        chunks,
    };
    state.host.tasks.spawn(pump.run(news, permit));
    let body =
        Body::from_stream(ReceiverStream::new(received).map(Ok::<Bytes, std::convert::Infallible>));
    let headers = [
        (CONTENT_TYPE, holon_sse::MEDIA_TYPE),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (HeaderName::from_static(EPOCH_HEADER), state.reads.epoch()),
    ];
    Ok((headers, body).into_response())
}

/// Where the stream begins: after the cursor, which must be one this store can continue; without one, at the newest.
async fn start(reads: &Reads, request: &StreamRequest) -> Result<u64, Refusal> {
    let order = match request.cursor {
        None => EventOrder::Descending,
        Some(_) => EventOrder::Ascending,
    };
    let query = EventQuery {
        after_seq: request.cursor,
        before_seq: None,
        limit: 1,
        order,
    };
    let newest = reads
        .events(&request.agent_id, query)
        .await?
        .newest_seq
        .unwrap_or(0);
    match request.cursor {
        None => Ok(newest),
        Some(cursor) if cursor <= newest => Ok(cursor),
        Some(cursor) => Err(ahead(cursor, newest)),
    }
}

fn too_many() -> Refusal {
    RequestFault::TOO_MANY_STREAMS.refuse("too many event streams are open")
}

/// A cursor nobody was given here: waiting for it would be waiting in silence.
fn ahead(cursor: u64, newest: u64) -> Refusal {
    let message = format!("there is no event {cursor} yet; the newest is {newest}");
    RequestFault::CURSOR_AHEAD
        .refuse(message)
        .with("newest_seq", newest)
}

/// Why a stream ends.
enum End {
    /// The reader is gone, or the host goes down.
    Quiet,
    /// The reader is told something first.
    Last(BytesMut),
}

struct Pump {
    reads: Reads,
    host: Arc<Host>,
    request: StreamRequest,
    cursor: u64,
    chunks: mpsc::Sender<Bytes>,
}

impl Pump {
    async fn run(mut self, news: broadcast::Receiver<FeedNotice>, permit: OwnedSemaphorePermit) {
        let end = match self.pump(news).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        if let End::Last(chunk) = end {
            // The reader may be gone; then nobody needs to be told.
            drop(self.send(chunk).await);
        }
        drop(permit);
    }

    async fn pump(
        &mut self,
        mut news: broadcast::Receiver<FeedNotice>,
    ) -> Result<std::convert::Infallible, End> {
        let mut opening = BytesMut::new();
        frame::opening(&mut opening, RETRY_MS, self.cursor);
        self.send(opening).await?;
        self.replay().await?;
        loop {
            self.wait(&mut news).await?;
            self.follow().await?;
        }
    }

    /// Everything up to the newest, however far back the cursor is.
    async fn replay(&mut self) -> Result<(), End> {
        while self.send_page(&self.page().await?).await? {}
        Ok(())
    }

    /// What is new; a reader that has fallen too far behind is sent away with its cursor.
    async fn follow(&mut self) -> Result<(), End> {
        loop {
            let page = self.page().await?;
            let newest = page.newest_seq.unwrap_or(self.cursor);
            if newest.saturating_sub(self.cursor) > STREAM_LAG as u64 {
                return Err(gap(Gap {
                    after_seq: self.cursor,
                    newest_seq: newest,
                    oldest_seq: None,
                }));
            }
            if !self.send_page(&page).await? {
                return Ok(());
            }
        }
    }

    async fn page(&self) -> Result<EventPage, End> {
        let query = EventQuery {
            after_seq: Some(self.cursor),
            before_seq: None,
            limit: self.request.limit,
            order: EventOrder::Ascending,
        };
        self.reads
            .events(&self.request.agent_id, query)
            .await
            .map_err(|error| match error {
                Error::CursorTooOld {
                    oldest_seq,
                    newest_seq,
                } => gap(Gap {
                    after_seq: self.cursor,
                    newest_seq,
                    oldest_seq: Some(oldest_seq),
                }),
                other => failed(Refusal::from(other)),
            })
    }

    /// Sends a page; whether there may be more.
    async fn send_page(&mut self, page: &EventPage) -> Result<bool, End> {
        let mut chunk = BytesMut::new();
        for record in &page.events {
            let envelope =
                EventEnvelope::new(&self.request.agent_id, record, self.request.projection)
                    .and_then(|envelope| serde_json::to_string(&envelope))
                    .map_err(|error| {
                        failed(Refusal::from(Error::Internal {
                            message: error.to_string(),
                        }))
                    })?;
            frame::event(&mut chunk, record.event_seq, record.event.kind(), &envelope);
            self.cursor = record.event_seq;
            if chunk.len() >= CHUNK_BYTES {
                self.send(chunk.split()).await?;
            }
        }
        if !chunk.is_empty() {
            self.send(chunk).await?;
        }
        Ok(!page.events.is_empty() && page.newest_seq.is_some_and(|newest| newest > self.cursor))
    }

    /// Until there is news of this agent. News that was lost counts as news.
    async fn wait(&self, news: &mut broadcast::Receiver<FeedNotice>) -> Result<(), End> {
        let mut beat = tokio::time::interval(Duration::from_millis(STREAM_HEARTBEAT_MS));
        beat.reset();
        loop {
            tokio::select! {
                notice = news.recv() => match notice {
                    Ok(notice) if notice.agent_id == self.request.agent_id && notice.newest_seq > self.cursor => return Ok(()),
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) => return Ok(()),
                    Err(broadcast::error::RecvError::Closed) => return Err(End::Quiet),
                },
                _ = beat.tick() => {
                    let mut chunk = BytesMut::new();
                    frame::heartbeat(&mut chunk);
                    self.send(chunk).await?;
                }
                () = self.chunks.closed() => return Err(End::Quiet),
                () = self.host.shutdown.cancelled() => return Err(End::Quiet),
            }
        }
    }

    async fn send(&self, chunk: BytesMut) -> Result<(), End> {
        let stalled = Duration::from_millis(STREAM_STALL_MS);
        tokio::select! {
            sent = tokio::time::timeout(stalled, self.chunks.send(chunk.freeze())) => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(End::Quiet),
                Err(_) => {
                    // The reader takes nothing; ending the body would not free the connection, so it is closed.
                    if let Some(Connection(close)) = &self.request.connection {
                        close.cancel();
                    }
                    Err(End::Quiet)
                }
            },
            () = self.host.shutdown.cancelled() => Err(End::Quiet),
        }
    }
}

fn gap(gap: Gap) -> End {
    last(Gap::EVENT, &gap)
}

fn failed(refusal: Refusal) -> End {
    last(STREAM_ERROR, &refusal.into_body())
}

fn last(name: &str, data: &impl serde::Serialize) -> End {
    let mut chunk = BytesMut::new();
    let data = serde_json::to_string(data).unwrap_or_default();
    frame::notice(&mut chunk, name, &data);
    End::Last(chunk)
}

#[cfg(test)]
mod tests;
