//! Whether there is space: what the writer has last seen of it, for those who wait, and what it says in the log.
//!
//! Invariant: the log gets at most one line a minute about a disk that is full, however often a write is tried, and
//! one when it is over.

use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often a full disk is logged.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// What the writer has seen of the space.
#[derive(Debug)]
pub(crate) struct SpaceLog {
    /// Whether the last write that needed space found none.
    full: watch::Sender<bool>,
    /// When a full disk was last logged.
    logged: Option<Instant>,
    /// Whether the log still owes the line that it is over.
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

    /// So many writes found no space.
    pub(crate) fn refused(&mut self, members: usize, now: Instant) {
        self.full.send_replace(true);
        // Small writes may pass while large ones do not: a disk that changes its mind is not told of each time.
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

    /// Something was written, and nothing was refused.
    pub(crate) fn written(&mut self) {
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
        space.written();
        assert!(!space.owed && !*seen.borrow());
        for (second, logged) in [(0, 0), (1, 0), (59, 0), (60, 60), (61, 60)] {
            space.refused(1, after(second));
            assert_eq!(space.logged, Some(after(logged)), "second {second}");
            assert!(space.owed && *seen.borrow());
        }
        space.written();
        assert!(!space.owed && !*seen.borrow());
        space.refused(1, after(62));
        assert_eq!(space.logged, Some(after(60)), "too soon for another line");
        assert!(!space.owed && *seen.borrow());
    }
}
