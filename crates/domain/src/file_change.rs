//! What a patch did to files, in the words its result is published in.
//!
//! Results that are on record with the earlier words are still read: they are never rewritten.

use serde::{Deserialize, Serialize};

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum FileAction {
    /// It is new.
    #[serde(alias = "added")]
    Add,
    /// It has other content.
    #[serde(alias = "modified")]
    Modify,
    /// It is gone.
    #[serde(alias = "deleted")]
    Delete,
    /// It has another name, and other content perhaps.
    #[serde(alias = "renamed")]
    Move {
        /// Its former path.
        #[serde(alias = "from")]
        from_path: String,
    },
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// What became of it.
    #[serde(flatten)]
    pub action: FileAction,
    /// Its path, relative to the execution root.
    pub path: String,
}

/// A line of the patch that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredMetadata {
    /// The file it stood over.
    pub path: String,
    /// Its name, such as `new file mode`.
    pub kind: String,
    /// What it said.
    pub value: String,
}

/// Something in the patch that was wrong, or had no effect, and did no harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchDiagnostic {
    /// The file it concerns.
    pub path: String,
    /// What sort of thing, in one stable word.
    pub kind: String,
    /// The thing itself.
    pub message: String,
}

/// A patch that was applied whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchResult {
    /// The files, in the order of the patch.
    pub changed_files: Vec<ChangedFile>,
    /// Lines of the patch that mean nothing here.
    pub ignored_metadata: Vec<IgnoredMetadata>,
    /// What was put right on the way.
    pub diagnostics: Vec<PatchDiagnostic>,
}
