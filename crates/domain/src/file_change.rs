//! What a patch did to files.

use serde::{Deserialize, Serialize};

/// What became of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It has other content.
    Modified,
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It has another name, and other content perhaps.
    Renamed,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path, relative to the execution root.
    pub path: String,
    /// What became of it.
    pub action: FileAction,
    /// Its former path, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// A patch that was applied whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatchApplied {
    /// The files, in the order of the patch.
    pub files: Vec<ChangedFile>,
    /// Lines of the patch that mean nothing here, as they stood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_metadata: Vec<String>,
    /// What was put right on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}
