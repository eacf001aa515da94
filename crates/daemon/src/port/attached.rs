//! The directories that agents are attached to, as far as patches need to know.
//!
//! An operator who names a workspace means the directory that is at the path at that moment. Its identity is
//! remembered here until it is recorded with the agent's claims, and is compared before each patch. Starting an agent
//! attaches it to the directory that is at the path then. An agent's own home has no record, because the runtime may
//! create it again.

use holon_domain::workspace::{AGENT_HOME, WorkspaceEntry};
use holon_workspace::{AttachedRoot, Attachment, ClaimFolders, Tree, TreeError};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// File name of the record, in the folder of an agent's claims.
const RECORD: &str = "execution-root.json";
/// Path of the record of an earlier build, in an agent's home.
const FORMER_RECORD: &str = ".holon/state/execution-root.json";
/// Most directories remembered. Others are checked at the first patch. Only agents that could not be created after
/// their workspace was chosen leave an entry behind.
const MAX_REMEMBERED: usize = 1_000;

/// Remembers and compares attached directories. All methods block on the file system. Clones share the entries.
#[derive(Debug, Clone)]
pub(crate) struct Attachments {
    claims: ClaimFolders,
    /// Attached directories that are not recorded yet, by agent home.
    remembered: Arc<Mutex<HashMap<String, AttachedRoot>>>,
}

impl Attachments {
    /// Creates attachments whose records are stored with these claims.
    pub(crate) fn new(claims: ClaimFolders) -> Self {
        Self {
            claims,
            remembered: Arc::default(),
        }
    }

    /// Remembers the directory of a workspace that was named for the agent with this home.
    pub(crate) fn remember(&self, agent_home: &str, workspace: &WorkspaceEntry) {
        if is_home(workspace) {
            return;
        }
        let Ok(root) = AttachedRoot::inspect(Path::new(&workspace.execution_root)) else {
            return;
        };
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if remembered.len() < MAX_REMEMBERED || remembered.contains_key(agent_home) {
            remembered.insert(agent_home.to_owned(), root);
        }
    }

    /// Records the attachment of an agent that was created or started.
    pub(crate) fn record_start(&self, agent_home: &str) {
        let remembered = self.take(agent_home);
        let attachment = self.attachment(agent_home);
        let root = attachment.root().unwrap_or_else(|error| {
            tracing::warn!(agent_home, %error, "the directory an agent works in is not known");
            None
        });
        if let Some(target) = root.and_then(|root| self.claims.linked_target(&root)) {
            // The record stays, so that the agent goes on when its directory is put back.
            tracing::warn!(agent_home, target = %target.display(), "a link leads the directory an agent works in \
                 to the host's own; its commands and patches are refused until the directory is put back");
            return;
        }
        if let Err(error) = attachment.renew(remembered) {
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
        if self.claims.linked_target(root).is_some() {
            return Err(TreeError::Replaced {
                path: workspace.execution_root.clone(),
                found: "its path leads over a link to the host's own directories",
            });
        }
        if !is_home(workspace) {
            let remembered = self.take(agent_home);
            return self.attachment(agent_home).open(root, remembered);
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
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        remembered.remove(agent_home)
    }

    fn attachment(&self, agent_home: &str) -> Attachment {
        let home = Path::new(agent_home);
        let record = self.claims.of_agent(home).join(RECORD);
        Attachment::at(record).with_former_record(home.join(FORMER_RECORD))
    }
}

/// Returns true if a workspace is the agent's own home.
pub(crate) fn is_home(workspace: &WorkspaceEntry) -> bool {
    workspace.workspace_id.as_str() == AGENT_HOME
}
