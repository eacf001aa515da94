//! The clock of this machine. It is the only place of the program that reads the time.

use async_trait::async_trait;
use holon_domain::Timestamp;
use holon_engine::ports::Clock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall clock and monotonic clock of this machine.
#[derive(Debug)]
pub(crate) struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// Creates a clock whose elapsed time starts now.
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

/// A time by which something must have happened, by the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    began: Instant,
    patience: Duration,
}

impl Deadline {
    /// Returns the deadline that is this far away.
    #[must_use]
    pub fn after(patience: Duration) -> Self {
        Self {
            began: Instant::now(),
            patience,
        }
    }

    /// Returns the time that is left; zero once it has passed.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.patience.saturating_sub(self.began.elapsed())
    }
}

/// Reads the wall clock.
#[must_use]
pub fn wall_clock() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_millis()).map_or(i64::MIN, i64::wrapping_neg)
        }
    };
    Timestamp::from_millis(millis)
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        wall_clock()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep_until(&self, elapsed: Duration) {
        tokio::time::sleep(elapsed.saturating_sub(self.elapsed())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_time_that_has_come_is_not_waited_for() {
        let clock = SystemClock::new();
        // Would block for ever if a time in the past were waited for.
        clock.sleep_until(Duration::ZERO).await;
        clock.sleep_until(clock.elapsed()).await;
    }
}
