//! A host as a child process. It is ready when its ready lines are read, and killed when dropped.

use crate::log::Log;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running host process. It is killed when dropped.
#[derive(Debug)]
pub struct HostProcess {
    child: Child,
    /// `host:port` of its HTTP address.
    pub addr: String,
    /// Path of its control socket.
    pub socket: PathBuf,
    log: Log,
}

impl HostProcess {
    /// Starts a host and waits for its ready lines.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the host starts");
        let log = Log::read(child.stderr.take().expect("standard error is a pipe"));
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let mut served = Self {
            child,
            addr: String::new(),
            socket: PathBuf::new(),
            log,
        };
        for line in BufReader::new(stdout).lines() {
            let line = line.expect("a line of text");
            if let Some(addr) = line.strip_prefix("listening on http://") {
                served.addr = addr.to_owned();
            } else if let Some(path) = line.strip_prefix("socket ") {
                served.socket = PathBuf::from(path);
            } else if line == "logs: stderr" {
                return served;
            }
        }
        let status = served.child.wait();
        let said = served.log.whole();
        panic!("the host did not come up ({status:?}): {said}");
    }

    /// Process id of the host.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the process.
    ///
    /// # Panics
    /// When the process is gone.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("the host is there");
    }

    /// Waits until its log contains this text.
    ///
    /// # Panics
    /// When that does not happen in time.
    pub fn wait_for_log(&self, words: &str) {
        self.log.wait_for(words);
    }

    /// Stops it with SIGTERM. Returns its exit code and its log.
    ///
    /// # Panics
    /// When it cannot be signalled.
    #[must_use]
    pub fn terminate(mut self) -> (Option<i32>, String) {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Kills it as a crash would, and waits until it is gone.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn crash(mut self) {
        self.child.kill().expect("the host is there");
        drop(self.wait());
    }

    /// Waits until it has ended by itself. Returns its exit code and its log.
    ///
    /// # Panics
    /// When it cannot be waited for.
    #[must_use]
    pub fn wait(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("the host ends");
        (status.code(), self.log.whole())
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
