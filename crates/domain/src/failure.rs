//! The failure artifact: one shape for every failure that an operator sees.

use crate::model::ModelFailureKind;
use crate::{limits, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Area in which a failure arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// The provider could not be reached, or refused to serve: no connection, a refused credential, a used-up allowance
    /// or a server error.
    Transport,
    /// The provider broke its contract, or refused the request.
    Protocol,
    /// The runtime or the turn failed.
    Runtime,
    /// A background command or a child agent failed.
    Task,
    Unknown,
}

/// Cause of an agent's last failure, for decisions. The artifact beside it is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The home could not be prepared, so the agent was stopped.
    HomeNotMade,
    /// The home could not be removed, so the agent's rows stayed.
    HomeNotRemoved,
    /// No model could answer. Holds the class of the last provider failure.
    Provider(ModelFailureKind),
    /// Any other end of a turn: a bound, an abort or a fault of the runtime.
    Runtime,
}

impl FailureCause {
    /// Stable kind in the artifact of a home that could not be prepared.
    pub const HOME_NOT_MADE: &'static str = "home_not_made";
    /// Stable kind in the artifact of a home that could not be removed.
    pub const HOME_NOT_REMOVED: &'static str = "home_not_removed";

    /// Derives the cause of a failure of an earlier build from the kind in its artifact.
    pub(crate) fn from_legacy(kind: &str) -> Self {
        let provider = ModelFailureKind::ALL
            .into_iter()
            .find(|known| known.as_str() == kind);
        match (kind, provider) {
            (_, Some(provider)) => Self::Provider(provider),
            (Self::HOME_NOT_MADE, None) => Self::HomeNotMade,
            (Self::HOME_NOT_REMOVED, None) => Self::HomeNotRemoved,
            (_, None) => Self::Runtime,
        }
    }
}

/// Normalised description of a failure for operators and clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureArtifact {
    pub category: FailureCategory,
    pub kind: String,
    pub summary: String,
    /// Absent if no provider is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Model as `provider/model`. Absent if no model is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// HTTP status. Absent if no response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<crate::TaskId>,
    /// Exit status of a command. Absent if none is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Error messages from the outermost to the root cause, at most [`crate::limits::SOURCE_CHAIN`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
    /// Further details, bounded in size.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl FailureArtifact {
    /// Creates a failure without further details. A long summary is cut.
    #[must_use]
    pub fn new(category: FailureCategory, kind: &str, summary: &str) -> Self {
        Self {
            category,
            kind: kind.to_owned(),
            summary: text::preview(summary, limits::FAILURE_SUMMARY_BYTES),
            provider: None,
            model_ref: None,
            status: None,
            task_id: None,
            exit_status: None,
            source_chain: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_old_failure_follows_from_the_kind_it_shows() {
        for kind in ModelFailureKind::ALL {
            let cause = FailureCause::from_legacy(kind.as_str());
            assert_eq!(cause, FailureCause::Provider(kind));
        }
        for (kind, cause) in [
            ("home_not_made", FailureCause::HomeNotMade),
            ("home_not_removed", FailureCause::HomeNotRemoved),
            ("max_turns_exceeded", FailureCause::Runtime),
        ] {
            assert_eq!(FailureCause::from_legacy(kind), cause);
        }
    }
}
