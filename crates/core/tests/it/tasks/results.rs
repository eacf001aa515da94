//! Tests of task results: they join an open turn or begin one, and are never lost.

use super::{report, results};
use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::assess::{AssessmentInput, NextAction, assess};
use holon_core::input::{AfterAbort, FailedAttempt};
use holon_domain::decision::Fact;
use holon_domain::limits;
use holon_domain::log::LogEntry;
use holon_domain::message::{MessageKind, Priority};
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::queue::QueueStatus;
use holon_domain::turn::TerminalReason;

/// Answers a request that contained every waiting message that one request may.
fn answer(world: &mut World, said: ModelAnswer) {
    let held = world.interjections().into_iter();
    let held = held.take(limits::JOINING_PER_ROUND).collect();
    world.send(said.after(held).to(world));
}

#[test]
fn a_result_joins_the_turn_that_runs_with_the_commit_of_the_round_that_held_it() {
    let mut world = states::calling_model_with_result();
    assert_eq!(results(&world)[0].status, QueueStatus::Queued);
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    assert_eq!(
        results(&world)[0].status,
        QueueStatus::Queued,
        "the first request did not hold it"
    );
    answer(&mut world, ModelAnswer::words("built"));
    let result = results(&world)[0];
    assert_eq!(result.status, QueueStatus::Interjected);
    let seq = result.seq;
    let entered = world.log.iter().filter(|(_, entry)| {
        matches!(entry, LogEntry::Interjection { message_seq, .. } if *message_seq == seq)
    });
    assert_eq!(entered.count(), 1);
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    assert_eq!(
        world.agent.counters.turns, 1,
        "and starts no turn of its own"
    );
}

#[test]
fn a_result_that_joins_is_owed_no_brief_and_widens_no_bound() {
    let mut world = states::calling_model_for(make::bounded_prompt(5));
    states::run_tasks(&mut world, 1);
    report(&mut world, 0, commands::exited(0));
    answer(&mut world, ModelAnswer::calls(vec![make::agent_get()]));
    let turn = world.agent.open_turn.clone().expect("a turn");
    assert_eq!((turn.rounds, turn.max_rounds), (2, 5));
    assert_eq!(turn.owes.len(), 1, "the operator's prompt only");
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.briefs[0].settles.len(), 1);
    let seq = results(&world)[0].seq;
    assert_eq!(world.messages[&seq].outcome, None);
}

#[test]
fn the_answer_an_operator_is_owed_is_not_replaced_by_words_about_a_result() {
    let mut world = states::calling_model_with_result();
    world.send(ModelAnswer::words("it is 42").to(&world));
    assert_eq!(world.messages[&1].outcome, Some(1), "the answer stands");
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_seq, results(&world)[0].seq);
}

#[test]
fn an_operator_who_speaks_while_a_result_is_answered_still_joins_the_turn() {
    let mut world = states::calling_model_with_result();
    let held = world.interjections();
    world.send(make::admit(make::prompt(Priority::Interject)));
    world.send(ModelAnswer::words("built").after(held).to(&world));
    assert_eq!(world.ended_as(), None, "the operator's words come first");
    answer(&mut world, ModelAnswer::words("built, and the tests pass"));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    assert_eq!(world.briefs[0].settles.len(), 2);
}

#[test]
fn a_result_nobody_has_answered_is_put_back_by_a_stop_and_told_after_the_start() {
    let mut world = states::with_task();
    report(&mut world, 0, commands::exited(0));
    let seq = world.agent.open_turn.as_ref().expect("a turn").message_seq;
    world.send(Input::Stop);
    assert_eq!(results(&world)[0].status, QueueStatus::Queued);
    assert!(world.violations().is_empty(), "{:?}", world.violations());
    world.send(Input::Start);
    let world = states::ready(world);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_seq, seq);
}

#[test]
fn a_result_nobody_has_answered_is_held_by_an_abort_and_opens_no_run_again() {
    let mut world = states::with_task();
    report(&mut world, 0, commands::exited(0));
    world.send(Input::Abort {
        run_id: None,
        then: AfterAbort::GoOn,
    });
    assert_eq!(results(&world)[0].status, QueueStatus::Held);
    assert!(world.agent.open_turn.is_none(), "the aborted run is over");
    assert!(world.violations().is_empty(), "{:?}", world.violations());
}

#[test]
fn a_result_is_worth_no_more_than_the_turn_that_began_its_task() {
    use holon_domain::authority::{AuthorityClass, TrustLevel};
    use holon_domain::task::TaskRecoverySpec;
    let worth = |trust: TrustLevel| {
        let mut world = states::beside_tasks(1);
        let task = world.tasks.first_mut().expect("a task");
        match task.recovery.as_mut().expect("a command") {
            TaskRecoverySpec::CommandTask {
                trust: begun_on, ..
            }
            | TaskRecoverySpec::ChildAgentTask {
                trust: begun_on, ..
            }
            | TaskRecoverySpec::SubagentTask {
                trust: begun_on, ..
            }
            | TaskRecoverySpec::WorktreeSubagentTask {
                trust: begun_on, ..
            } => *begun_on = trust,
        }
        report(&mut world, 0, commands::exited(0));
        results(&world)[0].envelope.authority_class
    };
    assert_eq!(
        worth(TrustLevel::TrustedOperator),
        AuthorityClass::RuntimeInstruction
    );
    assert_eq!(
        worth(TrustLevel::UntrustedExternal),
        AuthorityClass::ExternalEvidence
    );
}

#[test]
fn a_result_at_the_bound_gets_a_turn_of_its_own() {
    let mut world = states::calling_model_for(make::bounded_prompt(2));
    states::run_tasks(&mut world, 1);
    report(&mut world, 0, commands::exited(0));
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.messages[&1].outcome, Some(1));
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_kind, MessageKind::TaskResult);
}

#[test]
fn a_result_whose_request_failed_is_told_in_a_turn_of_its_own() {
    let mut world = states::calling_model_with_result();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(
        ModelFailureKind::InvalidRequest,
        stamp,
        world.now,
    ));
    assert_eq!(world.messages[&1].outcome, Some(1));
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_seq, results(&world)[0].seq);
}

#[test]
fn where_no_model_can_be_asked_results_wait_and_are_told_when_one_can() {
    let mut world = states::with_tasks(2);
    report(&mut world, 0, commands::exited(0));
    report(&mut world, 1, commands::exited(0));
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Auth, stamp, world.now));
    let statuses = |world: &World| -> Vec<QueueStatus> {
        results(world).iter().map(|entry| entry.status).collect()
    };
    assert_eq!(
        statuses(&world),
        [QueueStatus::Dequeued, QueueStatus::Queued]
    );
    world.recover(false);
    world.send(Input::Start);
    answer(&mut world, ModelAnswer::words("two are done"));
    let told = [QueueStatus::Processed, QueueStatus::Interjected];
    assert_eq!(statuses(&world), told);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_held_result_that_a_refused_request_contained_gets_a_turn_of_its_own() {
    let mut world = states::stopped_with_task();
    report(&mut world, 0, commands::exited(0));
    world.send(Input::Start);
    let mut world = states::ready(world);
    assert_eq!(world.agent.held.len(), 1);
    world.send(make::admit(make::prompt(Priority::Normal)));
    let interjected = world.interjections();
    let failure = ModelFailure::new(ModelFailureKind::InvalidRequest, "no");
    world.send(Input::AttemptFailed {
        stamp: world.stamp().expect("a model is asked"),
        attempt: Box::new(FailedAttempt {
            shown: Default::default(),
            implausible_usage: None,
            answer_tokens: 0,
            failure,
            timing: make::timing(world.now),
            server: Default::default(),
            interjected,
            request_tokens: 0,
        }),
    });
    assert!(world.agent.held.is_empty());
    world.send(ModelAnswer::words("without it").to(&world));
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_kind, MessageKind::TaskResult);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_run_that_no_model_could_answer_is_failed_once_and_not_once_more_for_each_result() {
    let mut world = states::ready(World::with(make::agent_for_run(Some(20))));
    world.send(make::admit(make::bounded_prompt(20)));
    states::run_tasks(&mut world, 2);
    report(&mut world, 0, commands::exited(0));
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Auth, stamp, world.now));
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.agent.held.len(), 1);
    assert_eq!(world.violations(), []);
}

/// Builds the run of a temporary agent with this round limit and a running task.
fn run_of(max_rounds: u32) -> World {
    let mut world = states::ready(World::with(make::agent_for_run(Some(max_rounds))));
    world.send(make::admit(make::bounded_prompt(max_rounds)));
    states::run_tasks(&mut world, 1);
    world
}

#[test]
fn a_run_takes_no_more_rounds_than_it_may_whenever_its_task_ends() {
    let mut early = run_of(2);
    report(&mut early, 0, commands::exited(0));
    early.send(ModelAnswer::words("it builds").to(&early));
    let mut late = run_of(2);
    late.send(ModelAnswer::words("it builds").to(&late));
    report(&mut late, 0, commands::exited(0));
    for world in [early, late] {
        assert_eq!(world.agent.open_turn, None, "no round is left to tell it");
        assert_eq!(world.agent.held.len(), 1);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn the_rounds_of_a_run_are_counted_over_all_its_turns() {
    let mut world = run_of(4);
    world.send(ModelAnswer::words("it builds").to(&world));
    report(&mut world, 0, commands::exited(0));
    let left = |world: &World| {
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        turn.max_rounds - turn.rounds
    };
    assert_eq!(left(&world), 2);
    states::run_tasks(&mut world, 1);
    assert_eq!(left(&world), 1);
    assert_eq!(world.agent.run_rounds_left(), Some(1));
}

#[test]
fn a_result_waits_for_the_calls_in_hand() {
    let mut world = states::beside_tasks(1);
    world.send(ModelAnswer::calls(vec![make::exec(), make::agent_get()]).to(&world));
    report(&mut world, 0, commands::exited(0));
    assert!(commands::running(&world).is_some(), "the call runs on");
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    answer(&mut world, ModelAnswer::words("built"));
    let order: Vec<bool> = world
        .log
        .iter()
        .rev()
        .take(3)
        .map(|(_, entry)| matches!(entry, LogEntry::Interjection { .. }))
        .collect();
    assert_eq!(order, [false, true, false], "result, interjection, round");
}

#[test]
fn a_result_that_waits_survives_a_crash_and_a_pause_of_the_provider() {
    let mut world = states::calling_model_with_result();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Timeout, stamp, world.now));
    world.recover(false);
    assert_eq!(results(&world)[0].status, QueueStatus::Queued);
    world.let_due_come();
    answer(&mut world, ModelAnswer::words("built"));
    assert_eq!(results(&world)[0].status, QueueStatus::Interjected);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_result_ends_a_rest_with_or_without_an_end() {
    for rest in [None, Some(60_000)] {
        let mut world = states::beside_tasks(1);
        world.send(ModelAnswer::calls(vec![make::sleep(rest)]).to(&world));
        assert!(world.agent.rest.is_some());
        report(&mut world, 0, commands::exited(0));
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        assert_eq!(turn.message_kind, MessageKind::TaskResult);
        assert!(world.agent.rest.is_none() && world.due.is_empty());
    }
}

#[test]
fn a_result_that_came_while_the_agent_went_to_rest_wakes_it_at_once() {
    let mut world = states::calling_model_with_result();
    world.send(ModelAnswer::calls(vec![make::sleep(Some(60_000))]).to(&world));
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_kind, MessageKind::TaskResult);
    assert!(world.due.is_empty());
}

#[test]
fn many_results_at_once_are_taken_into_few_turns_and_none_is_lost() {
    let count = 40;
    let mut world = states::with_tasks(count);
    for number in 0..count {
        report(&mut world, number, commands::exited(0));
    }
    let before = world.agent.counters.turns;
    assert_eq!(results(&world).len(), count);
    // The one that opens a turn, and as many as may join one request.
    let turns = count.div_ceil(limits::JOINING_PER_ROUND + 1);
    while world.agent.open_turn.is_some() {
        answer(&mut world, ModelAnswer::words("noted"));
    }
    let more = world.agent.counters.turns - before;
    assert_eq!(more + 1, turns as u64, "each took as many as it could");
    assert_eq!(world.queue().pending, 0);
    let taken = |status| {
        let all = results(&world);
        all.iter().filter(|entry| entry.status == status).count()
    };
    assert_eq!(taken(QueueStatus::Processed), turns);
    assert_eq!(taken(QueueStatus::Interjected), count - turns);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_agent_that_lives_on_its_own_tasks_is_slowed_down() {
    let mut world = states::calling_model();
    let mut waits = Vec::new();
    for number in 0..limits::UNPACED_TURNS as usize + 3 {
        states::run_tasks(&mut world, 1);
        world.send(ModelAnswer::words("and again").to(&world));
        report(&mut world, number, commands::exited(0));
        match assess(AssessmentInput::new(&world.agent, &world.queue())).next {
            NextAction::Pace { until } => {
                waits.push(until.millis_since(world.now));
                world.let_due_come();
            }
            other => {
                assert_eq!(other, NextAction::Turn);
                waits.push(0);
            }
        }
    }
    assert_eq!(waits, [0, 0, 0, 0, 0, 0, 0, 0, 1_000, 2_000, 4_000]);
}

#[test]
fn a_task_that_took_longer_than_the_pause_is_told_at_once() {
    let mut world = states::calling_model();
    for number in 0..limits::UNPACED_TURNS as usize * 2 {
        states::run_tasks(&mut world, 1);
        world.send(ModelAnswer::words("and again").to(&world));
        world.advance(limits::PACE_MAX_MS);
        report(&mut world, number, commands::exited(0));
        assert!(world.agent.open_turn.is_some());
    }
}

#[test]
fn whoever_speaks_goes_before_results_that_are_paced_and_takes_them_along() {
    let mut world = states::with_tasks(3);
    world.agent.self_caused_turns = limits::UNPACED_TURNS;
    for number in 0..3 {
        report(&mut world, number, commands::exited(0));
    }
    assert!(world.agent.pace.is_some());
    world.send(make::admit(make::prompt(Priority::Normal)));
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_kind, MessageKind::OperatorPrompt);
    answer(
        &mut world,
        ModelAnswer::words("here you are, and all three are built"),
    );
    assert_eq!(world.queue().pending, 0);
    assert_eq!(world.agent.self_caused_queued, 0);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_result_is_queued_however_full_the_queue_is() {
    let world = states::with_task();
    let input = commands::reported(&world, &world.tasks[0], commands::exited(0));
    let mut dice = crate::world::Dice::new();
    let step = world.decide_on(&input, &mut dice, &|loaded| {
        loaded.queue.pending = limits::QUEUE_ENTRIES;
    });
    let step = step.expect("a step");
    let admitted = step.decision.facts.iter().filter(|fact| {
        matches!(fact, Fact::MessageAdmitted(entry)
            if entry.envelope.kind == MessageKind::TaskResult)
    });
    assert_eq!(admitted.count(), 1);
}

#[test]
fn a_result_that_was_queued_before_a_stop_is_told_after_the_start() {
    let mut world = states::calling_model_with_result();
    world.send(Input::Stop);
    assert_eq!(results(&world)[0].status, QueueStatus::Queued);
    world.send(Input::Start);
    let world = states::ready(world);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(turn.message_seq, results(&world)[0].seq);
}

#[test]
fn an_open_task_of_a_retired_kind_is_interrupted_by_a_restart() {
    use holon_domain::authority::TrustLevel;
    use holon_domain::task::{TaskKind, TaskRecoverySpec, TaskStatus};
    let mut world = states::beside_tasks(1);
    let task = world.tasks.first_mut().expect("a task");
    task.kind = TaskKind::SubagentTask;
    task.recovery = Some(TaskRecoverySpec::SubagentTask {
        summary: "look".to_owned(),
        prompt: "Look into it.".to_owned(),
        trust: TrustLevel::TrustedOperator,
    });
    world.recover(false);
    assert_eq!(world.tasks[0].status, TaskStatus::Interrupted);
    assert_eq!(results(&world).len(), 1, "its agent hears of it");
    assert!(world.violations().is_empty(), "{:?}", world.violations());
}
