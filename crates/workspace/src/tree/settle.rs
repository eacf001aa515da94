//! How a call ended that nobody saw end: carried on where everything is as its journal knows it, otherwise taken
//! back. A call that once turned back only goes backward. May itself be cut off and begun again.

use super::apply::{apply, sync_dirs};
use super::disk::{Disk, Unhindered};
use super::error::TreeError;
use super::file::Seen;
use super::journal::{Journal, Phase, Record};
use super::plan::{Deed, Dirs, Plan, View};
use super::undo::{clear_done, undo, unstage};
use super::{Left, Tree};
use rustix::io::Errno;
use std::path::Path;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// There is no journal: the call changed nothing, or it was forgotten.
    Nothing,
    /// All changes are in place.
    Done,
    /// No change is in place, but for what is left.
    Undone {
        /// What is not as it was.
        left: Vec<Left>,
    },
}

/// Brings a call to its end and says which. The journal stays and gives the same answer again, until it is
/// forgotten or used for the next call.
///
/// # Errors
/// When the journal is damaged, its tree cannot be opened, or the system refuses; nothing is decided then, and it
/// can be tried again.
pub fn settle(journal: &Path) -> Result<Settled, TreeError> {
    settle_with(Disk::new(&Unhindered), journal)
}

/// Takes back a call that is not done, as [`settle`] does with one that cannot be carried on. For a call whose caller
/// was already told that it failed: putting it in place now would change files behind the back of later calls.
///
/// # Errors
/// As [`settle`].
pub fn take_back(journal: &Path) -> Result<Settled, TreeError> {
    let disk = Disk::new(&Unhindered);
    let Some(place) = Journal::find(journal)? else {
        return Ok(Settled::Nothing);
    };
    if place
        .load()?
        .is_some_and(|record| record.phase == Phase::Committing)
    {
        place.turn_back(disk)?;
    }
    settle_with(disk, journal)
}

/// Removes the journal of a call that is over. Harmless when there is none.
///
/// # Errors
/// When the call is not over, or the system refuses.
pub fn forget(journal: &Path) -> Result<(), TreeError> {
    let Some(journal) = Journal::find(journal)? else {
        return Ok(());
    };
    if journal
        .load()?
        .is_some_and(|record| !record.phase.is_over())
    {
        return Err(journal.unsettled());
    }
    journal.remove(Disk::new(&Unhindered))
}

pub(super) fn settle_with(disk: Disk<'_>, journal: &Path) -> Result<Settled, TreeError> {
    let Some(journal) = Journal::find(journal)? else {
        return Ok(Settled::Nothing);
    };
    let Some(Record { plan, phase }) = journal.load()? else {
        return Ok(Settled::Nothing);
    };
    let dirs = || Tree::reopen(&plan).map(|tree| Dirs::new(tree.dir));
    let undone = match phase {
        Phase::Done => {
            // The answer stands whether or not the tree is still there to be tidied.
            if let Ok(mut dirs) = dirs() {
                let _tidied_later = clear_done(disk, &plan, &mut dirs);
            }
            return Ok(Settled::Done);
        }
        Phase::Undone { left } => return Ok(Settled::Undone { left }),
        Phase::Staging => unstage(disk, &plan, &mut dirs()?),
        Phase::Undoing => undo(disk, &plan, &mut dirs()?),
        Phase::Committing => {
            let mut dirs = dirs()?;
            if carry_on(disk, &plan, &mut dirs) {
                journal.enter(disk, &Phase::Done)?;
                let _tidied_later = clear_done(disk, &plan, &mut dirs);
                return Ok(Settled::Done);
            }
            journal.turn_back(disk)?;
            undo(disk, &plan, &mut dirs)
        }
    };
    let left = undone.map_err(|stuck| TreeError::Unsettled {
        cause: Box::new(stuck.cause),
        left: stuck.left,
    })?;
    journal.enter(disk, &Phase::Undone { left: left.clone() })?;
    Ok(Settled::Undone { left })
}

/// Puts in place what is not yet, if everything is as the plan knows it; whether all is in place then.
fn carry_on(disk: Disk<'_>, plan: &Plan, dirs: &mut Dirs) -> bool {
    let Ok(stages) = look(plan, dirs) else {
        return false;
    };
    let Some(stages) = stages.into_iter().collect::<Option<Vec<_>>>() else {
        return false;
    };
    for (change, stage) in plan.changes.iter().zip(stages) {
        match stage {
            Stage::InPlace => {}
            Stage::Pending => {
                if apply(disk, dirs, change).is_err() {
                    return false;
                }
            }
        }
    }
    sync_dirs(disk, plan, dirs).is_ok()
}

enum Stage {
    Pending,
    InPlace,
}

/// How far each change is; `None` for one that is neither untouched nor in place.
fn look(plan: &Plan, dirs: &mut Dirs) -> Result<Vec<Option<Stage>>, Errno> {
    let mut stages = Vec::new();
    for change in &plan.changes {
        let Some(dir) = dirs.find(&change.dir)? else {
            stages.push(None);
            continue;
        };
        let View { target, side } = change.look(dir)?;
        stages.push(match (&change.deed, target, side) {
            (Deed::Rewrite { .. }, Seen::Before, Seen::After)
            | (Deed::Add { .. }, Seen::Absent, Seen::After)
            | (Deed::Delete { .. }, Seen::Before, Seen::Absent) => Some(Stage::Pending),
            (Deed::Rewrite { .. }, Seen::After, Seen::Before)
            | (Deed::Add { .. }, Seen::After, Seen::Absent)
            | (Deed::Delete { .. }, Seen::Absent, Seen::Before) => Some(Stage::InPlace),
            (Deed::Rewrite { .. } | Deed::Add { .. } | Deed::Delete { .. }, _, _) => None,
        });
    }
    Ok(stages)
}
