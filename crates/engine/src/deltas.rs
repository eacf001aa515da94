//! Broadcasts the text of answers while they arrive, to the subscribers of their agent. Nothing here is stored, and a slow
//! reader misses pieces.

use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::limits::DELTAS_KEPT;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

type Senders = HashMap<AgentId, broadcast::Sender<Arc<AssistantDelta>>>;

/// Sends pieces of text to the subscribers of their agent. Clones share the subscribers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deltas(Arc<Mutex<Senders>>);

impl Deltas {
    fn lock(&self) -> MutexGuard<'_, Senders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a piece on, if anything subscribes to its agent.
    pub(crate) fn send(&self, delta: AssistantDelta) {
        if let Some(sender) = self.lock().get(&delta.agent_id) {
            // A subscriber that leaves at this moment needs no piece.
            drop(sender.send(Arc::new(delta)));
        }
    }

    /// Subscribes to the pieces of one agent.
    pub(crate) fn subscribe(&self, agent_id: &AgentId) -> broadcast::Receiver<Arc<AssistantDelta>> {
        let mut senders = self.lock();
        senders.retain(|_, sender| sender.receiver_count() > 0);
        let sender = senders.entry(agent_id.clone());
        sender
            .or_insert_with(|| broadcast::channel(DELTAS_KEPT).0)
            .subscribe()
    }
}
