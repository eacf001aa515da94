//! Forecasts the rows beside the agent's own that an input will read.
//!
//! A decision that needs more says so and is made again with it. The forecast is kept tight, because the writer reads
//! every named row from the database for every input.

use crate::input::{CallIntent, Input, TaskCommand, WorkCommand};
use holon_domain::agent::AgentRecord;
use holon_domain::intent::{Intent, WakeCondition, WorkIntent};
use holon_domain::needs::Needs;
use holon_domain::send::AgentSend;
use holon_domain::timer::DueAction;

/// Lists the rows that a decision about this input will read.
#[must_use]
#[expect(clippy::too_many_lines, reason = "one arm for each input")]
pub fn needs(input: &Input, agent: &AgentRecord) -> Needs {
    let mut needs = Needs::default();
    let call = agent.open_turn.as_ref().and_then(|turn| turn.phase.call());
    match input {
        // Admission only adds to the queue and does not read the open turn.
        Input::Admit(_) | Input::OperatorMessage { .. } => {
            needs.active_waits = agent.work.active_waits > 0;
        }
        Input::FromCommand { task_id, .. } => {
            needs.active_waits = agent.work.active_waits > 0;
            needs.tasks.insert(task_id.clone());
        }
        Input::Configure { .. }
        | Input::Workspace(_)
        | Input::Skill(_)
        | Input::Context(_)
        | Input::Deliver { .. }
        | Input::Defer { .. } => {}
        Input::WakeHint(_) => {
            needs.active_waits = agent.work.active_waits > 0;
            needs.hints = agent.work.hints > 0;
        }
        Input::Trigger(_) => needs.triggers = true,
        Input::Callback(_) => {
            needs.triggers = true;
            needs.active_waits = agent.work.active_waits > 0;
            needs.hints = agent.work.hints > 0;
        }
        Input::Work(command) => name_work(command, agent, &mut needs),
        Input::Task(TaskCommand::Start(_)) => {}
        Input::TaskStarted { task_id, .. }
        | Input::Task(TaskCommand::Stop { task_id } | TaskCommand::Input { task_id }) => {
            needs.tasks.insert(task_id.clone());
        }
        Input::DueCame { due, .. } => name_due(due, &mut needs),
        Input::ClockSetBack { pauses, slots, .. } => {
            let pauses = pauses.iter().map(|running| &running.due);
            let slots = slots.iter().map(|slot| &slot.due);
            pauses
                .chain(slots)
                .for_each(|due| name_due(due, &mut needs));
        }
        Input::HomePrepared { .. }
        | Input::HomeRemoved { .. }
        | Input::PatchFinished { .. }
        | Input::BatchStopped { .. }
        | Input::WorktreeCleaned { .. }
        | Input::HostStops
        | Input::HistoryRemoval { .. }
        | Input::DeliverySubmitted { .. }
        | Input::Lane { .. }
        | Input::Operator(_)
        | Input::Start => {}
        Input::AttemptFailed { .. } | Input::CredentialRenewed { .. } => {
            needs.attempts = has_attempts(agent);
        }
        Input::CallerLeft { .. }
        | Input::ModelsChanged
        | Input::BudgetChanged
        | Input::CallMeasured { .. } => {}
        Input::Continue => needs.queue_head = true,
        Input::RoundAnswered { answer, .. } => {
            for intent in answer.intents.iter().flatten() {
                name_rows(intent, agent, &mut needs);
            }
            if may_end_turn(&answer.intents) {
                name_turn_end(agent, &mut needs);
            }
            // Without a call the turn ends here, unless an operator's message waits to join.
            needs.operators = answer.intents.is_empty();
            needs.attempts = has_attempts(agent);
        }
        Input::ToolFinished { .. } => needs.round = call.map(|call| call.round_entry),
        Input::Received(sent) => match sent {
            AgentSend::Message { .. } | AgentSend::Notification { .. } => {
                needs.active_waits = agent.work.active_waits > 0
            }
            AgentSend::Followup { .. } => needs.active_waits = agent.work.active_waits > 0,
            AgentSend::ChildAttached { task_id, .. } => {
                needs.tasks.insert(task_id.clone());
            }
            AgentSend::ChildEnded { task_id, .. } => {
                needs.tasks.insert(task_id.clone());
                needs.active_waits = agent.work.active_waits > 0;
            }
            AgentSend::Spawn { .. } => {}
            AgentSend::Stop | AgentSend::Remove => all_open(agent, &mut needs),
            AgentSend::Verdict { .. } => needs.round = call.map(|call| call.round_entry),
        },
        Input::TaskEnded { task_id, .. } => {
            needs.tasks.insert(task_id.clone());
            needs.active_waits = agent.work.active_waits > 0;
        }
        Input::Archive => {
            all_open(agent, &mut needs);
            needs.all_timers = agent.work.active_timers > 0;
            needs.active_waits = agent.work.active_waits > 0;
        }
        Input::Stop
        | Input::Abort { .. }
        | Input::Delete
        | Input::Recover { .. }
        | Input::TakeUp
        | Input::GiveUp { .. } => all_open(agent, &mut needs),
    }
    needs
}

/// Adds the rows that the end of a turn reads: the next wake, and those from which memory is derived.
fn name_turn_end(agent: &AgentRecord, needs: &mut Needs) {
    needs.soonest_due = agent.work.may_have_due();
    if agent.is_temporary() {
        return;
    }
    needs.memory = true;
    needs.active_waits |= agent.work.active_waits > 0;
    let current = agent.work.current.as_ref().map(|current| &current.id);
    let turn = agent.open_turn.as_ref();
    let bound = turn.and_then(|turn| turn.work_item_id.as_ref());
    needs
        .work_items
        .extend(current.into_iter().chain(bound).cloned());
}

/// Returns true if the turn may end with these calls. The record of its end names the next wake.
fn may_end_turn(intents: &[CallIntent]) -> bool {
    let ends =
        |intent: &CallIntent| matches!(intent, Ok(Intent::Sleep { .. } | Intent::WaitFor(_)));
    intents.iter().all(ends)
}

fn has_attempts(agent: &AgentRecord) -> bool {
    let turn = agent.open_turn.as_ref();
    turn.is_some_and(|turn| turn.failed_attempts > 0)
}

/// Adds every open effect and task, for inputs that release them.
fn all_open(agent: &AgentRecord, needs: &mut Needs) {
    needs.round = agent
        .open_turn
        .as_ref()
        .and_then(|turn| turn.phase.call())
        .map(|call| call.round_entry);
    needs.active_tasks = agent.active_tasks > 0;
    needs.generation = true;
    needs.effects.extend(agent.detached_effects());
}

fn name_rows(intent: &Intent, agent: &AgentRecord, needs: &mut Needs) {
    match intent {
        Intent::TaskStatus { task_id }
        | Intent::TaskStop { task_id }
        | Intent::TaskInput { task_id, .. } => {
            needs.tasks.insert(task_id.clone());
        }
        Intent::TaskList => needs.active_tasks = true,
        Intent::AgentGet => {
            let work = &agent.work;
            needs.active_tasks = true;
            needs.active_waits |= work.active_waits > 0;
            needs.active_timers |= work.active_timers > 0;
            needs.hints |= work.hints > 0;
        }
        Intent::Work(
            WorkIntent::Pick { work_item_id, .. }
            | WorkIntent::Update { work_item_id, .. }
            | WorkIntent::Complete { work_item_id, .. },
        ) => {
            needs.work_items.insert(work_item_id.clone());
        }
        Intent::Work(WorkIntent::CancelTimer { timer_id }) => {
            needs.timers.insert(timer_id.clone());
        }
        Intent::Work(WorkIntent::CancelWait { .. }) => needs.active_waits = true,
        Intent::WaitFor(new) => {
            let current = agent.work.current.as_ref().map(|current| &current.id);
            needs
                .work_items
                .extend(new.work_item_id.as_ref().or(current).cloned());
            needs.active_waits = agent.work.active_waits > 0;
            let names_trigger = |on: &WakeCondition| matches!(on, WakeCondition::Trigger { .. });
            needs.triggers |= new.wake_on.iter().any(names_trigger);
            needs
                .tasks
                .extend(new.wake_on.iter().filter_map(|on| match on {
                    WakeCondition::Task { task_id } => Some(task_id.clone()),
                    WakeCondition::External { .. }
                    | WakeCondition::Trigger { .. }
                    | WakeCondition::Operator
                    | WakeCondition::Time { .. }
                    | WakeCondition::After { .. } => None,
                }));
        }
        Intent::Trigger(_) => needs.triggers = true,
        Intent::SpawnAgent(_) => needs.tree = true,
        Intent::Sleep { .. }
        | Intent::Enqueue { .. }
        | Intent::NotifyOperator { .. }
        | Intent::TaskOutput(_)
        | Intent::Message { .. }
        | Intent::CreateWorkItem(_)
        | Intent::Work(WorkIntent::CreateTimer(_) | WorkIntent::CreateTimerAfter { .. })
        | Intent::WorkQuery(_)
        | Intent::Memory(_)
        | Intent::Host(_) => {}
    }
}

fn name_work(command: &WorkCommand, agent: &AgentRecord, needs: &mut Needs) {
    match command {
        WorkCommand::Update { work_item_id, .. }
        | WorkCommand::Complete { work_item_id }
        | WorkCommand::Resume { work_item_id } => {
            needs.work_items.insert(work_item_id.clone());
        }
        WorkCommand::CancelWait { .. } => needs.active_waits = agent.work.active_waits > 0,
        WorkCommand::CancelTimer { timer_id } => {
            needs.timers.insert(timer_id.clone());
        }
        WorkCommand::Create(_)
        | WorkCommand::CreateTimer(_)
        | WorkCommand::CreateTimerAfter { .. } => {}
    }
}

fn name_due(due: &DueAction, needs: &mut Needs) {
    match due {
        DueAction::Recheck { work_item_id } => {
            needs.work_items.insert(work_item_id.clone());
        }
        DueAction::WaitOver { .. } => needs.active_waits = true,
        DueAction::TimerFire { timer_id, .. } => {
            needs.timers.insert(timer_id.clone());
        }
        DueAction::CatchUp => {
            needs.active_waits = true;
            needs.deferred_timers = true;
        }
        DueAction::RestOver { .. }
        | DueAction::ProviderPauseOver { .. }
        | DueAction::PaceOver
        | DueAction::DeliveryRetry { .. }
        | DueAction::RemovalRetry
        | DueAction::WorkTick
        | DueAction::HintTick => {}
    }
}
