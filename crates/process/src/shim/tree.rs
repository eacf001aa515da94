//! The descendants of the shim: reaps, lists and signals them.
//!
//! The shim is the reaper of its descendants: an orphan becomes its child, also after a new session or a double fork.
//! If the shim has no child, no descendant is left.

use crate::kill_tree::{self, Family, KillProgress};
use crate::table::{self, Process, ProcessState};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, wait, waitid,
};
use std::collections::HashMap;

/// Reaps every child that has ended.
pub(super) fn reap(mut each: impl FnMut(Pid, WaitStatus)) {
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        each(pid, status);
    }
}

/// Returns true if any descendant is left. Exact and cheap.
pub(super) fn any_left() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Lists the living descendants, as far as one scan can tell. Repeat it while [`any_left`] returns true.
pub(super) fn members() -> Vec<Process> {
    let all: HashMap<i32, Process> = table::all()
        .into_iter()
        .map(|process| (process.pid, process))
        .collect();
    let shim = getpid().as_raw_pid();
    let mut found: Vec<Process> = all
        .values()
        .filter(|process| process.state != ProcessState::Dead && descends(process, shim, &all))
        .copied()
        .collect();
    found.sort_unstable_by_key(|member| member.pid);
    found
}

/// Returns true if `ancestor` is among the ancestors of `member`.
fn descends(member: &Process, ancestor: i32, all: &HashMap<i32, Process>) -> bool {
    let mut parent = member.parent;
    // The list is not a snapshot, so it could contain a cycle.
    for _ in 0..all.len() {
        if parent == ancestor {
            return true;
        }
        match all.get(&parent) {
            Some(above) => parent = above.parent,
            None => return false,
        }
    }
    false
}

/// Signals all of `members`.
pub(super) fn signal_all(members: &[Process], signal: Signal) {
    signal_members(members, members, signal);
}

/// Signals `members`, which are part of `all` descendants.
pub(super) fn signal_members(members: &[Process], all: &[Process], signal: Signal) {
    kill_tree::signal(&Descendants, members, all, signal);
}

/// Sends SIGKILL to all descendants once.
pub(super) fn kill() -> KillProgress {
    kill_tree::kill_round(&Descendants)
}

/// The descendants of this process.
struct Descendants;

impl Family for Descendants {
    fn members(&self) -> Vec<Process> {
        members()
    }

    fn contains(&self, now: &Process, found: &[Process]) -> bool {
        let is_known = found
            .binary_search_by_key(&now.parent, |member| member.pid)
            .is_ok();
        is_known || now.parent == getpid().as_raw_pid()
    }
}
