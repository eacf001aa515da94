//! The failure artifact: one shape for every failure an operator sees.

use crate::model::ModelFailureKind;
use crate::{limits, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a failure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// The way to the provider.
    Transport,
    /// The contract with the provider.
    Protocol,
    /// The runtime or the turn.
    Runtime,
    /// A managed execution.
    Task,
    /// Not classified.
    Unknown,
}

/// Why an agent's last failure came about, for decisions. The artifact beside it is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// Its home could not be made, so it was stopped.
    HomeNotMade,
    /// Its home could not be removed, so its rows stayed.
    HomeNotRemoved,
    /// No model could answer; the class of the last provider failure.
    Provider(ModelFailureKind),
    /// Anything else that ended a turn: a bound, an abort, a fault of the runtime.
    Runtime,
}

impl FailureCause {
    /// The stable spelling that a failure artifact shows for a home that could not be made.
    pub const HOME_NOT_MADE: &'static str = "home_not_made";
    /// The same for a home that could not be removed.
    pub const HOME_NOT_REMOVED: &'static str = "home_not_removed";

    /// The cause of a failure that was stored before causes were, from the kind its artifact shows.
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

/// A failure, normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureArtifact {
    /// Where it comes from.
    pub category: FailureCategory,
    /// Stable and machine-readable.
    pub kind: String,
    /// One operator-facing sentence.
    pub summary: String,
    /// The provider, if one is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, if one is involved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// An HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// A task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<crate::TaskId>,
    /// A command's exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The error and what caused it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
    /// Bounded extra detail.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl FailureArtifact {
    /// A failure of which nothing more is known. A long summary is cut.
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
