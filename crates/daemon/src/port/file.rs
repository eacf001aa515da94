//! Files of the workspace, changed by patches: `patch` says what, `workspace` does it whole and beneath the root.
//!
//! A call's journal stands with the agent's claims under the call's id until the outcome is on record; it is what proves,
//! after a crash, whether the patch is in place. An earlier build kept it in the agent's home, where it is still found. A patch whose turn was called off is finished by its own effect. A
//! journal that was left behind after its outcome was on record is cleared away before the agent's next patch, and what
//! was not done by then is taken back: an agent's calls run one at a time, so by then every other call is on record.

use self::planned::Planned;
use super::attached::{Attachments, is_home};
use async_trait::async_trait;
use holon_domain::CallId;
use holon_domain::file_change::{ChangedFile, FileAction, IgnoredMetadata, PatchResult};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_engine::ports::{CommandContext, FileHost};
use holon_patch::{Change, FilePatch, Patch};
use holon_tools::apply_patch::{NAME, refused};
use holon_workspace::{
    Claims, Settled, TreeError, forget, make_home, make_private_dir, settle, take_back,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

mod planned;
#[cfg(test)]
mod tests;

/// Where journals stand, in the folder of an agent's claims.
const JOURNALS: &str = "patches";
/// Where an earlier build kept them, under an agent's home.
const FORMER_JOURNALS: &str = ".holon/state/patches";
/// How a journal's name ends.
const JOURNAL: &str = ".json";
/// How the name of one ends that was not whole yet when it was left.
const UNFINISHED: &str = ".new";
/// Most journals that are cleared away before one patch; a crash leaves one, and what is over waits for the next.
const CLEARED: usize = 32;

/// Changes files on this machine. Everything blocking happens off the async threads.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    claims: Claims,
    attachments: Attachments,
}

impl Files {
    /// Changes files in the directories that `attachments` know, with journals among `claims`.
    pub(crate) const fn new(claims: Claims, attachments: Attachments) -> Self {
        Self {
            claims,
            attachments,
        }
    }

    /// The journals of the agent with this home.
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
    /// Where new ones are made.
    own: PathBuf,
    /// Where an earlier build made them.
    former: PathBuf,
}

impl Journals {
    /// The journal that a call's patch is begun with.
    fn to_begin(&self, call: &CallId) -> PathBuf {
        self.own.join(format!("{call}{JOURNAL}"))
    }

    /// The journal of a call, where it stands.
    fn of(&self, call: &CallId) -> PathBuf {
        let own = self.to_begin(call);
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
        done.unwrap_or_else(|stopped| Err(broken(format!("the work ended early: {stopped}"))))
    }

    async fn settle_patch(
        &self,
        agent_home: &str,
        call: &CallId,
        patch: &str,
    ) -> Option<Result<PatchResult, ToolError>> {
        let journals = self.journals(agent_home);
        let (call, patch) = (call.clone(), patch.to_owned());
        let work = move || came_to(&journals.of(&call), &patch);
        let settled = tokio::task::spawn_blocking(work).await;
        settled.ok().flatten()
    }

    async fn forget_patch(&self, agent_home: &str, call: &CallId) {
        let (journals, call) = (self.journals(agent_home), call.clone());
        let work = move || forget(&journals.of(&call));
        let forgotten = tokio::task::spawn_blocking(work).await;
        if let Ok(Err(error)) = forgotten {
            tracing::warn!(%error, "a patch's journal could not be removed");
        }
    }

    async fn finish_patch(&self, agent_home: &str, call: &CallId) -> Result<(), String> {
        let (journals, call) = (self.journals(agent_home), call.clone());
        let work = move || finish(&journals.of(&call));
        let finished = tokio::task::spawn_blocking(work).await;
        finished.unwrap_or_else(|stopped| Err(format!("the work ended early: {stopped}")))
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
    let journal = journals.to_begin(call);
    // Before anything is read: what is cleared away may still have to be taken back.
    let _at_work = enter(&journals, &journal)?;
    if is_home(&context.workspace) {
        // An agent is removed only after its patches: the home is wanted for as long as one is at work.
        make_home(Path::new(&context.agent_home), || true)
            .map_err(|error| broken(error.to_string()))?;
    }
    let tree = files
        .attachments
        .open(&context.agent_home, &context.workspace)
        .map_err(|error| told(&error))?;
    let mut applied = told_by(&patch);
    let mut planned = Planned::default();
    for file in &patch.files {
        planned.add(&tree, file)?;
    }
    applied.diagnostics = planned.notes;
    tree.replace(&planned.changes, &journal)
        .map_err(|error| told_of(&patch, &error))?;
    Ok(applied)
}

/// Makes the place of this journal ready and clears it of others, unless one of them is at work: a patch is never broken
/// off, so that of a turn which was aborted may go on for a while. What is returned says to others that this one is.
fn enter(journals: &Journals, journal: &Path) -> Result<Option<File>, ToolError> {
    let dir = &journals.own;
    let unmade = |error| broken(format!("{} cannot be made: {error}", dir.display()));
    make_private_dir(dir).map_err(unmade)?;
    let place = File::open(dir).map_err(unmade)?;
    if place.try_lock().is_ok() {
        clear(dir, journal);
        clear(&journals.former, journal);
    }
    // Where there are no locks, nobody can have got the one above, and nothing is cleared away.
    Ok(place.lock_shared().is_ok().then_some(place))
}

/// Takes back what is not done of the journals in this place, all but `own`, and removes them. The model was told long
/// ago that these calls failed or that nobody knows, so none is carried on behind its back. What cannot be taken back is
/// left for the next time.
fn clear(dir: &Path, own: &Path) {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let journals = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_suffix(UNFINISHED).unwrap_or(&name);
        name.ends_with(JOURNAL).then(|| dir.join(name))
    });
    let stale: BTreeSet<PathBuf> = journals.filter(|journal| journal != own).collect();
    for journal in stale.into_iter().take(CLEARED) {
        let cleared = take_back(&journal).and_then(|settled| forget_settled(&journal, settled));
        if let Err(error) = cleared {
            tracing::warn!(%error, "an old patch's journal could not be cleared away");
        }
    }
}

/// Finishes the patch of a call nobody waits for. A patch of the same agent that begins meanwhile leaves this journal
/// alone: it is held off by the lock on their directory, as by another patch at work.
fn finish(journal: &Path) -> Result<(), String> {
    let place = match journal.parent().map(File::open) {
        None => return Ok(()),
        // Without the directory no patch of this agent has ever begun.
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Some(opened) => opened.map_err(|error| format!("{}: {error}", journal.display()))?,
    };
    // Where there are no locks, no other patch clears journals away.
    let _held_off = place.lock_shared();
    let finished = settle(journal).and_then(|settled| forget_settled(journal, settled));
    finished.map_err(|error| error.to_string())
}

/// Removes the journal of a patch that was settled.
fn forget_settled(journal: &Path, settled: Settled) -> Result<(), TreeError> {
    forget(journal)?;
    match settled {
        Settled::Undone { left } if !left.is_empty() => {
            let paths: Vec<String> = left.into_iter().map(|left| left.path).collect();
            tracing::warn!(?paths, "an old patch could not be taken back whole");
        }
        Settled::Nothing | Settled::Done | Settled::Undone { .. } => {}
    }
    Ok(())
}

/// What the patch alone tells of its outcome, once it is in place.
fn told_by(patch: &Patch) -> PatchResult {
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

/// What the journal of a call proves. Without one nothing was changed: it is written before the first change, where no
/// workspace reaches.
fn came_to(journal: &Path, text: &str) -> Option<Result<PatchResult, ToolError>> {
    match settle(journal) {
        // Where a hunk's hints were wrong is not told again: the files are no longer what they were checked against.
        Ok(Settled::Done) => Some(Ok(told_by(&Patch::parse(text).ok()?))),
        Ok(Settled::Undone { left }) if left.is_empty() => Some(Err(not_applied())),
        Ok(Settled::Nothing) => Some(Err(not_applied())),
        Ok(Settled::Undone { left }) => {
            let paths: Vec<String> = left.into_iter().map(|left| left.path).collect();
            let message = format!(
                "the runtime restarted while the patch was applied; it was taken back, except where somebody else had \
                 changed files meanwhile: {}",
                paths.join(", ")
            );
            let error = ToolError::new(ToolErrorKind::FileChanged, message);
            Some(Err(error.hint("look at these files before you patch again")))
        }
        Err(error @ TreeError::Unsettled { .. }) => Some(Err(told(&error))),
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

/// What the file system refused of a patch, as a model reads it.
fn told_of(patch: &Patch, error: &TreeError) -> ToolError {
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
    told(error)
}

/// What the file system refused, as a model reads it.
fn told(error: &TreeError) -> ToolError {
    let kind = match error {
        TreeError::Refused { .. } | TreeError::Escape { .. } => ToolErrorKind::PathEscape,
        TreeError::Missing { .. } => ToolErrorKind::FileMissing,
        TreeError::Exists { .. } => ToolErrorKind::TargetExists,
        TreeError::NotAFile { .. } | TreeError::NotADirectory { .. } => ToolErrorKind::NotAFile,
        TreeError::Changed { .. } => ToolErrorKind::FileChanged,
        TreeError::TooLarge { .. } => ToolErrorKind::TooLarge,
        TreeError::Replaced { .. } => ToolErrorKind::ExecutionRootViolation,
        TreeError::Unsettled { cause, left } if left.is_empty() => return told(cause),
        TreeError::Full { .. }
        | TreeError::Unsupported { .. }
        | TreeError::Journal { .. }
        | TreeError::Unsettled { .. }
        | TreeError::Io { .. } => ToolErrorKind::ToolExecutionFailed,
    };
    let told = ToolError::new(kind, error.to_string());
    match error {
        // Nothing is wrong with the call itself.
        TreeError::Full { .. } => told.retryable(),
        TreeError::Replaced { path, .. } => told
            .details(json!({ "tool_name": NAME, "execution_root": path }))
            .hint("tell the operator, who can put the directory back or stop and start the agent"),
        TreeError::Unsettled { left, .. } => {
            let paths: Vec<&str> = left.iter().map(|left| left.path.as_str()).collect();
            told.details(json!({ "tool_name": NAME, "files": paths }))
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
        | TreeError::Io { .. } => told,
    }
}

fn broken(message: String) -> ToolError {
    ToolError::new(ToolErrorKind::ToolExecutionFailed, message)
}
