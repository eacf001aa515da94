//! A clock that stands still until the test moves it.

use async_trait::async_trait;
use holon_domain::Timestamp;
use holon_engine::ports::Clock;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Start of the wall clock, in milliseconds since the Unix epoch.
const START_MS: i64 = 1_800_000_000_000;

#[derive(Debug)]
struct Times {
    wall: i64,
    elapsed: Duration,
}

/// A wall clock and a monotonic clock that move together, and only when the test moves them.
#[derive(Debug)]
pub struct ManualClock {
    times: Mutex<Times>,
    moved: Notify,
    /// The ends of all sleeps that ever began, by the monotonic clock.
    awaited: watch::Sender<BTreeSet<Duration>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            times: Mutex::new(Times {
                wall: START_MS,
                elapsed: Duration::ZERO,
            }),
            moved: Notify::new(),
            awaited: watch::Sender::default(),
        }
    }
}

impl ManualClock {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once a sleep of this many milliseconds from now has begun, so that the test can move the clock past it
    /// without a race.
    pub async fn slept_towards(&self, millis: u64) {
        let end = self.elapsed() + Duration::from_millis(millis);
        let mut awaited = self.awaited.subscribe();
        awaited
            .wait_for(|times| times.contains(&end))
            .await
            .expect("the clock keeps a sender of its own");
    }

    /// Moves both clocks forward and ends every sleep that is over.
    pub fn advance(&self, millis: u64) {
        let mut times = self.times();
        times.wall = times.wall.saturating_add_unsigned(millis);
        times.elapsed += Duration::from_millis(millis);
        drop(times);
        self.moved.notify_waiters();
    }

    /// Sets the wall clock forward or back. The monotonic clock does not move.
    pub fn step(&self, millis: i64) {
        self.times().wall += millis;
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.times().wall)
    }

    fn elapsed(&self) -> Duration {
        self.times().elapsed
    }

    async fn sleep_until(&self, elapsed: Duration) {
        self.awaited.send_modify(|times| {
            times.insert(elapsed);
        });
        loop {
            let moved = self.moved.notified();
            if self.elapsed() >= elapsed {
                return;
            }
            moved.await;
        }
    }
}
