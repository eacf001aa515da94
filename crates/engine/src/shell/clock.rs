//! Detects steps of the wall clock against the monotonic clock, and tells the agents whose pauses are running or whose
//! slots were planned by the clock before.
//!
//! A pause is a duration, so a clock that is set back must not lengthen it. A slot that was planned by a clock that was
//! ahead may be further away than the next one. The agents replan both by their own decisions. A pause that is set
//! between a step and its detection may end early, never late. Slots are planned from the last reading before the step,
//! because some may have come between the step and its detection.

use super::Shell;
use super::due::{DUE_PAGE_SIZE, RETRY_MS, join_all};
use crate::error::Error;
use crate::ports::Clock;
use holon_core::Input;
use holon_core::input::{RunningPause, SlotAhead};
use holon_domain::timer::DueTime;
use holon_domain::{AgentId, Timestamp, limits};
use holon_store::{DueCursor, DuePage, DueScope};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Two readings that lie further apart than this do not describe one moment.
const READING: Duration = Duration::from_millis(20);
/// Number of attempts to read both clocks in one moment.
const READINGS: usize = 5;

/// Both clocks as they were last read in one moment.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    pub(super) wall: Timestamp,
    elapsed: Duration,
}

impl ClockWatch {
    /// Reads both clocks, retrying if the process was delayed in between.
    pub(crate) fn begin(clock: &dyn Clock) -> Self {
        let mut read = Self::read(clock);
        for _ in 1..READINGS {
            if clock.elapsed().saturating_sub(read.elapsed) <= READING {
                break;
            }
            read = Self::read(clock);
        }
        read
    }

    fn read(clock: &dyn Clock) -> Self {
        Self {
            elapsed: clock.elapsed(),
            wall: clock.now(),
        }
    }

    /// Converts a wall clock time to monotonic time by this reading, at most `most_ms` after it. A later step of the
    /// wall clock does not move the result.
    pub(super) fn elapsed_at(&self, at: Option<Timestamp>, most_ms: u64) -> Duration {
        let length = at.map_or(most_ms, |at| at.millis_since(self.wall).min(most_ms));
        self.elapsed + Duration::from_millis(length)
    }

    /// Returns how the wall clock was set back since the last call, if it was.
    fn step_back(&mut self, clock: &dyn Clock) -> Option<StepBack> {
        let before = std::mem::replace(self, Self::begin(clock));
        let passed = self.elapsed.saturating_sub(before.elapsed).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        let by_ms = before.wall.plus_millis(passed).millis_since(self.wall);
        let since = self.wall.minus_millis(passed);
        (by_ms > limits::CLOCK_STEP_MS).then_some(StepBack { by_ms, since })
    }
}

/// A step of the wall clock.
#[derive(Debug, Clone, Copy)]
struct StepBack {
    /// 0 if no process observed the step.
    by_ms: u64,
    /// Time of the last reading before the step, by the clock after it.
    since: Timestamp,
}

impl StepBack {
    /// A step that no process observed.
    const fn unobserved(now: Timestamp) -> Self {
        Self {
            by_ms: 0,
            since: now,
        }
    }
}

impl Shell {
    /// Handles a clock that was set back while no host ran: pauses that seem to begin in the future begin now. Runs
    /// before recovery, whose events carry the current time.
    pub(crate) async fn check_clock_at_boot(&self) -> Result<(), Error> {
        let now = self.ports.clock.now();
        if let Some(newest) = self.store.newest_event_at().await?
            && now < newest
        {
            let behind_ms = newest.millis_since(now);
            tracing::warn!(%now, %newest, behind_ms, "the clock was set back: it is before the newest event");
        }
        self.replan_pauses(&self.due_scope(), StepBack::unobserved(now))
            .await;
        Ok(())
    }

    /// Replans the pauses and slots of an agent that was aside while the clock may have been set back. How far is not
    /// known, as after a restart. What a crash before this leaves is replanned at the next boot.
    pub(super) async fn replan_after_aside(&self, agent_id: &AgentId) {
        let scope = DueScope::Only(BTreeSet::from([agent_id.clone()]));
        let step = StepBack::unobserved(self.ports.clock.now());
        self.replan_pauses(&scope, step).await;
    }

    /// Checks if the wall clock was set back, and tells the agents whose pauses are running.
    pub(super) async fn check_clock_step(&self, watch: &mut ClockWatch) {
        if let Some(step) = watch.step_back(self.ports.clock.as_ref()) {
            let (now, by_ms) = (self.ports.clock.now(), step.by_ms);
            tracing::warn!(%now, by_ms, "the clock was set back; pauses and slots are planned anew");
            self.replan_pauses(&self.due_scope(), step).await;
        }
    }

    /// Replans all pauses of a scope that are not over, a page at a time.
    async fn replan_pauses(&self, scope: &DueScope, step: StepBack) {
        // A pause that is over by the current clock fires by itself.
        let mut after = Some(DueCursor::later_than(self.ports.clock.now()));
        while let Some(cursor) = after
            && !self.draining.is_cancelled()
        {
            let end = Timestamp::from_millis(i64::MAX);
            match self
                .store
                .due(scope, end, Some(cursor), DUE_PAGE_SIZE)
                .await
            {
                Ok(page) => after = self.replan_page(page, step).await,
                // Continues at the cursor: a page that was replanned already must not be moved twice.
                Err(error) => {
                    tracing::warn!(%error, "the pauses could not be read");
                    self.pause(RETRY_MS).await;
                }
            }
        }
    }

    async fn replan_page(&self, page: DuePage, step: StepBack) -> Option<DueCursor> {
        let StepBack { by_ms, since } = step;
        let now = self.ports.clock.now();
        let mut moved: BTreeMap<AgentId, (Vec<RunningPause>, Vec<SlotAhead>)> = BTreeMap::new();
        for row in page.rows {
            match row.time {
                DueTime::Pause(pause) if pause.shift_after_step_back(by_ms, now).is_some() => {
                    let (id, due) = (row.id, row.due);
                    let (pauses, _) = moved.entry(row.agent_id).or_default();
                    pauses.push(RunningPause { id, pause, due });
                }
                DueTime::Slot(slot) if slot.is_planned_ahead_of(now) => {
                    let (id, at, due) = (row.id, slot.at, row.due);
                    let (_, slots) = moved.entry(row.agent_id).or_default();
                    slots.push(SlotAhead { id, at, due });
                }
                DueTime::Pause(_) | DueTime::Slot(_) => {}
            }
        }
        let told = moved
            .into_iter()
            .map(|(agent_id, (pauses, slots))| async move {
                let input = Input::ClockSetBack {
                    by_ms,
                    since,
                    pauses,
                    slots,
                };
                self.submit_until_committed(&agent_id, input).await;
            });
        join_all(told).await;
        page.next
    }
}
