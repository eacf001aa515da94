//! A noisy neighbour: one agent with many timers of a second beside the timer of another.
//!
//! Rule: entries are handed over in small passes, and no agent has a second place in a pass while another one with a due
//! entry has none.

use crate::plan::Fault;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::due_order::fair_order;
use holon_core::input::WorkCommand;
use holon_domain::AgentId;
use holon_domain::intent::NewTimer;
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_store::DueRow;
use std::collections::BTreeMap;

/// Timers of the noisy agent.
const TIMERS: u64 = 12;
const SECOND_MS: u64 = 1_000;
/// Interval of the timer of its neighbour, which comes due together with noise.
const NEIGHBOUR_MS: u64 = 30 * SECOND_MS;
/// Most entries of a pass. Fewer than the noisy agent has.
const ROOM: u64 = 8;

impl World {
    /// Sets the timers of the noisy agent and the one of its neighbour.
    pub(crate) fn make_noise(&mut self) -> Verdict<()> {
        if !self.plan.has(Fault::Noisy) {
            return Ok(());
        }
        for _ in 0..TIMERS {
            self.set_interval("agent-0", SECOND_MS)?;
        }
        self.set_interval("agent-1", NEIGHBOUR_MS)
    }

    fn set_interval(&mut self, name: &str, interval_ms: u64) -> Verdict<()> {
        let Ok(id) = AgentId::parse(name) else {
            return Ok(());
        };
        let timer = NewTimer {
            schedule: TimerSchedule::Every {
                first_at: self.now.plus_millis(SECOND_MS),
                interval_ms,
            },
            missed: MissedSlotPolicy::Once,
            summary: None,
        };
        self.send_command(&id, WorkCommand::CreateTimer(timer))
    }

    /// Keeps of the due entries those of the next pass, as the due loop chooses them.
    pub(crate) fn choose_pass(&mut self) -> Verdict<()> {
        let room = 1 + self.dice.below(ROOM);
        let room = usize::try_from(room).unwrap_or(1);
        let due = std::mem::take(&mut self.due);
        let entries = due.iter().map(|row| (&row.agent_id, row.time.at(), row.id));
        let order = fair_order(entries, room);
        let pass: Vec<DueRow> = order
            .iter()
            .filter_map(|at| due.get(*at).cloned())
            .collect();
        self.check_fairness(&due, &pass)?;
        // The first of a pass is taken from the end.
        self.due = pass.into_iter().rev().collect();
        Ok(())
    }

    fn check_fairness(&mut self, due: &[DueRow], pass: &[DueRow]) -> Verdict<()> {
        let mut places: BTreeMap<&AgentId, usize> = BTreeMap::new();
        for row in due {
            places.entry(&row.agent_id).or_default();
        }
        for row in pass {
            *places.entry(&row.agent_id).or_default() += 1;
        }
        if places.len() > 1 && due.len() > pass.len() {
            self.model.coverage.count("due:beside_noise");
        }
        let is_left_out = places.values().any(|count| *count == 0);
        ensure(
            !is_left_out || places.values().all(|count| *count <= 1),
            "no agent is served twice in a pass that leaves another one out",
            || format!("{places:?}"),
        )
    }
}
