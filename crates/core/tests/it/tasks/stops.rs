//! Tests of stopping tasks: by their agent, with their agent, and before their agent is removed.

use super::{all_followed, followed, report, results, statuses, written};
use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::{Input, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::queue::QueueStatus;
use holon_domain::task::TaskStatus;

/// Lets the open turn stop the first task.
fn stop_first(world: &mut World) {
    let id = world.tasks[0].id.clone();
    world.send(ModelAnswer::calls(vec![commands::task_stop(&id)]).to(world));
}

#[test]
fn a_task_is_asked_to_stop_then_forced_and_then_it_is_over() {
    let mut world = states::beside_tasks(1);
    stop_first(&mut world);
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelling);
    assert_eq!(followed(&world, &world.tasks[0]), "asked");
    assert_eq!(world.violations(), []);

    stop_first(&mut world);
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelling);
    assert_eq!(followed(&world, &world.tasks[0]), "force");
    assert_eq!(world.violations(), []);

    report(&mut world, 0, commands::stopped());
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelled);
    let over = world.tasks[0].clone();
    stop_first(&mut world);
    assert_eq!(world.tasks[0], over);
    assert_eq!(world.results(), ["ok"; 4]);
    assert_eq!(world.violations(), []);
}

#[test]
fn asking_and_forcing_in_one_round_forces() {
    let mut world = states::beside_tasks(1);
    let id = world.tasks[0].id.clone();
    world.send(ModelAnswer::calls(vec![commands::task_stop(&id); 2]).to(&world));
    assert_eq!(followed(&world, &world.tasks[0]), "force");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_task_that_was_forced_is_asked_no_more_gently_whoever_stops_it_next() {
    let restart = || Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: Vec::new(),
    };
    for next in [Input::Stop, restart(), Input::TakeUp] {
        let mut world = states::beside_tasks(2);
        stop_first(&mut world);
        stop_first(&mut world);
        world.send(next);
        assert_eq!(followed(&world, &world.tasks[0]), "force");
        world.send(Input::Stop);
        world.send(restart());
        assert_eq!(all_followed(&world), ["force", "asked"]);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn what_watched_a_task_that_is_being_stopped_is_not_believed_any_more() {
    let mut world = states::beside_tasks(1);
    let watched = commands::reported(&world, &world.tasks[0], commands::exited(0));
    stop_first(&mut world);
    assert_eq!(world.send(watched).reply, Ok(Reply::Unchanged));
    assert_eq!(world.tasks[0].status, TaskStatus::Cancelling);
}

#[test]
fn a_task_that_was_stopped_leaves_a_status_that_starts_no_turn() {
    for (_, reported) in commands::reports() {
        let mut world = states::with_task_stopping();
        let turns = world.agent.counters.turns;
        report(&mut world, 0, reported);
        assert!(world.tasks[0].status.is_terminal());
        assert_eq!(results(&world).len(), 0);
        let [status] = statuses(&world)[..] else {
            panic!("one status");
        };
        let words = status.envelope.body.render();
        assert!(
            words.starts_with(&format!("Task {}", world.tasks[0].id)),
            "{words}"
        );
        assert_eq!(status.status, QueueStatus::Processed, "read by no turn");
        assert_eq!(world.agent.counters.turns, turns);
        assert_eq!(world.agent.open_turn, None);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_command_that_ended_by_itself_before_the_stop_reached_it_has_its_own_end() {
    for (reported, status, words) in [
        (
            commands::exited(0),
            TaskStatus::Completed,
            "exit 0 after 1500 ms",
        ),
        (
            commands::exited(3),
            TaskStatus::Failed,
            "exit 3 after 1500 ms",
        ),
        (
            commands::stopped(),
            TaskStatus::Cancelled,
            "stopped after 1500 ms",
        ),
    ] {
        let mut world = states::with_task_stopping();
        report(&mut world, 0, reported);
        assert_eq!(world.tasks[0].status, status);
        let end = world.tasks[0].end.as_ref().expect("it is over");
        assert_eq!(end.result_summary, words);
        assert_eq!(results(&world).len(), 0, "no turn is to begin");
        assert_eq!(statuses(&world).len(), 1);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_stop_of_the_agent_stops_every_task_and_a_start_begins_none_again() {
    let mut world = states::with_tasks_in_all_states();
    world.send(Input::Stop);
    let all = |world: &World, status| world.tasks.iter().all(|task| task.status == status);
    assert!(all(&world, TaskStatus::Cancelling));
    assert_eq!(all_followed(&world), ["asked"; 3]);
    assert_eq!(world.violations(), []);

    let generation = world.agent.generation;
    report(&mut world, 0, commands::exited(0));
    world.send(Input::Start);
    let mut world = states::ready(world);
    assert_eq!(
        world.agent.generation, generation,
        "so that reports are taken"
    );
    assert_eq!(all_followed(&world), ["asked"; 2], "nothing is watched");
    report(&mut world, 1, commands::exited(0));
    report(&mut world, 2, commands::lost());
    assert_eq!((world.agent.held.len(), world.agent.active_tasks), (2, 0));
    assert_eq!(world.agent.open_turn, None, "and no turn tells of them");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_status_that_comes_while_a_turn_runs_waits_for_its_end_and_starts_none() {
    let mut world = states::with_task_stopping();
    world.send(make::admit(make::prompt(Priority::Normal)));
    report(&mut world, 0, commands::stopped());
    assert_eq!(statuses(&world)[0].status, QueueStatus::Queued);
    assert_eq!(world.interjections().len(), 0, "it enters no turn");
    let turns = world.agent.counters.turns;
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(statuses(&world)[0].status, QueueStatus::Processed);
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.agent.counters.turns, turns);
    assert_eq!(world.violations(), []);
}

/// Builds an agent that was stopped and started again; the first of its tasks has ended.
fn started_again() -> World {
    let mut world = states::with_tasks(2);
    world.send(Input::Stop);
    report(&mut world, 0, commands::stopped());
    world.send(Input::Start);
    states::ready(world)
}

#[test]
fn what_was_stopped_with_its_agent_is_told_with_the_next_turn_and_begins_none() {
    let mut world = started_again();
    assert_eq!(world.agent.open_turn, None);
    assert_eq!((world.agent.held.len(), world.queue().pending), (1, 0));
    world.recover(false);
    assert_eq!(world.agent.open_turn, None, "nor does a restart");

    world.send(make::admit(make::prompt(Priority::Normal)));
    let words = results(&world)[0].envelope.body.render();
    let id = world.tasks[0].id.to_string();
    insta::assert_snapshot!(words.replace(&id, "task_1"), @r"
    Task task_1 was cancelled: stopped after 1500 ms
    Command: make all
    It was stopped because an operator had stopped you.
    Output:
    built
    ");
    assert_eq!(world.interjections().len(), 1, "its first request holds it");
    let held = world.interjections();
    world.send(ModelAnswer::words("I see").after(held).to(&world));
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.agent.counters.turns, 2);
    assert_eq!(world.violations(), []);
}

#[test]
fn what_ends_while_the_next_turn_runs_is_told_in_its_next_round() {
    let mut world = started_again();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let held = world.interjections();
    report(&mut world, 1, commands::exited(0));
    let look = ModelAnswer::calls(vec![make::agent_get()]).after(held);
    world.send(look.to(&world));
    let words = results(&world)[1].envelope.body.render();
    assert!(words.contains("completed: exit 0"), "{words}");
    let held = world.interjections();
    world.send(ModelAnswer::words("I see").after(held).to(&world));
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.agent.counters.turns, 2);
    assert_eq!(world.violations(), []);
}

#[test]
fn what_ends_as_a_turn_ends_waits_for_the_next_one() {
    let mut world = started_again();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let held = world.interjections();
    report(&mut world, 1, commands::lost());
    world.send(ModelAnswer::words("I see").after(held).to(&world));
    assert_eq!(world.agent.open_turn, None);
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert_eq!(world.interjections().len(), 1);
    assert_eq!(results(&world).len(), 2);
    assert_eq!(world.violations(), []);
}

#[test]
fn what_the_agent_had_stopped_itself_before_it_was_stopped_is_not_told() {
    let mut world = states::with_task_stopping();
    world.send(Input::Stop);
    report(&mut world, 0, commands::stopped());
    world.send(Input::Start);
    let mut world = states::ready(world);
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert_eq!(results(&world).len(), 0);
}

#[test]
fn what_is_held_is_told_however_much_there_is_and_whoever_is_stopped_meanwhile() {
    let many = limits::TASKS_PER_AGENT;
    let mut world = states::with_tasks(many);
    world.send(Input::Stop);
    for index in 0..many {
        report(&mut world, index, commands::stopped());
    }
    world.send(Input::Start);
    let mut world = states::ready(world);
    let mut held = world.interjections();
    assert_eq!(held.len(), many);
    held.truncate(many - 4);
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(Input::Stop);
    world.send(Input::Start);
    let mut world = states::ready(world);
    assert_eq!(world.agent.open_turn, None, "it was not answered");
    assert_eq!(world.agent.held.len(), many);
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::words("I see").after(held).to(&world));
    assert_eq!(world.agent.open_turn, None, "the rest begins no turn");
    assert_eq!(world.agent.held.len(), 4);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_agent_that_is_started_while_its_tasks_end_works_on() {
    let mut world = states::stopped_with_task();
    world.send(Input::Start);
    let mut world = states::ready(world);
    world.send(make::admit(make::prompt(Priority::Normal)));
    states::run_tasks(&mut world, 1);
    assert_eq!(all_followed(&world), ["asked", "watched"]);
    world.send(Input::Stop);
    assert_eq!(all_followed(&world), ["asked", "asked"]);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_home_that_cannot_be_made_leaves_tasks_as_they_are() {
    let mut world = states::stopped_with_task();
    world.send(Input::Start);
    let stamp = world.stamp().expect("its home is being made");
    world.send(make::home_prepared(stamp, Err("disk full")));
    assert_eq!(world.agent.lifecycle, Lifecycle::Stopped);
    assert_eq!(all_followed(&world), ["asked"]);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_removal_forces_every_task_and_the_home_goes_with_the_last() {
    let mut world = states::with_tasks_in_all_states();
    world.send(Input::Delete);
    assert_eq!(all_followed(&world), ["force"; 3]);
    assert_eq!(world.agent.home.effect(), None);
    for number in [1, 0] {
        report(&mut world, number, commands::exited(0));
        assert_eq!(world.stamp(), None, "its home is still used");
        assert_eq!(world.violations(), []);
    }
    assert_eq!(world.send(Input::Delete).reply, Ok(Reply::Unchanged));
    assert_eq!(world.stamp(), None, "also when it is asked twice");

    report(&mut world, 2, commands::lost());
    let stamp = world.stamp().expect("its home is being removed");
    assert_eq!(world.violations(), []);
    assert_eq!(world.send(Input::Delete).reply, Ok(Reply::Unchanged));
    let sent = world.send(make::home_removed(stamp, Ok(())));
    assert_eq!(sent.reply, Ok(Reply::RowsMayGo));
}

#[test]
fn a_home_that_could_not_be_removed_is_tried_again_when_no_task_is_left() {
    let mut world = states::deleting_with_task();
    report(&mut world, 0, commands::exited(0));
    let stamp = world.stamp().expect("its home is being removed");
    world.send(make::home_removed(stamp, Err("busy")));
    assert_eq!(world.send(Input::Delete).reply, Ok(Reply::Done));
    assert!(world.stamp().is_some());
    assert_eq!(world.violations(), []);
}

#[test]
fn the_removal_of_a_stopped_agent_forces_what_was_only_asked() {
    let mut world = states::stopped_with_task();
    world.send(Input::Delete);
    assert_eq!(all_followed(&world), ["force"]);
    report(&mut world, 0, commands::exited(0));
    assert!(world.stamp().is_some(), "its home is being removed");
}

#[test]
fn a_turn_the_runtime_gives_up_leaves_its_tasks_followed() {
    let mut world = states::beside_tasks(2);
    stop_first(&mut world);
    world.send(ModelAnswer::calls(vec![make::exec()]).to(&world));
    world.send(Input::GiveUp {
        message: "a rule was broken".to_owned(),
    });
    assert_eq!(
        all_followed(&world),
        ["asked", "watched", "asked"],
        "and the command of the call it ran is stopped"
    );
    assert_eq!(world.violations(), []);
    report(&mut world, 1, commands::exited(0));
    assert_eq!(results(&world).len(), 1);
    assert!(world.agent.open_turn.is_some());
}

#[test]
fn a_stop_writes_each_task_once_and_says_once_that_it_is_being_stopped() {
    let mut world = states::with_tasks(2);
    let from = world.events.len();
    let sent = world.send(Input::Stop);
    assert_eq!(written(&sent.facts).len(), 2);
    assert_eq!(
        world.event_kinds(from),
        [
            "control_request_admitted",
            "control_applied",
            "scheduler_posture_decision",
            "task_status_updated",
            "task_status_updated",
            "agent_state_changed"
        ]
    );
    let from = world.events.len();
    world.send(Input::Delete);
    assert_eq!(
        world.event_kinds(from),
        [
            "control_request_admitted",
            "control_applied",
            "agent_state_changed"
        ]
    );
}
