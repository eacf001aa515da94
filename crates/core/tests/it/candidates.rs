//! Tests of the choice of models: fallbacks, waits for the network and for allowances, and learned limits.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::assess::{AssessmentInput, assess};
use holon_core::input::FailedAttempt;
use holon_domain::attempt::{AttemptOutcome, AttemptTimeline, TransportDiagnostics};
use holon_domain::failure::FailureCategory;
use holon_domain::log::LogEntry;
use holon_domain::message::{DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelChoice, ModelFailure, ModelFailureKind, ModelOptions};
use holon_domain::provider::{LearnedLimits, ReasoningEffort};
use holon_domain::turn::{Phase, TerminalReason};
use holon_domain::{Timestamp, limits};

const HOUR_MS: u64 = 3_600_000;

/// Builds an agent with the models `a/1`, `b/1` and `c/1` and an open turn.
fn asking(surface: DeliverySurface) -> World {
    let mut world = states::idle();
    world.host.models = ModelChain {
        fallbacks: vec![make::model("b/1"), make::model("c/1")],
        ..ModelChain::only(make::model("a/1"))
    };
    let mut ingress = make::prompt(Priority::Normal);
    ingress.delivery_surface = surface;
    world.send(make::admit(ingress));
    world
}

fn unattended() -> World {
    asking(DeliverySurface::HttpControlPrompt)
}

fn without_fallbacks(mut world: World) -> World {
    if let Some(turn) = world.agent.open_turn.as_mut() {
        turn.fallbacks.clear();
    }
    world
}

fn fail(world: &mut World, failure: ModelFailure) {
    let stamp = world.stamp().expect("a model is asked");
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
            interjected: world.interjections(),
            request_tokens: 0,
        }),
    });
}

fn fail_as(world: &mut World, kind: ModelFailureKind) {
    fail(world, ModelFailure::new(kind, "it failed"));
}

fn asked(world: &World) -> String {
    let turn = world.agent.open_turn.as_ref().expect("a turn runs");
    turn.model_ref()
}

fn last_failure(world: &World) -> &AttemptTimeline {
    match world.log.last() {
        Some((_, LogEntry::RuntimeFailure { timeline, .. })) => {
            timeline.as_ref().expect("with its tries")
        }
        other => panic!("the log ends with a failure, not {other:?}"),
    }
}

fn tries(timeline: &AttemptTimeline) -> Vec<String> {
    let one = |attempt: &holon_domain::attempt::AttemptRecord| {
        let onward = if attempt.advanced_to_fallback {
            ", next model"
        } else {
            ""
        };
        let why = attempt.disposition.as_ref();
        let why = why.map_or("answered", |disposition| disposition.as_str());
        format!("{} {} {why}{onward}", attempt.model_ref, attempt.attempt)
    };
    timeline.attempts.iter().map(one).collect()
}

#[test]
fn each_model_gets_its_tries_and_then_the_next_is_asked_in_the_same_round() {
    let mut world = unattended();
    for _ in 0..2 {
        fail_as(&mut world, ModelFailureKind::ServerError);
        world.let_due_come();
    }
    fail_as(&mut world, ModelFailureKind::ServerError);
    assert_eq!(asked(&world), "b/1");
    fail_as(&mut world, ModelFailureKind::Auth);
    assert_eq!(asked(&world), "c/1");
    world.send(ModelAnswer::words("here").to(&world));
    let Some((
        _,
        LogEntry::AssistantRound {
            tries: told, usage, ..
        },
    )) = world.log.last()
    else {
        panic!("the round is in the log");
    };
    let timeline = told.timeline(*usage);
    assert_eq!(
        tries(&timeline),
        [
            "a/1 1 retry",
            "a/1 2 retry",
            "a/1 3 exhausted, next model",
            "b/1 1 fail_fast, next model",
            "c/1 1 answered",
        ]
    );
    assert_eq!(timeline.requested_model_ref, "a/1");
    assert_eq!(timeline.winning_model_ref.as_deref(), Some("c/1"));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn the_rest_of_the_turn_stays_on_the_model_that_won_and_the_next_turn_begins_anew() {
    let mut world = unattended();
    fail_as(&mut world, ModelFailureKind::Auth);
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    assert_eq!(asked(&world), "b/1");
    world.send(ModelAnswer::words("done").to(&world));
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert_eq!(asked(&world), "a/1");
}

#[test]
fn when_no_model_is_left_a_run_fails_once_and_the_chosen_model_speaks_first() {
    let mut world = asking(DeliverySurface::RunOnce);
    let says = |words: &str| ModelFailure::new(ModelFailureKind::InvalidResponse, words);
    for words in ["words of a", "words of b", "words of c"] {
        fail(&mut world, says(words));
    }
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    assert_eq!(world.briefs.len(), 1);
    let timeline = last_failure(&world);
    assert_eq!(timeline.requested_model_ref, "a/1");
    assert_eq!(timeline.active_model_ref.as_deref(), Some("c/1"));
    let failure = world.agent.last_failure.as_ref().expect("kept");
    let summary = &failure.failure_artifact.summary;
    assert_eq!(
        summary,
        "a/1 failed (invalid_response): words of a; no other model answered: b/1 failed (invalid_response): words of b; \
         c/1 failed (invalid_response): words of c"
    );
}

#[test]
fn the_failure_of_a_chain_is_that_of_the_chosen_model_in_every_part() {
    let mut world = asking(DeliverySurface::RunOnce);
    let diagnostics = |status| {
        Some(Box::new(TransportDiagnostics {
            status: Some(status),
            source_chain: vec![format!("cause of {status}")],
            ..TransportDiagnostics::default()
        }))
    };
    let fails = |kind, words: &str, status| ModelFailure {
        diagnostics: diagnostics(status),
        ..ModelFailure::new(kind, words)
    };
    fail(&mut world, fails(ModelFailureKind::Auth, "no key", 401));
    fail(
        &mut world,
        fails(ModelFailureKind::ModelUnavailable, "no b", 404),
    );
    fail(
        &mut world,
        fails(ModelFailureKind::ModelUnavailable, "no c", 410),
    );
    let failure = world.agent.last_failure.as_ref().expect("kept");
    let artifact = &failure.failure_artifact;
    assert_eq!(
        (artifact.kind.as_str(), artifact.category, artifact.status),
        ("auth", FailureCategory::Transport, Some(401))
    );
    assert_eq!(artifact.model_ref.as_deref(), Some("a/1"));
    assert_eq!(artifact.provider.as_deref(), Some("a"));
    assert_eq!(artifact.source_chain, ["cause of 401"]);
    assert_eq!(artifact.metadata["attempts"], "3");
    assert_eq!(artifact.metadata["requested_model_ref"], "a/1");
    assert!(
        artifact.summary.starts_with("a/1 failed (auth): no key; "),
        "{}",
        artifact.summary
    );
}

#[test]
fn a_prompt_that_does_not_fit_is_put_to_nobody_else() {
    let mut world = unattended();
    fail_as(&mut world, ModelFailureKind::ContextLengthExceeded);
    world.let_due_come();
    assert_eq!(asked(&world), "a/1", "asked again with a shorter prompt");
    fail_as(&mut world, ModelFailureKind::ContextLengthExceeded);
    assert_eq!(
        world.ended_as(),
        Some(TerminalReason::ContextLengthExceeded)
    );
}

#[test]
fn a_network_that_comes_back_has_cost_no_try() {
    let mut world = asking(DeliverySurface::RunOnce);
    for _ in 0..5 {
        fail_as(&mut world, ModelFailureKind::Network);
        world.let_due_come();
    }
    for _ in 0..2 {
        fail_as(&mut world, ModelFailureKind::Timeout);
        world.let_due_come();
    }
    assert_eq!(asked(&world), "a/1", "two of three tries are used");
}

fn used_up(resets_in_ms: u64) -> ModelFailure {
    ModelFailure {
        retry_after_ms: Some(resets_in_ms),
        ..ModelFailure::new(ModelFailureKind::Quota, "the allowance is used up")
    }
}

#[test]
fn a_used_up_allowance_asks_the_next_model_first() {
    let mut world = unattended();
    fail(&mut world, used_up(HOUR_MS));
    assert_eq!(asked(&world), "b/1");
}

#[test]
fn a_used_up_allowance_of_the_last_model_suspends_the_turn_visibly_until_it_is_renewed() {
    let mut world = without_fallbacks(unattended());
    fail(&mut world, used_up(HOUR_MS));
    let renewed = world.now.plus_millis(HOUR_MS);
    let standing = assess(AssessmentInput::new(&world.agent, &world.queue()));
    assert_eq!(standing.posture.wakes_at, Some(renewed));
    assert!(
        standing.posture.reason.contains("allowance of a/1"),
        "{}",
        standing.posture.reason
    );
    world.let_due_come();
    assert_eq!(world.now, renewed);
    world.send(ModelAnswer::words("back again").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn a_suspended_turn_survives_a_restart() {
    let mut world = without_fallbacks(unattended());
    fail(&mut world, used_up(HOUR_MS));
    let before: Vec<Timestamp> = world.due.values().map(|(time, _)| time.at()).collect();
    world.recover(false);
    let after: Vec<Timestamp> = world.due.values().map(|(time, _)| time.at()).collect();
    assert_eq!(before, after);
}

#[test]
fn nobody_who_sits_and_waits_is_kept_for_an_hour() {
    let mut world = without_fallbacks(asking(DeliverySurface::RunOnce));
    fail(&mut world, used_up(HOUR_MS));
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    let mut offline = asking(DeliverySurface::RunOnce);
    let began = offline.now;
    while offline.agent.open_turn.is_some() {
        fail_as(&mut offline, ModelFailureKind::Network);
        if offline.agent.open_turn.is_some() {
            offline.let_due_come();
        }
    }
    let waited = offline.now.millis_since(began);
    assert!(waited <= 3 * limits::ATTENDED_PATIENCE_MS, "{waited}");
}

#[test]
fn an_allowance_that_is_used_up_again_and_again_ends_a_run() {
    let mut world = without_fallbacks(asking(DeliverySurface::RunOnce));
    let soon = limits::ATTENDED_PATIENCE_MS / 3;
    for _ in 0..limits::PARKS_PER_ROUND {
        fail(&mut world, used_up(soon));
        world.let_due_come();
    }
    fail(&mut world, used_up(soon));
    assert_eq!(world.ended_as(), Some(TerminalReason::ProviderFailed));
    let last = last_failure(&world).attempts.last().expect("a try").outcome;
    assert_eq!(last, AttemptOutcome::FailFastAborted);
}

#[test]
fn what_an_error_teaches_is_kept_for_the_model_it_speaks_of() {
    let mut world = unattended();
    let output = LearnedLimits {
        max_output_tokens: Some(4_096),
        ..LearnedLimits::default()
    };
    fail(
        &mut world,
        ModelFailure {
            learned: Some(output),
            ..ModelFailure::new(ModelFailureKind::InvalidRequest, "max_tokens is too large")
        },
    );
    world.let_due_come();
    assert_eq!(asked(&world), "a/1", "asked again with less");
    let window = LearnedLimits {
        context_window_tokens: Some(8_000),
        ..LearnedLimits::default()
    };
    fail(
        &mut world,
        ModelFailure {
            learned: Some(window),
            ..ModelFailure::new(ModelFailureKind::ContextLengthExceeded, "too long")
        },
    );
    let known = world.learned.get("a/1").copied();
    assert_eq!(known, Some(output.and_then(window)));
}

#[test]
fn effort_and_thinking_hold_for_the_model_they_were_chosen_with() {
    let mut world = unattended();
    world.send(ModelAnswer::words("hello").to(&world));
    world.send(Input::Configure {
        workspace: None,
        model: Some(ModelChoice::Use {
            model: make::model("d/1"),
            options: ModelOptions {
                reasoning_effort: Some(ReasoningEffort::High),
                thinking_tokens: Some(2_048),
                fallback_models: None,
            },
        }),
    });
    world.send(make::admit(make::prompt(Priority::Normal)));
    let effort = |world: &World| {
        let turn = world.agent.open_turn.as_ref().expect("a turn runs");
        let model = turn.model_ref();
        (model, turn.reasoning_effort, turn.thinking_tokens)
    };
    assert_eq!(
        effort(&world),
        ("d/1".to_owned(), Some(ReasoningEffort::High), Some(2_048))
    );
    fail_as(&mut world, ModelFailureKind::Auth);
    assert_eq!(effort(&world), ("b/1".to_owned(), None, None));
}

#[test]
fn an_agent_asks_its_own_fallbacks_and_none_of_the_host() {
    for (listed, after) in [
        (vec!["x/1", "d/1", "y/1"], vec!["x/1", "y/1"]),
        (vec![], vec![]),
    ] {
        let mut world = unattended();
        world.send(ModelAnswer::words("hello").to(&world));
        let fallback_models = listed.into_iter().map(make::model).collect();
        world.send(Input::Configure {
            workspace: None,
            model: Some(ModelChoice::Use {
                model: make::model("d/1"),
                options: ModelOptions {
                    fallback_models: Some(fallback_models),
                    ..ModelOptions::default()
                },
            }),
        });
        world.send(make::admit(make::prompt(Priority::Normal)));
        assert_eq!(asked(&world), "d/1");
        for next in after {
            fail_as(&mut world, ModelFailureKind::Auth);
            assert_eq!(asked(&world), next);
        }
        fail_as(&mut world, ModelFailureKind::Auth);
        let turn = world.agent.open_turn.as_ref().expect("a turn");
        assert!(matches!(turn.phase, Phase::Suspended { .. }), "{turn:?}");
        // A suspended turn takes the current chain of its agent.
        world.send(Input::Configure {
            workspace: None,
            model: Some(ModelChoice::Inherit),
        });
        assert_eq!(asked(&world), "a/1");
        fail_as(&mut world, ModelFailureKind::Auth);
        assert_eq!(asked(&world), "b/1");
    }
}

#[test]
fn the_allowance_that_is_renewed_first_is_waited_for_and_then_all_are_asked_anew() {
    for last in [
        used_up(3 * HOUR_MS),
        ModelFailure::new(ModelFailureKind::Auth, "no"),
    ] {
        let mut world = unattended();
        fail(&mut world, used_up(2 * HOUR_MS));
        fail(&mut world, used_up(HOUR_MS));
        assert_eq!(asked(&world), "c/1");
        fail(&mut world, last);
        let standing = assess(AssessmentInput::new(&world.agent, &world.queue()));
        assert_eq!(
            standing.posture.wakes_at,
            Some(world.now.plus_millis(HOUR_MS))
        );
        world.let_due_come();
        assert_eq!(asked(&world), "a/1", "the first again");
        fail_as(&mut world, ModelFailureKind::Auth);
        assert_eq!(asked(&world), "b/1", "the others too");
        world.send(ModelAnswer::words("back again").to(&world));
        assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    }
}

#[test]
fn without_a_network_a_model_on_this_machine_is_asked_at_once() {
    let mut world = unattended();
    world.host.models.local_providers = vec!["c".to_owned()];
    fail_as(&mut world, ModelFailureKind::Network);
    assert_eq!(asked(&world), "c/1");
    world.send(ModelAnswer::words("here").to(&world));
    assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
}

#[test]
fn an_operators_message_ends_a_wait_at_once_and_an_outsiders_does_not() {
    for reason in [ModelFailureKind::Quota, ModelFailureKind::Network] {
        let mut world = without_fallbacks(unattended());
        let failure = ModelFailure {
            retry_after_ms: Some(HOUR_MS),
            ..ModelFailure::new(reason, "later")
        };
        fail(&mut world, failure);
        world.send(make::admit(make::channel_event("news", Priority::Normal)));
        assert!(world.stamp().is_none(), "still waits");
        world.now = world.now.plus_millis(1_000);
        world.send(make::admit(make::prompt(Priority::Interject)));
        assert_eq!(asked(&world), "a/1");
        assert!(world.due.is_empty());
        let waiting = world.interjections();
        world.send(ModelAnswer::words("both").after(waiting).to(&world));
        assert_eq!(world.ended_as(), Some(TerminalReason::Finished));
    }
}

#[test]
fn a_turn_that_waits_goes_on_with_the_model_its_agent_is_given() {
    let mut world = without_fallbacks(unattended());
    fail(&mut world, used_up(HOUR_MS));
    world.send(Input::Configure {
        workspace: None,
        model: Some(make::choice("d/1")),
    });
    assert_eq!(asked(&world), "d/1");
    let turn = world.agent.open_turn.as_ref().expect("a turn runs");
    assert_eq!(
        turn.requested().expect("one").to_string(),
        "d/1",
        "an operator asked for it, so it is no fallback"
    );
    assert!(world.due.is_empty());
}

#[test]
fn a_machine_that_sleeps_loses_no_patience() {
    let mut world = unattended();
    fail_as(&mut world, ModelFailureKind::Network);
    world.advance(3 * limits::PROVIDER_PATIENCE_MS);
    world.let_due_come();
    fail_as(&mut world, ModelFailureKind::Network);
    assert_eq!(
        world.due.len(),
        1,
        "it goes on waiting and asks again by itself"
    );
}
