//! Tests of the end of tasks and its message.

use super::{followed, report, results, written};
use crate::commands;
use crate::make::ModelAnswer;
use crate::render::spelled;
use crate::states;
use crate::world::{World, stamp_of};
use holon_core::{Reply, Stamp};
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::command::{CapturedStream, CommandEnd, CommandOutput, MissingOutput};
use holon_domain::decision::Fact;
use holon_domain::event::Event;
use holon_domain::limits;
use holon_domain::message::{AdmissionContext, DeliverySurface, MessageKind, Origin};
use holon_domain::task::{TaskReport, TaskStatus};
use holon_domain::turn::TerminalReason;

#[test]
fn the_end_of_a_task_is_row_and_result_in_one_decision_and_opens_a_turn_at_once() {
    let mut world = states::with_task();
    let from = world.events.len();
    let input = commands::reported(&world, &world.tasks[0], commands::exited(0));
    let (sent, more) = world.send_once(&input);
    assert!(!more, "the turn is open in the same decision");
    let rows = written(&sent.facts);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].status, TaskStatus::Completed);
    assert_eq!(results(&world).len(), 1);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_kind, MessageKind::TaskResult);
    assert!(turn.owes.is_empty());
    assert_eq!(
        world.event_kinds(from),
        [
            "task_status_updated",
            "message_admitted",
            "task_result_received",
            "scheduler_decision",
            "continuation_resolved",
            "message_processing_started",
            "turn_started",
            "agent_state_changed",
            "session_state_changed",
        ]
    );
    world.send(ModelAnswer::words("").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    assert_eq!(
        world.briefs.len(),
        1,
        "no operator asked, so there is no brief"
    );
}

#[test]
fn a_result_comes_from_its_task_and_with_the_runtimes_own_word() {
    let mut world = states::with_task();
    report(&mut world, 0, commands::exited(0));
    let asked = world.messages[&1].entry.envelope.id.to_string();
    let task_id = world.tasks[0].id.clone();
    let message = &results(&world)[0].envelope;
    assert_eq!(message.task_id.as_ref(), Some(&task_id));
    for name in ["task_id", "task_result_id"] {
        assert_eq!(message.source_refs[name], task_id.to_string(), "{name}");
    }
    assert_eq!(message.causation_id, Some(asked));
    assert_eq!(message.authority_class, AuthorityClass::RuntimeInstruction);
    assert_eq!(message.trust, TrustLevel::TrustedSystem);
    assert_eq!(message.delivery_surface, DeliverySurface::TaskRejoin);
    assert_eq!(message.admission_context, AdmissionContext::RuntimeOwned);
    assert_eq!(message.origin, Origin::Task { task_id });
}

/// Builds a resting agent with a task of this status.
fn standing(status: TaskStatus) -> World {
    let mut world = match status {
        TaskStatus::Cancelling => states::with_task_stopping(),
        _ => states::with_task(),
    };
    match status {
        TaskStatus::Queued => world.tasks[0].status = TaskStatus::Queued,
        TaskStatus::Running | TaskStatus::Cancelling => {}
        TaskStatus::Completed => drop(report(&mut world, 0, commands::exited(0))),
        TaskStatus::Failed => drop(report(&mut world, 0, commands::exited(1))),
        TaskStatus::Cancelled => {
            world = standing(TaskStatus::Cancelling);
            report(&mut world, 0, commands::stopped());
        }
        TaskStatus::Interrupted => drop(report(&mut world, 0, commands::lost())),
    }
    assert_eq!(world.tasks[0].status, status);
    world
}

const STATUSES: [TaskStatus; 7] = [
    TaskStatus::Queued,
    TaskStatus::Running,
    TaskStatus::Cancelling,
    TaskStatus::Completed,
    TaskStatus::Failed,
    TaskStatus::Cancelled,
    TaskStatus::Interrupted,
];

fn came_to(world: &mut World, reported: TaskReport) -> String {
    let was_queued = results(world).len();
    let following = world.following(&world.tasks[0]).map(stamp_of);
    let stamp = following.unwrap_or(Stamp {
        effect: 1,
        generation: world.agent.generation,
    });
    let input = commands::task_ended(stamp, world.tasks[0].id.clone(), reported);
    let sent = world.send(input);
    if sent.reply == Ok(Reply::Unchanged) {
        assert_eq!(written(&sent.facts).len(), 0);
        return "dropped".to_owned();
    }
    let task = &world.tasks[0];
    let end = task.end.as_ref().expect("it is over");
    let artifact = end.failure_artifact.as_ref();
    let kind = artifact.map_or("no failure", |artifact| &artifact.kind);
    let told = match results(world).len() - was_queued {
        0 => "not told",
        1 => "told",
        more => panic!("told {more} times"),
    };
    let (status, exit, signal) = (spelled(task.status), end.exit_status, end.signal);
    let summary = &end.result_summary;
    format!("{status}, {exit:?}, {signal:?}, {kind}, {told}: {summary}")
}

#[test]
fn every_status_by_every_report_has_its_end() {
    let mut table = String::new();
    for status in STATUSES {
        table += &format!("{}\n", spelled(status));
        for (name, reported) in commands::reports() {
            let mut world = standing(status);
            let came_to = came_to(&mut world, reported);
            table += &format!("    {name}: {came_to}\n");
            assert_eq!(world.violations(), []);
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_report_nobody_waits_for_changes_nothing_and_is_put_on_record() {
    let begin = states::with_task;
    let (stamp, id) = {
        let world = begin();
        let task = &world.tasks[0];
        let following = world.following(task).expect("it is watched");
        (stamp_of(following), task.id.clone())
    };
    let other_effect = Stamp {
        effect: stamp.effect - 1,
        ..stamp
    };
    let other_generation = Stamp {
        generation: stamp.generation - 1,
        ..stamp
    };
    for (stamp, id) in [
        (other_effect, &id),
        (other_generation, &id),
        (stamp, &commands::unknown_task()),
    ] {
        for (_, reported) in commands::reports() {
            let mut world = begin();
            let before = world.clone();
            let sent = world.send(commands::task_ended(stamp, id.clone(), reported));
            assert_eq!(sent.reply, Ok(Reply::Unchanged));
            let [Fact::EventRecorded { event, .. }] = sent.facts.as_slice() else {
                panic!("led to {:?}", sent.facts);
            };
            assert!(matches!(event, Event::EffectOutcomeDropped(_)));
            assert_eq!(world.tasks, before.tasks);
            assert_eq!(world.effects, before.effects);
            assert_eq!(followed(&world, &world.tasks[0]), "watched");
        }
    }
}

#[test]
fn a_report_of_another_task_does_not_end_this_one() {
    let mut world = states::with_tasks(2);
    let first = stamp_of(world.following(&world.tasks[0]).expect("watched"));
    let second = world.tasks[1].id.clone();
    let sent = world.send(commands::task_ended(first, second, commands::exited(0)));
    assert_eq!(sent.reply, Ok(Reply::Unchanged));
    assert_eq!(world.agent.active_tasks, 2);
    assert_eq!(world.violations(), []);
}

fn told(stdout: CapturedStream, stderr: CapturedStream, leftovers: u32) -> (World, String) {
    let mut world = states::with_task();
    let output = CommandOutput {
        end: CommandEnd::Exited { status: 0 },
        stdout,
        stderr,
        duration_ms: 1_500,
        leftovers,
        survivors: 0,
        stopped: false,
    };
    report(&mut world, 0, TaskReport::Ended(output));
    let words = results(&world)[0].envelope.body.render();
    let id = world.tasks[0].id.to_string();
    (world, words.replace(&id, "task_1"))
}

#[test]
fn a_result_tells_the_end_the_command_and_all_of_a_short_output() {
    let silent = CapturedStream::default;
    let (_, words) = told(commands::printed("built\n"), silent(), 0);
    insta::assert_snapshot!(words, @r"
    Task task_1 completed: exit 0 after 1500 ms
    Command: make all
    Output:
    built
    ");
    let (_, words) = told(silent(), silent(), 2);
    insta::assert_snapshot!(words, @r"
    Task task_1 completed: exit 0 after 1500 ms; 2 processes it left were stopped
    Command: make all
    It printed nothing.
    ");
    let (_, words) = told(
        commands::printed("built\n"),
        commands::printed("deprecated\n"),
        0,
    );
    insta::assert_snapshot!(words, @r"
    Task task_1 completed: exit 0 after 1500 ms
    Command: make all
    Output:
    built
    stderr:
    deprecated
    ");
}

#[test]
fn a_result_tells_the_last_of_a_long_output_and_how_to_read_more() {
    let long = |name: &str| CapturedStream {
        head: format!("{name} begins\n"),
        tail: format!("{}\n{name} ends\n", "é".repeat(limits::TASK_SUMMARY_BYTES)),
        total_bytes: 1 << 20,
        dropped_bytes: 1 << 19,
        ..CapturedStream::default()
    };
    let (world, words) = told(long("output"), long("complaint"), 0);
    let end = world.tasks[0].end.as_ref().expect("it is over");
    assert_eq!(end.output_bytes, 2 << 20);
    let names = "stderr:\n\n".len();
    assert!(end.output_summary.len() <= limits::TASK_SUMMARY_BYTES + names);
    assert!(end.output_summary.contains("output ends\n"));
    assert!(end.output_summary.ends_with("complaint ends"));
    assert!(!end.output_summary.contains("begins"));
    assert!(world.tasks[0].output_snapshot().output_truncated);
    assert!(words.contains("Last output:\n"), "{words}");
    assert!(words.ends_with("TaskOutput reads more of its 2097152 bytes."));
    assert!(words.len() < 2 * limits::TASK_SUMMARY_BYTES);
}

#[test]
fn an_output_is_called_cut_only_when_more_than_white_space_at_its_end_is_missing() {
    let silent = CapturedStream::default;
    let cut = |stdout, stderr| {
        let (world, _) = told(stdout, stderr, 0);
        world.tasks[0].output_snapshot().output_truncated
    };
    let printed = commands::printed;
    assert!(!cut(silent(), silent()));
    assert!(!cut(printed("q\n"), silent()));
    assert!(!cut(printed("\n \n"), printed("odd \n\n")));
    // The heading of the second stream is longer than the missing part of the first.
    let share = limits::TASK_SUMMARY_BYTES / 2;
    assert!(cut(printed(&"x".repeat(share + 1)), printed("odd\n")));
    assert!(!cut(printed(&"x".repeat(share)), printed("odd\n")));
    let running = states::with_task();
    assert!(!running.tasks[0].output_snapshot().output_truncated);
}

#[test]
fn an_output_that_could_not_be_read_is_not_called_nothing() {
    let unread = CapturedStream {
        total_bytes: 77,
        ..CapturedStream::default()
    };
    let (_, words) = told(unread, CapturedStream::default(), 0);
    assert!(words.ends_with("TaskOutput reads its 77 bytes of output."));
}

#[test]
fn a_lost_task_says_what_is_known_and_how_to_run_it_again() {
    let mut world = states::with_task();
    report(&mut world, 0, commands::lost());
    let words = results(&world)[0].envelope.body.render();
    let id = world.tasks[0].id.to_string();
    insta::assert_snapshot!(words.replace(&id, "task_1"), @r"
    Task task_1 was interrupted: its shim is gone and left no status; to run it again: make all
    Command: make all
    Output:
    half of it
    ");
}

#[test]
fn a_task_whose_output_is_gone_is_not_said_to_have_printed_nothing() {
    let mut world = states::with_task();
    let gone = CapturedStream {
        lacks: MissingOutput {
            missing: true,
            ..MissingOutput::default()
        },
        ..CapturedStream::default()
    };
    let lost = TaskReport::Lost {
        reason: "its shim is gone".to_owned(),
        stdout: gone,
        stderr: CapturedStream::default(),
    };
    report(&mut world, 0, lost);
    let words = results(&world)[0].envelope.body.render();
    assert!(
        words.ends_with("\nThe file of its output is missing."),
        "{words}"
    );
    let end = world.tasks[0].end.as_ref().expect("it is over");
    assert_eq!(end.output_cut, Some(true));
}
