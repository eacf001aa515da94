//! Places for connections: a bounded number at once, and a way to free one for a client.
//!
//! A connection is a newcomer until it has sent a request of a known caller; then it keeps its place until it ends. When
//! every place is taken, a newcomer is closed for the next connection: the one that has been idle for the longest time,
//! or else the one whose request began first. So peers without a token cannot keep a client out, whatever they send.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// A place of one connection. Dropping it frees the place.
pub(crate) type Slot = OwnedSemaphorePermit;

/// The places of one listener.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    newcomers: Arc<Newcomers>,
}

/// Connections without a known caller.
#[derive(Debug, Default)]
struct Newcomers {
    waiting: Mutex<Waiting>,
}

/// The order in which newcomers make room: idle ones before those that send a request, and the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    is_busy: bool,
    number: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Number of the next turn.
    next: u64,
    tokens: BTreeMap<Turn, CancellationToken>,
}

impl Waiting {
    fn add(&mut self, is_busy: bool, token: CancellationToken) -> Turn {
        let turn = Turn {
            is_busy,
            number: self.next,
        };
        self.next += 1;
        self.tokens.insert(turn, token);
        turn
    }
}

impl Newcomers {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Every change of the map is whole, so a panic elsewhere leaves it usable.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the newcomer whose turn it is, if there is one.
    fn evict_first(&self) {
        let first = self.lock().tokens.pop_first();
        if let Some((_, token)) = first {
            token.cancel();
        }
    }
}

/// The membership of a connection among the newcomers. It ends with a request of a known caller, or when it is dropped.
#[derive(Debug)]
pub(crate) struct Newcomer {
    /// Its turn to make room. `None` once it keeps its place.
    turn: Mutex<Option<Turn>>,
    evicted: CancellationToken,
    newcomers: Arc<Newcomers>,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            newcomers: Arc::default(),
        }
    }

    /// Returns a place for a connection that has come. Without a free one a newcomer gives up its own; without newcomers
    /// the caller waits for a connection to end.
    pub(crate) async fn take(&self) -> io::Result<(Slot, Newcomer)> {
        let slot = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                // The listener takes one connection after another, so no newcomer is added while it waits here.
                self.newcomers.evict_first();
                let freed = Arc::clone(&self.free).acquire_owned().await;
                freed.map_err(io::Error::other)?
            }
        };
        Ok((slot, self.enter()))
    }

    fn enter(&self) -> Newcomer {
        let evicted = CancellationToken::new();
        let turn = self.newcomers.lock().add(false, evicted.clone());
        Newcomer {
            turn: Mutex::new(Some(turn)),
            evicted,
            newcomers: Arc::clone(&self.newcomers),
        }
    }
}

impl Newcomer {
    /// Returns the token that is cancelled when the connection must make room.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// Notes the head of a request. Returns false if the connection has already lost its place; the request must not begin
    /// then.
    pub(crate) fn begin(&self) -> bool {
        self.take_turn(true)
    }

    /// Notes that the request is answered.
    pub(crate) fn end(&self) {
        self.take_turn(false);
    }

    /// Notes a known caller: the connection keeps its place from now on. Returns false if it has already lost it.
    pub(crate) fn admit(&self) -> bool {
        let mut turn = self.lock();
        let is_in_place = turn.is_none_or(|turn| self.leave(turn));
        if is_in_place {
            *turn = None;
        }
        is_in_place
    }

    fn lock(&self) -> MutexGuard<'_, Option<Turn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the last turn of its kind. Returns false if the connection has lost its place.
    fn take_turn(&self, is_busy: bool) -> bool {
        let mut turn = self.lock();
        let Some(before) = *turn else {
            return true;
        };
        let is_in_place = self.leave(before);
        if is_in_place {
            let token = self.evicted.clone();
            *turn = Some(self.newcomers.lock().add(is_busy, token));
        }
        is_in_place
    }

    /// Leaves the newcomers. Returns false if the connection was not among them any more.
    fn leave(&self, turn: Turn) -> bool {
        self.newcomers.lock().tokens.remove(&turn).is_some()
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let turn = *self.lock();
        if let Some(turn) = turn {
            self.leave(turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_newcomer_makes_room_and_a_connection_of_a_known_caller_does_not() {
        let slots = Slots::new(3);
        let (busy_slot, busy) = slots.take().await.unwrap();
        assert!(busy.admit());
        let (silent_slot, silent) = slots.take().await.unwrap();
        let (_younger_slot, younger) = slots.take().await.unwrap();
        let evicted = silent.evicted();
        let leaves = async {
            evicted.cancelled().await;
            drop(silent_slot);
        };
        let (came, ()) = tokio::join!(slots.take(), leaves);
        assert!(came.is_ok());
        assert!(!silent.admit(), "its request came too late");
        assert!(busy.admit() && !busy.evicted().is_cancelled());
        assert!(younger.admit());
        drop(busy_slot);
    }

    #[tokio::test]
    async fn requests_of_unknown_callers_keep_no_place() {
        let slots = Slots::new(2);
        let (_first_slot, first) = slots.take().await.unwrap();
        let (_second_slot, second) = slots.take().await.unwrap();
        assert!(first.begin() && second.begin());
        first.end();
        slots.newcomers.evict_first();
        assert!(first.evicted().is_cancelled(), "it was idle");
        assert!(!first.begin(), "its request came too late");
        assert!(!second.evicted().is_cancelled());
        slots.newcomers.evict_first();
        assert!(second.evicted().is_cancelled(), "there was no idle one");
        assert!(!second.admit());
        second.end();
        assert!(slots.newcomers.lock().tokens.is_empty(), "it stays out");
    }

    #[tokio::test]
    async fn a_connection_waits_for_one_that_ends_if_each_has_a_known_caller() {
        let slots = Slots::new(1);
        let (slot, busy) = slots.take().await.unwrap();
        assert!(busy.admit());
        let mut waiting = std::pin::pin!(slots.take());
        let early = poll_once(waiting.as_mut()).await;
        assert!(early.is_none(), "there is no place");
        drop(slot);
        assert!(waiting.await.is_ok());
    }

    /// Polls a future once. Returns its output if it is ready.
    async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }
}
