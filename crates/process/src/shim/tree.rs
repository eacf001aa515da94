//! The processes below the shim: reaped, found and proven.
//!
//! The shim is the reaper of its descendants, so whoever loses a parent becomes its child, sessions and double forks
//! or not; when it has no child, nobody is left.

use crate::hunt::{self, Family, Left};
use crate::table::{self, Process, State};
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

/// Whether anybody is left below us. Exact and cheap.
pub(super) fn any() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Every living descendant, as far as one look can tell; look again while [`any`] says so.
pub(super) fn members() -> Vec<Process> {
    let all: HashMap<i32, Process> = table::all()
        .into_iter()
        .map(|process| (process.pid, process))
        .collect();
    let us = getpid().as_raw_pid();
    let mut found: Vec<Process> = all
        .values()
        .filter(|process| process.state != State::Dead && descends(process, us, &all))
        .copied()
        .collect();
    found.sort_unstable_by_key(|member| member.pid);
    found
}

/// Whether the way up from `member` passes `ancestor`.
fn descends(member: &Process, ancestor: i32, all: &HashMap<i32, Process>) -> bool {
    let mut parent = member.parent;
    // The list was not taken in one moment, so it could in theory run in a circle.
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

/// Signals every one of `members`.
pub(super) fn signal(members: &[Process], sent: Signal) {
    signal_of(members, members, sent);
}

/// Signals some `members` of `all` there are below us.
pub(super) fn signal_of(members: &[Process], all: &[Process], sent: Signal) {
    hunt::signal(&Below, members, all, sent);
}

/// Kills everybody below us once.
pub(super) fn kill() -> Left {
    hunt::round(&Below)
}

/// Whoever descends from this process.
struct Below;

impl Family for Below {
    fn members(&self) -> Vec<Process> {
        members()
    }

    fn has(&self, now: &Process, found: &[Process]) -> bool {
        let is_known = found
            .binary_search_by_key(&now.parent, |member| member.pid)
            .is_ok();
        is_known || now.parent == getpid().as_raw_pid()
    }
}
