//! Detects steps of the wall clock against the monotonic clock, and tells the agents whose pauses are running.
//!
//! A pause is a duration, so a clock that is set back must not lengthen it. The agents replan their pauses by their own
//! decisions. A pause that is set between a step and its detection may end early, never late.

use super::Shell;
use super::due::{DUE_PAGE_SIZE, RETRY_MS, join_all};
use crate::error::Error;
use crate::ports::Clock;
use holon_core::Input;
use holon_core::input::RunningPause;
use holon_domain::timer::DueTime;
use holon_domain::{AgentId, Timestamp, limits};
use holon_store::{DueCursor, DuePage};
use std::collections::BTreeMap;
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

    /// Returns by how many milliseconds the wall clock was set back since the last call, if it was.
    fn step_back(&mut self, clock: &dyn Clock) -> Option<u64> {
        let before = std::mem::replace(self, Self::begin(clock));
        let passed = self.elapsed.saturating_sub(before.elapsed).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        let by_ms = before.wall.plus_millis(passed).millis_since(self.wall);
        (by_ms > limits::CLOCK_STEP_MS).then_some(by_ms)
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
        self.replan_pauses(0).await;
        Ok(())
    }

    /// Checks if the wall clock was set back, and tells the agents whose pauses are running.
    pub(super) async fn check_clock_step(&self, watch: &mut ClockWatch) {
        if let Some(by_ms) = watch.step_back(self.ports.clock.as_ref()) {
            let now = self.ports.clock.now();
            tracing::warn!(%now, by_ms, "the clock was set back; running pauses are planned anew");
            self.replan_pauses(by_ms).await;
        }
    }

    /// Replans all pauses that are not over, a page at a time.
    async fn replan_pauses(&self, by_ms: u64) {
        // A pause that is over by the current clock fires by itself.
        let mut after = Some(DueCursor::later_than(self.ports.clock.now()));
        while let Some(cursor) = after
            && !self.draining.is_cancelled()
        {
            let end = Timestamp::from_millis(i64::MAX);
            let scope = self.due_scope();
            match self
                .store
                .due(&scope, end, Some(cursor), DUE_PAGE_SIZE)
                .await
            {
                Ok(page) => after = self.replan_page(page, by_ms).await,
                // Continues at the cursor: a page that was replanned already must not be moved twice.
                Err(error) => {
                    tracing::warn!(%error, "the pauses could not be read");
                    self.pause(RETRY_MS).await;
                }
            }
        }
    }

    async fn replan_page(&self, page: DuePage, by_ms: u64) -> Option<DueCursor> {
        let now = self.ports.clock.now();
        let mut running: BTreeMap<AgentId, Vec<RunningPause>> = BTreeMap::new();
        for row in page.rows {
            match row.time {
                DueTime::Pause(pause) if pause.shift_after_step_back(by_ms, now).is_some() => {
                    let (id, due) = (row.id, row.due);
                    let entry = running.entry(row.agent_id).or_default();
                    entry.push(RunningPause { id, pause, due });
                }
                DueTime::Pause(_) | DueTime::Slot(_) => {}
            }
        }
        let told = running.into_iter().map(|(agent_id, pauses)| async move {
            let input = Input::ClockSetBack { by_ms, pauses };
            self.submit_until_committed(&agent_id, input).await;
        });
        join_all(told).await;
        page.next
    }
}
