//! A gate in an answer: the server stands there until the test lets it go on.

use super::shared::Shared;
use std::sync::Arc;

/// One gate, by its name in the script. It blocks the thread that waits, so an async test needs more than one.
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

    /// Waits until the server stands here.
    ///
    /// # Panics
    /// When it never comes.
    pub fn reached(&self) {
        self.shared.wait_at_gate(&self.name, 1);
    }

    /// Waits until the server has come here for the so manieth time; an open gate counts those who pass.
    ///
    /// # Panics
    /// When it never comes.
    pub fn reached_times(&self, times: usize) {
        self.shared.wait_at_gate(&self.name, times);
    }

    /// Lets the server go on, now and whenever it comes here again.
    pub fn open(&self) {
        self.shared.open(&self.name);
    }
}
