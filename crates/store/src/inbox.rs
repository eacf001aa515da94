//! The writer's inbox: a queue for each class of writes, with many producers and the writer thread as the one consumer.
//!
//! Invariant: accepted items of a class are delivered in order, and neither class waits for all of the other. After
//! closing, nothing is accepted, and the queued items are still delivered.

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

/// The class of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteClass {
    /// A request from outside. It is refused while too many wait.
    Client,
    /// An outcome of an effect, a due entry, or upkeep. It always has room: there are at most as many as the runtime has
    /// begun, and a refused outcome would hold up its agent.
    Runtime,
}

/// The class of a write and the size of its input, which bounds a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOrder {
    pub class: WriteClass,
    pub bytes: usize,
}

impl WriteOrder {
    /// Order of a client, which is refused while the inbox is full.
    #[must_use]
    pub const fn client(bytes: usize) -> Self {
        let class = WriteClass::Client;
        Self { class, bytes }
    }

    /// Order of the runtime, which always has room.
    #[must_use]
    pub const fn runtime(bytes: usize) -> Self {
        let class = WriteClass::Runtime;
        Self { class, bytes }
    }
}

/// Items of the runtime that are delivered before one of a client that waits.
const RUNTIME_ITEMS_IN_A_ROW: u32 = 3;

struct State<T> {
    clients: VecDeque<T>,
    runtime: VecDeque<T>,
    /// Items of the runtime that were delivered since the last one of a client.
    runtime_in_a_row: u32,
    closing: Option<Closing>,
}

impl<T> State<T> {
    fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.runtime.is_empty()
    }

    fn pop(&mut self) -> Option<T> {
        let is_clients_turn = self.runtime_in_a_row >= RUNTIME_ITEMS_IN_A_ROW;
        if (is_clients_turn || self.runtime.is_empty())
            && let Some(item) = self.clients.pop_front()
        {
            self.runtime_in_a_row = 0;
            return Some(item);
        }
        self.runtime_in_a_row = self.runtime_in_a_row.saturating_add(1);
        self.runtime.pop_front()
    }
}

/// The queues of one consumer.
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

impl<T> Inbox<T> {
    pub(crate) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                clients: VecDeque::new(),
                runtime: VecDeque::new(),
                runtime_in_a_row: 0,
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
    pub(crate) fn push(&self, class: WriteClass, item: T) -> Result<(), WriteError> {
        let mut state = self.lock();
        if let Some(closing) = &state.closing {
            return Err(closing.refusal());
        }
        let was_empty = state.is_empty();
        match class {
            WriteClass::Client if state.clients.len() >= WRITER_QUEUE => {
                return Err(WriteError::Overloaded);
            }
            WriteClass::Client => state.clients.push_back(item),
            WriteClass::Runtime => state.runtime.push_back(item),
        }
        drop(state);
        // The consumer sleeps only on an empty queue.
        if was_empty {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes the next item, if there is one.
    pub(crate) fn poll(&self) -> Option<T> {
        self.lock().pop()
    }

    /// Takes the next item, waiting up to `patience`. Returns the cause of the closing once the inbox is closed and
    /// empty.
    pub(crate) fn wait(&self, patience: Duration) -> InboxEvent<T> {
        let is_idle = |state: &mut State<T>| state.is_empty() && state.closing.is_none();
        let waited = self
            .arrived
            .wait_timeout_while(self.lock(), patience, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (state.pop(), &state.closing) {
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
    fn a_full_inbox_refuses_clients_and_keeps_what_it_has() {
        let inbox = Inbox::new();
        for n in 0..WRITER_QUEUE {
            assert_eq!(inbox.push(WriteClass::Client, n), Ok(()));
        }
        let refused = inbox.push(WriteClass::Client, 0);
        assert_eq!(refused, Err(WriteError::Overloaded));
        assert_eq!(inbox.poll(), Some(0));
        assert_eq!(inbox.push(WriteClass::Client, 0), Ok(()));
    }

    #[test]
    fn outcomes_have_room_beside_clients_and_neither_waits_for_all_of_the_other() {
        let inbox = Inbox::new();
        for _ in 0..WRITER_QUEUE {
            assert_eq!(inbox.push(WriteClass::Client, "client"), Ok(()));
        }
        for _ in 0..WRITER_QUEUE + 5 {
            assert_eq!(inbox.push(WriteClass::Runtime, "outcome"), Ok(()));
        }
        let first: Vec<&str> = (0..8).filter_map(|_| inbox.poll()).collect();
        let round = ["outcome", "outcome", "outcome", "client"];
        assert_eq!(first, [round, round].concat());
    }

    #[test]
    fn an_inbox_without_anything_lets_its_consumer_go() {
        let inbox: Inbox<u8> = Inbox::new();
        assert_eq!(inbox.wait(Duration::ZERO), InboxEvent::Timeout);
    }

    #[test]
    fn a_closed_inbox_gives_out_what_waits_and_then_says_how_it_was_closed() {
        let inbox = Inbox::new();
        assert_eq!(inbox.push(WriteClass::Client, 1), Ok(()));
        inbox.close(Closing::Requested);
        inbox.close(Closing::Abandoned);
        assert_eq!(inbox.push(WriteClass::Runtime, 2), Err(WriteError::Closed));
        assert_eq!(inbox.wait(Duration::ZERO), InboxEvent::Item(1));
        assert_eq!(
            inbox.wait(Duration::ZERO),
            InboxEvent::Closed(Closing::Requested)
        );
    }
}
