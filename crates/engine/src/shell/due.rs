//! The due loop, one for the whole host. It sleeps until the earliest entry of the due queue, hands due entries to the
//! kernel in small passes that are fair between agents, and sleeps again. Entries on time are never held back; overdue
//! ones take tokens. It sleeps by the monotonic clock, so a step of the wall clock is detected at the next entry or after
//! the longest sleep.

mod bucket;
mod pass;

use self::bucket::TokenBucket;
use self::pass::{FairRound, PassCandidates, StayingEntries};
use super::{ClockWatch, Shell};
use holon_core::Input;
use holon_domain::{AgentId, Timestamp, limits};
use holon_store::{DueCursor, DueRow};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest sleep, so that a clock that jumped forward is detected.
const CLAMP_MS: u64 = 60_000;
/// Number of entries read at once.
pub(super) const DUE_PAGE_SIZE: usize = 256;
/// Pause after a failed read, and before entries that stay are tried again, in milliseconds.
pub(super) const RETRY_MS: u64 = 1_000;
/// Tokens that the loop waits for before it takes overdue entries, so that these share a commit.
const OVERDUE_TOGETHER: u32 = 32;

/// What the loop remembers from one pass to the next.
#[derive(Debug, Default)]
struct DueState {
    on_time: FairRound,
    overdue: FairRound,
    bucket: TokenBucket,
    staying: StayingEntries,
    /// Time at which the entries that stay are tried again; set once they alone are due.
    retry_at: Option<Duration>,
}

/// The part of the due queue that a pass reads.
struct DueWindow {
    after: Option<DueCursor>,
    /// Entries up to this time are due.
    due_until: Timestamp,
    /// Entries up to this time are read, for the time of the next one.
    read_until: Timestamp,
    room: usize,
}

/// The entries of one part of the due queue that are handed over next.
struct DueRead {
    pass: Vec<DueRow>,
    /// Entries were left out that another pass takes.
    has_more: bool,
    /// Time of the first entry that is not due.
    next: Option<Timestamp>,
}

/// The next step of the loop.
#[derive(Debug)]
enum NextPass {
    AtOnce,
    /// At this time of the monotonic clock, unless the loop is woken before.
    At(Duration),
}

/// Agents whose decision about a due entry failed. Their entries are passed over while the fault is handled, so that it
/// delays no other agent.
#[derive(Debug, Default)]
pub(super) struct FaultyAgents(Mutex<BTreeSet<AgentId>>);

impl FaultyAgents {
    fn all(&self) -> BTreeSet<AgentId> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns false if the agent was there already.
    fn add(&self, agent_id: &AgentId) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(agent_id.clone())
    }

    fn remove(&self, agent_id: &AgentId) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(agent_id);
    }
}

impl Shell {
    pub(crate) async fn run_due_loop(self, mut watch: ClockWatch) {
        let mut state = DueState::default();
        while !self.draining.is_cancelled() {
            match self.run_due_pass(&mut watch, &mut state).await {
                Ok(NextPass::AtOnce) => {}
                Ok(NextPass::At(until)) => self.sleep_until_due(until).await,
                Err(error) => {
                    tracing::warn!(%error, "the due-queue could not be read");
                    self.pause(RETRY_MS).await;
                }
            }
        }
    }

    /// Hands one pass of due entries to the kernel and waits for its commit.
    async fn run_due_pass(
        &self,
        watch: &mut ClockWatch,
        state: &mut DueState,
    ) -> Result<NextPass, holon_store::Error> {
        self.check_clock_step(watch).await;
        let elapsed = watch.elapsed_at(Some(watch.wall), CLAMP_MS);
        if state.retry_at.is_some_and(|at| at <= elapsed) {
            state.retry_at = None;
            state.staying.release();
        }
        let on_time = self.read_on_time(watch.wall, state).await?;
        let overdue = self.read_overdue(watch.wall, elapsed, state).await?;
        let (next, has_more) = (on_time.next, on_time.has_more || overdue.has_more);
        let mut pass = on_time.pass;
        pass.extend(overdue.pass);
        state.staying.note_pass(&pass);
        if !pass.is_empty() {
            join_all(pass.into_iter().map(|row| self.hand_over(row))).await;
            return Ok(NextPass::AtOnce);
        }
        if has_more {
            return Ok(NextPass::AtOnce);
        }
        if !state.staying.is_empty() {
            let retry = elapsed + Duration::from_millis(RETRY_MS);
            state.retry_at.get_or_insert(retry);
        }
        let tokens_at = state.bucket.holds_at(OVERDUE_TOGETHER);
        let wakes = [state.retry_at, Some(tokens_at).filter(|at| *at > elapsed)];
        let until = watch.elapsed_at(next, CLAMP_MS);
        Ok(NextPass::At(
            wakes.into_iter().flatten().fold(until, Duration::min),
        ))
    }

    /// Reads the entries that are due and not overdue, and the time of the next one.
    async fn read_on_time(
        &self,
        now: Timestamp,
        state: &mut DueState,
    ) -> Result<DueRead, holon_store::Error> {
        let window = DueWindow {
            after: Some(DueCursor::later_than(now.minus_millis(limits::OVERDUE_MS))),
            due_until: now,
            read_until: now.plus_millis(CLAMP_MS),
            room: limits::DUE_PASS,
        };
        self.read_due(window, &mut state.on_time, &mut state.staying)
            .await
    }

    /// Reads as many overdue entries as there are tokens.
    async fn read_overdue(
        &self,
        now: Timestamp,
        elapsed: Duration,
        state: &mut DueState,
    ) -> Result<DueRead, holon_store::Error> {
        let tokens = state.bucket.room(elapsed);
        let until = now.minus_millis(limits::OVERDUE_MS);
        let window = DueWindow {
            after: None,
            due_until: until,
            read_until: until,
            room: usize::try_from(tokens).unwrap_or(limits::DUE_PASS),
        };
        if tokens < OVERDUE_TOGETHER {
            return Ok(DueRead {
                pass: Vec::new(),
                has_more: false,
                next: None,
            });
        }
        let read = self
            .read_due(window, &mut state.overdue, &mut state.staying)
            .await?;
        let taken = u32::try_from(read.pass.len()).unwrap_or(u32::MAX);
        state.bucket.take(taken, elapsed);
        Ok(read)
    }

    /// Reads due entries until as many agents have one as the window has room for.
    async fn read_due(
        &self,
        window: DueWindow,
        round: &mut FairRound,
        staying: &mut StayingEntries,
    ) -> Result<DueRead, holon_store::Error> {
        let mut candidates = PassCandidates::new(window.room);
        let mut skipped = &self.faulty.all() | round.served();
        let (mut after, mut next) = (window.after, None);
        let mut of_first_page = None;
        loop {
            let scope = self.due_scope().without(&skipped);
            let seen = self.take_backs.all();
            let page = self
                .store
                .due(&scope, window.read_until, after, DUE_PAGE_SIZE)
                .await?;
            for (agent_id, error) in page.unreadable {
                let seen = seen.get(&agent_id).copied().unwrap_or(0);
                self.note_read_failure(&agent_id, error, seen).await;
            }
            for row in page.rows {
                if row.time.at() > window.due_until {
                    next = Some(row.time.at());
                    break;
                }
                if !staying.holds_back(&row) {
                    candidates.add(row);
                }
            }
            after = page.next;
            if after.is_none() || next.is_some() || candidates.is_full() {
                break;
            }
            // The other entries of an agent with many must not hide those behind them.
            skipped.extend(candidates.crowded().cloned());
            of_first_page.get_or_insert(candidates.len());
            after = after.map(|after| round.read_on(after, &skipped, window.due_until));
        }
        if of_first_page.is_some_and(|count| count == candidates.len()) {
            round.note_clear(skipped, window.due_until);
        }
        let had_served = !round.served().is_empty();
        Ok(DueRead {
            pass: round.choose(candidates),
            has_more: had_served && round.served().is_empty(),
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
        let input = Arc::new(Input::DueCame {
            id,
            planned_at: time.at(),
            due,
        });
        let Err(fault) = self.submit_or_fault(&agent_id, &input).await else {
            return;
        };
        if !self.faulty.add(&agent_id) {
            return;
        }
        let shell = self.clone();
        self.spawn(async move {
            shell.handle_fault(&agent_id, &input, fault).await;
            shell.faulty.remove(&agent_id);
            shell.wake_due_loop();
        });
    }

    /// Wakes the due loop, so that it reads the queue again at once.
    pub(crate) fn wake_due_loop(&self) {
        self.due_set.notify_one();
    }

    /// Sleeps until this time, or until an earlier entry is set.
    async fn sleep_until_due(&self, until: Duration) {
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
