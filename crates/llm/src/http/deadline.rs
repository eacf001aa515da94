//! Time limits of one attempt: one per step, and one for all steps together.
//!
//! Uses the timer of the async runtime, so tests can pause the clock.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;

/// The time limit that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// The limit of a single step.
    Step(Duration),
    /// The limit of the whole attempt.
    Attempt(Duration),
}

/// Remaining time of an attempt.
#[derive(Debug)]
pub(super) struct Deadline {
    total: Duration,
    over: Pin<Box<Sleep>>,
}

impl Deadline {
    /// Starts the clock of an attempt.
    pub(super) fn starting(total: Duration) -> Self {
        Self {
            total,
            over: Box::pin(tokio::time::sleep(total)),
        }
    }

    /// Runs a step within `limit`, or within the rest of the attempt if that is shorter.
    pub(super) async fn step<T>(
        &mut self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Late> {
        tokio::select! {
            biased;
            () = self.over.as_mut() => Err(Late::Attempt(self.total)),
            done = tokio::time::timeout(limit, work) => done.map_err(|_| Late::Step(limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_step_has_its_own_limit_and_shares_the_attempts() {
        let mut deadline = Deadline::starting(5 * SECOND);
        let mut wait = async |time| {
            let passing = tokio::time::timeout(time, std::future::pending::<()>());
            deadline.step(2 * SECOND, passing).await.map(drop)
        };
        assert_eq!(wait(SECOND).await, Ok(()));
        assert_eq!(wait(3 * SECOND).await, Err(Late::Step(2 * SECOND)));
        assert_eq!(wait(SECOND).await, Ok(()));
        assert_eq!(wait(SECOND * 3 / 2).await, Err(Late::Attempt(5 * SECOND)));
        assert_eq!(wait(SECOND).await, Err(Late::Attempt(5 * SECOND)));
    }
}
