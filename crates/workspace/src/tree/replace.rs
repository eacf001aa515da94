//! One call from its check to its end, and the way back when a step fails.

use super::apply::{apply, stage, sync_dirs};
use super::disk::Disk;
use super::draft::Draft;
use super::error::TreeError;
use super::journal::{Journal, Phase};
use super::plan::{Dirs, Plan};
use super::undo::{Stuck, clear_done, undo, unstage};
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
    if journal
        .load()?
        .is_some_and(|record| !record.phase.is_over())
    {
        return Err(journal.unsettled());
    }
    let mut draft = Draft::check(tree, wanted)?;
    let staged = journal
        .begin(disk, &draft.plan)
        .and_then(|()| stage(disk, &mut draft))
        .and_then(|()| journal.enter(disk, &Phase::Committing));
    let Draft { plan, mut dirs, .. } = draft;
    if let Err(cause) = staged {
        // The journal may say that files are being put in place, although writing that failed.
        let turned = journal.turn_back(disk);
        let undone = unstage(disk, &plan, &mut dirs);
        return Err(given_up(disk, &journal, cause, turned, undone));
    }
    if let Err(cause) = commit(disk, &plan, &mut dirs) {
        return Err(take_back(disk, &journal, &plan, &mut dirs, cause));
    }
    if let Err(cause) = journal.enter(disk, &Phase::Done) {
        return Err(take_back(disk, &journal, &plan, &mut dirs, cause));
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

/// Takes a call back that failed while files were being put in place, unless its journal says `Done` and cannot be
/// brought to say otherwise: nothing may be taken back under a journal that calls it done.
fn take_back(
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
    given_up(disk, journal, cause, turned, undone)
}

/// The error of a call that was taken back, as far as it was. The journal goes or says so: it must not be
/// carried out later, when the caller has long been told that it failed.
fn given_up(
    disk: Disk<'_>,
    journal: &Journal,
    cause: TreeError,
    turned: Result<(), TreeError>,
    undone: Result<Vec<Left>, Stuck>,
) -> TreeError {
    let left = match undone {
        Ok(left) => left,
        Err(stuck) => {
            // Space or access may have come back while the rest was taken back.
            let _best_effort = turned.or_else(|_| journal.turn_back(disk));
            return unsettled(cause, stuck.left);
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

fn unsettled(cause: TreeError, left: Vec<Left>) -> TreeError {
    TreeError::Unsettled {
        cause: Box::new(cause),
        left,
    }
}
