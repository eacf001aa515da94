//! Steps of the wall clock, the host's reaction, and the rule for them: no pause is longer than it was set for, or
//! twice that over a reboot.

use crate::rng::Rng;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::Input;
use holon_core::input::{RunningPause, SlotAhead};
use holon_domain::timer::{DueAction, DueTime, Pause, Slot};
use holon_domain::{AgentId, Timestamp, limits};
use holon_store::{DueCursor, DueRow, DueScope};
use std::collections::BTreeMap;

/// Begins the name of a slot of a timer.
const SLOT: &str = "slot of ";

/// Key of a pause: an agent has at most one pause per kind and subject.
type PauseKey = (AgentId, String);

fn kind_of(due: &DueAction) -> String {
    let kind = match due {
        DueAction::RestOver { .. } => "rest",
        DueAction::ProviderPauseOver { .. } => "backoff",
        DueAction::PaceOver => "pace",
        DueAction::RemovalRetry => "removal",
        DueAction::WorkTick => "work tick",
        DueAction::HintTick => "hint tick",
        DueAction::CatchUp => "unpark",
        DueAction::DeliveryRetry { route } => return format!("delivery to {}", route.key()),
        DueAction::Recheck { work_item_id } => return format!("recheck of {work_item_id}"),
        DueAction::WaitOver { wait_id } => return format!("end of {wait_id}"),
        DueAction::TimerFire { timer_id, .. } => return format!("{SLOT}{timer_id}"),
    };
    kind.to_owned()
}

impl World {
    /// Moves the wall clock by hours or by a year.
    pub(crate) fn jump_clock(&mut self) -> Verdict<()> {
        let hours = if self.dice.percent(20) {
            365 * 24
        } else {
            self.dice.below(72)
        };
        let back = Rng::percent(&mut self.dice, 50);
        self.trace
            .note(|| format!("the clock jumps {hours} h, back: {back}"));
        let millis = hours * 3_600_000;
        if !back {
            self.now = self.now.plus_millis(millis);
            return Ok(());
        }
        let left = self.left_of_pauses()?;
        self.now = self.now.minus_millis(millis);
        let crashes = self.crashes;
        self.plan_pauses_anew(millis)?;
        // The next process has not seen the step; its boot checks what is left of the pauses.
        if self.crashes != crashes {
            return Ok(());
        }
        if !left.is_empty() {
            self.model.coverage.count("paused_clock_set_back");
        }
        for (key, left_now) in self.left_of_pauses()? {
            let Some(before) = left.get(&key) else {
                continue;
            };
            // The slot of an interval moves by a few milliseconds where it would meet slots that came.
            let moved = match key.1.starts_with(SLOT) {
                true => limits::SLOT_RUNS_KEPT as u64,
                false => 0,
            };
            ensure(
                left_now <= *before + moved,
                "no pause is longer than it was set for",
                || format!("{key:?}: {left_now} ms left instead of {before}"),
            )?;
        }
        Ok(())
    }

    /// Restarts pauses that seem to be set in the future, as a host does at boot.
    pub(crate) fn check_clock_at_boot(&mut self) -> Verdict<()> {
        let crashes = self.crashes;
        self.plan_pauses_anew(0)?;
        if self.crashes != crashes {
            return Ok(());
        }
        for row in self.pauses()? {
            let (pause, left) = (row.1, row.1.ends_at().millis_since(self.now));
            let moved = match &row.0.due {
                DueAction::TimerFire { .. } => limits::SLOT_RUNS_KEPT as u64,
                _ => 0,
            };
            ensure(
                left <= pause.length_ms + moved,
                "over a reboot a pause takes at most its length once more",
                || format!("{:?}: {left} ms left", row.0),
            )?;
        }
        Ok(())
    }

    /// Replans pauses as the shell does, but one by one for each agent.
    fn plan_pauses_anew(&mut self, by_ms: u64) -> Verdict<()> {
        let crashes = self.crashes;
        for (row, pause) in self.pauses()? {
            if pause.shift_after_step_back(by_ms, self.now).is_none() {
                continue;
            }
            let (id, due) = (row.id, row.due);
            let input = Input::ClockSetBack {
                by_ms,
                since: self.now,
                pauses: vec![RunningPause { id, pause, due }],
                slots: Vec::new(),
            };
            self.deliver_outcome(&row.agent_id, input)?;
            if self.crashes != crashes {
                return Ok(());
            }
        }
        for (row, slot) in self.slots_ahead()? {
            let (id, at, due) = (row.id, slot.at, row.due);
            let input = Input::ClockSetBack {
                by_ms,
                since: self.now,
                pauses: Vec::new(),
                slots: vec![SlotAhead { id, at, due }],
            };
            self.deliver_outcome(&row.agent_id, input)?;
            if self.crashes != crashes {
                return Ok(());
            }
        }
        // Due entries that were read before the step are read again.
        self.due.clear();
        Ok(())
    }

    /// Returns every slot that was planned by a clock that was ahead of the current one.
    fn slots_ahead(&mut self) -> Verdict<Vec<(DueRow, Slot)>> {
        let now = self.now;
        let rows = self.later_entries()?.into_iter();
        let slots = rows.filter_map(|row| match row.time {
            DueTime::Slot(slot) if slot.is_planned_ahead_of(now) => Some((row, slot)),
            DueTime::Slot(_) | DueTime::Pause(_) => None,
        });
        Ok(slots.collect())
    }

    /// Returns every pause that has not ended by the current clock.
    fn pauses(&mut self) -> Verdict<Vec<(DueRow, Pause)>> {
        let rows = self.later_entries()?.into_iter();
        let pauses = rows.filter_map(|row| match row.time {
            DueTime::Pause(pause) => Some((row, pause)),
            DueTime::Slot(_) => None,
        });
        Ok(pauses.collect())
    }

    /// Returns every entry that is not due by the current clock.
    fn later_entries(&mut self) -> Verdict<Vec<DueRow>> {
        let end = Timestamp::from_millis(i64::MAX);
        let after = Some(DueCursor::later_than(self.now));
        let page = self.read(|reader| reader.due(&DueScope::All, end, after, usize::MAX))?;
        for (id, error) in &page.unreadable {
            self.note_unreadable(id, error)?;
        }
        Ok(page.rows)
    }

    fn left_of_pauses(&mut self) -> Verdict<BTreeMap<PauseKey, u64>> {
        let left = self.pauses()?.into_iter().map(|(row, pause)| {
            let left = pause.ends_at().millis_since(self.now);
            ((row.agent_id, kind_of(&row.due)), left)
        });
        Ok(left.collect())
    }
}
