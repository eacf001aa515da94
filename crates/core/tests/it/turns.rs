//! Inside a turn: interjections, bounds, cut-off answers, calls, retries, outcomes.

use crate::make::{self, Said};
use crate::states;
use crate::world::World;
use holon_domain::attempt::TokenUsage;
use holon_domain::authority::AuthorityClass;
use holon_domain::brief::{BriefKind, BriefText};
use holon_domain::event::Event;
use holon_domain::intent::Intent;
use holon_domain::limits;
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::turn::{Phase, TerminalKind, TerminalReason};

fn ended_as(world: &World) -> Option<TerminalReason> {
    world.agent.last_turn.as_ref().map(|end| end.reason)
}

fn rounds(world: &World) -> u32 {
    let open = world.agent.open_turn.as_ref().map(|turn| turn.rounds);
    open.or(world.agent.last_turn.as_ref().map(|end| end.rounds))
        .expect("a turn")
}

fn interjections(world: &World) -> Vec<QueueEntry> {
    let queued = world.in_status(QueueStatus::Queued).into_iter();
    queued
        .filter(|entry| entry.envelope.may_interject())
        .cloned()
        .collect()
}

#[test]
fn an_interjection_is_consumed_by_the_answer_to_the_request_that_held_it_and_not_before() {
    let mut world = states::calling_model_with_interjection();
    world.send(Said::words("first").to(&world));
    assert_eq!(
        interjections(&world).len(),
        1,
        "the first request did not hold it"
    );
    assert_eq!(world.briefs.len(), 0, "so the turn goes on");

    let held = interjections(&world);
    world.send(Said::words("second").after(held).to(&world));
    assert_eq!(world.in_status(QueueStatus::Interjected)[0].seq, 2);
    assert_eq!(world.briefs.len(), 1);
    assert_eq!(world.briefs[0].settles.len(), 2, "one outcome names both");
    assert_eq!(
        (world.messages[&1].outcome, world.messages[&2].outcome),
        (Some(1), Some(1))
    );
}

#[test]
fn an_interjection_whose_request_failed_gets_a_turn_of_its_own() {
    let mut world = states::calling_model_with_interjection();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Auth, stamp, world.now));
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.messages[&2].outcome, None);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn an_interjection_waits_for_the_calls_in_hand() {
    let mut world = states::running_tool();
    world.send(make::admit(make::prompt(Priority::Interject)));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    let held = interjections(&world);
    world.send(Said::words("all done").after(held).to(&world));
    let order: Vec<&str> = world
        .log
        .iter()
        .map(|(_, entry)| match entry {
            LogEntry::IncomingMessage { .. } => "message",
            LogEntry::Frame(_) => "frame",
            LogEntry::Interjection { .. } => "interjection",
            LogEntry::AssistantRound { .. } => "round",
            LogEntry::ToolResult { .. } => "result",
            LogEntry::ContinuationPrompt { .. } => "go on",
            LogEntry::RuntimeFailure { .. } => "failure",
        })
        .collect();
    assert_eq!(
        order,
        [
            "message",
            "frame",
            "round",
            "result",
            "result",
            "result",
            "interjection",
            "round"
        ]
    );
}

#[test]
fn a_prompt_that_is_not_an_interjection_waits_for_the_turn_to_end() {
    let mut world = states::calling_model();
    world.send(make::admit(make::prompt(Priority::Next)));
    world.send(Said::words("done").to(&world));
    assert_eq!(world.briefs[0].settles.len(), 1);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

fn bounded(max_rounds: u32) -> World {
    states::calling_model_for(make::bounded_prompt(max_rounds))
}

#[test]
fn calls_in_the_last_round_are_refused_and_the_turn_is_cut_off() {
    let mut world = bounded(2);
    world.send(Said::calls(vec![make::agent_get()]).to(&world));
    assert_eq!(ended_as(&world), None);
    world.send(Said::calls(vec![make::exec(), make::sleep(None)]).to(&world));
    assert_eq!(ended_as(&world), Some(TerminalReason::MaxRounds));
    assert_eq!(world.results(), ["ok", "run_aborted", "run_aborted"]);
    assert_eq!(rounds(&world), 2);
    assert_eq!(world.briefs[0].kind, BriefKind::Failure);
}

#[test]
fn an_answer_or_a_rest_in_the_last_round_is_in_time() {
    let mut world = bounded(1);
    world.send(Said::words("done").to(&world));
    assert_eq!(ended_as(&world), Some(TerminalReason::Finished));

    let mut world = bounded(1);
    world.send(Said::calls(vec![make::sleep(None)]).to(&world));
    assert_eq!(ended_as(&world), Some(TerminalReason::Slept));
    assert_eq!(world.results(), ["ok"]);
}

#[test]
fn a_cut_off_answer_does_not_outrun_the_bound() {
    for said in [
        Said::words("once upon a").cut_off(),
        Said::calls(vec![make::exec()]).cut_off(),
        Said::calls(vec![make::sleep(None)]).cut_off(),
    ] {
        let mut world = bounded(1);
        world.send(said.to(&world));
        assert_eq!(ended_as(&world), Some(TerminalReason::MaxRounds));
        assert_eq!(rounds(&world), 1);
    }
}

#[test]
fn an_interjection_at_the_bound_gets_a_turn_of_its_own() {
    let mut world = bounded(1);
    world.send(make::admit(make::prompt(Priority::Interject)));
    world.send(Said::words("done").to(&world));
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
}

#[test]
fn who_joins_a_bounded_turn_gets_its_own_share_of_rounds() {
    let bound_after_joining = |ingress| {
        let mut world = bounded(3);
        world.send(Said::calls(vec![make::agent_get()]).to(&world));
        world.send(make::admit(ingress));
        let held = interjections(&world);
        world.send(Said::calls(vec![make::agent_get()]).after(held).to(&world));
        world.agent.open_turn.expect("a turn").max_rounds
    };
    let joining = |max_rounds| holon_core::admission::Ingress {
        max_rounds,
        ..make::prompt(Priority::Interject)
    };
    assert_eq!(
        bound_after_joining(joining(None)),
        None,
        "no bound lifts the bound"
    );
    assert_eq!(
        bound_after_joining(joining(Some(2))),
        Some(3),
        "rounds two and three"
    );
    assert_eq!(
        bound_after_joining(joining(Some(5))),
        Some(6),
        "rounds two to six"
    );
}

#[test]
fn answers_cut_off_in_a_row_are_continued_twice_and_then_end_the_turn() {
    let mut world = states::calling_model();
    for _ in 0..limits::OUTPUT_LIMIT_RECOVERIES {
        world.send(Said::words("once upon a").cut_off().to(&world));
        assert_eq!(ended_as(&world), None);
    }
    world.send(Said::words("once upon a").cut_off().to(&world));
    assert_eq!(ended_as(&world), Some(TerminalReason::OutputLimit));
    assert_eq!(world.messages[&1].outcome, Some(1));
}

#[test]
fn an_answer_that_came_through_begins_the_count_anew() {
    let mut world = states::calling_model();
    for _ in 0..5 {
        world.send(Said::words("once upon a").cut_off().to(&world));
        world.send(Said::words("once upon a").cut_off().to(&world));
        world.send(Said::calls(vec![make::agent_get()]).to(&world));
    }
    assert_eq!(ended_as(&world), None);
}

#[test]
fn a_cut_off_call_is_answered_by_its_error_and_words_by_a_request_to_go_on() {
    let prompts = |world: &World| {
        let entries = world.log.iter();
        entries
            .filter(|(_, entry)| matches!(entry, LogEntry::ContinuationPrompt { .. }))
            .count()
    };
    let mut world = states::calling_model();
    world.send(Said::calls(vec![make::exec()]).cut_off().to(&world));
    assert_eq!(
        (world.results(), prompts(&world)),
        (vec!["truncated_tool_call".to_owned()], 0)
    );
    world.send(Said::words("once upon a").cut_off().to(&world));
    assert_eq!(prompts(&world), 1);
}

#[test]
fn what_a_turn_queues_has_never_more_authority_than_what_caused_it() {
    let cases = [
        (
            make::prompt(Priority::Normal),
            AuthorityClass::RuntimeInstruction,
        ),
        (
            make::channel_event("news", Priority::Normal),
            AuthorityClass::ExternalEvidence,
        ),
    ];
    for (ingress, expected) in cases {
        let mut world = states::calling_model_for(ingress);
        world.send(Said::calls(vec![make::enqueue(Priority::Normal)]).to(&world));
        let message = &world.messages[&2].entry.envelope;
        assert_eq!(message.authority_class, expected);
        let cause = world.messages[&1].entry.envelope.id.to_string();
        assert_eq!(message.causation_id, Some(cause));

        // And what the follow-up queues in turn is capped by the follow-up.
        world.send(Said::words("done").to(&world));
        world.send(Said::calls(vec![make::enqueue(Priority::Normal)]).to(&world));
        assert_eq!(world.messages[&3].entry.envelope.authority_class, expected);
    }
}

#[test]
fn an_operator_who_joins_an_outsiders_turn_lends_it_no_authority() {
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    world.send(make::admit(make::prompt(Priority::Interject)));
    let held = interjections(&world);
    let said = Said::calls(vec![make::enqueue(Priority::Normal)]).after(held);
    world.send(said.to(&world));
    assert_eq!(
        world.messages[&3].entry.envelope.authority_class,
        AuthorityClass::ExternalEvidence
    );
}

#[test]
fn an_agent_cannot_interject_into_itself() {
    let mut world = states::calling_model();
    world.send(Said::calls(vec![make::enqueue(Priority::Interject)]).to(&world));
    let message = &world.messages[&2].entry.envelope;
    assert_eq!(
        (message.priority, message.may_interject()),
        (Priority::Next, false)
    );
}

#[test]
fn a_turn_queues_only_so_many_follow_ups() {
    let mut world = states::calling_model();
    let max = limits::FOLLOWUPS_PER_TURN as usize;
    let calls = vec![make::enqueue(Priority::Normal); max + 2];
    world.send(Said::calls(calls).to(&world));
    let results = world.results();
    assert!(results[..max].iter().all(|result| result == "ok"));
    assert_eq!(results[max..], ["limit_reached", "limit_reached"]);
    assert_eq!(world.messages.len(), max + 1);
}

#[test]
fn sleep_ends_the_turn_only_when_it_stands_alone() {
    let mut world = states::resting(Some(5_000));
    assert_eq!(ended_as(&world), Some(TerminalReason::Slept));
    let rest = world.agent.rest.clone().expect("it rests");
    assert_eq!(
        rest.wake.map(|wake| wake.at),
        Some(world.now.plus_millis(5_000))
    );

    world.send(make::admit(make::prompt(Priority::Normal)));
    let said = Said::calls(vec![make::agent_get(), make::sleep(None)]);
    world.send(said.to(&world));
    assert_eq!(world.results(), ["ok", "ok", "sleep_not_alone"]);
    assert!(
        world.agent.open_turn.is_some(),
        "the model reads the results first"
    );
}

#[test]
fn a_rest_that_is_over_wakes_the_agent_once_with_its_own_reason() {
    let mut world = states::resting(Some(5_000));
    world.let_due_come();
    let message = &world.messages[&2].entry.envelope;
    let words = message.body.render();
    assert!(words.contains("nothing to do"), "{words}");
    assert_eq!(message.authority_class, AuthorityClass::RuntimeInstruction);
    let Some(Event::ContinuationResolved(resolved)) = world
        .events
        .iter()
        .rev()
        .find(|event| matches!(event, Event::ContinuationResolved(_)))
    else {
        panic!("the wake was classified");
    };
    assert!(resolved.matched_waiting_reason);
    assert!(world.due.is_empty() && world.agent.rest.is_none());
}

#[test]
fn calls_beyond_the_limit_of_a_round_get_an_error_each() {
    let mut world = states::calling_model();
    let calls = vec![make::agent_get(); limits::CALLS_PER_ROUND + 2];
    world.send(Said::calls(calls).to(&world));
    let results = world.results();
    let (run, refused) = results.split_at(limits::CALLS_PER_ROUND);
    assert!(run.iter().all(|result| result == "ok"));
    assert_eq!(refused, ["limit_reached", "limit_reached"]);
}

#[test]
fn calls_run_in_order_and_one_at_a_time() {
    let mut world = states::calling_model();
    let calls = vec![
        make::misunderstood(),
        make::exec(),
        make::agent_get(),
        make::exec(),
    ];
    world.send(Said::calls(calls).to(&world));
    let running = |world: &World| match world.agent.open_turn.as_ref()?.phase {
        Phase::RunningTool { call_index, .. } => Some(call_index),
        Phase::CallingModel { .. } | Phase::BackingOff { .. } => None,
    };
    assert_eq!((running(&world), world.effects.len()), (Some(1), 1));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    assert_eq!((running(&world), world.effects.len()), (Some(3), 1));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    assert_eq!((running(&world), world.effects.len()), (None, 1));
    assert_eq!(world.results(), ["invalid_tool_input", "ok", "ok", "ok"]);
}

#[test]
fn a_call_nobody_interpreted_still_gets_a_result() {
    let mut world = states::calling_model();
    let mut answer = Said::calls(vec![make::agent_get(), make::agent_get()]).answer(world.now);
    answer.intents = vec![Ok(Intent::AgentGet)];
    let stamp = world.stamp().expect("a model is asked");
    let answer = Box::new(answer);
    world.send(holon_core::Input::RoundAnswered { stamp, answer });
    assert_eq!(world.results(), ["ok", "tool_execution_failed"]);
}

#[test]
fn a_failing_provider_is_asked_three_times_and_every_try_is_on_record() {
    let mut world = states::calling_model();
    for pause in [true, true, false] {
        let stamp = world.stamp().expect("a model is asked");
        let failure = ModelFailure {
            kind: ModelFailureKind::ServerError,
            message: "overloaded".to_owned(),
            retry_after_ms: None,
            usage: Some(TokenUsage::new(7, 0)),
            diagnostics: None,
        };
        let timing = make::timing(world.now);
        world.send(holon_core::Input::RoundFailed {
            stamp,
            failure,
            timing,
        });
        if pause {
            world.let_due_come();
        }
    }
    assert_eq!(ended_as(&world), Some(TerminalReason::ProviderFailed));
    let Some((_, LogEntry::RuntimeFailure { timeline, .. })) = world.log.last() else {
        panic!("the log says why");
    };
    let tries: Vec<u32> = timeline
        .as_ref()
        .expect("with its tries")
        .attempts
        .iter()
        .map(|attempt| attempt.attempt)
        .collect();
    assert_eq!(tries, [1, 2, 3]);
    let end = world.agent.last_turn.clone().expect("it ended");
    assert_eq!(
        end.usage,
        TokenUsage::new(21, 0),
        "failed tries cost money too"
    );
    assert_eq!(world.agent.totals.usage, TokenUsage::new(21, 0));
    assert_eq!(world.agent.totals.model_rounds, 0);
}

#[test]
fn a_prompt_that_does_not_fit_fails_at_once_and_is_not_tried_again() {
    let mut world = states::calling_model();
    let stamp = world.stamp().expect("a model is asked");
    let failed = make::failed(ModelFailureKind::ContextLengthExceeded, stamp, world.now);
    world.send(failed);
    assert_eq!(
        ended_as(&world),
        Some(TerminalReason::ContextLengthExceeded)
    );
    assert!(world.due.is_empty() && world.effects.is_empty());
}

#[test]
fn the_outcome_of_a_turn_is_its_last_words_by_reference() {
    let mut world = states::calling_model();
    world.send(Said::calls(vec![make::agent_get()]).to(&world));
    world.send(Said::words("here you are").to(&world));
    let last_round = world.log.len() as u64;
    assert_eq!(world.briefs[0].text, BriefText::Round(last_round));
    let end = world.agent.last_turn.clone().expect("it ended");
    assert_eq!(end.kind, TerminalKind::Completed);
    assert_eq!(end.last_round_entry, Some(last_round));
}

#[test]
fn a_turn_nobody_asked_for_writes_a_brief_only_if_it_has_something_to_say() {
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    world.send(Said::words("").to(&world));
    assert_eq!(world.briefs.len(), 0);
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    world.send(Said::words("interesting").to(&world));
    assert_eq!(world.briefs.len(), 1);
    assert!(world.briefs[0].settles.is_empty());
}

#[test]
fn a_turn_that_succeeds_clears_the_last_failure() {
    let mut world = states::calling_model();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Auth, stamp, world.now));
    assert!(world.agent.last_failure.is_some());
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(Said::words("done").to(&world));
    assert_eq!(world.agent.last_failure, None);
}

#[test]
fn what_woke_the_agent_is_spelled_as_it_is_stored() {
    let world = states::calling_model();
    assert_eq!(
        world.agent.last_wake_reason.as_deref(),
        Some("operator_input")
    );
}
