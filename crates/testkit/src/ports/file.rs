//! Patches that the test applies in word only, and what it can prove of them after a crash.

use super::pending::CallQueue;
use async_trait::async_trait;
use holon_domain::CallId;
use holon_domain::file_change::{ChangedFile, FileAction, PatchApplied};
use holon_domain::tool::ToolError;
use holon_engine::ports::{CommandContext, FileHost};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

/// Files whose every patch waits for the test to answer it. Nothing is written anywhere.
#[derive(Debug, Default)]
pub struct ScriptedFiles {
    /// The patches hosts asked to apply.
    pub patches: CallQueue<String, Result<PatchApplied, ToolError>>,
    /// What recovery is told of a patch whose host crashed; `None` when its outcome cannot be proven.
    pub proof: Mutex<Option<Result<PatchApplied, ToolError>>>,
    /// How many patches hosts asked to forget.
    pub forgotten: watch::Sender<u32>,
}

#[async_trait]
impl FileHost for ScriptedFiles {
    async fn apply_patch(
        &self,
        _context: CommandContext,
        _call: CallId,
        patch: String,
    ) -> Result<PatchApplied, ToolError> {
        let answer = self.patches.ask(patch, &CancellationToken::new()).await;
        answer.expect("the test answers")
    }

    async fn settle_patch(
        &self,
        _agent_home: &str,
        _call: &CallId,
        _patch: &str,
    ) -> Option<Result<PatchApplied, ToolError>> {
        self.proof.lock().await.clone()
    }

    async fn forget_patch(&self, _agent_home: &str, _call: &CallId) {
        self.forgotten.send_modify(|count| *count += 1);
    }
}

/// The outcome of a patch that added one file.
#[must_use]
pub fn added_file(path: &str) -> PatchApplied {
    PatchApplied {
        changed_files: vec![ChangedFile {
            action: FileAction::Add,
            path: path.to_owned(),
        }],
        ..PatchApplied::default()
    }
}
