//! The directories agents were attached to, as far as patches need to know.
//!
//! An operator who names a workspace means the directory that is there at that moment. It is remembered here until it
//! can be put on record in the agent's home, which may not be made yet, and is compared before each patch. The start of
//! an agent attaches it to what is at the path then. An agent's own home has no record: the runtime may make it again.

use holon_domain::workspace::{AGENT_HOME, WorkspaceEntry};
use holon_workspace::{AttachedRoot, Attachment, Tree, TreeError};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the record stands, under an agent's home.
const RECORD: &str = ".holon/state/execution-root.json";
/// Most directories remembered; what is over is looked at when the first patch comes. Only agents that could not be
/// made after their workspace was chosen leave one behind.
const REMEMBERED: usize = 1_000;

/// Remembers and compares. Everything here blocks on the file system. Clones share what is remembered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attachments {
    /// By agent home.
    seen: Arc<Mutex<HashMap<String, AttachedRoot>>>,
}

impl Attachments {
    /// A workspace was named for the agent with this home.
    pub(crate) fn named(&self, agent_home: &str, workspace: &WorkspaceEntry) {
        if is_home(workspace) {
            return;
        }
        let Ok(root) = AttachedRoot::look(Path::new(&workspace.execution_root)) else {
            return;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < REMEMBERED || seen.contains_key(agent_home) {
            seen.insert(agent_home.to_owned(), root);
        }
    }

    /// The agent with this home was made or started.
    pub(crate) fn started(&self, agent_home: &str) {
        let seen = self.take(agent_home);
        if let Err(error) = attachment(agent_home).renew(seen) {
            tracing::warn!(%error, "the directory an agent works in could not be put on record");
        }
    }

    /// Opens the directory the agent works in, if it is the one it was attached to.
    pub(crate) fn open(
        &self,
        agent_home: &str,
        workspace: &WorkspaceEntry,
    ) -> Result<Tree, TreeError> {
        let root = Path::new(&workspace.execution_root);
        if !is_home(workspace) {
            return attachment(agent_home).open(root, self.take(agent_home));
        }
        if root.is_symlink() {
            return Err(TreeError::Replaced {
                path: workspace.execution_root.clone(),
                found: "a link has taken its place",
            });
        }
        Tree::open(root)
    }

    fn take(&self, agent_home: &str) -> Option<AttachedRoot> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(agent_home)
    }
}

fn is_home(workspace: &WorkspaceEntry) -> bool {
    workspace.workspace_id.as_str() == AGENT_HOME
}

fn attachment(agent_home: &str) -> Attachment {
    Attachment::at(Path::new(agent_home).join(RECORD))
}
