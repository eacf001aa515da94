//! The writer's inbox: a bounded queue that callers fill and the one writer thread empties.
//!
//! Invariant: what was accepted is given out, in order; after closing nothing is accepted, and what waits still is.

use crate::error::WriteError;
use holon_domain::limits::WRITER_QUEUE;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How an inbox was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// By asking for it: the exit is clean.
    Asked,
    /// By dropping the last handle, or because the consumer is gone: nothing is noted.
    Abandoned,
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
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts an item, or says why not.
    pub(crate) fn push(&self, item: T) -> Result<(), WriteError> {
        let mut state = self.lock();
        if state.closing.is_some() {
            return Err(WriteError::Closed);
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

    /// The next item, if one waits.
    pub(crate) fn poll(&self) -> Option<T> {
        self.lock().waiting.pop_front()
    }

    /// The next item, waiting for it; how the inbox was closed once it is and nothing is left.
    pub(crate) fn wait(&self) -> Result<T, Closing> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                return Ok(item);
            }
            if let Some(closing) = state.closing {
                return Err(closing);
            }
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Accepts nothing more. The first way of closing counts.
    pub(crate) fn close(&self, closing: Closing) {
        self.lock().closing.get_or_insert(closing);
        self.arrived.notify_one();
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
    fn a_closed_inbox_gives_out_what_waits_and_then_says_how_it_was_closed() {
        let inbox = Inbox::new();
        assert_eq!(inbox.push(1), Ok(()));
        inbox.close(Closing::Asked);
        inbox.close(Closing::Abandoned);
        assert_eq!(inbox.push(2), Err(WriteError::Closed));
        assert_eq!(inbox.wait(), Ok(1));
        assert_eq!(inbox.wait(), Err(Closing::Asked));
    }
}
