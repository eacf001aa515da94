//! Tests of retries, ends and outcomes of turns.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::input::FailedAttempt;
use holon_core::{Ingress, Input};
use holon_domain::attempt::TokenUsage;
use holon_domain::brief::BriefText;
use holon_domain::event::Event;
use holon_domain::log::LogEntry;
use holon_domain::message::{DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelFailure, ModelFailureKind};
use holon_domain::provider::{LearnedLimits, LimitSource};
use holon_domain::turn::{TerminalKind, TerminalReason};

#[test]
fn a_failing_provider_is_asked_three_times_and_every_try_is_on_record() {
    let mut world = states::calling_model_for(Ingress {
        delivery_surface: DeliverySurface::RunOnce,
        ..make::prompt(Priority::Normal)
    });
    for pause in [true, true, false] {
        let stamp = world.stamp().expect("a model is asked");
        let failure = ModelFailure {
            usage: Some(TokenUsage::new(7, 0)),
            ..ModelFailure::new(ModelFailureKind::ServerError, "overloaded")
        };
        let timing = make::timing(world.now);
        world.send(Input::AttemptFailed {
            stamp,
            attempt: Box::new(FailedAttempt {
                shown: Default::default(),
                implausible_usage: None,
                answer_tokens: 0,
                failure,
                timing,
                server: Default::default(),
                interjected: Vec::new(),
                request_tokens: 0,
            }),
        });
        if pause {
            world.let_due_come();
        }
    }
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
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
fn a_prompt_that_does_not_fit_is_compacted_once_in_each_round_and_then_fails() {
    let mut world = states::calling_model();
    let too_long = |world: &mut World, request_tokens| {
        world.send(Input::AttemptFailed {
            stamp: world.stamp().expect("a model is asked"),
            attempt: Box::new(FailedAttempt {
                shown: Default::default(),
                implausible_usage: None,
                answer_tokens: 0,
                failure: ModelFailure::new(ModelFailureKind::ContextLengthExceeded, "too long"),
                timing: make::timing(world.now),
                server: Default::default(),
                interjected: Vec::new(),
                request_tokens,
            }),
        });
    };
    let ceiling = |world: &World| {
        let turn = world.agent.open_turn.as_ref();
        turn.and_then(|turn| turn.prompt_ceiling)
            .map(|ceiling| ceiling.tokens)
    };
    too_long(&mut world, 40_000);
    assert_eq!(ceiling(&world), Some(30_000));
    world.let_due_come();
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    assert_eq!(ceiling(&world), Some(30_000), "later rounds stay below");
    too_long(&mut world, 28_000);
    assert_eq!(ceiling(&world), Some(21_000));
    world.let_due_come();
    too_long(&mut world, 21_000);
    assert_eq!(
        world.ended_as(),
        Some(TerminalReason::ContextLengthExceeded)
    );
    assert!(world.due.is_empty() && world.effects.is_empty());
}

#[test]
fn a_refused_prompt_is_repeated_within_what_was_answered_and_what_the_refusal_named() {
    let refuse = |world: &mut World, request_tokens, window: Option<u32>| {
        let mut failure = ModelFailure::new(ModelFailureKind::ContextLengthExceeded, "too long");
        failure.learned = window.map(|tokens| LearnedLimits::window(tokens, LimitSource::Refusal));
        world.send(Input::AttemptFailed {
            stamp: world.stamp().expect("a model is asked"),
            attempt: Box::new(FailedAttempt {
                shown: Default::default(),
                implausible_usage: None,
                answer_tokens: 0,
                failure,
                timing: make::timing(world.now),
                server: Default::default(),
                interjected: Vec::new(),
                request_tokens,
            }),
        });
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        let tokens = turn.prompt_ceiling.expect("a ceiling").tokens;
        world.let_due_come();
        tokens
    };
    let answer = |world: &mut World, request_tokens| {
        let answer = ModelAnswer {
            request_tokens,
            ..ModelAnswer::calls(vec![make::agent_get()])
        };
        world.send(answer.to(world));
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        turn.prompt_ceiling.map(|ceiling| ceiling.tokens)
    };
    let mut world = states::calling_model();
    assert_eq!(
        refuse(&mut world, 100_000, Some(16_000)),
        12_000,
        "the window"
    );

    let mut world = states::calling_model();
    assert_eq!(answer(&mut world, 6_000), None);
    assert_eq!(refuse(&mut world, 100_000, None), 6_000, "the last answer");
    assert_eq!(answer(&mut world, 5_900), Some(7_375), "answers raise it");
    assert_eq!(answer(&mut world, 7_300), Some(9_125));
    assert_eq!(
        refuse(&mut world, 9_100, None),
        6_825,
        "and refusals lower it"
    );
    assert_eq!(
        answer(&mut world, 6_800),
        Some(7_300),
        "up to the size that was answered before"
    );
    assert_eq!(
        answer(&mut world, 7_300),
        Some(7_300),
        "for the rest of the turn"
    );
}

#[test]
fn the_outcome_of_a_turn_is_its_last_words_by_reference() {
    let mut world = states::calling_model();
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    world.send(ModelAnswer::words("here you are").to(&world));
    let last_round = world.log.len() as u64;
    assert_eq!(world.briefs[0].text, BriefText::Round(last_round));
    let end = world.agent.last_turn.clone().expect("it ended");
    assert_eq!(end.kind, TerminalKind::Completed);
    assert_eq!(end.last_round_entry, Some(last_round));
}

#[test]
fn a_turn_nobody_asked_for_writes_a_brief_only_if_it_has_something_to_say() {
    let mut world = states::calling_model_for(make::channel_event("news", Priority::Normal));
    world.send(ModelAnswer::words("").to(&world));
    assert_eq!(world.briefs.len(), 0);
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    world.send(ModelAnswer::words("interesting").to(&world));
    assert_eq!(world.briefs.len(), 1);
    assert!(world.briefs[0].settles.is_empty());
}

#[test]
fn a_turn_that_succeeds_clears_the_last_failure() {
    let mut world = states::calling_model();
    let stamp = world.stamp().expect("a model is asked");
    let refused = ModelFailureKind::InvalidRequest;
    world.send(make::failed(refused, stamp, world.now));
    assert!(world.agent.last_failure.is_some());
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.agent.last_failure, None);
}

#[test]
fn a_turn_that_fails_late_tells_what_its_answered_rounds_cost() {
    let mut world = states::calling_model();
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    let stamp = world.stamp().expect("a model is asked");
    let refused = ModelFailureKind::InvalidRequest;
    world.send(make::failed(refused, stamp, world.now));
    let Some((_, LogEntry::RuntimeFailure { usage, .. })) = world.log.last() else {
        panic!("the log says why");
    };
    assert_eq!(*usage, Some(TokenUsage::new(10, 2)));
    let told = world.events.iter().find_map(|event| match event {
        Event::RuntimeError(error) => Some(error),
        _ => None,
    });
    let told = told.expect("an event says why");
    assert_eq!(told.token_usage, *usage);
    assert_eq!((told.turn_index, told.message_seq), (Some(1), Some(1)));
}

#[test]
fn a_round_that_another_model_answers_names_the_one_that_was_asked_for() {
    let mut world = states::idle();
    world.host.models = ModelChain {
        fallbacks: vec![make::model("b/1")],
        ..ModelChain::only(make::model("a/1"))
    };
    world.send(make::admit(make::prompt(Priority::Normal)));
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(ModelFailureKind::Auth, stamp, world.now));
    world.send(ModelAnswer::words("done").to(&world));
    let round = world.log.iter().find_map(|(_, entry)| match entry {
        LogEntry::AssistantRound { tries, .. } => Some(tries),
        _ => None,
    });
    let tries = round.expect("a round");
    assert_eq!(
        (tries.requested_model(), tries.model_ref.as_str()),
        ("a/1", "b/1")
    );
    assert!(tries.fallback_active());
}

#[test]
fn what_woke_the_agent_is_spelled_as_it_is_stored() {
    let world = states::calling_model();
    assert_eq!(
        world.agent.last_wake_reason.as_deref(),
        Some("operator_input")
    );
}
