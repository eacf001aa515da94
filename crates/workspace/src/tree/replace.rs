//! Runs one call from its checks to its end, and undoes it if a step fails.

use super::apply::{apply, stage, sync_dirs};
use super::disk::Disk;
use super::draft::Draft;
use super::error::TreeError;
use super::journal::{Journal, Phase};
use super::plan::{Dirs, Plan};
use super::undo::{UndoError, clear_done, undo, unstage};
use super::{FileChange, Leftover, Tree};
use std::path::Path;

/// Makes all changes or none.
pub(super) fn replace(
    disk: Disk<'_>,
    tree: &Tree,
    wanted: &[FileChange],
    journal: &Path,
) -> Result<(), TreeError> {
    let journal = Journal::at(journal)?;
    if journal
        .load()?
        .is_some_and(|record| !record.phase.is_finished())
    {
        return Err(journal.unsettled_error());
    }
    let mut draft = Draft::check(tree, wanted)?;
    let staged = journal
        .begin(disk, &draft.plan)
        .and_then(|()| stage(disk, &mut draft))
        .and_then(|()| journal.enter(disk, &Phase::Committing));
    let Draft { plan, mut dirs, .. } = draft;
    if let Err(cause) = staged {
        // The journal may already say `committing`, even if writing that line failed.
        let turned = journal.turn_back(disk);
        let undone = unstage(disk, &plan, &mut dirs);
        return Err(undone_error(disk, &journal, cause, turned, undone));
    }
    if let Err(cause) = commit(disk, &plan, &mut dirs) {
        return Err(undo_failed_commit(disk, &journal, &plan, &mut dirs, cause));
    }
    if let Err(cause) = journal.enter(disk, &Phase::Done) {
        return Err(undo_failed_commit(disk, &journal, &plan, &mut dirs, cause));
    }
    // All files are in place and the journal says so; `settle` removes a former content that cannot be removed now.
    let _cleared_later = clear_done(disk, &plan, &mut dirs);
    Ok(())
}

/// Puts every file in place, durably.
fn commit(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> Result<(), TreeError> {
    for change in &plan.changes {
        apply(disk, dirs, change)?;
    }
    sync_dirs(disk, plan, dirs)
}

/// Undoes a call that failed while files were being put in place, unless its journal says `Done` and cannot be changed:
/// a call that is recorded as done must not be undone.
fn undo_failed_commit(
    disk: Disk<'_>,
    journal: &Journal,
    plan: &Plan,
    dirs: &mut Dirs,
    cause: TreeError,
) -> TreeError {
    let turned = journal.turn_back(disk);
    let says = journal
        .load()
        .map(|record| record.map(|record| record.phase));
    if !matches!(
        says,
        Ok(Some(
            Phase::Committing | Phase::Undoing | Phase::Undone { .. }
        ))
    ) {
        return unsettled(cause, plan.left());
    }
    let undone = undo(disk, plan, dirs);
    undone_error(disk, journal, cause, turned, undone)
}

/// Builds the error of an undone call. The journal is removed or says `undone`, because the call must not be completed
/// after its caller was told that it failed.
fn undone_error(
    disk: Disk<'_>,
    journal: &Journal,
    cause: TreeError,
    turned: Result<(), TreeError>,
    undone: Result<Vec<Leftover>, UndoError>,
) -> TreeError {
    let left = match undone {
        Ok(left) => left,
        Err(error) => {
            // Space or access may have returned while the rest was undone.
            let _best_effort = turned.or_else(|_| journal.turn_back(disk));
            return unsettled(cause, error.left);
        }
    };
    let noted = if left.is_empty() {
        journal
            .remove(disk)
            .or_else(|_| journal.enter(disk, &Phase::Undone { left: Vec::new() }))
    } else {
        journal.enter(disk, &Phase::Undone { left: left.clone() })
    };
    if noted.is_ok() && left.is_empty() {
        cause
    } else {
        unsettled(cause, left)
    }
}

fn unsettled(cause: TreeError, left: Vec<Leftover>) -> TreeError {
    TreeError::Unsettled {
        cause: Box::new(cause),
        left,
    }
}
