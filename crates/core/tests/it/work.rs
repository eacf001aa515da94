//! Work items, waits, ticks, wake hints and timers: their rules as tables and properties. Here: the calls and inputs that
//! the modules share.

mod briefs;
mod hints;
mod items;
mod lives;
mod rechecks;
mod reports;
mod ticks;
mod timers;
mod waits;

use crate::commands::{self, Planned};
use crate::make::{self, Said};
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

fn create() -> Planned {
    (
        "CreateWorkItem",
        Ok(Intent::CreateWorkItem(new_item("mend the build"))),
    )
}

fn pick(id: &WorkItemId) -> Planned {
    let intent = WorkIntent::Pick {
        work_item_id: id.clone(),
        reason: None,
    };
    ("PickWorkItem", Ok(Intent::Work(intent)))
}

fn update(id: &WorkItemId, change: WorkItemChange) -> Planned {
    let intent = WorkIntent::Update {
        work_item_id: id.clone(),
        change,
    };
    ("UpdateWorkItem", Ok(Intent::Work(intent)))
}

fn complete(id: &WorkItemId) -> Planned {
    let intent = WorkIntent::Complete {
        work_item_id: id.clone(),
    };
    ("CompleteWorkItem", Ok(Intent::Work(intent)))
}

fn cancel_wait(id: &WaitId) -> Planned {
    let intent = WorkIntent::CancelWait {
        wait_id: id.clone(),
    };
    ("CancelWait", Ok(Intent::Work(intent)))
}

fn cancel_timer(id: &TimerId) -> Planned {
    let intent = WorkIntent::CancelTimer {
        timer_id: id.clone(),
    };
    ("CancelTimer", Ok(Intent::Work(intent)))
}

fn wait_for(wake_on: Vec<WakeCondition>) -> Planned {
    ("WaitFor", Ok(Intent::WaitFor(new_wait(wake_on))))
}

/// A wait of the current item, or else of the agent itself.
fn new_wait(wake_on: Vec<WakeCondition>) -> NewWait {
    NewWait {
        reason: "the answer".to_owned(),
        wake_on,
        work_item_id: None,
        external_ref: None,
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
        count: 1,
        last_at: make::T0,
    }
}

fn woken(hint: WakeHint) -> Input {
    Input::WakeHint(Box::new(hint))
}

fn operator(command: WorkCommand) -> Input {
    Input::Work(Box::new(command))
}

/// An operator makes an item.
fn operator_makes(world: &mut World, objective: &str) -> WorkItemId {
    let sent = world.send(operator(WorkCommand::Create(new_item(objective))));
    match sent.reply {
        Ok(Reply::WorkItem(item)) => item.id,
        other => panic!("an item is made: {other:?}"),
    }
}

/// The turn in hand makes an item; its plan file is written.
fn agent_makes(world: &mut World) -> WorkItemId {
    let before: Vec<WorkItemId> = world.items.keys().cloned().collect();
    world.send(Said::calls(vec![create()]).to(world));
    let stamp = world.stamp().expect("its plan is being written");
    world.send(Input::ToolFinished {
        stamp,
        consequence: Consequence::PlanWritten(plan("look first")),
        duration_ms: 1,
    });
    let made = world.items.keys().find(|id| !before.contains(id));
    made.expect("an item").clone()
}

/// The turn in hand makes these calls, and every one works.
fn call(world: &mut World, calls: Vec<Planned>) {
    let before = world.results().len();
    world.send(Said::calls(calls).to(world));
    let results = world.results();
    assert!(
        results[before..].iter().all(|result| result == "ok"),
        "{results:?}"
    );
}

/// The turn in hand ends with words.
fn say(world: &mut World) {
    world.send(Said::words("done for now").to(world));
}

/// An operator's turn has made an item and picked it, and goes on.
fn working() -> (World, WorkItemId) {
    let mut world = states::calling_model();
    let id = agent_makes(&mut world);
    call(&mut world, vec![pick(&id)]);
    (world, id)
}

/// An item has the focus, and a tick for it has begun a turn.
fn ticked() -> (World, WorkItemId) {
    let (mut world, id) = working();
    say(&mut world);
    assert_eq!(tick_of(&world), Some("work_queue".to_owned()));
    (world, id)
}

/// An item with the focus that stalled.
fn stalled() -> (World, WorkItemId) {
    let (mut world, id) = ticked();
    stall(&mut world);
    assert_eq!(state(&world, &id), WorkItemSchedulingState::Stalled);
    (world, id)
}

/// Ends tick after tick without progress, until no more come.
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

/// An item with the focus that waits for this, in an agent at rest.
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

/// The part of the runtime that began the turn in hand.
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

/// What the newest message that was taken up meant.
fn class(world: &World) -> ContinuationClass {
    let resolved = world.events.iter().rev().find_map(|event| match event {
        Event::ContinuationResolved(resolved) => Some(resolved.class),
        _ => None,
    });
    resolved.expect("a message was taken up")
}

/// The words and the worth of the message that began the turn in hand.
fn began_with(world: &World) -> (String, AuthorityClass) {
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    let message = &world.messages[&turn.message_seq].entry.envelope;
    (message.body.render(), message.authority_class)
}

/// A task of the turn in hand runs.
fn task(world: &mut World) -> holon_domain::TaskId {
    states::run_tasks(world, 1);
    world.tasks.last().expect("a task").id.clone()
}

/// The newest task ends by itself.
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
