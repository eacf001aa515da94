//! Patches that are applied in name only, and the proofs of them after a crash.

use super::image::SentImagesInMemory;
use super::pending::CallQueue;
use async_trait::async_trait;
use holon_domain::file_change::{ChangedFile, FileAction, PatchResult};
use holon_domain::image::{ImageDigest, ImageFault, SentImage, ShownImage};
use holon_domain::tool::ToolError;
use holon_domain::{CallId, Timestamp};
use holon_engine::ports::{CommandContext, FileHost};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

/// A file port where every patch waits for the test to answer it. It writes nothing.
#[derive(Debug, Default)]
pub struct ScriptedFiles {
    /// Patches that hosts asked to apply.
    pub patches: CallQueue<String, Result<PatchResult, ToolError>>,
    /// Proof for recovery of a patch whose host crashed; `None` if its outcome cannot be proven.
    pub proof: Mutex<Option<Result<PatchResult, ToolError>>>,
    /// Number of patches that hosts asked to forget.
    pub forgotten: watch::Sender<u32>,
    /// Requests of hosts to finish a patch, in order.
    pub finished: watch::Sender<Vec<FinishRequest>>,
    /// Number of the next finish requests that fail.
    pub finish_failures: AtomicU32,
    at_work: std::sync::Mutex<Vec<CallId>>,
    /// Images that operators sent, in memory.
    pub images: SentImagesInMemory,
}

/// A host's request to finish the patch of a cancelled call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishRequest {
    pub call: CallId,
    /// True if the same port was still applying the patch, which the host must not allow.
    pub was_at_work: bool,
}

impl ScriptedFiles {
    fn with_work<T>(&self, look: impl FnOnce(&mut Vec<CallId>) -> T) -> T {
        let mut at_work = self.at_work.lock();
        look(at_work.as_mut().expect("no test panics in here"))
    }
}

#[async_trait]
impl FileHost for ScriptedFiles {
    async fn apply_patch(
        &self,
        _context: CommandContext,
        call: CallId,
        patch: String,
    ) -> Result<PatchResult, ToolError> {
        self.with_work(|at_work| at_work.push(call.clone()));
        let answer = self.patches.ask(patch, &CancellationToken::new()).await;
        self.with_work(|at_work| at_work.retain(|other| *other != call));
        answer.expect("the test answers")
    }

    async fn settle_patch(
        &self,
        _agent_home: &str,
        _call: &CallId,
        _patch: &str,
    ) -> Option<Result<PatchResult, ToolError>> {
        self.proof.lock().await.clone()
    }

    async fn forget_patch(&self, _agent_home: &str, _call: &CallId) {
        self.forgotten.send_modify(|count| *count += 1);
    }

    async fn finish_patch(&self, _agent_home: &str, call: &CallId) -> Result<(), String> {
        let request = FinishRequest {
            call: call.clone(),
            was_at_work: self.with_work(|at_work| at_work.contains(call)),
        };
        self.finished.send_modify(|requests| requests.push(request));
        let left = |left: u32| left.checked_sub(1);
        match self.finish_failures.fetch_update(SeqCst, SeqCst, left) {
            Ok(_) => Err("the workspace cannot be reached".to_owned()),
            Err(_) => Ok(()),
        }
    }

    async fn keep_sent_image(&self, content: Vec<u8>) -> Result<SentImage, ImageFault> {
        Ok(self.images.keep(&content))
    }

    async fn claim_sent_image(&self, digest: &ImageDigest) -> Option<SentImage> {
        self.images.claim(digest)
    }

    async fn load_sent_image(&self, image: &SentImage) -> Option<ShownImage> {
        self.images.load(image)
    }

    async fn sent_images_before(&self, before: Timestamp) -> Vec<ImageDigest> {
        self.images.before(before)
    }

    async fn remove_sent_image(&self, digest: &ImageDigest, before: Timestamp) -> bool {
        self.images.remove_before(digest, before)
    }
}

/// The outcome of a patch that added one file.
#[must_use]
pub fn added_file(path: &str) -> PatchResult {
    PatchResult {
        changed_files: vec![ChangedFile {
            action: FileAction::Add,
            path: path.to_owned(),
        }],
        ..PatchResult::default()
    }
}
