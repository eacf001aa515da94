//! The processes below the shim: found, proven and signalled.
//!
//! The shim is the reaper of its descendants, so whoever loses a parent becomes its child, sessions and double forks
//! or not; when it has no child, nobody is left. A process is signalled through a descriptor that is opened first and
//! compared afterwards with what was found, so a number given to a stranger meanwhile hits nobody.

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, pidfd_open,
    pidfd_send_signal, wait, waitid,
};
use std::collections::{HashMap, HashSet};

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

/// One process as the system lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) pid: i32,
    parent: i32,
    pub(super) group: i32,
    /// When it began, in ticks since the system did: with the number, who it is.
    began: u64,
    alive: bool,
}

/// Every living descendant, as far as one look can tell; look again while [`any`] says so.
pub(super) fn members() -> Vec<Member> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let all: HashMap<i32, Member> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, look(pid)?)))
        .collect();
    let us = getpid().as_raw_pid();
    let mut found: Vec<Member> = all
        .values()
        .filter(|member| member.alive && descends(member, us, &all))
        .copied()
        .collect();
    found.sort_unstable_by_key(|member| member.pid);
    found
}

/// Whether the way up from `member` passes `ancestor`.
fn descends(member: &Member, ancestor: i32, all: &HashMap<i32, Member>) -> bool {
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

fn look(pid: i32) -> Option<Member> {
    parse(
        pid,
        &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?,
    )
}

/// Reads a line of `/proc/<pid>/stat`.
///
/// The second field is the program's name in parentheses and may hold anything, so fields count from the last one.
fn parse(pid: i32, stat: &str) -> Option<Member> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    let dead = matches!(*fields.first()?, "Z" | "X" | "x");
    Some(Member {
        pid,
        parent: i32::try_from(number(1)?).ok()?,
        group: i32::try_from(number(2)?).ok()?,
        // A process whose first thread has ended looks dead while its others go on.
        alive: !dead || number(17)? > 1,
        began: fields.get(19)?.parse().ok()?,
    })
}

/// Signals those of `members` that are still who they were and still below us.
pub(super) fn signal(members: &[Member], sent: Signal) {
    signal_of(members, members, sent);
}

/// Signals some `members` of `family`, which is all there is below us.
pub(super) fn signal_of(members: &[Member], family: &[Member], sent: Signal) {
    let mut known: HashSet<i32> = family.iter().map(|member| member.pid).collect();
    known.insert(getpid().as_raw_pid());
    for member in members {
        let Some(pid) = Pid::from_raw(member.pid) else {
            continue;
        };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        let same = look(member.pid)
            .is_some_and(|now| now.began == member.began && known.contains(&now.parent));
        if same {
            // It may have ended meanwhile, or belong to another user; neither can be helped.
            pidfd_send_signal(&handle, sent).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, state: &str, threads: u32) -> String {
        format!("12 ({name}) {state} 7 9 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0")
    }

    #[test]
    fn a_programs_name_cannot_forge_its_family() {
        let expected = Member {
            pid: 12,
            parent: 7,
            group: 9,
            began: 4711,
            alive: true,
        };
        assert_eq!(parse(12, &line("sh", "S", 1)), Some(expected));
        assert_eq!(parse(12, &line("a) S 1 99 (b", "S", 1)), Some(expected));
        assert_eq!(parse(12, "12"), None);
    }

    #[test]
    fn a_process_lives_as_long_as_one_of_its_threads() {
        let alive = |state, threads| parse(12, &line("sh", state, threads)).unwrap().alive;
        assert!(!alive("Z", 1));
        assert!(alive("Z", 2));
        assert!(alive("T", 1));
    }
}
