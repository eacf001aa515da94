//! Tests of recovery: how a new process continues what a dead one left open.

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::input::ProbeResult;
use holon_domain::agent::Lifecycle;
use holon_domain::block::calls_of;
use holon_domain::brief::BriefKind;
use holon_domain::consequence::Consequence;
use holon_domain::event::Event;
use holon_domain::limits;
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::needs::Part;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::queue::QueueStatus;
use holon_domain::task::TaskStatus;
use holon_domain::tool::ToolEnvelope;
use holon_domain::turn::{Phase, TerminalReason};

#[test]
fn three_unclean_exits_without_progress_set_the_message_aside_and_the_queue_goes_on() {
    let mut world = states::calling_model();
    world.send(make::admit(make::prompt(Priority::Normal)));
    for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
        world.recover(false);
        assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 1);
    }
    world.recover(false);
    assert_eq!(world.ended_as(), Some(TerminalReason::Poisoned));
    assert_eq!(world.in_status(QueueStatus::Aborted)[0].seq, 1);
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.briefs[0].kind, BriefKind::Failure);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
    assert_eq!(world.violations(), []);
}

/// Builds the probe of a running command, with the call's result if it continues as a task.
fn alive(world: &World) -> ProbeResult {
    let spec = commands::running_spec(world).expect("a command runs");
    let result = ToolEnvelope::success("ExecCommand", "goes on", serde_json::json!({}));
    ProbeResult::Alive {
        as_task: Some(Box::new(Consequence::Task {
            result,
            spec: Box::new(spec),
        })),
    }
}

#[test]
fn a_command_that_is_found_alive_a_third_time_goes_on_as_a_task_and_so_does_the_turn() {
    let mut world = states::running_tool();
    for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
        let found = alive(&world);
        world.recover_finding(found);
        assert_eq!(world.results(), [""; 0], "its call is taken up again");
    }
    let found = alive(&world);
    world.recover_finding(found);
    assert_eq!(world.results(), ["ok"]);
    assert_eq!(world.tasks[0].status, TaskStatus::Running);
    let open: Vec<&str> = world
        .effects
        .values()
        .map(|open| open.effect.name())
        .collect();
    assert_eq!(
        open,
        ["watch_task", "run_tool"],
        "nothing is stopped, and the next call runs"
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_command_whose_end_kills_each_host_that_reads_it_sets_its_message_aside() {
    let mut world = states::running_tool();
    world.send(make::admit(make::prompt(Priority::Normal)));
    for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
        world.recover_finding(ProbeResult::Ended);
        assert_eq!(world.results(), [""; 0]);
    }
    world.recover_finding(ProbeResult::Ended);
    assert_eq!(world.ended_as(), Some(TerminalReason::Poisoned));
    assert_eq!(
        world.results(),
        ["outcome_unknown", "not_started", "not_started"]
    );
    assert_eq!(world.tasks.len(), 0, "nothing reads its output again");
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_batch_that_is_found_alive_is_taken_up_as_often_as_it_takes() {
    let mut world = states::running_batch();
    for _ in 0..limits::RESUMES_WITHOUT_PROGRESS * 3 {
        world.recover_finding(ProbeResult::Alive { as_task: None });
        let open: Vec<&str> = world
            .effects
            .values()
            .map(|open| open.effect.name())
            .collect();
        assert_eq!(open, ["run_tool"]);
    }
    assert_eq!(world.tasks.len(), 0);
}

#[test]
fn a_command_that_was_alive_and_is_lost_is_looked_for_once_more() {
    let mut world = states::running_tool();
    for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
        let found = alive(&world);
        world.recover_finding(found);
    }
    world.recover(false);
    assert_eq!(
        world.results(),
        [""; 0],
        "its call is told by the next look"
    );
    assert_eq!(
        world.effect().map(|open| open.effect.name()),
        Some("run_tool")
    );
}

#[test]
fn in_a_restored_store_a_command_that_was_open_is_unknown_and_not_repeated() {
    let mut world = states::running_tool();
    world.send(Input::Recover {
        exit: PreviousExit::Restored,
        proven: None,
        found: Vec::new(),
    });
    assert_eq!(world.results().first(), Some(&"outcome_unknown".to_owned()));
    assert_eq!(
        world.effect().map(|open| open.effect.name()),
        Some("call_model"),
        "the model decides what to do"
    );
}

#[test]
fn clean_exits_never_set_a_message_aside() {
    let mut world = states::calling_model();
    for _ in 0..limits::RESUMES_WITHOUT_PROGRESS * 3 {
        world.recover(true);
    }
    assert_eq!(world.in_status(QueueStatus::Dequeued).len(), 1);
    let turn = world.agent.open_turn.clone().expect("the turn goes on");
    assert_eq!(turn.resume.count, 0);
}

#[test]
fn a_clean_exit_between_unclean_ones_is_neither_counted_nor_forgiven() {
    let mut world = states::calling_model();
    for clean in [false, true, false, true, true] {
        world.recover(clean);
        assert_eq!(world.in_status(QueueStatus::Dequeued).len(), 1);
    }
    world.recover(false);
    assert_eq!(world.ended_as(), Some(TerminalReason::Poisoned));
}

#[test]
fn one_new_log_entry_is_progress() {
    let mut world = states::calling_model();
    for _ in 0..4 {
        world.recover(false);
        world.recover(false);
        world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    }
    assert_eq!(world.in_status(QueueStatus::Dequeued).len(), 1);
    world.recover(false);
    let turn = world.agent.open_turn.clone().expect("the turn goes on");
    assert_eq!(turn.resume.count, 1);
}

#[test]
fn each_message_has_its_own_count() {
    let mut world = states::calling_model();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.recover(false);
    world.recover(false);
    world.send(ModelAnswer::words("done after all").to(&world));
    world.recover(false);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn a_call_that_had_begun_is_unknown_once_and_those_behind_it_never_began() {
    let mut world = states::running_patch();
    world.recover(false);
    assert_eq!(
        world.results(),
        ["outcome_unknown", "not_started", "not_started"]
    );
    let ids: Vec<_> = world
        .log
        .iter()
        .filter_map(|(_, entry)| match entry {
            LogEntry::AssistantRound { blocks, .. } => Some(blocks),
            _ => None,
        })
        .flat_map(|blocks| calls_of(blocks))
        .map(|call| call.id.clone())
        .collect();
    let resumed = world.events.iter().rev().nth(1);
    let Some(Event::TurnResumed(resumed)) = resumed else {
        panic!("the event before the posture says that the turn goes on");
    };
    assert_eq!(resumed.unknown_calls, ids[..1]);
    assert_eq!(resumed.unstarted_calls, ids[1..]);

    world.recover(false);
    assert_eq!(world.results().len(), 3, "and it is said once only");
}

#[test]
fn a_call_that_had_ended_keeps_its_result() {
    let mut world = states::running_patch();
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.recover(true);
    assert_eq!(world.results(), ["ok", "outcome_unknown", "not_started"]);
}

#[test]
fn an_outcome_of_the_dead_process_is_stale() {
    for state in [states::running_tool, states::running_patch] {
        let mut world = state();
        let stamp = world.stamp().expect("a tool runs");
        world.recover(false);
        let results = world.results();
        world.send(make::tool_ok(stamp));
        assert_eq!(world.results(), results);
        assert_eq!(
            world.events.last().map(Event::kind),
            Some("effect_outcome_dropped")
        );
    }
}

#[test]
fn recovery_crashed_in_between_is_one_more_boot() {
    for state in [
        states::booting,
        states::idle,
        states::calling_model,
        states::backing_off,
        states::running_tool,
        states::running_patch,
        states::running_batch,
        states::paced,
        states::stopped,
        states::deleting,
        states::with_tasks_in_all_states,
        states::stopped_with_task,
        states::deleting_with_task,
        states::stopped_with_patch,
        states::deleting_with_patch,
    ] {
        let mut world = state();
        world.recover(true);
        let once = world.clone();
        world.recover(true);
        assert_eq!(world.violations(), []);
        assert_eq!(world.agent.lifecycle, once.agent.lifecycle);
        assert_eq!(world.log, once.log);
        let names = |world: &World| {
            let open = world.effects.values().map(|open| open.effect.name());
            open.collect::<Vec<_>>()
        };
        assert_eq!(names(&world), names(&once));
        let standing = |world: &World| -> Vec<_> {
            let tasks = world.tasks.iter();
            tasks.map(|task| (task.id.clone(), task.status)).collect()
        };
        assert_eq!(standing(&world), standing(&once));
    }
}

#[test]
fn the_tries_of_a_round_are_counted_across_a_restart() {
    let mut world = states::backing_off();
    world.recover(false);
    world.let_due_come();
    world.recover(false);
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Timeout, stamp, world.now));
    world.let_due_come();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Timeout, stamp, world.now));
    let turn = world.agent.open_turn.as_ref().expect("a turn is open");
    assert!(matches!(turn.phase, Phase::Suspended { .. }), "{turn:?}");
}

fn temporary(state: fn(World) -> World) -> World {
    let mut world = state(states::ready(World::with(make::temporary_agent())));
    world.recover(true);
    world
}

#[test]
fn a_temporary_agent_is_removed_and_leaves_no_message_or_call_open() {
    let running = temporary(|mut world| {
        world.send(make::admit(make::prompt(Priority::Normal)));
        world.send(ModelAnswer::calls(vec![make::exec(), make::exec()]).to(&world));
        world
    });
    assert_eq!(running.results(), ["outcome_unknown", "not_started"]);
    let backing_off = temporary(|mut world| {
        world.send(make::admit(make::prompt(Priority::Normal)));
        let stamp = world.stamp().expect("a model is asked");
        world.send(make::failed(ModelFailureKind::Timeout, stamp, world.now));
        world
    });
    for world in [running, backing_off] {
        assert_eq!(world.agent.lifecycle, Lifecycle::Deleting);
        assert_eq!(world.messages[&1].outcome, Some(1));
        assert_eq!(world.violations(), []);
    }
    let idle = temporary(|world| world);
    assert_eq!(idle.agent.lifecycle, Lifecycle::Deleting);
}

#[test]
fn a_turn_the_runtime_gave_up_is_settled_and_the_next_message_is_taken() {
    let mut world = states::running_tool();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(Input::GiveUp {
        message: "a rule was broken".to_owned(),
    });
    assert_eq!(world.ended_as(), Some(TerminalReason::RuntimeFault));
    assert_eq!(
        world.results(),
        ["outcome_unknown", "not_started", "not_started"]
    );
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn a_result_whose_round_is_missing_from_the_log_ends_the_turn_instead_of_losing_it() {
    let mut world = states::running_tool();
    let input = make::tool_ok(world.stamp().expect("a tool runs"));
    let mut dice = crate::world::Dice::new();
    let step = world.decide_on(&input, &mut dice, &|loaded| {
        if let Part::Loaded((_, entry)) = &mut loaded.round {
            *entry = None;
        }
    });
    let step = step.expect("a step");
    world.agent = step.decision.agent;
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.ended_as(), Some(TerminalReason::RuntimeFault));
}

#[test]
fn after_a_doubtful_commit_the_turn_goes_on_and_a_temporary_agent_stays() {
    let mut world = states::calling_model();
    world.agent.settings.run = make::temporary_agent().run;
    let before = world.agent.open_turn.clone().expect("a turn");
    for _ in 0..limits::RESUMES_WITHOUT_PROGRESS * 2 {
        world.take_up();
    }
    assert_eq!(
        world.agent.lifecycle,
        Lifecycle::Runnable,
        "the waiting caller is still there"
    );
    let turn = world.agent.open_turn.clone().expect("the turn goes on");
    assert_eq!((turn.run_id, turn.resume.count), (before.run_id, 0));
    assert_ne!(
        turn.phase, before.phase,
        "the model is asked by an effect with a performer"
    );
    assert_eq!(world.violations(), []);
}
