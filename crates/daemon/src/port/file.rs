//! Changes files of the workspace and of the agent's home by patches: `patch` parses them, `roots` opens the directories
//! in which they lie, `workspace` applies them atomically below these.
//!
//! A call's journal is stored with the agent's claims under the call's id until the outcome is on record. After a
//! crash it proves whether the patch is in place. An earlier build kept it in the agent's home, where it is still
//! found. A patch whose turn was aborted is finished by its own effect. A journal that was left after its outcome was
//! recorded is cleared before the agent's next patch, and its unfinished changes are undone: an agent's calls run one
//! at a time, so by then every other call is on record.

use self::patch_plan::PatchPlan;
use super::attached::Attachments;
use super::image::{self, SentImages};
use async_trait::async_trait;
use holon_domain::file_change::{ChangedFile, FileAction, IgnoredMetadata, PatchResult};
use holon_domain::image::{ImageDigest, ImageFault, SentImage, ShownImage, ViewedImage};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::{CallId, Timestamp};
use holon_engine::ports::{CommandContext, FileHost};
use holon_patch::{Change, FilePatch, Patch};
use holon_tools::apply_patch::{NAME, refused};
use holon_workspace::{
    ClaimFolders, SettleOutcome, TreeError, forget, make_private_dir, settle, take_back,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

mod patch_plan;
mod roots;
#[cfg(test)]
mod tests;

/// Directory of the journals, in the folder of an agent's claims.
const JOURNALS: &str = "patches";
/// Directory of an earlier build, in an agent's home.
const FORMER_JOURNALS: &str = ".holon/state/patches";
/// Suffix of a journal's name.
const JOURNAL: &str = ".json";
/// Additional suffix of a journal that was not complete.
const UNFINISHED: &str = ".new";
/// Most journals cleared before one patch. A crash leaves one; the rest waits for the next patch.
const MAX_CLEARED: usize = 32;

/// Changes files on this machine. Blocking work runs off the async threads.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    claims: ClaimFolders,
    attachments: Attachments,
    sent_images: SentImages,
}

impl Files {
    /// Creates the port for the directories of `attachments`, with journals among `claims` and the images of operators
    /// in the host's state.
    pub(crate) fn new(claims: ClaimFolders, attachments: Attachments, state: &Path) -> Self {
        Self {
            claims,
            attachments,
            sent_images: SentImages::in_state(state),
        }
    }

    /// Works with the images of operators off the async threads. `None` if the work ended early.
    async fn with_sent_images<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SentImages) -> T + Send + 'static,
    ) -> Option<T> {
        let images = self.sent_images.clone();
        tokio::task::spawn_blocking(move || work(&images))
            .await
            .ok()
    }

    /// Returns the journals of the agent with this home.
    fn journals(&self, agent_home: &str) -> Journals {
        let home = Path::new(agent_home);
        Journals {
            own: self.claims.of_agent(home).join(JOURNALS),
            former: home.join(FORMER_JOURNALS),
        }
    }
}

/// The directories that hold the journals of one agent.
#[derive(Debug)]
struct Journals {
    /// Directory of this build, in which new journals are created.
    own: PathBuf,
    /// Directory of an earlier build.
    former: PathBuf,
}

impl Journals {
    /// Path of the journal for a new patch.
    fn new_path(&self, call: &CallId) -> PathBuf {
        self.own.join(format!("{call}{JOURNAL}"))
    }

    /// Path of a call's journal, in either directory.
    fn path_of(&self, call: &CallId) -> PathBuf {
        let own = self.new_path(call);
        let former = self.former.join(format!("{call}{JOURNAL}"));
        if !own.exists() && former.exists() {
            former
        } else {
            own
        }
    }
}

#[async_trait]
impl FileHost for Files {
    async fn apply_patch(
        &self,
        context: CommandContext,
        call: CallId,
        patch: String,
    ) -> Result<PatchResult, ToolError> {
        let files = self.clone();
        let work = move || apply(&files, &context, &call, &patch);
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|stopped| {
            Err(execution_failed(format!("the work ended early: {stopped}")))
        })
    }

    async fn settle_patch(
        &self,
        agent_home: &str,
        call: &CallId,
        patch: &str,
    ) -> Option<Result<PatchResult, ToolError>> {
        let journals = self.journals(agent_home);
        let (call, patch) = (call.clone(), patch.to_owned());
        let work = move || settled_outcome(&journals.path_of(&call), &patch);
        let settled = tokio::task::spawn_blocking(work).await;
        settled.ok().flatten()
    }

    async fn forget_patch(&self, agent_home: &str, call: &CallId) {
        let (journals, call) = (self.journals(agent_home), call.clone());
        let work = move || forget(&journals.path_of(&call));
        let forgotten = tokio::task::spawn_blocking(work).await;
        if let Ok(Err(error)) = forgotten {
            tracing::warn!(%error, "a patch's journal could not be removed");
        }
    }

    async fn finish_patch(&self, agent_home: &str, call: &CallId) -> Result<(), String> {
        let (journals, call) = (self.journals(agent_home), call.clone());
        let work = move || finish(&journals.path_of(&call));
        let finished = tokio::task::spawn_blocking(work).await;
        finished.unwrap_or_else(|stopped| Err(format!("the work ended early: {stopped}")))
    }

    async fn view_image(
        &self,
        context: CommandContext,
        file_path: String,
    ) -> Result<ViewedImage, ToolError> {
        let files = self.clone();
        let work = move || {
            let (home, workspace) = (&context.agent_home, &context.workspace);
            let open = || files.attachments.open(home, workspace);
            let copies = image::copies(&files.claims, home);
            image::view(&copies, workspace, &file_path, open, tool_error)
        };
        let viewed = tokio::task::spawn_blocking(work).await;
        viewed.unwrap_or_else(|stopped| {
            Err(execution_failed(format!("the work ended early: {stopped}")))
        })
    }

    async fn load_image(&self, agent_home: &str, viewed: &ViewedImage) -> Option<ShownImage> {
        let copies = image::copies(&self.claims, agent_home);
        let viewed = viewed.clone();
        let work = move || image::load(&copies, &viewed);
        tokio::task::spawn_blocking(work).await.ok().flatten()
    }

    async fn keep_sent_image(&self, content: Vec<u8>) -> Result<SentImage, ImageFault> {
        let kept = self.with_sent_images(move |images| images.keep(&content));
        kept.await.unwrap_or_else(|| {
            Err(ImageFault::NotKept {
                reason: "the work ended early".to_owned(),
            })
        })
    }

    async fn claim_sent_image(&self, digest: &ImageDigest) -> Option<SentImage> {
        let digest = digest.clone();
        let claimed = self.with_sent_images(move |images| images.claim(&digest));
        claimed.await.flatten()
    }

    async fn load_sent_image(&self, image: &SentImage) -> Option<ShownImage> {
        let image = image.clone();
        let loaded = self.with_sent_images(move |images| images.load(&image));
        loaded.await.flatten()
    }

    async fn sent_images_before(&self, before: Timestamp) -> Vec<ImageDigest> {
        let found = self.with_sent_images(move |images| images.before(before));
        found.await.unwrap_or_default()
    }

    async fn remove_sent_image(&self, digest: &ImageDigest, before: Timestamp) -> bool {
        let digest = digest.clone();
        let removed = self.with_sent_images(move |images| images.remove(&digest, before));
        removed.await.unwrap_or_default()
    }
}

fn apply(
    files: &Files,
    context: &CommandContext,
    call: &CallId,
    text: &str,
) -> Result<PatchResult, ToolError> {
    let patch = Patch::parse(text).map_err(|error| refused(&error))?;
    let journals = files.journals(&context.agent_home);
    let journal = journals.new_path(call);
    // Before any file is read: clearing a journal may still undo changes.
    let _active = lock_and_clear(&journals, &journal)?;
    let tree = roots::open(files, context, &patch)?;
    let mut applied = patch_outcome(&patch);
    let mut patch_plan = PatchPlan::default();
    for file in &patch.files {
        patch_plan.add(&tree, file)?;
    }
    applied.diagnostics = patch_plan.notes;
    tree.replace(&patch_plan.changes, &journal)
        .map_err(|error| patch_tool_error(&patch, &error))?;
    Ok(applied)
}

/// Creates the directory of this journal and clears old journals, unless another patch is active: a patch is never
/// interrupted, so that of an aborted turn may continue for a while. The returned lock shows others that this patch
/// is active.
fn lock_and_clear(journals: &Journals, journal: &Path) -> Result<Option<File>, ToolError> {
    let dir = &journals.own;
    let not_created =
        |error| execution_failed(format!("{} cannot be made: {error}", dir.display()));
    make_private_dir(dir).map_err(not_created)?;
    let lock_dir = File::open(dir).map_err(not_created)?;
    if lock_dir.try_lock().is_ok() {
        clear(dir, journal);
        clear(&journals.former, journal);
    }
    // On file systems without locks the exclusive lock above fails too, so nothing is cleared.
    Ok(lock_dir.lock_shared().is_ok().then_some(lock_dir))
}

/// Undoes the unfinished journals in this directory, all but `own`, and removes them. The model was told that these
/// calls failed or are unknown, so none is completed. A journal that cannot be undone is left for the next time.
fn clear(dir: &Path, own: &Path) {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let journals = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_suffix(UNFINISHED).unwrap_or(&name);
        name.ends_with(JOURNAL).then(|| dir.join(name))
    });
    let stale: BTreeSet<PathBuf> = journals.filter(|journal| journal != own).collect();
    for journal in stale.into_iter().take(MAX_CLEARED) {
        let cleared = take_back(&journal).and_then(|settled| forget_settled(&journal, settled));
        if let Err(error) = cleared {
            tracing::warn!(%error, "an old patch's journal could not be cleared away");
        }
    }
}

/// Finishes the patch of a call that no turn waits for. A new patch of the same agent leaves this journal alone,
/// because the shared lock on the directory marks it as active.
fn finish(journal: &Path) -> Result<(), String> {
    let lock_dir = match journal.parent().map(File::open) {
        None => return Ok(()),
        // Without the directory no patch of this agent was ever started.
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Some(opened) => opened.map_err(|error| format!("{}: {error}", journal.display()))?,
    };
    // On file systems without locks no other patch clears journals.
    let _active = lock_dir.lock_shared();
    let finished = settle(journal).and_then(|settled| forget_settled(journal, settled));
    finished.map_err(|error| error.to_string())
}

/// Removes the journal of a settled patch.
fn forget_settled(journal: &Path, settled: SettleOutcome) -> Result<(), TreeError> {
    forget(journal)?;
    match settled {
        SettleOutcome::Undone { left } if !left.is_empty() => {
            let paths: Vec<String> = left.into_iter().map(|left| left.path).collect();
            tracing::warn!(?paths, "an old patch could not be taken back whole");
        }
        SettleOutcome::Nothing | SettleOutcome::Done | SettleOutcome::Undone { .. } => {}
    }
    Ok(())
}

/// Returns the outcome of an applied patch, as far as the patch itself shows it.
fn patch_outcome(patch: &Patch) -> PatchResult {
    let changed_files = patch.files.iter().map(|file| changed(&file.change));
    let ignored_metadata = patch.files.iter().flat_map(ignored);
    PatchResult {
        changed_files: changed_files.collect(),
        ignored_metadata: ignored_metadata.collect(),
        diagnostics: Vec::new(),
    }
}

fn changed(change: &Change) -> ChangedFile {
    let action = match change {
        Change::Modify { .. } => FileAction::Modify,
        Change::Add { .. } => FileAction::Add,
        Change::Delete { .. } => FileAction::Delete,
        Change::Rename { from, .. } => FileAction::Move {
            from_path: from.clone(),
        },
    };
    ChangedFile {
        action,
        path: change.target().to_owned(),
    }
}

fn ignored(file: &FilePatch) -> impl Iterator<Item = IgnoredMetadata> {
    let path = file.change.target();
    file.ignored_metadata.iter().map(|header| IgnoredMetadata {
        path: path.to_owned(),
        kind: header.kind.to_owned(),
        value: header.value.clone(),
    })
}

/// Returns the outcome that the journal of a call proves. Without a journal nothing was changed: it is written before
/// the first change, outside every workspace.
fn settled_outcome(journal: &Path, text: &str) -> Option<Result<PatchResult, ToolError>> {
    match settle(journal) {
        // Diagnostics are not repeated: the files are no longer what they were checked against.
        Ok(SettleOutcome::Done) => Some(Ok(patch_outcome(&Patch::parse(text).ok()?))),
        Ok(SettleOutcome::Undone { left }) if left.is_empty() => Some(Err(not_applied())),
        Ok(SettleOutcome::Nothing) => Some(Err(not_applied())),
        Ok(SettleOutcome::Undone { left }) => {
            let paths: Vec<String> = left.into_iter().map(|left| left.path).collect();
            let message = format!(
                "the runtime restarted while the patch was applied; it was taken back, except where another program had \
                 changed files meanwhile: {}",
                paths.join(", ")
            );
            let error = ToolError::new(ToolErrorKind::FileChanged, message);
            Some(Err(error.hint("look at these files before you patch again")))
        }
        Err(error @ TreeError::Unsettled { .. }) => Some(Err(tool_error(&error))),
        Err(error) => {
            tracing::warn!(%error, "what became of a patch cannot be told");
            None
        }
    }
}

fn not_applied() -> ToolError {
    let message = "the runtime restarted before the patch was in place; nothing was changed";
    ToolError::new(ToolErrorKind::NotStarted, message)
        .hint("make the call again if it is still wanted")
        .retryable()
}

/// Converts an error of applying a patch for the model.
fn patch_tool_error(patch: &Patch, error: &TreeError) -> ToolError {
    let renamed_to = |taken: &str| {
        let mut changes = patch.files.iter().map(|file| &file.change);
        changes.any(|change| matches!(change, Change::Rename { to, .. } if to == taken))
    };
    if let TreeError::Exists { path } = error
        && renamed_to(path)
    {
        let message = format!(
            "{path:?} is the target of a rename and exists already; rename to a name that is free, or delete that \
             file in a patch of its own first, if it is not wanted"
        );
        return ToolError::new(ToolErrorKind::TargetExists, message);
    }
    tool_error(error)
}

/// Converts a file system error for the model.
fn tool_error(error: &TreeError) -> ToolError {
    let kind = match error {
        TreeError::Refused { .. } | TreeError::Escape { .. } => ToolErrorKind::PathEscape,
        TreeError::Missing { .. } => ToolErrorKind::FileMissing,
        TreeError::Exists { .. } => ToolErrorKind::TargetExists,
        TreeError::NotAFile { .. } | TreeError::NotADirectory { .. } => ToolErrorKind::NotAFile,
        TreeError::Changed { .. } => ToolErrorKind::FileChanged,
        TreeError::TooLarge { .. } => ToolErrorKind::TooLarge,
        TreeError::Replaced { .. } => ToolErrorKind::ExecutionRootViolation,
        TreeError::Unsettled { cause, left } if left.is_empty() => return tool_error(cause),
        TreeError::Full { .. }
        | TreeError::Unsupported { .. }
        | TreeError::Journal { .. }
        | TreeError::Unsettled { .. }
        | TreeError::Io { .. } => ToolErrorKind::ToolExecutionFailed,
    };
    let converted = ToolError::new(kind, error.to_string());
    match error {
        // The call itself is correct.
        TreeError::Full { .. } => converted.retryable(),
        TreeError::Replaced { path, .. } => converted
            .details(json!({ "tool_name": NAME, "execution_root": path }))
            .hint("tell the operator, who can put the directory back or stop and start the agent"),
        TreeError::Unsettled { left, .. } => {
            let paths: Vec<&str> = left.iter().map(|left| left.path.as_str()).collect();
            converted.details(json!({ "tool_name": NAME, "files": paths }))
                .hint("look at these files before you patch again; the runtime only takes back what is left of this patch, and tries that again before your next one")
        }
        TreeError::Refused { .. }
        | TreeError::Escape { .. }
        | TreeError::Missing { .. }
        | TreeError::Exists { .. }
        | TreeError::NotAFile { .. }
        | TreeError::NotADirectory { .. }
        | TreeError::Changed { .. }
        | TreeError::TooLarge { .. }
        | TreeError::Unsupported { .. }
        | TreeError::Journal { .. }
        | TreeError::Io { .. } => converted,
    }
}

fn execution_failed(message: String) -> ToolError {
    ToolError::new(ToolErrorKind::ToolExecutionFailed, message)
}
