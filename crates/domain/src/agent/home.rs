//! The state of an agent's home: made before the agent first runs and removed with it, each by an effect.

use crate::effect::EffectId;
use serde::{Deserialize, Serialize};

/// Where an agent's home stands. An open effect on the home is named in the state that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HomeState {
    /// Not made, or it cannot be relied on: the last try failed or was called off.
    #[default]
    Unmade,
    /// Being made.
    Preparing {
        /// The effect that makes it.
        effect: EffectId,
    },
    /// It is there.
    Ready,
    /// Being removed.
    Removing {
        /// The effect that removes it.
        effect: EffectId,
    },
    /// It could not be removed. The agent's rows stay, and the next delete or boot tries again.
    NotRemoved,
    /// It is gone; the agent's rows may go.
    Removed,
}

impl HomeState {
    /// The effect on the home that is open.
    #[must_use]
    pub const fn effect(self) -> Option<EffectId> {
        match self {
            Self::Preparing { effect } | Self::Removing { effect } => Some(effect),
            Self::Unmade | Self::Ready | Self::NotRemoved | Self::Removed => None,
        }
    }

    /// The state once nobody waits for the open effect any more. A home that was being removed may be there in part,
    /// so it has to be removed again.
    #[must_use]
    pub const fn released(self) -> Self {
        match self {
            Self::Preparing { .. } => Self::Unmade,
            Self::Removing { .. } => Self::Ready,
            Self::Unmade | Self::Ready | Self::NotRemoved | Self::Removed => self,
        }
    }
}
