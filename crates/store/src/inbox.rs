//! The writer's inbox: a bounded queue with many producers and the writer thread as the one consumer.
//!
//! Invariant: accepted items are delivered in order. After closing, nothing is accepted, and the queued items are still
//! delivered.

use crate::error::WriteError;
use crate::held_files::StoreLost;
use holon_domain::limits::WRITER_QUEUE;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The cause for which an inbox was closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closing {
    /// A caller closed it: the exit is clean.
    Requested,
    /// The last handle was dropped, or the consumer is gone. No clean exit is recorded.
    Abandoned,
    /// The consumer closed it because the store is lost.
    Lost(StoreLost),
}

impl Closing {
    /// The error for callers that come too late.
    pub(crate) fn refusal(&self) -> WriteError {
        match self {
            Self::Requested | Self::Abandoned => WriteError::Closed,
            Self::Lost(lost) => WriteError::StoreLost(lost.clone()),
        }
    }
}

/// The result of a wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InboxEvent<T> {
    Item(T),
    /// Timeout without an item.
    Timeout,
    /// The inbox is closed and empty.
    Closed(Closing),
}

struct State<T> {
    waiting: VecDeque<T>,
    closing: Option<Closing>,
}

/// A bounded queue for one consumer.
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

impl<T> Inbox<T> {
    pub(crate) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                closing: None,
            }),
            arrived: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts an item, or returns the reason why not.
    pub(crate) fn push(&self, item: T) -> Result<(), WriteError> {
        let mut state = self.lock();
        if let Some(closing) = &state.closing {
            return Err(closing.refusal());
        }
        if state.waiting.len() >= WRITER_QUEUE {
            return Err(WriteError::Overloaded);
        }
        let was_empty = state.waiting.is_empty();
        state.waiting.push_back(item);
        drop(state);
        // The consumer sleeps only on an empty queue.
        if was_empty {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes the next item, if there is one.
    pub(crate) fn poll(&self) -> Option<T> {
        self.lock().waiting.pop_front()
    }

    /// Takes the next item, waiting up to `patience`. Returns the cause of the closing once the inbox is closed and
    /// empty.
    pub(crate) fn wait(&self, patience: Duration) -> InboxEvent<T> {
        let is_idle = |state: &mut State<T>| state.waiting.is_empty() && state.closing.is_none();
        let waited = self
            .arrived
            .wait_timeout_while(self.lock(), patience, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (state.waiting.pop_front(), &state.closing) {
            (Some(item), _) => InboxEvent::Item(item),
            (None, Some(closing)) => InboxEvent::Closed(closing.clone()),
            (None, None) => InboxEvent::Timeout,
        }
    }

    /// Stops accepting items. The first cause of closing counts and is returned.
    pub(crate) fn close(&self, closing: Closing) -> Closing {
        let counts = self.lock().closing.get_or_insert(closing).clone();
        self.arrived.notify_one();
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_inbox_refuses_and_keeps_what_it_has() {
        let inbox = Inbox::new();
        for n in 0..WRITER_QUEUE {
            assert_eq!(inbox.push(n), Ok(()));
        }
        assert_eq!(inbox.push(0), Err(WriteError::Overloaded));
        assert_eq!(inbox.poll(), Some(0));
        assert_eq!(inbox.push(0), Ok(()));
    }

    #[test]
    fn an_inbox_without_anything_lets_its_consumer_go() {
        let inbox: Inbox<u8> = Inbox::new();
        assert_eq!(inbox.wait(Duration::ZERO), InboxEvent::Timeout);
    }

    #[test]
    fn a_closed_inbox_gives_out_what_waits_and_then_says_how_it_was_closed() {
        let inbox = Inbox::new();
        assert_eq!(inbox.push(1), Ok(()));
        inbox.close(Closing::Requested);
        inbox.close(Closing::Abandoned);
        assert_eq!(inbox.push(2), Err(WriteError::Closed));
        assert_eq!(inbox.wait(Duration::ZERO), InboxEvent::Item(1));
        assert_eq!(
            inbox.wait(Duration::ZERO),
            InboxEvent::Closed(Closing::Requested)
        );
    }
}
