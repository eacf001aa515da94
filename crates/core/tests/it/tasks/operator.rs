//! Tests of tasks that an operator starts: one commit for row and effect, the start, its failure, and restarts.

use super::{all_followed, followed, report, results, statuses};
use crate::commands;
use crate::states;
use crate::world::{World, stamp_of};
use holon_core::input::{Finding, ProbeResult, TaskCommand};
use holon_core::{Input, Rejection, Reply};
use holon_domain::Timestamp;
use holon_domain::agent::Lifecycle;
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::effect::Effect;
use holon_domain::limits;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::task::{NewCommandTask, StartedCommand, TaskReport, TaskStatus};

fn start(cmd: &str) -> Input {
    Input::Task(TaskCommand::Start(Box::new(NewCommandTask {
        command: commands::command(cmd),
        summary: None,
        trust: TrustLevel::TrustedOperator,
    })))
}

fn queued() -> World {
    let mut world = states::idle();
    world.send(start("make"));
    world
}

/// Reports that the first task's command runs.
fn started(world: &World) -> Input {
    let task = &world.tasks[0];
    Input::TaskStarted {
        stamp: stamp_of(world.following(task).expect("it is followed")),
        task_id: task.id.clone(),
        started: Box::new(StartedCommand {
            workdir: "/made".to_owned(),
            started_at: Timestamp::from_millis(9),
            output_path: Some("/out".to_owned()),
            stderr_path: None,
        }),
    }
}

fn recover(world: &World, exit: PreviousExit, found: ProbeResult) -> Input {
    Input::Recover {
        exit,
        proven: None,
        found: vec![Finding {
            effect: Effect::StartTask {
                task_id: world.tasks[0].id.clone(),
            },
            found,
        }],
    }
}

#[test]
fn one_commit_writes_the_row_and_opens_the_effect_that_starts_the_command() {
    let mut world = states::idle();
    let outcome = world.send(start("make  all\n"));
    let Ok(Reply::Task(told)) = outcome.reply else {
        panic!("{:?}", outcome.reply);
    };
    let task = &world.tasks[0];
    assert_eq!((&told.task_id, told.status), (&task.id, TaskStatus::Queued));
    assert_eq!(task.summary.as_deref(), Some("make all"));
    assert!(task.terminal_reentry, "its end opens a turn");
    assert_eq!(followed(&world, task), "started");
    assert!(world.agent.open_turn.is_none(), "no model is asked");
    assert_eq!(world.violations(), []);

    let input = started(&world);
    world.send(input);
    let task = &world.tasks[0];
    let spec = task.command().expect("a command");
    assert_eq!(task.status, TaskStatus::Running);
    assert_eq!(spec.workdir, "/made");
    assert_eq!(spec.output_path.as_deref(), Some("/out"));
    assert!(spec.starts_in.is_none(), "it starts no second time");
    assert_eq!(followed(&world, task), "watched");
    assert_eq!(world.violations(), []);

    report(&mut world, 0, commands::exited(0));
    let told = results(&world);
    assert_eq!(told.len(), 1);
    assert_eq!(
        told[0].envelope.authority_class,
        AuthorityClass::RuntimeInstruction,
        "output is no operator's word"
    );
    assert!(
        world.agent.open_turn.is_some(),
        "the agent reads the result"
    );
}

#[test]
fn a_command_that_cannot_start_fails_and_the_agent_hears_of_it() {
    let mut world = queued();
    let reason = "working directory /gone does not exist".to_owned();
    report(&mut world, 0, TaskReport::NotStarted { reason });
    let task = &world.tasks[0];
    let end = task.end.as_ref().expect("an end");
    assert_eq!(task.status, TaskStatus::Failed);
    assert_eq!(end.result_summary, "working directory /gone does not exist");
    assert_eq!((end.exit_status, end.duration_ms), (None, None));
    assert_eq!(results(&world).len(), 1);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_crash_before_the_start_leaves_a_task_that_is_started_and_a_restored_home_one_that_is_not() {
    for (exit, then) in [
        (PreviousExit::Clean, "started"),
        (PreviousExit::Unclean, "started"),
        (PreviousExit::Restored, "watched"),
    ] {
        let mut world = queued();
        let stale = started(&world);
        let input = recover(&world, exit, ProbeResult::Nothing);
        world.send(input);
        assert_eq!(all_followed(&world), [then], "{exit:?}");
        assert_eq!(world.tasks[0].status, TaskStatus::Queued);
        world.send(stale);
        assert_eq!(
            all_followed(&world),
            [then],
            "a stale start changes nothing"
        );
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_start_that_kills_each_host_is_given_up_after_three() {
    let mut world = queued();
    for _ in 1..limits::RESUMES_WITHOUT_PROGRESS {
        let input = recover(&world, PreviousExit::Unclean, ProbeResult::Nothing);
        world.send(input);
        assert_eq!(all_followed(&world), ["started"]);
    }
    let input = recover(&world, PreviousExit::Unclean, ProbeResult::Nothing);
    world.send(input);
    assert_eq!(world.tasks[0].status, TaskStatus::Interrupted);
    assert_eq!(results(&world).len(), 1, "its end is told once");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_queued_task_is_stopped_before_it_starts() {
    let mut world = queued();
    let task_id = world.tasks[0].id.clone();
    world.send(Input::Task(TaskCommand::Stop { task_id }));
    assert_eq!(all_followed(&world), ["asked"]);
    report(&mut world, 0, commands::lost());
    assert_eq!(world.tasks[0].status, TaskStatus::Interrupted);
    assert_eq!((results(&world).len(), statuses(&world).len()), (0, 1));
    assert_eq!(world.violations(), []);
}

#[test]
fn an_agent_that_may_not_run_starts_nothing_and_neither_does_one_with_enough_tasks() {
    let refusal = |world: &mut World, cmd: &str| world.send(start(cmd)).reply.err();
    let mut stopped = states::stopped();
    let agent_id = stopped.agent.identity.agent_id.clone();
    let is_stopped = Rejection::Stopped {
        agent_id: agent_id.clone(),
    };
    assert_eq!(refusal(&mut stopped, "make"), Some(is_stopped));
    assert!(stopped.tasks.is_empty());
    let mut world = states::idle();
    for cmd in ["", " \n", "a\0b"] {
        let found = refusal(&mut world, cmd);
        assert!(
            matches!(found, Some(Rejection::InvalidCommand { .. })),
            "{found:?}"
        );
    }
    for _ in 0..limits::TASKS_PER_AGENT {
        assert_eq!(refusal(&mut world, "make"), None);
    }
    let full = Rejection::TooManyTasks { agent_id };
    assert_eq!(refusal(&mut world, "make"), Some(full));
    assert_eq!(world.violations(), []);
}

#[test]
fn a_queued_task_is_stopped_with_an_agent_whose_home_cannot_be_made() {
    let mut world = states::booting();
    world.send(start("make"));
    assert_eq!(all_followed(&world), ["started"]);
    let stamp = world.stamp().expect("the home is prepared");
    world.send(Input::HomePrepared {
        stamp,
        result: Err("the disk said no".to_owned()),
    });
    assert_eq!(world.agent.lifecycle, Lifecycle::Stopped);
    assert_eq!(all_followed(&world), ["asked"]);
    assert_eq!(world.violations(), []);
}
