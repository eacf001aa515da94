//! The due loop: one for the whole host. It sleeps until the earliest entry of the due-queue, hands what has come to
//! the kernel, and sleeps again. A jump of the clock costs at most one clamp of lateness.

use super::Shell;
use crate::error::Error;
use holon_core::Input;
use holon_domain::Timestamp;
use holon_store::{DueCursor, DueRow};

/// Longest sleep, so that a clock that jumped forward is noticed.
const CLAMP_MS: u64 = 60_000;
/// Entries handed over at once.
const HANDFUL: usize = 256;
/// Pause after a failed read.
const RETRY_MS: u64 = 1_000;

/// A page of the due-queue, as the loop sees it.
struct Handful {
    /// Entries whose time has come.
    come: Vec<DueRow>,
    /// When the first of the others comes, if it is on this page.
    next: Option<Timestamp>,
    /// Where the page behind this one begins, if more may have come.
    behind: Option<DueCursor>,
}

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
        let (mut before, mut after) = (Vec::new(), None);
        loop {
            let Handful { come, next, behind } = self.look_ahead(after).await?;
            if come.is_empty() && after.is_none() {
                return Ok(next);
            }
            // What was handed over is gone, unless it could not be written; then there is no hurry.
            if after.is_none() && come == before {
                self.pause(RETRY_MS).await;
            }
            if after.is_none() {
                before.clone_from(&come);
            }
            let pending = come.into_iter().map(|row| self.hand_over(row));
            futures_join(pending).await;
            if self.draining.is_cancelled() {
                return Ok(None);
            }
            // Entries that stay must not hide the ones behind them, so the whole queue is gone through before its
            // beginning is looked at again.
            after = behind;
        }
    }

    /// The first entries behind `after` that have come, and when the next one will.
    async fn look_ahead(&self, after: Option<DueCursor>) -> Result<Handful, holon_store::Error> {
        let now = self.ports.clock.now();
        let horizon = now.plus_millis(CLAMP_MS);
        let scope = self.conduct.scope.due_scope();
        let page = self.store.due(&scope, horizon, after, HANDFUL).await?;
        for (agent_id, error) in page.unreadable {
            self.note_unreadable(&Error::of_agent(&agent_id, error))
                .await;
        }
        let mut come = page.rows;
        let next = come.iter().map(|row| row.at).find(|at| *at > now);
        come.retain(|row| row.at <= now);
        Ok(Handful {
            come,
            behind: page.next.filter(|_| next.is_none()),
            next,
        })
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
