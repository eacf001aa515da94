//! A clock that stands still until the test moves it.

use async_trait::async_trait;
use holon_domain::Timestamp;
use holon_engine::ports::Clock;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Where every such clock starts, in milliseconds since the epoch.
const START_MS: i64 = 1_800_000_000_000;

/// Wall clock and monotonic clock in one; both move only by [`ManualClock::advance`].
#[derive(Debug)]
pub struct ManualClock {
    now: AtomicI64,
    moved: Notify,
    /// Every time that was ever slept towards.
    awaited: watch::Sender<BTreeSet<i64>>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            now: AtomicI64::new(START_MS),
            moved: Notify::new(),
            awaited: watch::Sender::default(),
        }
    }
}

impl ManualClock {
    /// Returns once a sleep until this many milliseconds from now has begun, so that a test can move the clock past it
    /// without racing with it.
    pub async fn slept_towards(&self, millis: u64) {
        let at = self.now().plus_millis(millis).as_millis();
        let mut awaited = self.awaited.subscribe();
        awaited
            .wait_for(|times| times.contains(&at))
            .await
            .expect("the clock keeps a sender of its own");
    }

    /// Moves the clock, back if negative, and ends every sleep whose time has come.
    pub fn advance(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::SeqCst).unsigned_abs())
    }

    async fn sleep_until(&self, at: Timestamp) {
        self.awaited.send_modify(|times| {
            times.insert(at.as_millis());
        });
        loop {
            let moved = self.moved.notified();
            if self.now() >= at {
                return;
            }
            moved.await;
        }
    }
}
