//! The state of an agent's home: its place is looked at before the agent runs, and it is removed with the agent, each by
//! an effect. The directory itself appears when something is put into it.

use crate::effect::EffectId;
use crate::time::Timestamp;
use crate::timer::DueId;
use serde::{Deserialize, Serialize};

/// Where an agent's home stands. An open effect on the home is named in the state that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HomeState {
    /// Its place was not looked at, or cannot be relied on: the last look failed or was called off.
    #[default]
    Unmade,
    /// Its place is being looked at.
    Preparing {
        /// The effect that looks.
        effect: EffectId,
    },
    /// It is there, or can be made.
    Ready,
    /// Being removed.
    Removing {
        /// The effect that removes it.
        effect: EffectId,
        /// How many attempts have failed since the removal was asked for or taken up.
        #[serde(default, skip_serializing_if = "crate::skip::is_default")]
        failed: u32,
    },
    /// It could not be removed. The agent's rows stay; the next attempt follows after a pause, at the next boot, or when
    /// the removal is asked for again.
    NotRemoved {
        /// How many attempts have failed in a row.
        #[serde(default)]
        failed: u32,
        /// The pause before the next attempt; none in rows of builds that waited for a boot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry: Option<RemovalRetry>,
    },
    /// It is gone; the agent's rows may go.
    Removed,
}

/// The pause before another attempt to remove a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemovalRetry {
    /// When the next attempt is made.
    pub at: Timestamp,
    /// The entry of the due-queue that brings it about.
    pub due: DueId,
}

impl HomeState {
    /// The effect on the home that is open.
    #[must_use]
    pub const fn effect(self) -> Option<EffectId> {
        match self {
            Self::Preparing { effect } | Self::Removing { effect, .. } => Some(effect),
            Self::Unmade | Self::Ready | Self::NotRemoved { .. } | Self::Removed => None,
        }
    }

    /// How many attempts to remove the home have failed so far.
    #[must_use]
    pub const fn failed_removals(self) -> u32 {
        match self {
            Self::Removing { failed, .. } | Self::NotRemoved { failed, .. } => failed,
            Self::Unmade | Self::Preparing { .. } | Self::Ready | Self::Removed => 0,
        }
    }

    /// The pause before another attempt to remove the home, if one is set.
    #[must_use]
    pub const fn removal_retry(self) -> Option<RemovalRetry> {
        match self {
            Self::NotRemoved { retry, .. } => retry,
            Self::Unmade
            | Self::Preparing { .. }
            | Self::Ready
            | Self::Removing { .. }
            | Self::Removed => None,
        }
    }

    /// The state once nobody waits for the open effect any more. A home that was being removed may be there in part,
    /// so it has to be removed again.
    #[must_use]
    pub const fn without_effect(self) -> Self {
        match self {
            Self::Preparing { .. } => Self::Unmade,
            Self::Removing { .. } => Self::Ready,
            Self::Unmade | Self::Ready | Self::NotRemoved { .. } | Self::Removed => self,
        }
    }
}
