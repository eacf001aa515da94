//! What happens next: operators, outsiders, the clock, the disk and the process, by the dice.

use crate::plan::Fault;
use crate::rng::Rng;
use crate::violation::{Verdict, ensure, stored};
use crate::world::{Flight, Sent, World};
use holon_core::input::NewAgent;
use holon_core::{Input, Rejection};
use holon_domain::agent::{
    AgentIdentity, AgentKind, Lifecycle, Ownership, ProfilePreset, Visibility,
};
use holon_domain::model::ModelRef;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, limits};
use holon_engine::kernel::Refusal;
use holon_store::{DueRow, Removal};

/// Things that can happen, with how often they are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Perform,
    Admit,
    Due,
    Tick,
    Late,
    StopStart,
    Configure,
    Temporary,
    Delete,
    Crash,
    Restart,
    Trim,
    ClockJump,
    Continue,
    Remove,
}

const ACTS: [(Act, u64); 15] = [
    (Act::Perform, 40),
    (Act::Admit, 18),
    (Act::Due, 12),
    (Act::Tick, 6),
    (Act::Late, 6),
    (Act::StopStart, 4),
    (Act::Configure, 2),
    (Act::Temporary, 2),
    (Act::Delete, 1),
    (Act::Crash, 3),
    (Act::Restart, 2),
    (Act::Trim, 2),
    (Act::ClockJump, 2),
    (Act::Continue, 10),
    (Act::Remove, 10),
];

impl World {
    /// Does one thing.
    pub(crate) fn act(&mut self) -> Verdict<()> {
        self.steps += 1;
        match self.choose() {
            Act::Perform => self.perform_any(),
            Act::Admit => self.admit_any(),
            Act::Due => self.hand_over_due(),
            Act::Tick => {
                self.now = self.now.plus_millis(self.dice.below(2_000));
                Ok(())
            }
            Act::Late => self.deliver_late(),
            Act::StopStart if self.plan.has(Fault::StopStart) => self.stop_or_start(),
            Act::Configure => self.configure(),
            Act::Temporary => self.make_temporary(),
            Act::Delete if self.plan.has(Fault::Delete) => self.delete_any(),
            Act::Crash if self.plan.has(Fault::Crash) => {
                self.trace.note(|| "the process dies".to_owned());
                self.die()
            }
            Act::Restart if self.plan.has(Fault::Restart) => self.restart(),
            Act::Trim if self.plan.has(Fault::Retention) => self.trim(),
            Act::ClockJump if self.plan.has(Fault::ClockJump) => {
                let hours = self.dice.below(72);
                let back = Rng::percent(&mut self.dice, 50);
                self.jump(hours, back);
                Ok(())
            }
            Act::Continue => self.go_on(),
            Act::Remove => self.remove_rows(),
            Act::StopStart
            | Act::Delete
            | Act::Crash
            | Act::Restart
            | Act::Trim
            | Act::ClockJump => self.perform_any(),
        }
    }

    fn choose(&mut self) -> Act {
        let total: u64 = ACTS.iter().map(|(_, weight)| weight).sum();
        let mut left = self.dice.below(total);
        for (act, weight) in ACTS {
            if left < weight {
                return act;
            }
            left -= weight;
        }
        Act::Perform
    }

    fn jump(&mut self, hours: u64, back: bool) {
        self.trace
            .note(|| format!("the clock jumps {hours} h, back: {back}"));
        let millis = i64::try_from(hours * 3_600_000).unwrap_or(0);
        let now = self.now.as_millis() + if back { -millis } else { millis };
        self.now = holon_domain::Timestamp::from_millis(now);
    }

    pub(crate) fn any_agent(&mut self) -> Option<AgentId> {
        let names = self.model.names();
        names.get(self.dice.index(names.len())).cloned()
    }

    fn perform_any(&mut self) -> Verdict<()> {
        if self.flights.is_empty() {
            return Ok(());
        }
        let at = self.dice.index(self.flights.len());
        let flight: Flight = self.flights.remove(at);
        self.perform(flight)
    }

    /// The due loop: reads what has come and hands it over, sometimes after something else happened.
    pub(crate) fn hand_over_due(&mut self) -> Verdict<()> {
        if self.due.is_empty() {
            let reader = self.db.reader();
            if let Some(next) = stored(reader.next_due())? {
                self.now = self.now.max(next);
            }
            self.due = stored(reader.due(self.now, 256))?;
            if self.trouble(Fault::LateDue, 50) {
                return Ok(());
            }
        }
        while let Some(row) = self.due.pop() {
            self.hand_over(row)?;
            if self.trouble(Fault::LateDue, 30) {
                break;
            }
        }
        Ok(())
    }

    fn hand_over(&mut self, row: DueRow) -> Verdict<()> {
        let DueRow {
            agent_id,
            id,
            at,
            due,
        } = row;
        self.trace.note(|| format!("{agent_id} due {id} {due:?}"));
        let input = Input::DueCame {
            id,
            planned_at: at,
            due,
        };
        if self.trouble(Fault::Stale, 10) {
            self.late.push((agent_id.clone(), input.clone()));
        }
        self.settle(&agent_id, input)
    }

    /// Brings an outcome home as the shell does: a decision that panicked costs its turn.
    pub(crate) fn settle(&mut self, id: &AgentId, input: Input) -> Verdict<()> {
        match self.send(id, &input)? {
            Sent::Handled(_) | Sent::Died => Ok(()),
            Sent::Refused(refusal) => ensure(
                refusal == Refusal::NotFound,
                "outcomes are not refused",
                || format!("{refusal:?}"),
            ),
            Sent::Panicked => {
                if matches!(
                    input,
                    Input::HomePrepared { .. } | Input::HomeRemoved { .. }
                ) {
                    self.orphans.insert(id.clone());
                }
                self.trace.note(|| format!("{id} give up"));
                let message = "a decision panicked".to_owned();
                self.send(id, &Input::GiveUp { message }).map(|_| ())
            }
        }
    }

    /// Something comes that nobody waits for any more; it may be noted, but nothing may follow from it.
    fn deliver_late(&mut self) -> Verdict<()> {
        if self.late.is_empty() {
            return Ok(());
        }
        let at = self.dice.index(self.late.len());
        let (id, input) = self.late.swap_remove(at);
        self.trace.note(|| format!("{id} late {}", name_of(&input)));
        self.model.coverage.count("late_outcome");
        let (before, crashes) = (
            self.model.agent(&id).map(|known| known.record.clone()),
            self.crashes,
        );
        self.settle(&id, input)?;
        let after = self.model.agent(&id).map(|known| known.record.clone());
        let (Some(before), Some(after)) = (before, after) else {
            return Ok(());
        };
        let panicked = self.orphans.contains(&id) || before.generation != after.generation;
        let same = before.counters.log == after.counters.log
            && before.counters.effects == after.counters.effects
            && before.open_turn == after.open_turn
            && before.lifecycle == after.lifecycle;
        ensure(
            same || crashes != self.crashes || panicked,
            "nothing follows from a stale outcome",
            || format!("{before:?} became {after:?}"),
        )
    }

    fn stop_or_start(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let stops = self.dice.percent(50);
        self.control(&id, if stops { Input::Stop } else { Input::Start })
    }

    pub(crate) fn control(&mut self, id: &AgentId, input: Input) -> Verdict<()> {
        self.trace.note(|| format!("{id} {}", name_of(&input)));
        match self.send(id, &input)? {
            Sent::Handled(_) | Sent::Died | Sent::Panicked => Ok(()),
            Sent::Refused(Refusal::Rejected(Rejection::Deleting) | Refusal::NotFound) => Ok(()),
            Sent::Refused(refusal) => {
                ensure(false, "controls are not refused", || format!("{refusal:?}"))
            }
        }
    }

    fn configure(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let model = ModelRef::parse("sim/other").ok();
        let workspace = Some(WorkspaceEntry::agent_home(&format!(
            "/w/{}",
            self.dice.below(3)
        )));
        self.control(&id, Input::Configure { workspace, model })
    }

    /// A named agent.
    pub(crate) fn make_named(&mut self, number: u64) -> Verdict<()> {
        let Ok(agent_id) = AgentId::parse(&format!("agent-{number}")) else {
            return Ok(());
        };
        self.create(new_agent(AgentIdentity {
            agent_id,
            kind: AgentKind::Named,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            temporary: false,
        }))
    }

    fn make_temporary(&mut self) -> Verdict<()> {
        if self.model.names().len() > 6 {
            return Ok(());
        }
        let agent_id = AgentId::temporary("run", &mut self.dice);
        self.create(new_agent(AgentIdentity {
            agent_id,
            kind: AgentKind::Child,
            visibility: Visibility::Private,
            ownership: Ownership::ParentSupervised,
            profile_preset: ProfilePreset::PrivateChild,
            lineage_parent_agent_id: None,
            temporary: true,
        }))
    }

    fn delete_any(&mut self) -> Verdict<()> {
        match self.any_agent() {
            Some(id) => self.control(&id, Input::Delete),
            None => Ok(()),
        }
    }

    /// Ends in order: model calls are let go, commands that run get their time, then a new process takes over.
    fn restart(&mut self) -> Verdict<()> {
        self.trace.note(|| "restart".to_owned());
        self.model.coverage.count("restart");
        self.draining = true;
        let flights: Vec<Flight> = std::mem::take(&mut self.flights);
        let crashes = self.crashes;
        for flight in flights {
            if flight.runs_tool() && self.crashes == crashes {
                self.run_to_its_end(flight)?;
            }
        }
        // It died on the way out: then it has booted already.
        if self.crashes != crashes {
            return Ok(());
        }
        self.start_over()?;
        self.boot(true)
    }

    fn trim(&mut self) -> Verdict<()> {
        let (budget, keep) = (self.dice.below(20_000), self.dice.below(30));
        self.trace.note(|| format!("trim to {budget} bytes"));
        let trimmed = self
            .db
            .write(|tx| tx.trim_events(budget, keep, limits::RETENTION_STEP));
        let removed = trimmed.map_err(|error| crate::world::refused_by_store(&error))?;
        if removed > 0 {
            self.model.coverage.count("trimmed");
        }
        Ok(())
    }

    pub(crate) fn go_on(&mut self) -> Verdict<()> {
        match self.unfinished.pop() {
            Some(id) => self.settle(&id, Input::Continue),
            None => Ok(()),
        }
    }

    pub(crate) fn remove_rows(&mut self) -> Verdict<()> {
        let Some(id) = self.going.pop() else {
            return Ok(());
        };
        let some = 1 + self.dice.below(30);
        self.trace.note(|| format!("{id} {some} rows go"));
        let removal = self.db.write(|tx| match tx.agent(&id)? {
            Some((no, _)) => tx.remove_agent_rows(no, some),
            None => Ok(Removal::Done),
        });
        if removal.map_err(|error| crate::world::refused_by_store(&error))? == Removal::More {
            self.going.push(id.clone());
        }
        self.observe(&id)
    }

    /// Whether an agent may take messages.
    pub(crate) fn takes_messages(&self, id: &AgentId) -> bool {
        self.model.agent(id).is_some_and(|known| {
            matches!(
                known.record.lifecycle,
                Lifecycle::Booting | Lifecycle::Runnable
            )
        })
    }
}

fn new_agent(identity: AgentIdentity) -> NewAgent {
    let agent_home = format!("/agents/{}", identity.agent_id);
    NewAgent {
        workspace: WorkspaceEntry::agent_home(&agent_home),
        agent_home,
        identity,
        model: None,
    }
}

/// A short name for the trace.
pub(crate) const fn name_of(input: &Input) -> &'static str {
    match input {
        Input::Admit(_) => "admit",
        Input::Configure { .. } => "configure",
        Input::HomePrepared { .. } => "home prepared",
        Input::HomeRemoved { .. } => "home removed",
        Input::RoundAnswered { .. } => "round answered",
        Input::RoundFailed { .. } => "round failed",
        Input::ToolFinished { .. } => "tool finished",
        Input::DueCame { .. } => "due came",
        Input::Start => "start",
        Input::Stop => "stop",
        Input::Delete => "delete",
        Input::Recover { .. } => "recover",
        Input::GiveUp { .. } => "give up",
        Input::Continue => "continue",
    }
}
