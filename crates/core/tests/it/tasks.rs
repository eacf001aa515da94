//! Tests of tasks: how they begin and end, how ends are reported, how they are stopped, and restarts.

mod beginnings;
mod ends;
mod envelopes;
mod operator;
mod restarts;
mod results;
mod stops;

use crate::commands;
use crate::world::{Outcome, World};
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::message::MessageKind;
use holon_domain::queue::QueueEntry;
use holon_domain::task::{TaskRecord, TaskReport};

/// Reports the end of the task with this number by its own effect.
fn report(world: &mut World, number: usize, report: TaskReport) -> Outcome {
    let input = commands::reported(world, &world.tasks[number], report);
    world.send(input)
}

/// Returns all results that were ever queued.
fn results(world: &World) -> Vec<&QueueEntry> {
    let all = world.messages.values().map(|kept| &kept.entry);
    all.filter(|entry| entry.envelope.kind == MessageKind::TaskResult)
        .collect()
}

/// Returns all status messages of tasks that their agent stopped.
fn statuses(world: &World) -> Vec<&QueueEntry> {
    let all = world.messages.values().map(|kept| &kept.entry);
    all.filter(|entry| entry.envelope.kind == MessageKind::TaskStatus)
        .collect()
}

/// Returns every written task row in order.
fn written(facts: &[Fact]) -> Vec<&TaskRecord> {
    let tasks = facts.iter().filter_map(|fact| match fact {
        Fact::TaskWritten(task) => Some(task.as_ref()),
        _ => None,
    });
    tasks.collect()
}

/// Returns the supervision of a task: `started`, `watched`, `asked` to stop or stopped by `force`.
fn followed(world: &World, task: &TaskRecord) -> &'static str {
    let open = world.following(task).expect("it is followed");
    assert_eq!(
        open.generation, world.agent.generation,
        "a report of it would be taken"
    );
    match &open.effect {
        Effect::StartTask { task_id } if *task_id == task.id => "started",
        Effect::WatchTask { task_id } if *task_id == task.id => "watched",
        Effect::StopTask { task_id, force } if *task_id == task.id => {
            if *force {
                "force"
            } else {
                "asked"
            }
        }
        other => panic!("task {} is followed by {other:?}", task.id),
    }
}

/// Returns the supervision of every active task.
fn all_followed(world: &World) -> Vec<&'static str> {
    world
        .active_tasks()
        .map(|task| followed(world, task))
        .collect()
}
