//! Chooses the next event of a run by the dice: operators, outside senders, the clock, the disk and the process.

use crate::flight::Flight;
use crate::observed_agent::ObservedAgent;
use crate::plan::Fault;
use crate::store::{now, refused_by_store};
use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World};
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use holon_engine::kernel::Refusal;
use holon_store::{DueRow, Removal, Store};

/// An event that can happen in a run. `ACTS` holds the weight of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Perform,
    Admit,
    Due,
    Tick,
    Late,
    StopStart,
    Configure,
    Workspace,
    Temporary,
    Delete,
    Crash,
    Restart,
    Trim,
    ClockJump,
    Continue,
    Remove,
    Lose,
    Defer,
    Damage,
    TakeBack,
    Outage,
    Burst,
    Work,
    Timer,
    Hint,
    Callback,
    Down,
    TaskStart,
}

const ACTS: [(Act, u64); 28] = [
    (Act::Perform, 40),
    (Act::Admit, 18),
    (Act::Due, 12),
    (Act::Tick, 6),
    (Act::Late, 6),
    (Act::StopStart, 4),
    (Act::Configure, 2),
    (Act::Workspace, 3),
    (Act::Temporary, 2),
    (Act::Delete, 2),
    (Act::Crash, 3),
    (Act::Restart, 2),
    (Act::Trim, 2),
    (Act::ClockJump, 2),
    (Act::Continue, 10),
    (Act::Remove, 10),
    (Act::Lose, 2),
    (Act::Defer, 3),
    (Act::Damage, 3),
    (Act::TakeBack, 4),
    (Act::Outage, 4),
    (Act::Burst, 1),
    (Act::Work, 5),
    (Act::Timer, 4),
    (Act::Hint, 6),
    (Act::Callback, 6),
    (Act::Down, 2),
    (Act::TaskStart, 3),
];

impl World {
    /// Performs one random event.
    pub(crate) fn act(&mut self) -> Verdict<()> {
        self.steps += 1;
        match self.choose() {
            Act::Perform => self.perform_any(),
            // A restless agent without other input answers only its own messages.
            Act::Admit if self.plan.has(Fault::Restless) && self.dice.percent(80) => {
                self.hand_over_due()
            }
            Act::Admit => self.admit_any(),
            Act::Due => self.hand_over_due(),
            Act::Tick => {
                let millis = self.dice.below(2_000);
                self.advance(millis);
                Ok(())
            }
            Act::Late => self.deliver_late(),
            Act::StopStart if self.plan.has(Fault::StopStart) && self.dice.percent(30) => {
                self.abort_any()
            }
            Act::StopStart
                if self.plan.has(Fault::StopStart)
                    && self.plan.has(Fault::Long)
                    && self.dice.percent(30) =>
            {
                self.stop_any_task()
            }
            Act::TaskStart if self.plan.has(Fault::Long) => self.start_any_task(),
            Act::StopStart if self.plan.has(Fault::StopStart) => self.stop_or_start(),
            Act::Configure => self.configure(),
            Act::Workspace => self.command_workspace(),
            Act::Temporary => self.make_temporary(),
            Act::Delete if self.plan.has(Fault::Delete) => self.delete_any(),
            Act::Crash if self.plan.has(Fault::Crash) => {
                self.trace.note(|| "the process dies".to_owned());
                self.die()
            }
            Act::Restart if self.plan.has(Fault::Restart) => self.restart(),
            Act::Trim if self.plan.has(Fault::Retention) => self.trim(),
            Act::ClockJump if self.plan.has(Fault::ClockJump) => self.jump_clock(),
            Act::Continue => self.send_continue(),
            Act::Remove => self.remove_rows(),
            Act::Lose if self.plan.has(Fault::Lost) => {
                self.lose_any();
                Ok(())
            }
            Act::Defer if self.plan.has(Fault::Messages) => self.defer_any(),
            Act::Damage if self.plan.has(Fault::Damage) => self.damage_any(),
            Act::TakeBack => self.take_back_any(),
            Act::Outage if self.plan.has(Fault::Outage) => {
                self.change_outage();
                Ok(())
            }
            Act::Burst if self.plan.has(Fault::Burst) => self.burst(),
            Act::Work if self.plan.has(Fault::Work) => self.command_work(),
            Act::Timer if self.plan.has(Fault::Timers) => self.command_timer(),
            Act::Hint if self.plan.has(Fault::Hints) => self.hint_any(),
            Act::Callback if self.plan.has(Fault::Hints) => self.callback_any(),
            Act::Down if self.plan.has(Fault::Downtime) => self.go_down(),
            Act::StopStart
            | Act::Damage
            | Act::Delete
            | Act::Crash
            | Act::Restart
            | Act::Trim
            | Act::ClockJump
            | Act::Lose
            | Act::Defer
            | Act::Outage
            | Act::Burst
            | Act::Work
            | Act::Timer
            | Act::Hint
            | Act::Callback
            | Act::TaskStart
            | Act::Down => self.perform_any(),
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

    /// Kills the shim of some running command without an exit record.
    fn lose_any(&mut self) {
        let names: Vec<String> = self
            .tool_world
            .commands
            .running()
            .map(|(n, _)| n.clone())
            .collect();
        let Some(name) = names.get(self.dice.index(names.len())) else {
            return;
        };
        self.trace.note(|| format!("the shim of {name} dies"));
        self.model.coverage.count("shim_died");
        self.tool_world.commands.lose(name);
    }

    pub(crate) fn any_agent(&mut self) -> Option<AgentId> {
        let names = self.model.public_names();
        names.get(self.dice.index(names.len())).cloned()
    }

    fn perform_any(&mut self) -> Verdict<()> {
        if self.flights.is_empty() {
            return self.admit_any();
        }
        let at = self.dice.index(self.flights.len());
        let flight: Flight = self.flights.remove(at);
        self.perform(flight)
    }

    /// Runs the due loop: reads due entries and hands them over, sometimes after other events happened.
    pub(crate) fn hand_over_due(&mut self) -> Verdict<()> {
        if self.due.is_empty() {
            if let Some(next) = self.next_due()? {
                self.advance(next.millis_since(self.now));
            }
            self.due = self.read_due()?;
            if self.plan.has(Fault::Noisy) {
                self.choose_pass()?;
            }
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

    /// Hands one due entry over.
    pub(crate) fn hand_over(&mut self, row: DueRow) -> Verdict<()> {
        let DueRow {
            agent_id,
            id,
            time,
            due,
        } = row;
        self.trace.note(|| format!("{agent_id} due {id} {due:?}"));
        let input = Input::DueCame {
            id,
            planned_at: time.at(),
            due,
        };
        if self.trouble(Fault::Stale, 10) {
            self.late.push((agent_id.clone(), input.clone()));
        }
        self.deliver_outcome(&agent_id, input)
    }

    /// Commits an outcome and ignores the reply.
    pub(crate) fn deliver_outcome(&mut self, id: &AgentId, input: Input) -> Verdict<()> {
        self.submit_until_committed(id, input).map(drop)
    }

    /// Commits an outcome as the shell does, and returns the reply if the process lived to see it. A decision that
    /// panicked costs its turn.
    pub(crate) fn submit_until_committed(
        &mut self,
        id: &AgentId,
        input: Input,
    ) -> Verdict<Option<Reply>> {
        match self.send(id, &input)? {
            InputResult::Handled(reply) => Ok(Some(reply)),
            InputResult::Died | InputResult::Aside => Ok(None),
            // The shell sends it until a commit is confirmed; then the effects of the first commit are recovered.
            InputResult::Unknown(touched) => {
                let reply = self.submit_until_committed(id, input)?;
                self.recover_doubtful_agents(touched)?;
                Ok(reply)
            }
            InputResult::Failed => self.submit_until_committed(id, input),
            InputResult::Refused(refusal) => {
                let gone = refusal == Refusal::NotFound;
                ensure(gone, "outcomes are not refused", || format!("{refusal:?}"))?;
                Ok(None)
            }
            InputResult::Panicked => {
                self.trace.note(|| format!("{id} give up"));
                let message = "a decision panicked".to_owned();
                self.doubtful.insert(id.clone());
                // `GiveUp` names no turn, so it is not sent again: a second one would cost the next turn.
                match self.send(id, &Input::GiveUp { message })? {
                    InputResult::Died | InputResult::Aside => {}
                    InputResult::Unknown(touched) => self.recover_doubtful_agents(touched)?,
                    InputResult::Handled(_)
                    | InputResult::Refused(_)
                    | InputResult::Panicked
                    | InputResult::Failed => {
                        self.recover_doubtful(id)?;
                    }
                }
                Ok(None)
            }
        }
    }

    /// Delivers a stale outcome. It may be recorded, but nothing else may follow from it.
    fn deliver_late(&mut self) -> Verdict<()> {
        if self.late.is_empty() {
            return Ok(());
        }
        let at = self.dice.index(self.late.len());
        let (id, input) = self.late.swap_remove(at);
        self.trace.note(|| format!("{id} late {}", name_of(&input)));
        self.model.coverage.count("late_outcome");
        let Some(before) = self
            .model
            .agent(&id)
            .filter(|known| is_stale(known, &input))
            .map(|known| known.record.clone())
        else {
            return self.deliver_outcome(&id, input);
        };
        let crashes = self.crashes;
        self.deliver_outcome(&id, input)?;
        let Some(after) = self.model.agent(&id).map(|known| &known.record) else {
            return Ok(());
        };
        let same = before.counters.log == after.counters.log
            && before.counters.effects == after.counters.effects
            && before.open_turn == after.open_turn
            && before.lifecycle == after.lifecycle;
        // A decision that panicked cost the turn, and a boot opened effects of its own.
        let elsewise = crashes != self.crashes || before.generation != after.generation;
        ensure(
            same || elsewise,
            "nothing follows from a stale outcome",
            || format!("{before:?} became {after:?}"),
        )
    }

    /// Exits cleanly: model calls are cancelled, short work finishes, commands continue; then a new process takes over.
    fn restart(&mut self) -> Verdict<()> {
        self.trace.note(|| "restart".to_owned());
        self.model.coverage.count("restart");
        self.draining = true;
        let flights: Vec<Flight> = std::mem::take(&mut self.flights);
        let crashes = self.crashes;
        for flight in flights {
            if flight.ends_before_exit() && self.crashes == crashes {
                self.perform_to_end(flight)?;
            }
        }
        // The process died during the exit, so it has already booted.
        if self.crashes != crashes {
            return Ok(());
        }
        self.start_over()?;
        self.boot(true)
    }

    pub(crate) fn send_continue(&mut self) -> Verdict<()> {
        match self.unfinished.pop() {
            Some(id) => self.deliver_outcome(&id, Input::Continue),
            None => Ok(()),
        }
    }

    pub(crate) fn remove_rows(&mut self) -> Verdict<()> {
        let Some(id) = self.going.pop() else {
            return Ok(());
        };
        let some = 1 + self.dice.below(30);
        self.trace.note(|| format!("{id} {some} rows go"));
        let removal = now(self.store.remove_agent_rows(&id, some))?;
        if removal.map_err(|error| refused_by_store(&error))? == Removal::More {
            self.going.push(id.clone());
        }
        self.observe(&id)
    }
}

/// Returns true if no state waits for this outcome. Its first delivery may have failed, in which case a state still
/// does.
fn is_stale(known: &ObservedAgent, input: &Input) -> bool {
    let open = &known.outstanding;
    match input {
        Input::HomePrepared { stamp, .. }
        | Input::HomeRemoved { stamp, .. }
        | Input::RoundAnswered { stamp, .. }
        | Input::AttemptFailed { stamp, .. }
        | Input::CallMeasured { stamp, .. }
        | Input::ToolFinished { stamp, .. }
        | Input::Deliver { stamp, .. }
        | Input::PatchFinished { stamp }
        | Input::BatchStopped { stamp, .. }
        | Input::WorktreeCleaned { stamp, .. }
        | Input::DeliverySubmitted { stamp, .. }
        | Input::TaskStarted { stamp, .. }
        | Input::TaskEnded { stamp, .. } => {
            stamp.generation != known.record.generation || !open.effects.contains(&stamp.effect)
        }
        Input::DueCame { id, .. } => !open.due.contains(id),
        Input::ClockSetBack { pauses, slots, .. } => {
            let pauses = pauses.iter().map(|pause| pause.id);
            let mut ids = pauses.chain(slots.iter().map(|slot| slot.id));
            !ids.any(|id| open.due.contains(&id))
        }
        Input::Admit(_)
        | Input::FromCommand { .. }
        | Input::Lane { .. }
        | Input::Operator(_)
        | Input::OperatorMessage { .. }
        | Input::HostStops
        | Input::HistoryRemoval { .. }
        | Input::Configure { .. }
        | Input::Received(_)
        | Input::Defer { .. }
        | Input::Start
        | Input::Stop
        | Input::Archive
        | Input::Delete
        | Input::Recover { .. }
        | Input::TakeUp
        | Input::GiveUp { .. }
        | Input::CallerLeft { .. }
        | Input::ModelsChanged
        | Input::BudgetChanged
        | Input::CredentialRenewed { .. }
        | Input::WakeHint(_)
        | Input::Work(_)
        | Input::Workspace(_)
        | Input::Skill(_)
        | Input::Context(_)
        | Input::Trigger(_)
        | Input::Callback(_)
        | Input::Task(_)
        | Input::Abort { .. }
        | Input::Continue => false,
    }
}

/// Returns a short name of the input for the trace.
pub(crate) const fn name_of(input: &Input) -> &'static str {
    match input {
        Input::Admit(_) => "admit",
        Input::FromCommand { .. } => "from command",
        Input::Configure { .. } => "configure",
        Input::Workspace(_) => "workspace",
        Input::Skill(_) => "skill",
        Input::Context(_) => "context",
        Input::Trigger(_) => "trigger",
        Input::Callback(_) => "callback",
        Input::Task(_) => "task",
        Input::Abort { .. } => "abort",
        Input::HomePrepared { .. } => "home prepared",
        Input::HomeRemoved { .. } => "home removed",
        Input::RoundAnswered { .. } => "round answered",
        Input::AttemptFailed { .. } => "round failed",
        Input::ToolFinished { .. } => "tool finished",
        Input::Received(_) => "received",
        Input::Deliver { .. } => "deliver",
        Input::PatchFinished { .. } => "patch_finished",
        Input::BatchStopped { .. } => "batch stopped",
        Input::HostStops => "host stops",
        Input::HistoryRemoval { .. } => "history removal",
        Input::WorktreeCleaned { .. } => "worktree cleaned",
        Input::DeliverySubmitted { .. } => "delivery submitted",
        Input::Lane { .. } => "lane",
        Input::Operator(_) => "operator binding",
        Input::OperatorMessage { .. } => "operator message",
        Input::Defer { .. } => "defer",
        Input::TaskStarted { .. } => "task started",
        Input::TaskEnded { .. } => "task ended",
        Input::DueCame { .. } => "due came",
        Input::ClockSetBack { .. } => "clock set back",
        Input::Start => "start",
        Input::Stop => "stop",
        Input::Archive => "archive",
        Input::Delete => "delete",
        Input::Recover { .. } => "recover",
        Input::TakeUp => "take up",
        Input::GiveUp { .. } => "give up",
        Input::CallerLeft { .. } => "caller left",
        Input::ModelsChanged => "models changed",
        Input::BudgetChanged => "budget changed",
        Input::CallMeasured { .. } => "call measured",
        Input::CredentialRenewed { .. } => "credential renewed",
        Input::WakeHint(_) => "wake hint",
        Input::Work(_) => "work command",
        Input::Continue => "continue",
    }
}
