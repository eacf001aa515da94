//! The outbox of an agent: one lane for each route with deliveries, in the agent's row.
//!
//! A lane has at most one delivery in flight, so deliveries on a route keep their order. The effect of an attempt or the
//! due entry of a pause is named here; the deliveries themselves are rows of their own.

use super::{DeliveryRoute, DeliverySeq};
use crate::effect::EffectId;
use crate::id::NotificationId;
use crate::time::Timestamp;
use crate::timer::DueId;
use serde::{Deserialize, Serialize};

/// Everything an agent has to deliver, and the bound on its notifications.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outbox {
    /// Routes that were used, in the order of their first use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<OutboxLane>,
    /// Absent before the first notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notified: Option<NotificationWindow>,
    /// Paths of files in the home that can be downloaded because a notification named them, oldest first; at most
    /// [`crate::limits::ATTACHMENTS_KEPT`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
}

impl Outbox {
    /// Returns the lane of a route.
    #[must_use]
    pub fn lane(&self, route: &DeliveryRoute) -> Option<&OutboxLane> {
        self.lanes.iter().find(|lane| lane.route == *route)
    }

    /// Returns the lane of a route for a change.
    pub fn lane_mut(&mut self, route: &DeliveryRoute) -> Option<&mut OutboxLane> {
        self.lanes.iter_mut().find(|lane| lane.route == *route)
    }

    /// Iterates over the open effects of attempts.
    pub fn effects(&self) -> impl Iterator<Item = EffectId> {
        self.lanes.iter().filter_map(|lane| match lane.state {
            LaneState::Sending { effect, .. } => Some(effect),
            LaneState::Idle | LaneState::Paused { .. } => None,
        })
    }

    /// Iterates over the due entries of pauses.
    pub fn dues(&self) -> impl Iterator<Item = DueId> {
        self.lanes.iter().filter_map(|lane| match lane.state {
            LaneState::Paused { due, .. } => Some(due),
            LaneState::Idle | LaneState::Sending { .. } => None,
        })
    }
}

/// Deliveries of one agent on one route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxLane {
    pub route: DeliveryRoute,
    /// Oldest delivery that has not ended; `newest + 1` if all have.
    pub head: DeliverySeq,
    /// Newest delivery that was written; 0 before the first.
    pub newest: DeliverySeq,
    pub state: LaneState,
    /// Attempts of the delivery at the head that failed.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub failed_attempts: u32,
    /// Failed attempts since the last success, of any delivery. The next pause follows from it.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub failures: u32,
    /// Time of the first failure since the last success. Absent while attempts succeed, and when nothing is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// Error of the last attempt, or the reason for which the last delivery was given up. Absent after a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_accepted_at: Option<Timestamp>,
    /// Deliveries that were given up.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub given_up: u64,
}

impl OutboxLane {
    /// Creates the lane of a route without a delivery.
    #[must_use]
    pub const fn new(route: DeliveryRoute) -> Self {
        Self {
            route,
            head: 1,
            newest: 0,
            state: LaneState::Idle,
            failed_attempts: 0,
            failures: 0,
            failing_since: None,
            last_error: None,
            last_accepted_at: None,
            given_up: 0,
        }
    }

    /// Returns the time since which attempts fail that are repeated. `None` if nothing is pending; lanes of earlier
    /// builds may have kept the time.
    #[must_use]
    pub fn retrying_since(&self) -> Option<Timestamp> {
        self.failing_since.filter(|_| self.pending() > 0)
    }

    /// Returns the number of deliveries that have not ended.
    #[must_use]
    pub const fn pending(&self) -> u64 {
        (self.newest + 1).saturating_sub(self.head)
    }
}

/// Activity of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LaneState {
    /// Nothing is pending, so no effect and no pause exists.
    Idle,
    /// The delivery at the head is being submitted.
    Sending {
        effect: EffectId,
        /// Begin of the attempt. Absent in rows of earlier builds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
    },
    /// The last attempt failed, and the next one follows at `until`.
    Paused { due: DueId, until: Timestamp },
}

/// Count of an agent's notifications in the current hour, and the newest one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationWindow {
    pub since: Timestamp,
    pub count: u32,
    pub last_id: NotificationId,
    pub last_at: Timestamp,
    /// Beginning of the newest message.
    pub last_summary: String,
}
