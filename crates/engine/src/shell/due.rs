//! The due loop, one for the whole host. It sleeps until the earliest entry of the due queue, hands due entries to the
//! kernel at a bounded rate, and sleeps again. It sleeps by the monotonic clock, so a step of the wall clock is
//! detected at the next entry or after the longest sleep.

use super::{ClockWatch, Shell};
use holon_core::Input;
use holon_domain::{Timestamp, limits};
use holon_store::{DueCursor, DueRow};
use std::time::Duration;

/// Longest sleep, so that a clock that jumped forward is detected.
const CLAMP_MS: u64 = 60_000;
/// Number of entries read at once.
pub(super) const DUE_PAGE_SIZE: usize = 256;
/// Pause after a failed read, in milliseconds.
pub(super) const RETRY_MS: u64 = 1_000;
/// Period in which at most [`limits::DUE_PER_SECOND`] entries are handed over.
const SECOND: Duration = Duration::from_secs(1);

/// Limits the rate of entries: counts those handed over since the last second without any.
#[derive(Debug, Default)]
struct RateLimit {
    fired: usize,
    last: Duration,
}

impl RateLimit {
    /// Number of entries that may be handed over now; zero while the limit of the last second is reached.
    fn room(&mut self, elapsed: Duration) -> usize {
        if elapsed.saturating_sub(self.last) >= SECOND {
            self.fired = 0;
        }
        limits::DUE_PER_SECOND.saturating_sub(self.fired)
    }

    fn note(&mut self, fired: usize, elapsed: Duration) {
        if fired > 0 {
            self.fired += fired;
            self.last = elapsed;
        }
    }
}

/// A page of the due queue, split at the current time.
struct DueBatch {
    /// Entries that are due.
    due: Vec<DueRow>,
    /// Time of the first entry that is not due, if it is on this page.
    next: Option<Timestamp>,
    /// Cursor of the next page, if it may hold due entries.
    next_page: Option<DueCursor>,
}

impl Shell {
    pub(crate) async fn run_due_loop(self, mut watch: ClockWatch) {
        let mut rate = RateLimit::default();
        while !self.draining.is_cancelled() {
            match self.hand_over_due(&mut watch, &mut rate).await {
                Ok(next) => self.sleep_until_due(next, &watch).await,
                Err(error) => {
                    tracing::warn!(%error, "the due-queue could not be read");
                    self.pause(RETRY_MS).await;
                }
            }
        }
    }

    /// Hands all due entries to the kernel. Returns the time of the next entry.
    async fn hand_over_due(
        &self,
        watch: &mut ClockWatch,
        rate: &mut RateLimit,
    ) -> Result<Option<Timestamp>, holon_store::Error> {
        let (mut before, mut after) = (Vec::new(), None);
        while !self.draining.is_cancelled() {
            self.check_clock_step(watch).await;
            let room = rate.room(self.ports.clock.elapsed());
            if room == 0 {
                self.pause(RETRY_MS).await;
                continue;
            }
            let DueBatch {
                due,
                next,
                next_page,
            } = self.read_due(watch.wall, after, room).await?;
            if due.is_empty() && after.is_none() {
                return Ok(next);
            }
            // Handed over entries are gone unless they could not be written. Then the loop pauses instead of spinning.
            if after.is_none() && due == before {
                self.pause(RETRY_MS).await;
            }
            if after.is_none() {
                before.clone_from(&due);
            }
            rate.note(due.len(), self.ports.clock.elapsed());
            let pending = due.into_iter().map(|row| self.hand_over(row));
            join_all(pending).await;
            // Entries that stay must not hide those behind them, so the loop goes through the whole queue before it
            // starts over.
            after = next_page;
        }
        Ok(None)
    }

    /// Reads at most `room` due entries behind `after`, and the time of the next one.
    async fn read_due(
        &self,
        now: Timestamp,
        after: Option<DueCursor>,
        room: usize,
    ) -> Result<DueBatch, holon_store::Error> {
        let horizon = now.plus_millis(CLAMP_MS);
        let scope = self.due_scope();
        let seen = self.take_backs.all();
        let page = self.store.due(&scope, horizon, after, room).await?;
        for (agent_id, error) in page.unreadable {
            let seen = seen.get(&agent_id).copied().unwrap_or(0);
            self.note_read_failure(&agent_id, error, seen).await;
        }
        let mut due = page.rows;
        let next = due.iter().map(|row| row.time.at()).find(|at| *at > now);
        due.retain(|row| row.time.at() <= now);
        Ok(DueBatch {
            due,
            next_page: page.next.filter(|_| next.is_none()),
            next,
        })
    }

    async fn hand_over(&self, row: DueRow) {
        let DueRow {
            agent_id,
            id,
            time,
            due,
        } = row;
        self.submit_until_committed(
            &agent_id,
            Input::DueCame {
                id,
                planned_at: time.at(),
                due,
            },
        )
        .await;
    }

    /// Wakes the due loop, so that it reads the queue again at once.
    pub(crate) fn wake_due_loop(&self) {
        self.due_set.notify_one();
    }

    /// Sleeps until an entry is due, an earlier one is set, or the clocks must be checked again.
    async fn sleep_until_due(&self, next: Option<Timestamp>, watch: &ClockWatch) {
        let until = watch.elapsed_at(next, CLAMP_MS);
        tokio::select! {
            () = self.ports.clock.sleep_until(until) => {}
            () = self.due_set.notified() => {}
            () = self.draining.cancelled() => {}
        }
    }
}

/// Drives several futures together on this task, so that their inputs share a commit.
pub(crate) async fn join_all<F: Future<Output = ()> + Send>(futures: impl IntoIterator<Item = F>) {
    let mut waiting: Vec<_> = futures.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        waiting.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        if waiting.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
