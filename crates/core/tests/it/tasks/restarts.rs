//! Tests of restarts: tasks are supervised again, and calls find what they started.

use super::{all_followed, followed, report, results};
use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::input::{Finding, ProbeResult};
use holon_core::{Input, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::block::ToolCall;
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::intent::HostAction;
use holon_domain::message::Priority;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{TaskId, limits};

fn restarts() -> [Input; 3] {
    let recover = |clean_exit| Input::Recover {
        exit: PreviousExit::of(clean_exit),
        proven: None,
        found: Vec::new(),
    };
    [recover(true), recover(false), Input::TakeUp]
}

/// Returns every task without the number of its effect.
fn lasting(world: &World) -> Vec<TaskRecord> {
    let lasting = |task: &TaskRecord| TaskRecord {
        effect: None,
        ..task.clone()
    };
    world.tasks.iter().map(lasting).collect()
}

#[test]
fn every_task_is_followed_anew_and_nothing_else_changes_however_often() {
    for input in restarts() {
        let mut world = states::with_tasks_in_all_states();
        let before = lasting(&world);
        for _ in 0..3 {
            let generation = world.agent.generation;
            world.send(input.clone());
            assert!(world.agent.generation > generation);
            assert_eq!(all_followed(&world), ["watched", "watched", "asked"]);
            assert_eq!(lasting(&world), before);
            assert_eq!(world.violations(), []);
        }
        for number in 0..3 {
            report(&mut world, number, commands::exited(0));
        }
        assert_eq!(results(&world).len(), 2, "each end is told once");
    }
}

#[test]
fn a_report_to_the_dead_process_is_stale_and_the_new_one_gets_its_own() {
    let mut world = states::with_task();
    let old = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.recover(false);
    assert_eq!(world.send(old).reply, Ok(Reply::Unchanged));
    report(&mut world, 0, commands::exited(0));
    assert_eq!(results(&world).len(), 1);
}

#[test]
fn a_task_that_is_over_is_not_followed_again() {
    let mut world = states::with_task();
    report(&mut world, 0, commands::exited(0));
    let over = world.tasks.clone();
    world.recover(false);
    assert_eq!(world.tasks, over);
    assert_eq!(results(&world).len(), 1);
    assert_eq!(world.violations(), []);
}

#[test]
fn tasks_of_an_agent_that_may_not_run_are_stopped_again() {
    let mut world = states::stopped_with_task();
    world.recover(false);
    assert_eq!(all_followed(&world), ["asked"]);
    assert_eq!(world.agent.lifecycle, Lifecycle::Stopped);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_removal_goes_on_waiting_for_its_tasks_after_a_restart() {
    for input in restarts() {
        let mut world = states::deleting_with_task();
        world.send(input);
        assert_eq!(all_followed(&world), ["force"]);
        assert_eq!(world.stamp(), None, "its home is still used");
        report(&mut world, 0, commands::exited(0));
        assert!(world.stamp().is_some());
        assert_eq!(world.violations(), []);
    }
}

fn in_hand(world: &World) -> (ToolCall, HostAction, WorkspaceEntry) {
    commands::running(world).expect("a call runs")
}

/// Builds a turn that runs this call about one of its tasks.
fn calling(call: fn(&TaskId) -> commands::PlannedCall) -> World {
    let mut world = states::beside_tasks(1);
    let id = world.tasks[0].id.clone();
    world.send(ModelAnswer::calls(vec![make::agent_get(), call(&id)]).to(&world));
    world
}

fn taken_up() -> [World; 4] {
    [
        states::running_tool(),
        states::running_batch(),
        calling(commands::task_input),
        calling(commands::task_output),
    ]
}

#[test]
fn a_call_that_finds_what_it_began_is_performed_again_as_it_was() {
    for input in restarts() {
        for mut world in taken_up() {
            let (before, log) = (in_hand(&world), world.log.clone());
            let old = world.stamp().expect("a call runs");
            world.send(input.clone());
            assert_eq!(in_hand(&world), before, "also with the same number");
            assert_ne!(world.stamp(), Some(old));
            assert_eq!(world.log, log, "nothing was said to the model");
            assert_eq!(world.violations(), []);
            world.send(make::tool_ok(world.stamp().expect("a call runs")));
            let done = world.results().len();
            assert_eq!(world.results()[done - 1], "ok");
        }
    }
}

#[test]
fn a_command_that_was_taken_up_can_still_be_promoted_once() {
    let mut world = states::running_tool();
    let late = commands::promotion(&world);
    world.recover(false);
    assert_eq!(world.send(late).reply, Ok(Reply::Unchanged));
    assert_eq!(world.tasks.len(), 0);
    world.send(commands::promotion(&world));
    assert_eq!(all_followed(&world), ["watched"]);
    assert_eq!(world.violations(), []);
}

#[test]
fn input_to_a_task_has_greater_numbers_the_later_it_is_given() {
    let mut world = states::beside_tasks(1);
    let id = world.tasks[0].id.clone();
    let mut numbers = Vec::new();
    for _ in 0..3 {
        world.send(ModelAnswer::calls(vec![commands::task_input(&id); 3]).to(&world));
        while let Some((_, HostAction::TaskInput(input), _)) = commands::running(&world) {
            numbers.push(input.number);
            world.send(make::tool_ok(world.stamp().expect("a call runs")));
        }
    }
    assert_eq!(numbers.len(), 9);
    assert!(numbers.is_sorted_by(|before, after| before < after));
}

#[test]
fn a_call_that_was_taken_up_too_often_is_unknown_and_its_command_is_stopped() {
    for (state, is_batch) in [
        (states::running_tool as fn() -> World, false),
        (states::running_batch, true),
    ] {
        let mut world = state();
        let (call, action, _) = in_hand(&world);
        for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
            world.recover(false);
            assert_eq!(in_hand(&world).1, action);
        }
        world.recover(false);
        assert_eq!(world.results()[0], "outcome_unknown");
        let resumed = world.events.iter().rev().nth(1);
        let Some(Event::TurnResumed(resumed)) = resumed else {
            panic!("the event before the posture says that the turn goes on");
        };
        assert_eq!(resumed.unknown_calls, [call.id]);
        assert_eq!(world.batches().len(), usize::from(is_batch));
        assert_eq!(world.tasks.len(), usize::from(!is_batch));
        for task in &world.tasks {
            assert_eq!(task.status, TaskStatus::Cancelling);
            assert_eq!(followed(&world, task), "asked");
        }
        let turn = world.agent.open_turn.as_ref().expect("the turn goes on");
        assert_eq!(turn.resume.count, 0);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_look_at_a_task_that_was_taken_up_too_often_is_unknown_and_stops_nothing() {
    let mut world = calling(commands::task_output);
    for _ in 0..limits::RESUMES_WITHOUT_PROGRESS {
        world.recover(false);
    }
    assert_eq!(world.results(), ["ok", "ok", "outcome_unknown"]);
    assert_eq!(all_followed(&world), ["watched"]);
}

#[test]
fn clean_restarts_take_a_call_up_for_ever() {
    let mut world = states::running_tool();
    let before = in_hand(&world);
    for _ in 0..limits::RESUMES_WITHOUT_PROGRESS * 3 {
        world.recover(true);
        world.take_up();
    }
    assert_eq!(in_hand(&world), before);
    assert_eq!(world.tasks.len(), 0);
}

#[test]
fn a_temporary_agent_is_removed_after_what_it_ran_is_stopped_by_force() {
    let mut world = states::ready(World::with(make::temporary_agent()));
    world.send(make::admit(make::prompt(Priority::Normal)));
    states::run_tasks(&mut world, 1);
    world.send(ModelAnswer::calls(vec![make::exec()]).to(&world));
    world.recover(false);
    assert_eq!(world.agent.lifecycle, Lifecycle::Deleting);
    assert_eq!(world.results(), ["ok", "outcome_unknown"]);
    assert_eq!(all_followed(&world), ["force", "force"]);
    assert_eq!(world.violations(), []);

    report(&mut world, 0, commands::exited(0));
    world.recover(false);
    assert_eq!(all_followed(&world), ["force"]);
    report(&mut world, 1, commands::lost());
    let open: Vec<&Effect> = world.effects.values().map(|open| &open.effect).collect();
    assert_eq!(open, [&Effect::RemoveHome]);
    assert_eq!(results(&world).len(), 0);
}

#[test]
fn a_task_whose_end_kills_each_host_that_reads_it_is_ended_unread_after_three() {
    let mut world = states::with_tasks_in_all_states();
    let task_id = world.tasks[0].id.clone();
    let recover = |found| Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: vec![Finding {
            effect: Effect::WatchTask {
                task_id: task_id.clone(),
            },
            found,
        }],
    };
    // A probe that finds it alive in between restarts the count.
    for found in [
        ProbeResult::Ended,
        ProbeResult::Ended,
        ProbeResult::Alive { as_task: None },
    ] {
        world.send(recover(found));
    }
    for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
        world.send(recover(ProbeResult::Ended));
        assert!(!world.tasks[0].status.is_terminal());
    }
    world.send(recover(ProbeResult::Ended));
    assert_eq!(world.tasks[0].status, TaskStatus::Interrupted);
    assert_eq!(results(&world).len(), 1, "its end is told once");
    assert_eq!(
        all_followed(&world),
        ["watched", "asked"],
        "the others go on"
    );
    assert_eq!(world.violations(), []);
}
