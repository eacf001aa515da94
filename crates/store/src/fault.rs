//! Crash points: named places where a test may end the process, to show that recovery holds at each of them.
//!
//! Without the feature `crash-points` this is an empty function. With it, every hit is counted over the whole
//! process; `HOLON_CRASH_AT=<n>` kills the process at the n-th hit, and `HOLON_CRASH_LOG=<file>` appends the name
//! of every hit, so that a reference run tells how many there are.

/// Passes a crash point.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub const fn hit(_name: &'static str) {}

/// Passes a crash point.
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
            // A reference run that cannot write its list shows a short list; there is nobody to tell here.
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
