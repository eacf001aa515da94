//! Operators and outside systems that act on an agent's work: commands about items, waits and timers, and wake hints.

use crate::request::Mood;
use crate::rng::Rng;
use crate::violation::{Verdict, ensure};
use crate::work_calls::{self, SOURCES, WorkNames};
use crate::world::{InputResult, World};
use holon_core::input::{AfterAbort, WorkCommand};
use holon_core::{Input, Rejection, Reply};
use holon_domain::intent::{BlockerChange, NewTimer, NewWorkItem, WorkItemChange};
use holon_domain::timer::{DueAction, TimerSchedule};
use holon_domain::trigger::{DeliveryMode, WakeHint};
use holon_domain::work_item::PlanStatus;
use holon_domain::{AgentId, RunId, TimerId, Timestamp, TriggerId, WaitId, WorkItemId};
use holon_engine::kernel::Refusal;

/// Trigger through which outside hints come.
pub(crate) const TRIGGER: &str = "trig_sim";

/// Hints of one source in a row.
const HINT_BURST: usize = 10;

impl World {
    /// Sends a random command of an operator about the work of some agent.
    pub(crate) fn command_work(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let known = self.model.agent(&id);
        let names = known.map_or_else(WorkNames::default, |known| {
            WorkNames::of(&known.outstanding)
        });
        let command = work_command(&names, self.now, &mut self.dice);
        self.send_command(&id, command)
    }

    /// Sends a random command about timers.
    pub(crate) fn command_timer(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let known = self.model.agent(&id);
        let timers: Vec<TimerId> =
            known.map_or_else(Vec::new, |known| WorkNames::of(&known.outstanding).timers);
        let cancelled = timers.get(self.dice.index(timers.len())).cloned();
        let cancels = timers.len() > 3 || self.dice.percent(25);
        let command = match cancelled.filter(|_| cancels) {
            Some(timer_id) => WorkCommand::CancelTimer { timer_id },
            None => {
                let (schedule, missed) = work_calls::schedule(self.now, &mut self.dice);
                WorkCommand::CreateTimer(NewTimer {
                    schedule,
                    missed,
                    summary: self.dice.percent(50).then(|| "look at it".to_owned()),
                })
            }
        };
        self.send_command(&id, command)
    }

    /// Sends a command of an operator and checks that only known causes refuse it.
    pub(crate) fn send_command(&mut self, id: &AgentId, command: WorkCommand) -> Verdict<()> {
        self.trace.note(|| format!("{id} {command:?}"));
        match self.send(id, &Input::Work(Box::new(command)))? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Refused(refusal) => ensure(
                is_known_refusal(&refusal),
                "commands about work are refused only for what they name",
                || format!("{refusal:?}"),
            ),
            InputResult::Handled(_)
            | InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }

    /// Aborts the current run of some agent, or names a run that is not the current one.
    pub(crate) fn abort_any(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let known = self.model.agent(&id);
        let is_archived = known.is_some_and(|known| known.record.archived_at.is_some());
        let turn = known.and_then(|known| known.record.open_turn.as_ref());
        let current = turn.map(|turn| turn.run_id.clone());
        let run_id = match self.dice.below(4) {
            0 => Some(RunId::from_stored("run_of_another_time")),
            1 => current.clone(),
            _ => None,
        };
        let then = if self.dice.percent(30) {
            AfterAbort::Stop
        } else {
            AfterAbort::GoOn
        };
        let is_stale = run_id.is_some() && run_id != current;
        let input = Input::Abort { run_id, then };
        self.trace.note(|| format!("{id} {input:?}"));
        match self.send(&id, &input)? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Handled(reply) => {
                self.model.coverage.count("aborted");
                let aborted = if let Reply::Aborted { run_id } = reply {
                    Some(run_id)
                } else {
                    None
                };
                ensure(
                    aborted.is_some() && aborted == current && !is_stale,
                    "an abort ends the current run and no other",
                    || format!("{aborted:?}, current {current:?}"),
                )
            }
            InputResult::Refused(refusal) => {
                let is_known = match &refusal {
                    Refusal::Rejected(Rejection::NoCurrentRun { .. }) => current.is_none(),
                    Refusal::Rejected(Rejection::StaleRun { .. }) => is_stale,
                    Refusal::Rejected(Rejection::Archived { .. }) => is_archived,
                    Refusal::Rejected(Rejection::Deleting { .. }) | Refusal::NotFound => true,
                    Refusal::Rejected(_)
                    | Refusal::KeyReused
                    | Refusal::ReplyRemoved
                    | Refusal::ReplyUnreadable => false,
                };
                ensure(
                    is_known,
                    "an abort is refused for a reason that holds",
                    || format!("{refusal:?}, current {current:?}"),
                )
            }
            InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }

    /// Sends a wake hint of a random source to some agent.
    pub(crate) fn hint_any(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let hint = any_hint(&mut self.dice);
        // A source that does not stop uses up what an agent is told at once.
        let times = if self.dice.percent(10) { HINT_BURST } else { 1 };
        for _ in 0..times {
            self.hint_once(&id, hint.clone())?;
        }
        Ok(())
    }

    fn hint_once(&mut self, id: &AgentId, hint: WakeHint) -> Verdict<()> {
        self.trace.note(|| format!("{id} hint of {}", hint.key));
        let takes = self.takes_messages(id);
        let before = self.hints_of(id);
        match self.send(id, &Input::WakeHint(Box::new(hint)))? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Handled(Reply::Woken { .. }) => {
                let after = self.hints_of(id);
                ensure(after == before + 1, "an accepted hint is recorded", || {
                    format!("{before}, then {after}")
                })
            }
            InputResult::Handled(reply) => ensure(false, "a hint is answered as a hint", || {
                format!("{reply:?}")
            }),
            InputResult::Refused(refusal) => {
                ensure(!takes, "an agent that may run takes hints", || {
                    format!("{refusal:?}")
                })
            }
            InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }

    fn hints_of(&self, id: &AgentId) -> u64 {
        self.model
            .agent(id)
            .map_or(0, |known| known.work.wakes.hints_seen())
    }

    /// Cancels a repeating timer whose slot comes next, so that a calm run ends. Returns true if it cancelled one.
    pub(crate) fn retire_timer(&mut self) -> Verdict<bool> {
        let Some(row) = self.next_due_row()? else {
            return Ok(false);
        };
        let DueAction::TimerFire { timer_id, .. } = &row.due else {
            return Ok(false);
        };
        let known = self.model.agent(&row.agent_id);
        let timers = known.map(|known| known.outstanding.timers.as_slice());
        let timer = timers
            .unwrap_or_default()
            .iter()
            .find(|timer| timer.id == *timer_id);
        let repeats =
            timer.is_some_and(|timer| !matches!(timer.schedule, TimerSchedule::Once { .. }));
        let cancels = repeats
            && self.mood == Mood::Calm
            && self.takes_messages(&row.agent_id)
            && self.dice.percent(50);
        if cancels {
            let timer_id = timer_id.clone();
            self.send_command(&row.agent_id, WorkCommand::CancelTimer { timer_id })?;
        }
        Ok(cancels)
    }
}

fn is_known_refusal(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::NotFound => true,
        Refusal::KeyReused | Refusal::ReplyRemoved | Refusal::ReplyUnreadable => false,
        Refusal::Rejected(rejection) => matches!(
            rejection,
            Rejection::Stopped { .. }
                | Rejection::NoHome { .. }
                | Rejection::Archived { .. }
                | Rejection::Deleting { .. }
                | Rejection::NoSuchWorkItem { .. }
                | Rejection::WorkItemCompleted { .. }
                | Rejection::NoSuchWait { .. }
                | Rejection::NoSuchTimer { .. }
                | Rejection::InvalidWork { .. }
        ),
    }
}

fn work_command(names: &WorkNames, now: Timestamp, dice: &mut Rng) -> WorkCommand {
    let item = names.items.get(dice.index(names.items.len())).cloned();
    let item = item.unwrap_or_else(|| WorkItemId::from_stored("work_nowhere"));
    match dice.below(8) {
        0..=2 => WorkCommand::Create(NewWorkItem {
            objective: format!("please reach {}", dice.below(1_000)),
            plan_status: PlanStatus::Ready,
            todo_list: Vec::new(),
        }),
        3 => WorkCommand::Complete { work_item_id: item },
        4 => WorkCommand::Resume { work_item_id: item },
        5 => WorkCommand::Update {
            work_item_id: item,
            change: WorkItemChange {
                plan_status: Some(PlanStatus::Ready),
                blocker: dice.percent(50).then_some(BlockerChange::Clear),
                objective: Some(format!("rather reach {}", now.as_millis())),
                ..WorkItemChange::default()
            },
        },
        _ => {
            let wait = names.waits.get(dice.index(names.waits.len())).cloned();
            let wait_id = wait.unwrap_or_else(|| WaitId::from_stored("wait_nowhere"));
            WorkCommand::CancelWait { wait_id }
        }
    }
}

/// Draws a hint: of an operator with a reason, or of an outside source with or without a body. Rarely one of many
/// sources, so that the bound on them is reached.
fn any_hint(dice: &mut Rng) -> WakeHint {
    let token = format!("look at {:08x}", dice.below(1 << 32));
    let source = match dice.below(6) {
        0 | 1 => None,
        2..=4 => dice.pick(&SOURCES).map(str::to_owned),
        _ => Some(format!("source-{}", dice.below(30))),
    };
    let of_operator = source.is_none();
    let carries = dice.percent(60);
    WakeHint {
        key: source.clone().unwrap_or_else(|| "operator".to_owned()),
        external_trigger_id: (!of_operator).then(|| TriggerId::from_stored(TRIGGER)),
        delivery_mode: DeliveryMode::WakeHint,
        reason: of_operator.then(|| token.clone()),
        body: (!of_operator && carries).then_some(token),
        source,
        content_type: None,
        correlation_id: None,
        causation_id: None,
        wait_ids: Vec::new(),
        ended_waits: Vec::new(),
        count: 1,
        last_at: Timestamp::default(),
        earlier: Vec::new(),
        from_outside: false,
    }
}
