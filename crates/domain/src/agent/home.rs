//! State of an agent's home directory. An effect checks the directory before the agent runs, another removes it with
//! the agent. The directory itself is created when the first file is written to it.

use crate::effect::EffectId;
use crate::time::Timestamp;
use crate::timer::DueId;
use serde::{Deserialize, Serialize};

/// State of an agent's home directory. A state that waits for an effect names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HomeState {
    /// The directory was not checked yet, or the last check failed or was cancelled.
    #[default]
    Unmade,
    /// An effect checks whether the directory exists or can be created.
    Preparing { effect: EffectId },
    /// The directory exists or can be created.
    Ready,
    Removing {
        effect: EffectId,
        /// Failed attempts since the removal was requested or resumed.
        #[serde(default, skip_serializing_if = "crate::skip::is_default")]
        failed: u32,
    },
    /// The directory could not be removed. The agent's rows stay. The next attempt follows after a pause, at the next
    /// boot, or at the next request to remove the agent.
    NotRemoved {
        /// Failed attempts in a row.
        #[serde(default)]
        failed: u32,
        /// Pause before the next attempt. Absent in rows of builds that retried only at boot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry: Option<RemovalRetry>,
    },
    /// The directory is gone, so the agent's rows can be removed.
    Removed,
}

/// Pause before another attempt to remove a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemovalRetry {
    pub at: Timestamp,
    /// Entry of the due-queue that starts the attempt.
    pub due: DueId,
}

impl HomeState {
    /// Returns the open effect on the home, if there is one.
    #[must_use]
    pub const fn effect(self) -> Option<EffectId> {
        match self {
            Self::Preparing { effect } | Self::Removing { effect, .. } => Some(effect),
            Self::Unmade | Self::Ready | Self::NotRemoved { .. } | Self::Removed => None,
        }
    }

    /// Returns the number of failed attempts to remove the home so far.
    #[must_use]
    pub const fn failed_removals(self) -> u32 {
        match self {
            Self::Removing { failed, .. } | Self::NotRemoved { failed, .. } => failed,
            Self::Unmade | Self::Preparing { .. } | Self::Ready | Self::Removed => 0,
        }
    }

    /// Returns the pause before another attempt to remove the home, if one is set.
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

    /// Returns the state after the open effect was cancelled. A home whose removal was cancelled may be half removed,
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
