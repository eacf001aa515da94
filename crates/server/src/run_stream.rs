//! The stream of one run: its news while it goes on, and its outcome at the end.
//!
//! Unlike an event stream it cannot be resumed: no frame has an id. A caller that disconnects stops waiting for its run,
//! exactly as with a plain response. A caller that does not read misses deltas; the run goes on.

use crate::frame;
use crate::refusal::Refusal;
use crate::route::run::await_outcome;
use crate::sse::{internal, respond, write_delta};
use crate::state::{ActState, Host};
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use holon_api::event::{RUN_COMPLETED, RUN_QUEUED, STREAM_ERROR};
use holon_api::{EventEnvelope, Projection, RunQueued};
use holon_domain::AgentId;
use holon_domain::limits::STREAM_HEARTBEAT_MS;
use holon_domain::run::RunOnceResponse;
use holon_engine::RunNews;
use holon_engine::request::RunRequest;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Capacity of the queue of news from the engine.
const NEWS: usize = 64;
/// Capacity of the queue of chunks to the connection.
const CHUNKS: usize = 4;

type Outcome = Pin<Box<dyn Future<Output = Result<RunOnceResponse, Refusal>> + Send>>;

/// Starts a run and streams it. A run that is refused before its agent is ready gets a plain refusal.
pub(crate) async fn open(state: &ActState, request: RunRequest) -> Result<Response, Refusal> {
    let (news, mut heard) = mpsc::channel(NEWS);
    let of = state.clone();
    let mut outcome: Outcome =
        Box::pin(async move { await_outcome(&of, request, Some(news)).await });
    let agent_id = tokio::select! {
        biased;
        Some(RunNews::Began(agent_id)) = heard.recv() => agent_id,
        outcome = &mut outcome => return Ok(Json(outcome?).into_response()),
    };
    let (chunks, received) = mpsc::channel(CHUNKS);
    let run = StreamedRun {
        host: Arc::clone(&state.host),
        agent_id,
        chunks,
    };
    state.host.tasks.spawn(run.pump(heard, outcome));
    Ok(respond(received, state.reads.epoch()))
}

struct StreamedRun {
    host: Arc<Host>,
    agent_id: AgentId,
    chunks: mpsc::Sender<Bytes>,
}

impl StreamedRun {
    /// Sends news and then the outcome. Returns early if the caller is gone, which abandons the run.
    async fn pump(self, mut heard: mpsc::Receiver<RunNews>, mut outcome: Outcome) {
        let mut beat = tokio::time::interval(Duration::from_millis(STREAM_HEARTBEAT_MS));
        loop {
            let mut chunk = BytesMut::new();
            tokio::select! {
                biased;
                Some(news) = heard.recv() => {
                    self.write_news(&mut chunk, &news);
                    while let Ok(news) = heard.try_recv() {
                        self.write_news(&mut chunk, &news);
                    }
                }
                outcome = &mut outcome => {
                    write_outcome(&mut chunk, outcome);
                    self.send(chunk).await;
                    return;
                }
                _ = beat.tick() => frame::heartbeat(&mut chunk),
                () = self.chunks.closed() => return,
            }
            if !chunk.is_empty() && !self.send(chunk).await {
                return;
            }
        }
    }

    fn write_news(&self, chunk: &mut BytesMut, news: &RunNews) {
        match news {
            RunNews::Began(_) => {}
            RunNews::Queued(admitted) => {
                let queued = RunQueued {
                    message_id: admitted.message_id.clone(),
                    message_seq: admitted.message_seq,
                };
                if let Ok(data) = serde_json::to_string(&queued) {
                    frame::notice(chunk, RUN_QUEUED, &data);
                }
            }
            RunNews::Delta(delta) => write_delta(chunk, &self.agent_id, delta),
            RunNews::Event(record) => {
                let envelope = EventEnvelope::new(&self.agent_id, record, Projection::Operator);
                if let Ok(data) = envelope.and_then(|envelope| serde_json::to_string(&envelope)) {
                    frame::notice(chunk, record.event.kind(), &data);
                }
            }
        }
    }

    /// Sends a chunk; false if the caller is gone or the host shuts down while the caller does not read.
    async fn send(&self, chunk: BytesMut) -> bool {
        let chunk = chunk.freeze();
        tokio::select! {
            biased;
            sent = self.chunks.send(chunk) => sent.is_ok(),
            () = self.host.shutdown.cancelled() => false,
        }
    }
}

/// Writes the last frame of the stream.
fn write_outcome(chunk: &mut BytesMut, outcome: Result<RunOnceResponse, Refusal>) {
    let outcome = outcome
        .and_then(|response| serde_json::to_string(&response).map_err(|error| internal(&error)));
    match outcome {
        Ok(data) => frame::notice(chunk, RUN_COMPLETED, &data),
        Err(refusal) => {
            let data = serde_json::to_string(&refusal.into_body()).unwrap_or_default();
            frame::notice(chunk, STREAM_ERROR, &data);
        }
    }
}
