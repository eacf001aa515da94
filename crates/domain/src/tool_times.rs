//! Times of the calls of one tool over the life of an agent, as its row keeps them and as clients read them.

use crate::summary::ToolLatency;
use serde::{Deserialize, Serialize};

/// Name under which the calls of names that no tool has are timed together. No tool has a name in parentheses.
pub const UNKNOWN_TOOLS: &str = "(unknown)";

/// Times of the ended calls of one tool. Stored as a list, because every decision writes the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "[u64; 5]", into = "[u64; 5]")]
pub struct ToolTimes {
    /// Calls that have ended, well or not.
    pub calls: u64,
    /// Calls of these that failed.
    pub failed: u64,
    pub total_ms: u64,
    pub max_ms: u64,
    /// Duration of the newest call.
    pub last_ms: u64,
}

impl ToolTimes {
    /// Adds an ended call. Saturates.
    pub fn add(&mut self, duration_ms: u64, failed: bool) {
        self.calls = self.calls.saturating_add(1);
        self.failed = self.failed.saturating_add(u64::from(failed));
        self.total_ms = self.total_ms.saturating_add(duration_ms);
        self.max_ms = self.max_ms.max(duration_ms);
        self.last_ms = duration_ms;
    }

    /// Returns the times of the tool with this name as clients read them.
    #[must_use]
    pub fn view(self, tool_name: &str) -> ToolLatency {
        ToolLatency {
            tool_name: tool_name.to_owned(),
            total_calls: self.calls,
            failed: self.failed,
            total_duration_ms: self.total_ms,
            max_duration_ms: self.max_ms,
            last_duration_ms: self.last_ms,
        }
    }
}

impl From<[u64; 5]> for ToolTimes {
    fn from([calls, failed, total_ms, max_ms, last_ms]: [u64; 5]) -> Self {
        Self {
            calls,
            failed,
            total_ms,
            max_ms,
            last_ms,
        }
    }
}

impl From<ToolTimes> for [u64; 5] {
    fn from(times: ToolTimes) -> Self {
        [
            times.calls,
            times.failed,
            times.total_ms,
            times.max_ms,
            times.last_ms,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_are_stored_as_a_list() {
        let mut times = ToolTimes::default();
        times.add(40, false);
        times.add(10, true);
        let stored = serde_json::to_string(&times).expect("encodes");
        assert_eq!(stored, "[2,1,50,40,10]");
        let read: ToolTimes = serde_json::from_str(&stored).expect("decodes");
        assert_eq!(read, times);
        times.add(u64::MAX, false);
        assert_eq!((times.total_ms, times.max_ms), (u64::MAX, u64::MAX));
    }
}
