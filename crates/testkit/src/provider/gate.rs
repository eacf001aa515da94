//! A gate in an answer: the server waits there until the test opens it.

use super::shared::Shared;
use std::sync::Arc;

/// One gate, by its name in the script. Its waits block the thread, so an async test needs more than one thread.
#[derive(Debug, Clone)]
pub struct Gate {
    shared: Arc<Shared>,
    name: String,
}

impl Gate {
    pub(super) fn new(shared: Arc<Shared>, name: &str) -> Self {
        Self {
            shared,
            name: name.to_owned(),
        }
    }

    /// Waits until the server has reached the gate.
    ///
    /// # Panics
    /// When it does not in time.
    pub fn reached(&self) {
        self.shared.wait_at_gate(&self.name, 1);
    }

    /// Waits until the server has reached the gate this many times; passing an open gate counts.
    ///
    /// # Panics
    /// When it does not in time.
    pub fn reached_times(&self, times: usize) {
        self.shared.wait_at_gate(&self.name, times);
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.shared.open(&self.name);
    }
}
