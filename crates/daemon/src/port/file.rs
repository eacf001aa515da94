//! Files of the workspace, changed by patches: `patch` says what, `workspace` does it whole and beneath the root.
//!
//! A call's journal stands in the agent's home under the call's id until the outcome is on record; it is what proves,
//! after a crash, whether the patch is in place. A patch whose turn was called off is finished by its own effect. A
//! journal that a crash left behind after its outcome was on record is cleared away before the agent's next patch: an
//! agent's calls run one at a time, so by then every other call is on record.

use async_trait::async_trait;
use holon_domain::CallId;
use holon_domain::file_change::{
    ChangedFile, FileAction, IgnoredMetadata, PatchApplied, PatchDiagnostic,
};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_engine::ports::{CommandContext, FileHost};
use holon_patch::{Applied, Change, FilePatch, MAX_BYTES, Patch};
use holon_tools::apply_patch::refused;
use holon_workspace::{After, Replace, Settled, Tree, TreeError, forget, settle};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Where journals stand, under an agent's home.
const JOURNALS: &str = ".holon/state/patches";
/// How a journal's name ends.
const JOURNAL: &str = ".json";
/// How the name of one ends that was not whole yet when it was left.
const UNFINISHED: &str = ".new";
/// Most journals that are cleared away before one patch; a crash leaves one, and what is over waits for the next.
const CLEARED: usize = 32;

/// Changes files on this machine. Everything blocking happens off the async threads.
#[derive(Debug)]
pub(crate) struct Files;

#[async_trait]
impl FileHost for Files {
    async fn apply_patch(
        &self,
        context: CommandContext,
        call: CallId,
        patch: String,
    ) -> Result<PatchApplied, ToolError> {
        let work = move || apply(&context, &call, &patch);
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|stopped| Err(broken(format!("the work ended early: {stopped}"))))
    }

    async fn settle_patch(
        &self,
        agent_home: &str,
        call: &CallId,
        patch: &str,
    ) -> Option<Result<PatchApplied, ToolError>> {
        let (journal, patch) = (journal(agent_home, call), patch.to_owned());
        let settled = tokio::task::spawn_blocking(move || came_to(&journal, &patch)).await;
        settled.ok().flatten()
    }

    async fn forget_patch(&self, agent_home: &str, call: &CallId) {
        let journal = journal(agent_home, call);
        let forgotten = tokio::task::spawn_blocking(move || forget(&journal)).await;
        if let Ok(Err(error)) = forgotten {
            tracing::warn!(%error, "a patch's journal could not be removed");
        }
    }

    async fn finish_patch(&self, agent_home: &str, call: &CallId) -> Result<(), String> {
        let journal = journal(agent_home, call);
        let finished = tokio::task::spawn_blocking(move || finish(&journal)).await;
        finished.unwrap_or_else(|stopped| Err(format!("the work ended early: {stopped}")))
    }
}

fn journal(agent_home: &str, call: &CallId) -> PathBuf {
    Path::new(agent_home)
        .join(JOURNALS)
        .join(format!("{call}{JOURNAL}"))
}

fn apply(context: &CommandContext, call: &CallId, text: &str) -> Result<PatchApplied, ToolError> {
    let patch = Patch::parse(text).map_err(|error| refused(&error))?;
    let journal = journal(&context.agent_home, call);
    // Before anything is read: what is cleared away may still have to be put in place or taken back.
    let _at_work = enter(&journal)?;
    let tree =
        Tree::open(Path::new(&context.workspace.execution_root)).map_err(|error| told(&error))?;
    let mut applied = told_by(&patch);
    let mut changes = Vec::new();
    for file in &patch.files {
        plan(&tree, file, &mut changes, &mut applied.diagnostics)?;
    }
    tree.replace(&changes, &journal)
        .map_err(|error| told_of(&patch, &error))?;
    Ok(applied)
}

/// Makes the place of this journal ready and clears it of others, unless one of them is at work: a patch is never broken
/// off, so that of a turn which was aborted may go on for a while. What is returned says to others that this one is.
fn enter(journal: &Path) -> Result<Option<File>, ToolError> {
    let Some(dir) = journal.parent() else {
        return Ok(None);
    };
    let unmade = |error| broken(format!("{} cannot be made: {error}", dir.display()));
    std::fs::create_dir_all(dir).map_err(unmade)?;
    let place = File::open(dir).map_err(unmade)?;
    if place.try_lock().is_ok() {
        clear(dir, journal);
    }
    // Where there are no locks, nobody can have got the one above, and nothing is cleared away.
    Ok(place.lock_shared().is_ok().then_some(place))
}

/// Brings to their end and removes the journals in this place, all but `own`. What cannot be is left for the next time.
fn clear(dir: &Path, own: &Path) {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let journals = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_suffix(UNFINISHED).unwrap_or(&name);
        name.ends_with(JOURNAL).then(|| dir.join(name))
    });
    let stale: BTreeSet<PathBuf> = journals.filter(|journal| journal != own).collect();
    for journal in stale.into_iter().take(CLEARED) {
        if let Err(error) = settle_and_forget(&journal) {
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
    settle_and_forget(journal).map_err(|error| error.to_string())
}

/// Brings a journal to its end and removes it.
fn settle_and_forget(journal: &Path) -> Result<(), TreeError> {
    let settled = settle(journal)?;
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

/// What one file's part of the patch changes, and what is to be noted about it.
fn plan(
    tree: &Tree,
    file: &FilePatch,
    changes: &mut Vec<Replace>,
    notes: &mut Vec<PatchDiagnostic>,
) -> Result<(), ToolError> {
    let (source, target) = (file.change.source(), file.change.target());
    let found = tree
        .read(source, MAX_BYTES as u64)
        .map_err(|error| told(&error))?;
    let content = found.as_ref().map(|found| found.content.as_slice());
    let (after, diagnostics) = match file.apply(content).map_err(|error| refused(&error))? {
        Applied::Write {
            content,
            diagnostics,
        } => (Some(content), diagnostics),
        Applied::Delete { diagnostics } => (None, diagnostics),
    };
    notes.extend(diagnostics.into_iter().map(|remark| PatchDiagnostic {
        path: target.to_owned(),
        kind: remark.kind.as_str().to_owned(),
        message: remark.message,
    }));
    let mode = found.as_ref().map(|found| found.mode);
    let before = found.map(|found| found.content);
    let after = after.map(|content| After { content, mode });
    if source == target {
        let path = target.to_owned();
        changes.push(Replace {
            path,
            before,
            after,
        });
    } else {
        let (from, to) = (source.to_owned(), target.to_owned());
        changes.push(Replace {
            path: from,
            before,
            after: None,
        });
        changes.push(Replace {
            path: to,
            before: None,
            after,
        });
    }
    Ok(())
}

/// What the patch alone tells of its outcome, once it is in place.
fn told_by(patch: &Patch) -> PatchApplied {
    let changed_files = patch.files.iter().map(|file| changed(&file.change));
    let ignored_metadata = patch.files.iter().flat_map(ignored);
    PatchApplied {
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

/// What the journal of a call proves. Without one nothing was changed: it is written before the first change.
fn came_to(journal: &Path, text: &str) -> Option<Result<PatchApplied, ToolError>> {
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
        TreeError::Full { .. }
        | TreeError::Unsupported { .. }
        | TreeError::Journal { .. }
        | TreeError::Unsettled { .. }
        | TreeError::Io { .. } => ToolErrorKind::ToolExecutionFailed,
    };
    let told = ToolError::new(kind, error.to_string());
    if matches!(error, TreeError::Full { .. }) {
        // Nothing is wrong with the call itself.
        return told.retryable();
    }
    told
}

fn broken(message: String) -> ToolError {
    ToolError::new(ToolErrorKind::ToolExecutionFailed, message)
}
