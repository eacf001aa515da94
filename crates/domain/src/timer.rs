//! Timers and the host's due-queue: what is to happen when.

use crate::id::{AgentId, TimerId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Number of a due entry, unique for its agent and never used again.
pub type DueId = u64;

/// What is due. Rows of one queue for the whole host; no agent needs to be in memory for its time to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Due {
    /// A rest the agent asked for is over.
    RestOver {
        /// Why it rested.
        reason: Option<String>,
    },
    /// The pause before the next provider try is over.
    BackoffOver {
        /// The turn that waits.
        turn_index: u64,
    },
    /// The pause before another turn that only the agent itself caused is over.
    PaceOver,
    /// The pause before another attempt to remove the home of an agent that goes is over.
    RemovalRetry,
}

/// Where a timer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerStatus {
    /// Will fire.
    Active,
    /// Has fired for the last time.
    Completed,
    /// Will not fire.
    Cancelled,
}

/// A timer. Planned slot and actual fire are apart, so a late fire moves no later slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerRecord {
    /// Its id.
    pub id: TimerId,
    /// Whom it wakes.
    pub agent_id: AgentId,
    /// When it was made.
    pub created_at: Timestamp,
    /// First delay.
    pub duration_ms: u64,
    /// Then every.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    /// Where it stands.
    pub status: TimerStatus,
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The planned slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Timestamp>,
    /// The last actual fire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fired_at: Option<Timestamp>,
    /// How often it fired.
    pub fire_count: u64,
}
