//! Tracks if the disk is full: notifies subscribers, and logs it at a limited rate.
//!
//! Invariant: while the disk is full the log gets at most one line per minute, no matter how many writes fail, and one
//! line at the end.

use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Interval between log lines about a full disk.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The writer's knowledge about free disk space.
#[derive(Debug)]
pub(crate) struct SpaceLog {
    /// True if the last write that needed space found none.
    full: watch::Sender<bool>,
    /// Time of the last log line about a full disk.
    logged: Option<Instant>,
    /// True if the line about the end was not logged yet.
    owed: bool,
}

impl SpaceLog {
    pub(crate) const fn new(full: watch::Sender<bool>) -> Self {
        Self {
            full,
            logged: None,
            owed: false,
        }
    }

    /// Records that this many writes found no space.
    pub(crate) fn note_full(&mut self, members: usize, now: Instant) {
        self.full.send_replace(true);
        // Small writes may succeed while large ones fail, so the log does not report every change.
        if self
            .logged
            .is_none_or(|last| now.duration_since(last) >= LOG_EVERY)
        {
            self.logged = Some(now);
            self.owed = true;
            tracing::error!(
                members,
                "the disk is full: writes are refused until there is space again"
            );
        }
    }

    /// Records that something was written and nothing was refused.
    pub(crate) fn note_written(&mut self) {
        self.full.send_if_modified(std::mem::take);
        if std::mem::take(&mut self.owed) {
            tracing::info!("there is space on the disk again: writes are taken");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_logged_when_it_begins_then_once_a_minute_and_its_end_once() {
        let (full, seen) = watch::channel(false);
        let (mut space, began) = (SpaceLog::new(full), Instant::now());
        let after = |seconds| began + Duration::from_secs(seconds);
        space.note_written();
        assert!(!space.owed && !*seen.borrow());
        for (second, logged) in [(0, 0), (1, 0), (59, 0), (60, 60), (61, 60)] {
            space.note_full(1, after(second));
            assert_eq!(space.logged, Some(after(logged)), "second {second}");
            assert!(space.owed && *seen.borrow());
        }
        space.note_written();
        assert!(!space.owed && !*seen.borrow());
        space.note_full(1, after(62));
        assert_eq!(space.logged, Some(after(60)), "too soon for another line");
        assert!(!space.owed && *seen.borrow());
    }
}
