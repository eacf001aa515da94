//! The profile of a workspace: what the runtime can say about a project from typed records and its root directory.

use crate::id::WorkspaceId;
use serde::{Deserialize, Serialize};

/// Compact facts about one workspace. Derived, so it is written again when the directory looks different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceProfile {
    pub workspace_id: WorkspaceId,
    /// Name of the workspace's directory.
    pub name: String,
    /// Other names: the repository's directory, and the name in a manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Stable path of the project.
    pub workspace_anchor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Instruction files in the root directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instruction_files: Vec<String>,
    /// Files in the root directory that say how the project is built.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Commands that are usual for the manifests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usual_commands: Vec<String>,
}

impl WorkspaceProfile {
    /// Returns the profile as text. Empty parts are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![format!("Workspace {} ({})", self.name, self.workspace_id)];
        lines.push(format!("path: {}", self.workspace_anchor));
        if let Some(repository) = &self.repository {
            lines.push(format!("repository: {repository}"));
        }
        let lists = [
            ("also called", &self.aliases),
            ("instruction files", &self.instruction_files),
            ("manifests", &self.manifests),
            ("languages", &self.languages),
            ("usual commands", &self.usual_commands),
        ];
        for (name, entries) in lists {
            if !entries.is_empty() {
                lines.push(format!("{name}: {}", entries.join(", ")));
            }
        }
        lines.join("\n")
    }
}
