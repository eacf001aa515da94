//! Places for connections: a bounded number at once, and a way to free one that is not used.
//!
//! A connection is a newcomer until it has sent the head of its first request. When every place is taken, the oldest
//! newcomer is closed for the next connection. A connection that has sent a request keeps its place until it ends.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Connections that have sent no request yet, by the order in which they came.
#[derive(Debug, Default)]
struct Newcomers {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Number of the next newcomer.
    next: u64,
    tokens: BTreeMap<u64, CancellationToken>,
}

impl Newcomers {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Every change of the map is whole, so a panic elsewhere leaves it usable.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest newcomer, if there is one.
    fn evict_oldest(&self) {
        let oldest = self.lock().tokens.pop_first();
        if let Some((_, token)) = oldest {
            token.cancel();
        }
    }
}

/// The membership of a connection among the newcomers. It ends with the first request, or when it is dropped.
#[derive(Debug)]
pub(crate) struct Newcomer {
    number: u64,
    evicted: CancellationToken,
    newcomers: Arc<Newcomers>,
    /// True once the connection has sent a request while it had its place.
    admitted: AtomicBool,
}

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            newcomers: Arc::default(),
        }
    }

    /// Returns a place for a connection that has come. Without a free one the oldest newcomer gives up its own; without
    /// newcomers the caller waits for a connection to end.
    pub(crate) async fn take(&self) -> io::Result<(Slot, Newcomer)> {
        let slot = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(slot) => slot,
            Err(_) => {
                // The listener takes one connection after another, so no newcomer is added while it waits here.
                self.newcomers.evict_oldest();
                let freed = Arc::clone(&self.free).acquire_owned().await;
                freed.map_err(io::Error::other)?
            }
        };
        Ok((slot, self.enter()))
    }

    fn enter(&self) -> Newcomer {
        let evicted = CancellationToken::new();
        let mut waiting = self.newcomers.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.tokens.insert(number, evicted.clone());
        drop(waiting);
        Newcomer {
            number,
            evicted,
            newcomers: Arc::clone(&self.newcomers),
            admitted: AtomicBool::new(false),
        }
    }
}

impl Newcomer {
    /// Returns the token that is cancelled when the connection must make room.
    pub(crate) fn evicted(&self) -> CancellationToken {
        self.evicted.clone()
    }

    /// Notes a request: the connection keeps its place from now on. Returns false if it has already lost it; the request
    /// must not begin then.
    pub(crate) fn admit(&self) -> bool {
        if self.admitted.load(Ordering::Relaxed) {
            return true;
        }
        let is_in_place = self.leave();
        self.admitted.store(is_in_place, Ordering::Relaxed);
        is_in_place
    }

    /// Leaves the newcomers. Returns false if the connection was not among them any more.
    fn leave(&self) -> bool {
        let left = self.newcomers.lock().tokens.remove(&self.number);
        left.is_some()
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_oldest_connection_without_a_request_makes_room_and_one_with_a_request_does_not() {
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
    async fn a_connection_waits_for_one_that_ends_if_each_has_a_request() {
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
