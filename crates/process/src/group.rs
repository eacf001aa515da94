//! The process group of one command: watches its leader, signals it, and reaps it last.
//!
//! The system may reuse a pid or group number once its last owner is reaped. The group is therefore signalled only
//! while its leader is an unreaped child (running or a zombie), which keeps the number reserved: the end is observed
//! without reaping, the group is killed, and only then is the leader reaped.

use holon_domain::command::CommandEnd;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

/// The leader of a command's process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    leader: Pid,
    child_signals: SignalStream,
    reaped: bool,
}

impl Group {
    /// Starts the command as the leader of a new group.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        // The signal listener is created before the child, so that no exit is missed.
        let child_signals = signal(SignalKind::child())?;
        let child = command.process_group(0).spawn()?;
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let leader =
            leader.ok_or_else(|| io::Error::other("the system gave the child no process id"))?;
        Ok(Self {
            child,
            leader,
            child_signals,
            reaped: false,
        })
    }

    /// The child process, to take its pipes from.
    pub(crate) const fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits until the leader has ended and leaves it unreaped. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> CommandEnd {
        loop {
            if let Some(end) = self.poll_end() {
                return end;
            }
            if self.child_signals.recv().await.is_none() {
                // The runtime is shutting down; the drop that follows kills the group.
                std::future::pending::<()>().await;
            }
        }
    }

    fn poll_end(&self) -> Option<CommandEnd> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.leader), options) {
            Ok(None) | Err(rustix::io::Errno::INTR) => None,
            Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(status), _) => CommandEnd::Exited { status },
                (None, Some(signal)) => CommandEnd::Signalled { signal },
                (None, None) => UNKNOWN_END,
            }),
            Err(_) => Some(UNKNOWN_END),
        }
    }

    /// Sends SIGTERM to every member.
    pub(crate) fn terminate(&self) {
        self.send(Signal::TERM);
    }

    /// Sends SIGKILL to every member.
    pub(crate) fn kill(&self) {
        self.send(Signal::KILL);
    }

    fn send(&self, signal: Signal) {
        if self.reaped {
            return;
        }
        // The call fails only if no member is left that may be signalled, and then there is nothing to do.
        kill_process_group(self.leader, signal).ok();
    }

    /// Counts the living members besides the leader.
    pub(crate) async fn members(&self) -> u32 {
        let leader = self.leader;
        // A scan of all processes is too slow for an async thread.
        tokio::task::spawn_blocking(move || count_members(leader))
            .await
            .unwrap_or_default()
    }

    /// Kills the rest of the group and reaps the leader. Call it once the leader has ended.
    pub(crate) async fn finish(mut self) {
        self.kill();
        self.reaped = true;
        // The end is known already; this fails only if there is nothing left to reap.
        self.child.wait().await.ok();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The child itself is reaped by the async runtime after this.
        self.kill();
    }
}

/// End reported if the leader was reaped elsewhere and its status is lost. 255 does not count as success.
const UNKNOWN_END: CommandEnd = CommandEnd::Exited { status: 255 };

#[cfg(target_os = "linux")]
fn count_members(leader: Pid) -> u32 {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let ours = |entry: &io::Result<std::fs::DirEntry>| {
        let Ok(entry) = entry else { return false };
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok());
        pid.is_some_and(|pid| pid != leader.as_raw_pid())
            && std::fs::read_to_string(entry.path().join("stat"))
                .is_ok_and(|stat| living_group(&stat) == Some(leader.as_raw_pid()))
    };
    u32::try_from(processes.filter(ours).count()).unwrap_or(u32::MAX)
}

/// Other systems offer no cheap way to count the members.
#[cfg(not(target_os = "linux"))]
fn count_members(_leader: Pid) -> u32 {
    0
}

/// Parses the group from a line of `/proc/<pid>/stat`; `None` for a dead process.
///
/// The second field is the program's name in parentheses and may contain any character, so fields are counted from
/// the last parenthesis.
#[cfg(target_os = "linux")]
fn living_group(stat: &str) -> Option<i32> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    match fields.next()? {
        "Z" | "X" | "x" => None,
        _ => fields.nth(1)?.parse().ok(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_programs_name_cannot_forge_its_group() {
        assert_eq!(living_group("12 (sh) S 1 77 77 0"), Some(77));
        assert_eq!(living_group("12 (a) S 1 99 (b) R 1 77 77 0"), Some(77));
        assert_eq!(living_group("12 (sh) Z 1 77 77 0"), None);
        assert_eq!(living_group("12"), None);
    }
}
