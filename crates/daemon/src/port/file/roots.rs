//! Opens the directories in which the paths of a patch lie: the workspace for relative paths, and the agent's own home
//! for absolute ones.
//!
//! The workspace is not opened for a patch that names files of the home alone, so that an agent can write its notes also
//! while its workspace cannot be used.

use super::{Files, execution_failed, tool_error};
use crate::port::attached::is_home;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::CommandContext;
use holon_patch::Patch;
use holon_tools::apply_patch::refused;
use holon_workspace::{Tree, make_home};
use std::path::Path;

/// Opens the directories that a patch needs as one tree, after its absolute paths were checked.
pub(super) fn open(
    files: &Files,
    context: &CommandContext,
    patch: &Patch,
) -> Result<Tree, ToolError> {
    let home = context.agent_home.as_str();
    let changes = patch.files.iter().map(|file| &file.change);
    let paths = changes.flat_map(|change| [change.source(), change.target()]);
    let (of_home, of_workspace): (Vec<&str>, Vec<&str>) =
        paths.partition(|path| path.starts_with('/'));
    for path in &of_home {
        check(home, path)?;
    }
    if !of_home.is_empty() || is_home(&context.workspace) {
        // An agent is removed only after its patches have ended, so the home is needed.
        make_home(Path::new(home), || true).map_err(|error| execution_failed(error.to_string()))?;
    }
    let attachments = &files.attachments;
    let open = |workspace: &WorkspaceEntry| {
        let tree = attachments.open(home, workspace);
        tree.map_err(|error| tool_error(&error))
    };
    let own = WorkspaceEntry::agent_home(home);
    if of_home.is_empty() {
        return open(&context.workspace);
    }
    let first = if of_workspace.is_empty() {
        open(&own)?
    } else {
        open(&context.workspace)?
    };
    Ok(first.beside(open(&own)?, home))
}

/// Checks that an absolute path lies in the home, where a patch may write.
fn check(home: &str, path: &str) -> Result<(), ToolError> {
    let below = path.strip_prefix(home.trim_end_matches('/'));
    let Some(below) = below.and_then(|below| below.strip_prefix('/')) else {
        let message = format!("{path:?} is absolute and does not lie in your home, {home:?}");
        return Err(ToolError::new(ToolErrorKind::PathEscape, message).hint(
            "name a file of the workspace by its path from the execution root; change other files with a command",
        ));
    };
    holon_patch::check_path(path, below).map_err(|error| refused(&error))
}
