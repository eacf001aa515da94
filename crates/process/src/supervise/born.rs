//! Who a shim and its command are, as it was noted when the command was born, for when the shim is dead.
//!
//! The shim's death takes the direct child along and leaves the child's descendants. Those that are still in the
//! child's session are proven by that: the session's number, begun not before the child, and where the system names
//! the groups it schedules by, in the group that came with the session. Once another process has the session's number,
//! nothing is proven any more. Descendants that began sessions of their own cannot be told from strangers.
//! Invariant: nobody is signalled whose identity is not compared after a descriptor holds it fast.

use crate::hunt::{self, Family, Left};
use crate::record::Identity;
use crate::table::{self, Process, State};
use crate::wire::BORN;
use rustix::process::{Signal, pidfd_send_signal};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// How long those left behind may take to die.
const DEATH: Duration = Duration::from_secs(10);
/// How long a shim may take from letting go of its lock to being dead.
const LAST_STEPS: Duration = Duration::from_secs(2);
/// How long between looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A shim and its command at their beginning, on this start of this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Born {
    shim: Process,
    /// The direct child, which leads the session.
    leader: Process,
    /// What the scheduler's group of the session is called, where there are such.
    scheduled: Option<String>,
}

impl Born {
    /// What was noted in a task's directory; none when that means nothing here and now.
    pub(super) async fn of(state_dir: &Path) -> Option<Self> {
        let path = state_dir.join(BORN);
        let read = move || parse(&std::fs::read_to_string(path).ok()?, &table::realm()?);
        tokio::task::spawn_blocking(read).await.ok()?
    }

    /// What a shim said of itself; none when that means nothing here and now.
    pub(super) fn told(identity: &Identity) -> Option<Self> {
        parse(identity.born.as_deref()?, &table::realm()?)
    }

    /// Kills the shim and returns when it is dead, or does not die.
    pub(super) async fn kill_shim(&self) {
        let shim = self.shim;
        let kill = move || {
            if let Some((handle, _)) = shim.handle() {
                // It may have ended meanwhile.
                pidfd_send_signal(&handle, Signal::KILL).ok();
            }
        };
        drop(tokio::task::spawn_blocking(kill).await);
        self.until_shim_is_dead(DEATH).await;
    }

    async fn until_shim_is_dead(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.shim_lives() && Instant::now() < until {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends what is left of the command's session, if the shim is dead. While it lives that is the shim's business.
    pub(super) async fn end_orphans(&self) {
        self.until_shim_is_dead(LAST_STEPS).await;
        let until = Instant::now() + DEATH;
        while !self.shim_lives() {
            let session = self.clone();
            let round = tokio::task::spawn_blocking(move || hunt::round(&session)).await;
            let nobody = round.unwrap_or_default() == Left::default();
            if nobody || Instant::now() >= until {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The process id of the command's direct child.
    pub(super) const fn leader(&self) -> i32 {
        self.leader.pid
    }

    /// Whether the shim is still there.
    pub(super) fn shim_lives(&self) -> bool {
        table::look(self.shim.pid).is_some_and(|now| now.is(&self.shim) && now.state != State::Dead)
    }

    /// Whether the number of the session may still mean this one.
    fn is_proven(&self) -> bool {
        table::look(self.leader.pid).is_none_or(|now| now.is(&self.leader))
    }

    /// Whether a process is in the session, as far as the table of processes says.
    const fn counts(&self, process: &Process) -> bool {
        process.session == self.leader.session && process.began >= self.leader.began
    }
}

impl Family for Born {
    fn members(&self) -> Vec<Process> {
        let mut found = table::all();
        found.retain(|process| process.state != State::Dead && self.counts(process));
        found.sort_unstable_by_key(|process| process.pid);
        found
    }

    fn has(&self, now: &Process, _found: &[Process]) -> bool {
        self.counts(now)
            && (self.scheduled.is_none() || table::scheduled_with(now.pid) == self.scheduled)
            && self.is_proven()
    }
}

/// Reads a note that was made in `realm`.
fn parse(text: &str, realm: &str) -> Option<Born> {
    let mut lines = text.lines();
    if lines.next()? != realm {
        return None;
    }
    let (shim, leader) = (table::parse(lines.next()?)?, table::parse(lines.next()?)?);
    // The note is made after the session has begun, by its leader.
    let is_whole = leader.session == leader.pid && leader.parent == shim.pid;
    is_whole.then(|| Born {
        shim,
        leader,
        scheduled: lines.next().and_then(table::group_name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pid: i32, parent: i32, session: i32, began: u64) -> String {
        format!(
            "{pid} (holon-shim) R {parent} {pid} {session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {began} 0 0"
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
        let born = parse(&text, "here").unwrap();
        assert_eq!((born.shim.pid, born.leader.began), (10, 60));
        assert_eq!(born.scheduled.as_deref(), Some("/autogroup-7"));
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
    fn who_began_before_the_command_is_not_of_its_session() {
        let born = parse(&note(&line(11, 10, 11, 60)), "here").unwrap();
        let counts = |session, began| {
            let process = table::parse(&line(12, 11, session, began)).unwrap();
            born.counts(&process)
        };
        assert!(counts(11, 60) && counts(11, 70));
        assert!(!counts(11, 59) && !counts(12, 70));
    }
}
