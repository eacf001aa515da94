//! The stream of one run: its news while it goes on, and its outcome at the end.
//!
//! Unlike an event stream it cannot be resumed: no frame has an id. A caller that disconnects stops waiting for its run,
//! exactly as with a plain response. A caller that does not read misses deltas, and loses its connection after a while.

use crate::chunks::{ChunkSender, ReaderGone, StreamKind};
use crate::frame;
use crate::refusal::Refusal;
use crate::route::run::await_outcome;
use crate::sse::{internal, respond, write_delta};
use crate::state::{ActState, Connection};
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use bytes::BytesMut;
use holon_api::event::{RUN_COMPLETED, RUN_QUEUED, STREAM_ERROR};
use holon_api::{EventEnvelope, Projection, RunQueued};
use holon_domain::AgentId;
use holon_domain::limits::STREAM_HEARTBEAT_MS;
use holon_domain::run::RunOnceResponse;
use holon_engine::RunNews;
use holon_engine::request::RunRequest;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;

/// Capacity of the queue of news from the engine.
const NEWS: usize = 64;

type Outcome = Pin<Box<dyn Future<Output = Result<RunOnceResponse, Refusal>> + Send>>;

/// Starts a run and streams it. A run that is refused before its agent is ready gets a plain refusal.
pub(crate) async fn open(
    state: &ActState,
    request: RunRequest,
    connection: Option<Connection>,
) -> Result<Response, Refusal> {
    // Before the run begins, so that a refused one leaves nothing behind.
    let (chunks, received) =
        ChunkSender::open(&state.host, StreamKind::Run, connection).map_err(propose_plain_run)?;
    let (news, mut heard) = mpsc::channel(NEWS);
    let of = state.clone();
    let mut outcome: Outcome =
        Box::pin(async move { await_outcome(&of, request, Some(news)).await });
    let agent_id = tokio::select! {
        biased;
        Some(RunNews::Began(agent_id)) = heard.recv() => agent_id,
        outcome = &mut outcome => return Ok(Json(outcome?).into_response()),
    };
    let run = StreamedRun { agent_id, chunks };
    state.host.tasks.spawn(run.pump(heard, outcome));
    Ok(respond(received, state.reads.epoch()))
}

/// Names what a run can do without a place among the streams.
fn propose_plain_run(refusal: Refusal) -> Refusal {
    refusal.hint("close one, or send the run without deltas=true")
}

struct StreamedRun {
    agent_id: AgentId,
    chunks: ChunkSender,
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
                    // A caller that is gone does not wait for the outcome.
                    let (Ok(()) | Err(ReaderGone)) = self.chunks.finish(chunk).await;
                    return;
                }
                _ = beat.tick() => frame::heartbeat(&mut chunk),
                () = self.chunks.closed() => return,
            }
            if !chunk.is_empty() && self.chunks.send(chunk).await == Err(ReaderGone) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::tests::host;

    #[test]
    fn a_run_without_a_place_among_the_streams_is_to_be_sent_plainly() {
        let refused = ChunkSender::open(&host(0), StreamKind::Run, None).map_err(propose_plain_run);
        let body = refused.err().expect("no place").into_body();
        assert_eq!(body.code.as_deref(), Some("too_many_streams"));
        assert_eq!(body.error, "too many streams are open");
        let hint = body.hint.unwrap_or_default();
        assert!(hint.contains("deltas=true"), "{hint}");
    }

    #[test]
    fn streams_of_events_take_no_place_of_a_run() {
        let host = host(1);
        let watched = ChunkSender::open(&host, StreamKind::Events, None);
        assert!(ChunkSender::open(&host, StreamKind::Events, None).is_err());
        let run = ChunkSender::open(&host, StreamKind::Run, None);
        assert!(watched.is_ok() && run.is_ok());
        assert!(ChunkSender::open(&host, StreamKind::Run, None).is_err());
    }
}
