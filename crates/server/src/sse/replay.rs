//! Replays of recorded events, made a few pages at a time.
//!
//! Hundreds of readers that begin with the oldest event at once would keep every processor busy with their pages, and all
//! other requests would wait. So a page of a replay is read and rendered in a turn, and the turns go around. A page is
//! sent after its turn: a slow reader holds nobody back. Streams that follow new events need no turn.

use super::{CHUNK_BYTES, Pump, StreamEnd, end_with_error, internal};
use crate::frame;
use crate::source::SourcePage;
use bytes::BytesMut;
use holon_domain::limits::STREAM_HEARTBEAT_MS;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::error::TryRecvError;

/// Frames of a page, in chunks that are sent one after the other.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    full: Vec<BytesMut>,
    open: BytesMut,
}

impl Chunks {
    /// Begins another chunk if the newest is large enough.
    fn cut(&mut self) {
        if self.open.len() >= CHUNK_BYTES {
            self.full.push(self.open.split());
        }
    }

    fn finish(mut self) -> Vec<BytesMut> {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        self.full
    }
}

impl Pump {
    /// Sends all events up to the newest, from any cursor.
    pub(super) async fn replay(&mut self) -> Result<(), StreamEnd> {
        loop {
            let turn = self.wait_for_turn().await?;
            let page = self.read_page().await?;
            let start = self.cursor;
            let chunks = self.render(&page)?;
            drop(turn);
            if !self.send_page(&page, start, chunks).await? {
                return Ok(());
            }
        }
    }

    /// Waits for a turn of the replays; sends heartbeats meanwhile.
    async fn wait_for_turn(&self) -> Result<OwnedSemaphorePermit, StreamEnd> {
        let turn = Arc::clone(&self.host.replays).acquire_owned();
        tokio::pin!(turn);
        let mut beat = tokio::time::interval(Duration::from_millis(STREAM_HEARTBEAT_MS));
        beat.reset();
        loop {
            tokio::select! {
                biased;
                turn = &mut turn => return turn.map_err(|_| StreamEnd::Quiet),
                () = self.chunks.closed() => return Err(StreamEnd::Quiet),
                () = self.host.shutdown.cancelled() => return Err(StreamEnd::Quiet),
                _ = beat.tick() => {
                    let mut chunk = BytesMut::new();
                    frame::heartbeat(&mut chunk);
                    self.send(chunk).await?;
                }
            }
        }
    }

    /// Renders a page and moves the cursor behind it. Deltas that came before the page was read go first, so that the
    /// deltas of a round are never sent after the round's own event.
    pub(super) fn render(&mut self, page: &SourcePage) -> Result<Vec<BytesMut>, StreamEnd> {
        let mut chunks = Chunks::default();
        self.render_ready_deltas(&mut chunks);
        for entry in &page.entries {
            let envelope = entry
                .envelope(self.request.projection)
                .map_err(|error| end_with_error(internal(&error)))?;
            let data = serde_json::to_string(&envelope)
                .map_err(|error| end_with_error(internal(&error)))?;
            frame::event(&mut chunks.open, entry.seq(), &envelope.kind, &data);
            self.cursor = entry.seq();
            chunks.cut();
        }
        // The page may end with entries that are not shown.
        self.cursor = self.cursor.max(page.cursor);
        Ok(chunks.finish())
    }

    /// Renders the deltas of this agent that have already come, after `first`.
    pub(super) fn ready_deltas(&mut self, first: BytesMut) -> Vec<BytesMut> {
        let mut chunks = Chunks {
            full: Vec::new(),
            open: first,
        };
        self.render_ready_deltas(&mut chunks);
        chunks.finish()
    }

    fn render_ready_deltas(&mut self, chunks: &mut Chunks) {
        while let Some(deltas) = &mut self.deltas {
            match deltas.try_recv() {
                Ok(delta) => {
                    self.request.source.write_delta(&mut chunks.open, &delta);
                    chunks.cut();
                }
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }
}
