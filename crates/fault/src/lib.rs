//! Fault points: named places where a test can kill the process, to show that recovery holds at each of them.
//!
//! Without the feature `crash-points`, which no release build enables, [`hit`] is an empty function and this crate
//! depends on nothing. With the feature, hits are counted over the whole process:
//!
//! - `HOLON_CRASH_AT=<n>` kills the process with SIGKILL at the n-th hit.
//! - `HOLON_CRASH_LOG=<file>` appends the name of every hit to a file, so that a reference run shows how many points
//!   there are and in which order they are passed.
//!
//! The count is one for all crates, so every crate must go through this one.

/// Passes the fault point `name`: counts it, logs it and kills the process if a test asked for that.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub const fn hit(_name: &'static str) {}

/// Passes the fault point `name`: counts it, logs it and kills the process if a test asked for that.
#[cfg(feature = "crash-points")]
pub fn hit(name: &'static str) {
    armed::hit(name);
}

#[cfg(feature = "crash-points")]
mod armed {
    use std::io::Write as _;
    use std::sync::{Mutex, OnceLock};

    struct Points {
        at: Option<u64>,
        log: Option<std::fs::File>,
        hits: u64,
    }

    static POINTS: OnceLock<Mutex<Points>> = OnceLock::new();

    #[allow(
        clippy::disallowed_methods,
        reason = "a build for crash tests only, armed from outside the process"
    )]
    fn read_environment() -> Mutex<Points> {
        let at = std::env::var("HOLON_CRASH_AT")
            .ok()
            .and_then(|text| text.parse().ok());
        let log = std::env::var_os("HOLON_CRASH_LOG").and_then(|path| {
            std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .ok()
        });
        Mutex::new(Points { at, log, hits: 0 })
    }

    pub(super) fn hit(name: &'static str) {
        let points = POINTS.get_or_init(read_environment);
        let mut points = points
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        points.hits += 1;
        if let Some(log) = &mut points.log {
            // A failed write makes the list shorter, which the test that reads it notices.
            drop(log.write_all(format!("{name}\n").as_bytes()));
        }
        if points.at == Some(points.hits) {
            // Not an exit: no destructor, no flush, no handler may run, as in a real crash.
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

#[cfg(all(test, feature = "crash-points"))]
mod tests {
    use super::hit;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::Command;

    /// Set for the copy of this test that is to be killed.
    const VICTIM: &str = "HOLON_FAULT_VICTIM";
    const SIGKILL: i32 = 9;

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "the process that is killed must be another one, told so by its environment"
    )]
    fn the_process_is_killed_at_the_chosen_hit_and_the_log_names_those_before() {
        if std::env::var_os(VICTIM).is_some() {
            ["one", "two", "three"].into_iter().for_each(hit);
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let name = std::thread::current().name().unwrap().to_owned();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name])
            .env(VICTIM, "1")
            .env("HOLON_CRASH_AT", "2")
            .env("HOLON_CRASH_LOG", &log)
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(SIGKILL));
        assert_eq!(std::fs::read_to_string(log).unwrap(), "one\ntwo\n");
    }
}
