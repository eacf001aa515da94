//! The directories agents were attached to, as far as patches need to know.
//!
//! An operator who names a workspace means the directory that is there at that moment. It is remembered here until it
//! is put on record with the agent's claims, and is compared before each patch. The start of an agent attaches it to what
//! is at the path then. An agent's own home has no record: the runtime may make it again.

use holon_domain::workspace::{AGENT_HOME, WorkspaceEntry};
use holon_workspace::{AttachedRoot, Attachment, Claims, Tree, TreeError};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The record, in the folder of an agent's claims.
const RECORD: &str = "execution-root.json";
/// Where an earlier build kept it, under an agent's home.
const FORMER_RECORD: &str = ".holon/state/execution-root.json";
/// Most directories remembered; what is over is looked at when the first patch comes. Only agents that could not be
/// made after their workspace was chosen leave one behind.
const REMEMBERED: usize = 1_000;

/// Remembers and compares. Everything here blocks on the file system. Clones share what is remembered.
#[derive(Debug, Clone)]
pub(crate) struct Attachments {
    claims: Claims,
    /// By agent home.
    seen: Arc<Mutex<HashMap<String, AttachedRoot>>>,
}

impl Attachments {
    /// Attachments whose records stand with these claims.
    pub(crate) fn new(claims: Claims) -> Self {
        Self {
            claims,
            seen: Arc::default(),
        }
    }

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
        if let Err(error) = self.attachment(agent_home).renew(seen) {
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
            let seen = self.take(agent_home);
            return self.attachment(agent_home).open(root, seen);
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

    fn attachment(&self, agent_home: &str) -> Attachment {
        let home = Path::new(agent_home);
        let record = self.claims.of_agent(home).join(RECORD);
        Attachment::at(record).formerly_at(home.join(FORMER_RECORD))
    }
}

/// Whether a workspace is the agent's own home.
pub(crate) fn is_home(workspace: &WorkspaceEntry) -> bool {
    workspace.workspace_id.as_str() == AGENT_HOME
}
