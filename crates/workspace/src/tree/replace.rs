//! One call from its check to its end, and the way back when a step fails.

use super::apply::{apply, stage, sync_dirs};
use super::disk::Disk;
use super::draft::Draft;
use super::error::TreeError;
use super::journal::{Journal, Phase};
use super::plan::{Dirs, Plan};
use super::undo::{clear_done, undo, unstage};
use super::{Left, Replace, Tree};
use std::path::Path;

/// Makes all changes or none.
pub(super) fn replace(
    disk: Disk<'_>,
    tree: &Tree,
    wanted: &[Replace],
    journal: &Path,
) -> Result<(), TreeError> {
    let journal = Journal::at(journal)?;
    match journal.load()?.map(|record| record.phase) {
        None | Some(Phase::Done | Phase::Undone { .. }) => {}
        Some(Phase::Staging | Phase::Committing) => return Err(journal.unsettled()),
    }
    let mut draft = Draft::check(tree, wanted)?;
    let staged = journal
        .begin(disk, &draft.plan)
        .and_then(|()| stage(disk, &mut draft))
        .and_then(|()| journal.enter(disk, &Phase::Committing));
    let Draft { plan, mut dirs, .. } = draft;
    if let Err(cause) = staged {
        let undone = unstage(disk, &plan, &mut dirs);
        return Err(given_up(disk, &journal, cause, undone));
    }
    if let Err(cause) = commit(disk, &plan, &mut dirs) {
        let undone = undo(disk, &plan, &mut dirs);
        return Err(given_up(disk, &journal, cause, undone));
    }
    if let Err(cause) = journal.enter(disk, &Phase::Done) {
        if !still_committing(disk, &journal) {
            return Err(unsettled(cause, Vec::new()));
        }
        let undone = undo(disk, &plan, &mut dirs);
        return Err(given_up(disk, &journal, cause, undone));
    }
    // All is in place and says so; a former content that cannot be removed now is `settle`'s to remove.
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

/// Whether the journal does not say `Done`, or can be brought to say no longer so. Nothing may be taken back
/// under a journal that calls it done.
fn still_committing(disk: Disk<'_>, journal: &Journal) -> bool {
    match journal
        .load()
        .map(|record| record.map(|record| record.phase))
    {
        Ok(Some(Phase::Committing)) => true,
        Ok(Some(Phase::Done)) => journal.enter(disk, &Phase::Committing).is_ok(),
        Ok(None | Some(Phase::Staging | Phase::Undone { .. })) | Err(_) => false,
    }
}

/// The error of a call that was taken back, as far as it was. The journal goes or says so: it must not be
/// carried out later, when the caller has long been told that it failed.
fn given_up(
    disk: Disk<'_>,
    journal: &Journal,
    cause: TreeError,
    undone: Result<Vec<Left>, TreeError>,
) -> TreeError {
    let Ok(left) = undone else {
        return unsettled(cause, Vec::new());
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

fn unsettled(cause: TreeError, left: Vec<Left>) -> TreeError {
    TreeError::Unsettled {
        cause: Box::new(cause),
        left,
    }
}
