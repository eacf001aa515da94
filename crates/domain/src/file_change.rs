//! Changes that a patch made to files, in the spelling of the published result.
//!
//! Stored results with the spelling of earlier builds are still read; they are never rewritten.

use serde::{Deserialize, Serialize};

/// Change that a patch made to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum FileAction {
    #[serde(alias = "added")]
    Add,
    #[serde(alias = "modified")]
    Modify,
    #[serde(alias = "deleted")]
    Delete,
    /// The file was renamed; its content may have changed, too.
    #[serde(alias = "renamed")]
    Move {
        #[serde(alias = "from")]
        from_path: String,
    },
}

/// One changed file and its change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    #[serde(flatten)]
    pub action: FileAction,
    /// Path relative to the execution root, or absolute in the agent's home.
    pub path: String,
}

/// A metadata line of the patch that has no effect here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredMetadata {
    /// File section in which the line stands.
    pub path: String,
    /// Name of the line, such as `new file mode`.
    pub kind: String,
    pub value: String,
}

/// A harmless flaw of the patch that was corrected or ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchDiagnostic {
    pub path: String,
    /// Stable name of the flaw.
    pub kind: String,
    /// Description for the model.
    pub message: String,
}

/// Result of a patch that was applied completely.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchResult {
    /// Changed files in the order of the patch.
    pub changed_files: Vec<ChangedFile>,
    pub ignored_metadata: Vec<IgnoredMetadata>,
    /// Flaws of the patch that were corrected.
    pub diagnostics: Vec<PatchDiagnostic>,
}
