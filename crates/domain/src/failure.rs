//! The failure artifact: one shape for every failure an operator sees.

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
