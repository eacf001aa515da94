//! Ends the git that changes a repository when the host dies, so that none is left that writes on unseen.
//!
//! This is the only file of the crate with unsafe code.
#![allow(
    unsafe_code,
    reason = "no safe interface exists for the setup of a child before exec; the block says why it is sound"
)]

use std::process::Command;

/// Makes the kernel kill the command when the thread that starts it ends. That thread waits for the command, so it ends
/// earlier only with the whole process. Systems other than Linux have no such signal; there the next host waits.
#[cfg(target_os = "linux")]
pub(super) fn die_with_parent(command: &mut Command) {
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
    use std::io;
    use std::os::unix::process::CommandExt as _;

    let parent = getpid();
    let setup = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() == Some(parent) {
            return Ok(());
        }
        // The parent died before the signal was set.
        Err(rustix::io::Errno::SRCH.into())
    };
    // SAFETY: the closure makes only system calls that are safe between fork and exec; it allocates nothing and takes
    // no lock.
    unsafe { command.pre_exec(setup) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn die_with_parent(_command: &mut Command) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Stdio;
    use std::thread;

    #[test]
    fn a_command_dies_with_the_thread_that_started_it() {
        let starter = thread::spawn(|| {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            die_with_parent(&mut command);
            command.spawn().unwrap()
        });
        let mut child = starter.join().unwrap();
        // Its input stays open, so that it cannot end by itself.
        let input = child.stdin.take();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        drop(input);
    }
}
