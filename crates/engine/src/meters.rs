//! Figures of a running host: commits, the time they took, and the turns that ended.

use crate::shell::Shell;
use holon_domain::turn::TerminalReason;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the classes of commit times, in milliseconds. The last class has no bound.
pub const COMMIT_BOUNDS_MS: [u64; 8] = [1, 2, 5, 10, 50, 100, 500, 1_000];

/// Times of commits since the start, by class.
#[derive(Debug, Default)]
pub(crate) struct CommitTimes {
    classes: [AtomicU64; COMMIT_BOUNDS_MS.len() + 1],
    total_micros: AtomicU64,
}

impl CommitTimes {
    /// Counts one commit, from its request to its confirmation.
    pub(crate) fn count(&self, took: Duration) {
        let class = COMMIT_BOUNDS_MS
            .iter()
            .position(|bound| took <= Duration::from_millis(*bound))
            .unwrap_or(COMMIT_BOUNDS_MS.len());
        if let Some(counter) = self.classes.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// Number of turns that ended since the start, by reason.
#[derive(Debug)]
pub(crate) struct EndedTurns(Mutex<BTreeMap<TerminalReason, u64>>);

impl EndedTurns {
    /// Starts at zero for every reason, so that a monitor sees the first failure as a rise.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(
            TerminalReason::ALL.map(|reason| (reason, 0)).into(),
        ))
    }

    /// Counts the turns that a commit ended.
    pub(crate) fn count(&self, reasons: &[TerminalReason]) {
        if reasons.is_empty() {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for reason in reasons {
            *counts.entry(*reason).or_default() += 1;
        }
    }
}

/// Looks at the figures of a host. It can change nothing.
#[derive(Debug, Clone)]
pub struct HostMeters(Shell);

/// Times of the commits that requests and outcomes waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFigures {
    /// Commits of any kind since the start that changed something.
    pub commits: u64,
    /// Number of waits in each class of [`COMMIT_BOUNDS_MS`], and at the end those above the last bound.
    pub classes: Vec<u64>,
    pub total_micros: u64,
}

impl HostMeters {
    pub(crate) const fn new(shell: Shell) -> Self {
        Self(shell)
    }

    /// Returns true once recovery is done and the host takes requests.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.0.is_up()
    }

    /// Returns the number of turns that ended since the start, for every reason.
    #[must_use]
    pub fn ended_turns(&self) -> BTreeMap<TerminalReason, u64> {
        let counts = self.0.ended_turns.0.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the times of commits since the start.
    #[must_use]
    pub fn commits(&self) -> CommitFigures {
        let times = &self.0.commit_times;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CommitFigures {
            commits: self.0.store.commits(),
            classes: times.classes.iter().map(load).collect(),
            total_micros: load(&times.total_micros),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_in_the_first_class_that_holds_it() {
        let times = CommitTimes::default();
        for millis in [0, 1, 2, 3, 1_000, 1_001] {
            times.count(Duration::from_millis(millis));
        }
        let counts: Vec<u64> = times
            .classes
            .iter()
            .map(|n| n.load(Ordering::Relaxed))
            .collect();
        assert_eq!(counts, [2, 1, 1, 0, 0, 0, 0, 1, 1]);
        assert_eq!(times.total_micros.load(Ordering::Relaxed), 2_007_000);
    }
}
