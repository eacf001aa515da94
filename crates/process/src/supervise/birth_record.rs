//! The birth record of a shim and its command, used when the shim is dead.
//!
//! When a shim dies, its direct child is killed with it, but the child's descendants are left. A process that is
//! still in the child's session is proven by the session number, a start time not before the child's, and, on systems
//! with autogroups, the autogroup of the session. Once another process has the session's number, no proof is
//! possible. Descendants that started their own sessions cannot be distinguished from unrelated processes.
//!
//! Invariant: a process is signalled only after its identity was compared while a descriptor held it.

use crate::kill_tree::{self, Family, KillProgress};
use crate::record::Identity;
use crate::table::{self, Process, ProcessState};
use crate::wire::BORN;
use rustix::process::{Signal, pidfd_send_signal};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Time to wait for orphans to die.
const DEATH: Duration = Duration::from_secs(10);
/// Time to wait for a shim to die after it has released its lock.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The identities of a shim and its command, valid in the current boot and pid namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BirthRecord {
    shim: Process,
    /// The direct child, which leads the command's session.
    leader: Process,
    /// Autogroup of the session, on systems that have autogroups.
    autogroup: Option<String>,
}

impl BirthRecord {
    /// Reads the record from a command's directory; `None` if it is missing or from another boot or namespace.
    pub(super) async fn read(claim_dir: &Path) -> Option<Self> {
        let path = claim_dir.join(BORN);
        let read = move || parse(&std::fs::read_to_string(path).ok()?, &table::pid_scope()?);
        tokio::task::spawn_blocking(read).await.ok()?
    }

    /// Takes the record from a shim's identity; `None` if it is missing or from another boot or namespace.
    pub(super) fn from_identity(identity: &Identity) -> Option<Self> {
        parse(identity.birth_record.as_deref()?, &table::pid_scope()?)
    }

    /// Kills the shim and waits until it is dead or the timeout expires.
    pub(super) async fn kill_shim(&self) {
        let shim = self.shim;
        let kill = move || {
            if let Some((handle, _)) = shim.handle() {
                // Fails if the shim has ended meanwhile.
                pidfd_send_signal(&handle, Signal::KILL).ok();
            }
        };
        drop(tokio::task::spawn_blocking(kill).await);
        self.wait_for_shim_death(DEATH).await;
    }

    async fn wait_for_shim_death(&self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while self.shim_lives() && Instant::now() < until {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Kills what is left of the command's session, if the shim is dead. A living shim does that itself.
    pub(super) async fn end_orphans(&self) {
        self.wait_for_shim_death(EXIT_TIMEOUT).await;
        let until = Instant::now() + DEATH;
        while !self.shim_lives() {
            let session = self.clone();
            let round = tokio::task::spawn_blocking(move || kill_tree::kill_round(&session)).await;
            let is_done = round.unwrap_or_default() == KillProgress::default();
            if is_done || Instant::now() >= until {
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Process id of the command's direct child.
    pub(super) const fn leader(&self) -> i32 {
        self.leader.pid
    }

    /// Returns true if the shim is alive.
    pub(super) fn shim_lives(&self) -> bool {
        table::find_pid(self.shim.pid)
            .is_some_and(|now| now.is_same(&self.shim) && now.state != ProcessState::Dead)
    }

    /// Returns true if no other process has reused the session's number.
    fn is_proven(&self) -> bool {
        table::find_pid(self.leader.pid).is_none_or(|now| now.is_same(&self.leader))
    }

    /// Returns true if the process table shows the process in the session.
    const fn is_in_session(&self, process: &Process) -> bool {
        process.session == self.leader.session && process.start_ticks >= self.leader.start_ticks
    }
}

impl Family for BirthRecord {
    fn members(&self) -> Vec<Process> {
        let mut found = table::all();
        found.retain(|process| process.state != ProcessState::Dead && self.is_in_session(process));
        found.sort_unstable_by_key(|process| process.pid);
        found
    }

    fn contains(&self, now: &Process, _found: &[Process]) -> bool {
        self.is_in_session(now)
            && (self.autogroup.is_none() || table::autogroup_of(now.pid) == self.autogroup)
            && self.is_proven()
    }
}

/// Parses a record; `None` if it was written in another `scope` or is incomplete.
fn parse(text: &str, scope: &str) -> Option<BirthRecord> {
    let mut lines = text.lines();
    if lines.next()? != scope {
        return None;
    }
    let (shim, leader) = (table::parse(lines.next()?)?, table::parse(lines.next()?)?);
    // The session leader writes its line after it has created the session.
    let is_whole = leader.session == leader.pid && leader.parent == shim.pid;
    is_whole.then(|| BirthRecord {
        shim,
        leader,
        autogroup: lines.next().and_then(table::parse_autogroup),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pid: i32, parent: i32, session: i32, start_ticks: u64) -> String {
        format!(
            "{pid} (holon-shim) R {parent} {pid} {session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start_ticks} 0 0"
        )
    }

    fn note(leader: &str) -> String {
        format!(
            "here\n{}\n{leader}\n/autogroup-7 nice 0\n",
            line(10, 1, 10, 50)
        )
    }

    #[test]
    fn a_note_counts_only_where_and_when_it_was_made() {
        let text = note(&line(11, 10, 11, 60));
        let record = parse(&text, "here").unwrap();
        assert_eq!((record.shim.pid, record.leader.start_ticks), (10, 60));
        assert_eq!(record.autogroup.as_deref(), Some("/autogroup-7"));
        assert_eq!(parse(&text, "elsewhere"), None);
    }

    #[test]
    fn a_note_that_is_not_whole_is_none() {
        for leader in ["", "11 (ho", &line(11, 10, 10, 60), &line(11, 1, 11, 60)] {
            assert_eq!(parse(&note(leader), "here"), None, "{leader:?}");
        }
        assert_eq!(parse("", "here"), None);
    }

    #[test]
    fn a_process_older_than_the_command_is_not_in_its_session() {
        let record = parse(&note(&line(11, 10, 11, 60)), "here").unwrap();
        let is_in_session = |session, start_ticks| {
            let process = table::parse(&line(12, 11, session, start_ticks)).unwrap();
            record.is_in_session(&process)
        };
        assert!(is_in_session(11, 60) && is_in_session(11, 70));
        assert!(!is_in_session(11, 59) && !is_in_session(12, 70));
    }
}
