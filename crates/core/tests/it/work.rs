//! Tests of work items, waits, ticks, wake hints and timers. This file holds the calls and inputs that the modules
//! share.

mod accounts;
mod archived;
mod before_rest;
mod briefs;
mod hints;
mod items;
mod lives;
pub(crate) mod memory;
mod orders;
mod questions;
mod rechecks;
mod reports;
mod ticks;
mod timer_clock;
mod timer_pace;
mod timers;
mod triggers;
mod waits;
mod wakes;

use crate::commands::{self, PlannedCall};
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::input::WorkCommand;
use holon_core::{Input, Reply};
use holon_domain::authority::AuthorityClass;
use holon_domain::consequence::Consequence;
use holon_domain::continuation::ContinuationClass;
use holon_domain::event::Event;
use holon_domain::intent::{
    BlockerChange, Intent, NewTimer, NewWait, NewWorkItem, WakeCondition, WorkIntent,
    WorkItemChange,
};
use holon_domain::message::{MessageKind, Priority};
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_domain::trigger::{DeliveryMode, WakeHint};
use holon_domain::work_item::{PlanArtifact, PlanStatus, WorkItemRecord, WorkItemSchedulingState};
use holon_domain::{TimerId, WaitId, WorkItemId};

fn new_item(objective: &str) -> NewWorkItem {
    NewWorkItem {
        objective: objective.to_owned(),
        plan_status: PlanStatus::Draft,
        todo_list: Vec::new(),
    }
}

fn plan(words: &str) -> PlanArtifact {
    PlanArtifact {
        hash: format!("hash of {words}"),
        bytes: words.len() as u64,
        updated_at: make::T0,
        preview: words.to_owned(),
        preview_complete: true,
    }
}

fn create() -> PlannedCall {
    (
        "CreateWorkItem",
        Ok(Intent::CreateWorkItem(new_item("mend the build"))),
    )
}

pub(crate) fn pick(id: &WorkItemId) -> PlannedCall {
    let intent = WorkIntent::Pick {
        work_item_id: id.clone(),
        reason: None,
    };
    ("PickWorkItem", Ok(Intent::Work(intent)))
}

fn update(id: &WorkItemId, change: WorkItemChange) -> PlannedCall {
    let intent = WorkIntent::Update {
        work_item_id: id.clone(),
        change,
    };
    ("UpdateWorkItem", Ok(Intent::Work(intent)))
}

pub(crate) fn complete(id: &WorkItemId) -> PlannedCall {
    complete_with(id, &[])
}

/// Completes an item with files attached to its report.
fn complete_with(id: &WorkItemId, files: &[&str]) -> PlannedCall {
    let intent = WorkIntent::Complete {
        work_item_id: id.clone(),
        attachments: files.iter().map(|&file| file.to_owned()).collect(),
    };
    ("CompleteWorkItem", Ok(Intent::Work(intent)))
}

fn cancel_wait(id: &WaitId) -> PlannedCall {
    let intent = WorkIntent::CancelWait {
        wait_id: id.clone(),
    };
    ("CancelWait", Ok(Intent::Work(intent)))
}

fn cancel_timer(id: &TimerId) -> PlannedCall {
    let intent = WorkIntent::CancelTimer {
        timer_id: id.clone(),
    };
    ("CancelTimer", Ok(Intent::Work(intent)))
}

fn wait_for(wake_on: Vec<WakeCondition>) -> PlannedCall {
    ("WaitFor", Ok(Intent::WaitFor(new_wait(wake_on))))
}

/// Builds a wait of the current item, or of the agent itself if there is none.
fn new_wait(wake_on: Vec<WakeCondition>) -> NewWait {
    NewWait {
        reason: "the answer".to_owned(),
        wake_on,
        work_item_id: None,
        external_ref: None,
        question: None,
        recheck_after_ms: None,
    }
}

fn new_timer(schedule: TimerSchedule) -> NewTimer {
    NewTimer {
        schedule,
        missed: MissedSlotPolicy::Once,
        summary: Some("look at the mail".to_owned()),
    }
}

fn objective(words: &str) -> WorkItemChange {
    WorkItemChange {
        objective: Some(words.to_owned()),
        ..WorkItemChange::default()
    }
}

fn blocked(words: &str, recheck_after_ms: u64) -> WorkItemChange {
    let blocker = BlockerChange::Set {
        text: words.to_owned(),
        recheck_after_ms,
    };
    WorkItemChange {
        blocker: Some(blocker),
        ..WorkItemChange::default()
    }
}

fn unblocked() -> WorkItemChange {
    WorkItemChange {
        blocker: Some(BlockerChange::Clear),
        ..WorkItemChange::default()
    }
}

fn plan_status(status: PlanStatus) -> WorkItemChange {
    WorkItemChange {
        plan_status: Some(status),
        ..WorkItemChange::default()
    }
}

fn hint(source: &str) -> WakeHint {
    WakeHint {
        key: source.to_owned(),
        external_trigger_id: None,
        delivery_mode: DeliveryMode::WakeHint,
        source: Some(source.to_owned()),
        reason: None,
        content_type: None,
        body: None,
        correlation_id: None,
        causation_id: None,
        wait_ids: Vec::new(),
        ended_waits: Vec::new(),
        count: 1,
        last_at: make::T0,
        earlier: Vec::new(),
        from_outside: false,
    }
}

fn woken(hint: WakeHint) -> Input {
    Input::WakeHint(Box::new(hint))
}

fn operator(command: WorkCommand) -> Input {
    Input::Work(Box::new(command))
}

/// Creates an item as an operator.
fn operator_makes(world: &mut World, objective: &str) -> WorkItemId {
    let sent = world.send(operator(WorkCommand::Create(new_item(objective))));
    match sent.reply {
        Ok(Reply::WorkItem(item)) => item.id,
        other => panic!("an item is made: {other:?}"),
    }
}

/// Lets the open turn create an item with its plan file.
pub(crate) fn agent_makes(world: &mut World) -> WorkItemId {
    let before: Vec<WorkItemId> = world.items.keys().cloned().collect();
    world.send(ModelAnswer::calls(vec![create()]).to(world));
    let stamp = world.stamp().expect("its plan is being written");
    world.send(Input::ToolFinished {
        stamp,
        consequence: Consequence::PlanWritten(plan("look first")),
        duration_ms: 1,
    });
    let made = world.items.keys().find(|id| !before.contains(id));
    made.expect("an item").clone()
}

/// Lets the open turn make these calls, and asserts that each succeeds.
pub(crate) fn call(world: &mut World, calls: Vec<PlannedCall>) {
    let before = world.results().len();
    world.send(ModelAnswer::calls(calls).to(world));
    let results = world.results();
    assert!(
        results[before..].iter().all(|result| result == "ok"),
        "{results:?}"
    );
}

/// Ends the open turn with text.
fn say(world: &mut World) {
    world.send(ModelAnswer::words("done for now").to(world));
}

/// Builds an open operator's turn that created and picked an item.
fn working() -> (World, WorkItemId) {
    let mut world = states::calling_model();
    let id = agent_makes(&mut world);
    call(&mut world, vec![pick(&id)]);
    (world, id)
}

/// Builds an agent whose focused item got a tick that began a turn.
fn ticked() -> (World, WorkItemId) {
    let (mut world, id) = working();
    say(&mut world);
    assert_eq!(tick_of(&world), Some("work_queue".to_owned()));
    (world, id)
}

/// Builds an agent whose focused item is stalled.
fn stalled() -> (World, WorkItemId) {
    let (mut world, id) = ticked();
    stall(&mut world);
    assert_eq!(state(&world, &id), WorkItemSchedulingState::Stalled);
    (world, id)
}

/// Ends the turn of each tick without progress, until no more ticks come.
fn stall(world: &mut World) {
    for _ in 0..100 {
        if world.agent.open_turn.is_some() {
            say(world);
        } else if world.due.is_empty() {
            return;
        } else {
            world.let_due_come();
        }
    }
    panic!("ticks come to an end");
}

/// Builds a resting agent whose focused item waits for this.
fn waiting(wake_on: Vec<WakeCondition>) -> (World, WorkItemId) {
    let (mut world, id) = working();
    call(&mut world, vec![wait_for(wake_on)]);
    assert_eq!(world.agent.open_turn, None);
    (world, id)
}

fn item<'a>(world: &'a World, id: &WorkItemId) -> &'a WorkItemRecord {
    &world.items[id]
}

fn state(world: &World, id: &WorkItemId) -> WorkItemSchedulingState {
    item(world, id).scheduling_state(world.agent.work.wake_count)
}

fn current(world: &World) -> Option<&WorkItemId> {
    world.agent.work.current.as_ref().map(|current| &current.id)
}

/// Returns the subsystem whose message began the open turn.
fn tick_of(world: &World) -> Option<String> {
    let turn = world.agent.open_turn.as_ref()?;
    let message = &world.messages[&turn.message_seq].entry.envelope;
    if !matches!(
        message.kind,
        MessageKind::SystemTick | MessageKind::TimerTick
    ) {
        return None;
    }
    match &message.origin {
        holon_domain::message::Origin::System { subsystem } => Some(subsystem.clone()),
        _ => Some("timer".to_owned()),
    }
}

/// Returns the continuation class of the newest message that was taken up.
fn class(world: &World) -> ContinuationClass {
    let resolved = world.events.iter().rev().find_map(|event| match event {
        Event::ContinuationResolved(resolved) => Some(resolved.class),
        _ => None,
    });
    resolved.expect("a message was taken up")
}

/// Returns the text and the authority of the message that began the open turn.
fn began_with(world: &World) -> (String, AuthorityClass) {
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    let message = &world.messages[&turn.message_seq].entry.envelope;
    (message.body.render(), message.authority_class)
}

/// Lets the open turn start a task.
fn task(world: &mut World) -> holon_domain::TaskId {
    states::run_tasks(world, 1);
    world.tasks.last().expect("a task").id.clone()
}

/// Ends the newest task by itself.
fn end_task(world: &mut World) {
    let task = world.tasks.last().expect("a task").clone();
    let input = commands::reported(world, &task, commands::exited(0));
    world.send(input);
}

fn prompt() -> Input {
    make::admit(make::prompt(Priority::Normal))
}

fn news() -> Input {
    make::admit(make::channel_event("news", Priority::Normal))
}
