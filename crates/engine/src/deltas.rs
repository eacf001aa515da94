//! Broadcasts the text of answers while they arrive. Nothing here is stored, and a slow reader misses pieces.

use holon_domain::delta::AssistantDelta;
use holon_domain::limits::DELTAS_KEPT;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Sends pieces of text to every subscriber.
#[derive(Debug, Clone)]
pub(crate) struct Deltas(broadcast::Sender<Arc<AssistantDelta>>);

impl Deltas {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(DELTAS_KEPT).0)
    }

    /// Passes a piece on, if anything subscribes.
    pub(crate) fn send(&self, delta: AssistantDelta) {
        if self.0.receiver_count() > 0 {
            // A subscriber that leaves at this moment needs no piece.
            drop(self.0.send(Arc::new(delta)));
        }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<AssistantDelta>> {
        self.0.subscribe()
    }
}
