//! The process that owns a home, as a client sees it that cannot reach a host.

use crate::home::{lock_path, owner_named_in};
use rustix::fs::FlockOperation;
use rustix::process::{Pid, test_kill_process};
use std::fs::File;
use std::path::Path;

/// Returns the id of the living process that owns the home; `None` if it has no owner.
///
/// The lock is tried only if the named process lives. A process that starts on a free home is therefore never refused
/// because of this check.
#[must_use]
pub fn owner_pid(home: &Path) -> Option<u32> {
    let mut file = File::open(lock_path(home)).ok()?;
    let (pid, _) = owner_named_in(&mut file);
    let named = Pid::from_raw(i32::try_from(pid?).ok()?)?;
    let is_gone = test_kill_process(named) == Err(rustix::io::Errno::SRCH);
    if is_gone || rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    pid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

    #[test]
    fn a_home_has_an_owner_only_while_its_lock_is_held() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("home");
        assert_eq!(owner_pid(&path), None, "there is no home");
        let home = Home::open(&path).expect("opens");
        assert_eq!(owner_pid(&path), Some(std::process::id()));
        drop(home);
        assert_eq!(owner_pid(&path), None, "the lock file stays");
    }
}
