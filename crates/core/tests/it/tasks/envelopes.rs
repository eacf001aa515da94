//! Tests of the tool results about tasks.

use super::report;
use crate::commands::{self, PlannedCall};
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_domain::log::LogEntry;
use holon_domain::tool::ToolEnvelope;

/// Returns the result of the last of these calls, with a stable name for the first task.
fn last_of(world: &mut World, calls: Vec<PlannedCall>) -> String {
    world.send(ModelAnswer::calls(calls).to(world));
    let last = world.log.iter().rev().find_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => Some(envelope.clone()),
        _ => None,
    });
    text(world, &last.expect("a result"))
}

fn text(world: &World, envelope: &ToolEnvelope) -> String {
    let json = serde_json::to_string_pretty(envelope).expect("serialises");
    let names = world.tasks.iter().enumerate();
    let json = names.fold(json, |json, (at, task)| {
        json.replace(task.id.as_str(), &format!("task_{}", at + 1))
    });
    let asked = world.messages[&1].entry.envelope.id.to_string();
    json.replace(&asked, "msg_1")
}

#[test]
fn the_list_of_tasks() {
    let mut world = states::beside_tasks(1);
    insta::assert_snapshot!("one_task", last_of(&mut world, vec![commands::task_list()]));
    states::run_tasks(&mut world, 1);
    let id = world.tasks[0].id.clone();
    let calls = vec![commands::task_stop(&id), commands::task_list()];
    insta::assert_snapshot!("two_tasks", last_of(&mut world, calls));
    for number in 0..2 {
        report(&mut world, number, commands::exited(0));
    }
    insta::assert_snapshot!("no_task", last_of(&mut world, vec![commands::task_list()]));
}

#[test]
fn the_status_of_a_task() {
    let mut world = states::beside_tasks(1);
    let id = world.tasks[0].id.clone();
    let look = || vec![commands::task_status(&id)];
    insta::assert_snapshot!("status_running", last_of(&mut world, look()));
    world.advance(90_000);
    report(&mut world, 0, commands::exited(3));
    insta::assert_snapshot!("status_failed", last_of(&mut world, look()));
}

#[test]
fn the_stop_of_a_task() {
    let mut world = states::beside_tasks(1);
    let id = world.tasks[0].id.clone();
    let stop = || vec![commands::task_stop(&id)];
    insta::assert_snapshot!("stop_asked", last_of(&mut world, stop()));
    insta::assert_snapshot!("stop_forced", last_of(&mut world, stop()));
    report(&mut world, 0, commands::stopped());
    insta::assert_snapshot!("stop_over", last_of(&mut world, stop()));
}

#[test]
fn a_task_nobody_has() {
    let mut world = states::beside_tasks(1);
    let unknown = commands::unknown_task();
    let status = last_of(&mut world, vec![commands::task_status(&unknown)]);
    insta::assert_snapshot!("unknown_task", status);
    let stop = last_of(&mut world, vec![commands::task_stop(&unknown)]);
    assert_eq!(
        stop.replace("TaskStop", "TaskStatus"),
        status,
        "said the same way"
    );
}

#[test]
fn a_status_holds_nothing_of_the_output() {
    let mut world = states::beside_tasks(1);
    report(&mut world, 0, commands::exited(0));
    let id = world.tasks[0].id.clone();
    let told = last_of(&mut world, vec![commands::task_status(&id)]);
    assert!(!told.contains("built"), "{told}");
    let end = world.tasks[0].end.as_ref().expect("it is over");
    assert_eq!(end.output_summary, "built");
}

#[test]
fn an_agent_that_describes_itself_names_its_tasks() {
    let mut world = states::beside_tasks(1);
    let told = last_of(&mut world, vec![make::agent_get()]);
    assert!(told.contains("task_1"), "{told}");
}
