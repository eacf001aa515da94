//! The due loop: one for the whole host. It sleeps until the earliest entry of the due-queue, hands what has come to
//! the kernel, and sleeps again. A jump of the clock costs at most one clamp of lateness.

use super::Shell;
use crate::error::Error;
use holon_core::Input;
use holon_domain::Timestamp;
use holon_store::DueRow;

/// Longest sleep, so that a clock that jumped forward is noticed.
const CLAMP_MS: u64 = 60_000;
/// Entries handed over at once.
const HANDFUL: usize = 256;
/// Pause after a failed read.
const RETRY_MS: u64 = 1_000;

impl Shell {
    pub(crate) async fn run_due_loop(self) {
        while !self.draining.is_cancelled() {
            match self.hand_over_due().await {
                Ok(Some(next)) => self.sleep_towards(next).await,
                Ok(None) => {
                    self.sleep_towards(self.ports.clock.now().plus_millis(CLAMP_MS))
                        .await
                }
                Err(error) => {
                    tracing::warn!(%error, "the due-queue could not be read");
                    self.pause(RETRY_MS).await;
                }
            }
        }
    }

    /// Hands everything that has come to the kernel; returns when the next entry will.
    async fn hand_over_due(&self) -> Result<Option<Timestamp>, holon_store::Error> {
        let mut before = Vec::new();
        loop {
            let (come, next) = self.look_ahead().await?;
            if come.is_empty() {
                return Ok(next);
            }
            // What was handed over is gone, unless it could not be written; then there is no hurry.
            if come == before {
                self.pause(RETRY_MS).await;
            }
            before.clone_from(&come);
            let pending = come.into_iter().map(|row| self.hand_over(row));
            futures_join(pending).await;
            if self.draining.is_cancelled() {
                return Ok(None);
            }
        }
    }

    /// What has come, and when the next entry of anyone this host works for will. Read in pages; of a store that
    /// several hosts share, the entries of others are passed over.
    async fn look_ahead(&self) -> Result<(Vec<DueRow>, Option<Timestamp>), holon_store::Error> {
        let now = self.ports.clock.now();
        let horizon = now.plus_millis(CLAMP_MS);
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let seen = self.take_backs.all();
            let page = self.store.due(horizon, after, HANDFUL).await?;
            for (agent_id, error) in page.unreadable {
                let error = Error::of_agent(&agent_id, error);
                let seen = seen.get(&agent_id).copied().unwrap_or(0);
                self.note_unreadable(&error, seen).await;
            }
            let mine = |row: &DueRow| self.covers(&row.agent_id);
            rows.extend(page.rows.into_iter().filter(mine));
            let later = rows.last().is_some_and(|row: &DueRow| row.at > now);
            if later || rows.len() >= HANDFUL || page.next.is_none() {
                break;
            }
            after = page.next;
        }
        let next = rows.iter().map(|row| row.at).find(|at| *at > now);
        rows.retain(|row| row.at <= now);
        Ok((rows, next))
    }

    async fn hand_over(&self, row: DueRow) {
        let DueRow {
            agent_id,
            id,
            at,
            due,
        } = row;
        self.settle(
            &agent_id,
            Input::DueCame {
                id,
                planned_at: at,
                due,
            },
        )
        .await;
    }

    /// Has the due loop look again at once.
    pub(crate) fn look_at_due(&self) {
        self.due_set.notify_one();
    }

    async fn sleep_towards(&self, at: Timestamp) {
        let latest = self.ports.clock.now().plus_millis(CLAMP_MS);
        tokio::select! {
            () = self.ports.clock.sleep_until(at.min(latest)) => {}
            () = self.due_set.notified() => {}
            () = self.draining.cancelled() => {}
        }
    }
}

/// Drives several futures together on this task, so that their inputs share a commit.
pub(crate) async fn futures_join<F: Future<Output = ()> + Send>(
    futures: impl IntoIterator<Item = F>,
) {
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
