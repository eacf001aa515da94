//! What a brief or a run asks of its operator.

use super::{Brief, Run};
use serde_json::Value;

/// Returns the sentence in which an operator is asked to act.
fn next_step(action: Option<&Value>) -> Option<&str> {
    action?.get("next_step")?.as_str()
}

impl Brief {
    /// Returns what the operator is asked to do; `None` if nothing.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        next_step(self.action_required.as_ref())
    }
}

impl Run {
    /// Returns what the operator is asked to do; `None` if nothing.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        next_step(self.action_required.as_ref())
    }
}
