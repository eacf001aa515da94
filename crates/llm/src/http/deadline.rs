//! Time limits of one attempt: one per step, and one for the time without content.
//!
//! Uses the timer of the async runtime, so tests can pause the clock.

use std::pin::Pin;
use std::time::Duration;
use tokio::time::Sleep;

/// The time limit that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpiredLimit {
    /// The limit of a single step.
    Step(Duration),
    /// The limit of the time without content.
    Content(Duration),
}

/// Remaining time until content must arrive.
#[derive(Debug)]
pub(super) struct Deadline {
    content: Duration,
    over: Pin<Box<Sleep>>,
}

impl Deadline {
    /// Starts the clock of an attempt.
    pub(super) fn starting(content: Duration) -> Self {
        Self {
            content,
            over: Box::pin(tokio::time::sleep(content)),
        }
    }

    /// Starts the time without content again, because content has arrived.
    pub(super) fn renew(&mut self) {
        self.over = Box::pin(tokio::time::sleep(self.content));
    }

    /// Runs a step within `limit`, or within the rest of the time without content if that is shorter.
    pub(super) async fn step<T>(
        &mut self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, ExpiredLimit> {
        tokio::select! {
            biased;
            () = self.over.as_mut() => Err(ExpiredLimit::Content(self.content)),
            done = tokio::time::timeout(limit, work) => done.map_err(|_| ExpiredLimit::Step(limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_step_has_its_own_limit_and_shares_the_one_for_content() {
        let mut deadline = Deadline::starting(5 * SECOND);
        let wait = async |deadline: &mut Deadline, time| {
            let passing = tokio::time::timeout(time, std::future::pending::<()>());
            deadline.step(2 * SECOND, passing).await.map(drop)
        };
        assert_eq!(wait(&mut deadline, SECOND).await, Ok(()));
        let late = wait(&mut deadline, 3 * SECOND).await;
        assert_eq!(late, Err(ExpiredLimit::Step(2 * SECOND)));
        assert_eq!(wait(&mut deadline, SECOND).await, Ok(()));
        let silent = Err(ExpiredLimit::Content(5 * SECOND));
        assert_eq!(wait(&mut deadline, SECOND * 3 / 2).await, silent);
        assert_eq!(wait(&mut deadline, SECOND).await, silent);
        deadline.renew();
        assert_eq!(wait(&mut deadline, SECOND * 3 / 2).await, Ok(()));
    }
}
