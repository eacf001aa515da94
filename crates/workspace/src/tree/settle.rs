//! Finishes an interrupted call: completes it if everything is as its journal expects, otherwise undoes it. A call that
//! turned back is only undone. Settling may itself be interrupted and started again.

use super::apply::{apply, sync_dirs};
use super::disk::{Disk, NoHook};
use super::error::TreeError;
use super::file::EntryState;
use super::journal::{Journal, Phase, Record};
use super::plan::{Deed, Dirs, Plan, View};
use super::undo::{clear_done, undo, unstage};
use super::{Leftover, Tree};
use rustix::io::Errno;
use std::path::Path;

/// Final state of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleOutcome {
    /// There is no journal: the call changed nothing, or its journal was removed.
    Nothing,
    /// All changes are in place.
    Done,
    /// No change is in place, except for `left`.
    Undone {
        /// Entries that were not restored.
        left: Vec<Leftover>,
    },
}

/// Finishes a call and returns its final state. The journal stays and gives the same answer again, until it is removed
/// or used for the next call.
///
/// # Errors
/// Fails if the journal is damaged, its tree cannot be opened, or the system refuses. Nothing is decided then, and a retry is possible.
pub fn settle(journal: &Path) -> Result<SettleOutcome, TreeError> {
    settle_with(Disk::new(&NoHook), journal)
}

/// Undoes a call that is not done, like [`settle`] does with one that cannot be completed. Used if the caller was
/// already told that the call failed: completing it now would change files unexpectedly for later calls.
///
/// # Errors
/// When the journal cannot be read or a file cannot be restored, as for [`settle`].
pub fn take_back(journal: &Path) -> Result<SettleOutcome, TreeError> {
    let disk = Disk::new(&NoHook);
    let Some(place) = Journal::find(journal)? else {
        return Ok(SettleOutcome::Nothing);
    };
    if place
        .load()?
        .is_some_and(|record| record.phase == Phase::Committing)
    {
        place.turn_back(disk)?;
    }
    settle_with(disk, journal)
}

/// Removes the journal of a finished call. Idempotent.
///
/// # Errors
/// Fails if the call is not finished, or the system refuses.
pub fn forget(journal: &Path) -> Result<(), TreeError> {
    let Some(journal) = Journal::find(journal)? else {
        return Ok(());
    };
    if journal
        .load()?
        .is_some_and(|record| !record.phase.is_finished())
    {
        return Err(journal.unsettled_error());
    }
    journal.remove(Disk::new(&NoHook))
}

pub(super) fn settle_with(disk: Disk<'_>, journal: &Path) -> Result<SettleOutcome, TreeError> {
    let Some(journal) = Journal::find(journal)? else {
        return Ok(SettleOutcome::Nothing);
    };
    let Some(Record { plan, phase }) = journal.load()? else {
        return Ok(SettleOutcome::Nothing);
    };
    let dirs = || Tree::reopen(&plan)?.dirs();
    let undone = match phase {
        Phase::Done => {
            // The answer does not depend on the cleanup, for which the tree must still exist.
            if let Ok(mut dirs) = dirs() {
                let _tidied_later = clear_done(disk, &plan, &mut dirs);
            }
            return Ok(SettleOutcome::Done);
        }
        Phase::Undone { left } => return Ok(SettleOutcome::Undone { left }),
        Phase::Staging => unstage(disk, &plan, &mut dirs()?),
        Phase::Undoing => undo(disk, &plan, &mut dirs()?),
        Phase::Committing => {
            let mut dirs = dirs()?;
            if complete(disk, &plan, &mut dirs) {
                journal.enter(disk, &Phase::Done)?;
                let _tidied_later = clear_done(disk, &plan, &mut dirs);
                return Ok(SettleOutcome::Done);
            }
            journal.turn_back(disk)?;
            undo(disk, &plan, &mut dirs)
        }
    };
    let left = undone.map_err(|error| TreeError::Unsettled {
        cause: Box::new(error.cause),
        left: error.left,
    })?;
    journal.enter(disk, &Phase::Undone { left: left.clone() })?;
    Ok(SettleOutcome::Undone { left })
}

/// Applies the pending changes if everything is as the plan expects; returns true if all are in place.
fn complete(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> bool {
    let Ok(stages) = change_states(plan, dirs) else {
        return false;
    };
    let Some(stages) = stages.into_iter().collect::<Option<Vec<_>>>() else {
        return false;
    };
    for (change, stage) in plan.changes.iter().zip(stages) {
        match stage {
            ChangeState::InPlace => {}
            ChangeState::Pending => {
                if apply(disk, dirs, change).is_err() {
                    return false;
                }
            }
        }
    }
    sync_dirs(disk, plan, dirs).is_ok()
}

enum ChangeState {
    Pending,
    InPlace,
}

/// Determines the state of each change; `None` for one that is neither untouched nor in place.
fn change_states(plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Option<ChangeState>>, Errno> {
    let mut stages = Vec::new();
    for change in &plan.changes {
        let Some(dir) = dirs.find(&change.dir)? else {
            stages.push(None);
            continue;
        };
        let View { target, side } = change.inspect(dir)?;
        stages.push(match (&change.deed, target, side) {
            (Deed::Rewrite { .. }, EntryState::Before, EntryState::After)
            | (Deed::Add { .. }, EntryState::Absent, EntryState::After)
            | (Deed::Delete { .. }, EntryState::Before, EntryState::Absent) => {
                Some(ChangeState::Pending)
            }
            (Deed::Rewrite { .. }, EntryState::After, EntryState::Before)
            | (Deed::Add { .. }, EntryState::After, EntryState::Absent)
            | (Deed::Delete { .. }, EntryState::Absent, EntryState::Before) => {
                Some(ChangeState::InPlace)
            }
            (Deed::Rewrite { .. } | Deed::Add { .. } | Deed::Delete { .. }, _, _) => None,
        });
    }
    Ok(stages)
}
