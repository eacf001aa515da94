//! Tests of the beginning of tasks: by promotion, or because their turn is cancelled.

use super::{all_followed, followed, report, written};
use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::{World, stamp_of};
use holon_core::input::AfterAbort;
use holon_core::{Input, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::TrustLevel;
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::event::{BatchItemEnd, Event};
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::needs::Part;
use holon_domain::task::{TaskRecoverySpec, TaskStatus, WaitPolicy};
use holon_domain::{TaskId, limits};

/// Builds a round of two commands, the first of which runs.
fn two_commands() -> World {
    let mut world = states::calling_model();
    let calls = vec![commands::exec("make\n all"), make::exec()];
    world.send(ModelAnswer::calls(calls).to(&world));
    world
}

#[test]
fn a_promotion_is_row_watch_and_result_in_one_decision_and_the_turn_goes_on() {
    let mut world = two_commands();
    let (sent, more) = world.send_once(&commands::promotion(&world));
    assert!(!more);
    let rows = written(&sent.facts);
    assert_eq!(rows.len(), 1);
    let opened: Vec<&str> = sent
        .facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::EffectOpened { effect, .. } => Some(effect.name()),
            _ => None,
        })
        .collect();
    assert_eq!(opened, ["watch_task", "run_tool"], "and the next call runs");
    assert_eq!(world.results(), ["ok"]);
    assert_eq!(followed(&world, &world.tasks[0]), "watched");
    assert_eq!(world.violations(), []);

    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.send(ModelAnswer::words("both began").to(&world));
    assert_eq!(world.messages[&1].outcome, Some(1), "no call waits for it");
    assert_eq!(world.agent.active_tasks, 1);
}

#[test]
fn a_task_is_named_by_its_call_and_knows_how_it_is_found_again() {
    let mut world = two_commands();
    let (call, ..) = commands::running(&world).expect("a command runs");
    let call = call.id;
    world.send(commands::promotion(&world));
    let task = &world.tasks[0];
    assert_eq!(task.id, TaskId::of_call(&call));
    assert_eq!(task.status, TaskStatus::Running);
    assert_eq!(task.wait_policy, WaitPolicy::Background);
    assert!(task.terminal_reentry);
    assert_eq!(task.summary.as_deref(), Some("make all"));
    let asked = world.messages[&1].entry.envelope.id.clone();
    assert_eq!(task.parent_message_id, Some(asked));
    let Some(TaskRecoverySpec::CommandTask { spec, trust, .. }) = &task.recovery else {
        panic!("a command");
    };
    assert_eq!(*trust, TrustLevel::TrustedOperator);
    assert_eq!((&spec.call_id, spec.cmd.as_str()), (&call, "make\n all"));
    assert!(spec.promoted_from_exec_command);
}

#[test]
fn a_task_says_on_whose_word_it_runs() {
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    states::run_tasks(&mut world, 1);
    let Some(TaskRecoverySpec::CommandTask { trust, .. }) = &world.tasks[0].recovery else {
        panic!("a command");
    };
    assert_eq!(*trust, TrustLevel::UntrustedExternal);
}

#[test]
fn a_command_that_goes_on_is_followed_also_when_its_round_is_missing_from_the_log() {
    let mut world = two_commands();
    let input = commands::promotion(&world);
    let mut dice = crate::world::Dice::new();
    let step = world.decide_on(&input, &mut dice, &|loaded| {
        if let Part::Loaded((_, entry)) = &mut loaded.round {
            *entry = None;
        }
    });
    let step = step.expect("a step");
    world.write(step.decision.agent, &step.decision.facts);
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(followed(&world, &world.tasks[0]), "watched");
}

#[test]
fn at_the_limit_a_command_is_refused_and_is_told_the_way_out() {
    let mut world = states::beside_tasks(limits::TASKS_PER_AGENT - 1);
    states::run_tasks(&mut world, 1);
    let calls = vec![make::exec(), commands::batch(&["true"])];
    world.send(ModelAnswer::calls(calls).to(&world));
    let (_, entry) = world.log.last().expect("a result");
    let LogEntry::ToolResult { envelope, .. } = entry else {
        panic!("the command has its result");
    };
    insta::assert_json_snapshot!(envelope.error(), @r#"
    {
      "kind": "limit_reached",
      "message": "not run: 128 tasks of this agent run already, and this command might become one more",
      "recovery_hint": "wait until one has ended, or stop one: TaskList shows them; ExecCommandBatch runs short commands meanwhile",
      "retryable": true
    }
    "#);
    let (call, ..) = commands::running(&world).expect("short commands still run");
    assert_eq!(call.name, "ExecCommandBatch");

    world.send(make::tool_ok(world.stamp().expect("a batch runs")));
    report(&mut world, 7, commands::exited(0));
    world.send(ModelAnswer::calls(vec![make::exec()]).to(&world));
    assert!(commands::running(&world).is_some(), "there is room again");
}

#[test]
fn the_command_of_a_turn_that_is_called_off_becomes_a_task_that_is_being_stopped() {
    let give_up = || Input::GiveUp {
        message: "a rule was broken".to_owned(),
    };
    for (input, stopping) in [
        (Input::Stop, "asked"),
        (give_up(), "asked"),
        (Input::Delete, "force"),
    ] {
        let mut world = states::running_tool();
        let (call, ..) = commands::running(&world).expect("a command runs");
        let id = TaskId::of_call(&call.id);
        world.send(input);
        let [task] = world.tasks.as_slice() else {
            panic!("one task, not {:?}", world.tasks);
        };
        assert_eq!((&task.id, task.status), (&id, TaskStatus::Cancelling));
        assert_eq!(followed(&world, task), stopping);
        assert!(!task.terminal_reentry, "its turn is over");
        let spec = task.command().expect("a command");
        assert_eq!(spec.batch_items, None);
        assert!(!spec.promoted_from_exec_command);
        assert_eq!(world.violations(), []);
        let ran = world.effects.values().map(|open| &open.effect);
        let left = ran.filter(|effect| matches!(effect, Effect::RunTool { .. }));
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn the_batch_of_a_turn_that_is_called_off_is_stopped_and_becomes_no_task() {
    let abort = |_: &World| Input::Abort {
        run_id: None,
        then: AfterAbort::GoOn,
    };
    let give_up = |_: &World| Input::GiveUp {
        message: "a rule was broken".to_owned(),
    };
    let inputs: [&dyn Fn(&World) -> Input; 4] =
        [&abort, &give_up, &|_| Input::Stop, &|_| Input::Delete];
    for input in inputs {
        let mut world = states::running_batch();
        let (call, ..) = commands::running(&world).expect("a batch runs");
        world.send(input(&world));
        assert_eq!(world.tasks.len(), 0);
        assert_eq!(world.violations(), []);
        let [open] = world.batches()[..] else {
            panic!("one stop, not {:?}", world.effects);
        };
        let stamp = stamp_of(open);
        let home_goes = |world: &World| {
            let mut open = world.effects.values();
            open.any(|open| open.effect == Effect::RemoveHome)
        };
        assert!(!home_goes(&world), "its commands use the home");
        world.recover(false);
        let late = world.send(commands::batch_stopped(stamp));
        assert_eq!(late.reply, Ok(Reply::Unchanged), "of another generation");
        commands::finish_patches(&mut world);
        let ends = world.events.iter().filter_map(|event| match event {
            Event::CommandBatchStopped(stopped) => Some((&stopped.tool_call_id, &stopped.items)),
            _ => None,
        });
        let items = vec![BatchItemEnd::Stopped, BatchItemEnd::NotBegun];
        assert_eq!(ends.collect::<Vec<_>>(), [(&call.id, &items)]);
        assert_eq!(world.violations(), []);
        let is_removed = world.agent.lifecycle == Lifecycle::Deleting;
        assert_eq!(home_goes(&world), is_removed);
    }
}

#[test]
fn a_call_that_is_no_command_leaves_no_task_when_its_turn_is_called_off() {
    let world = || {
        let mut world = states::beside_tasks(1);
        let id = world.tasks[0].id.clone();
        let calls = vec![commands::task_output(&id)];
        world.send(ModelAnswer::calls(calls).to(&world));
        world
    };
    for mut world in [states::running_patch(), world()] {
        let before = world.tasks.len();
        world.send(Input::Stop);
        assert_eq!(world.tasks.len(), before);
        assert_eq!(all_followed(&world).len(), before);
        assert_eq!(world.violations(), []);
    }
}
