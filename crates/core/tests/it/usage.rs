//! Tests of usage: every call that may have reached a provider is charged exactly once.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::input::{AfterAbort, FailedAttempt};
use holon_core::{Input, RoundAnswer};
use holon_domain::attempt::TokenUsage;
use holon_domain::event::Event;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelPrice};
use holon_domain::previous_exit::PreviousExit;
use holon_domain::usage::{CallEstimate, UsageCharge};

/// Returns the model, the tokens and whether they are estimated, of each charge.
fn charges(world: &World) -> Vec<(u64, u64, bool)> {
    let figures = |charge: &UsageCharge| {
        let usage = charge.usage;
        (usage.input_tokens, usage.output_tokens, charge.estimated)
    };
    world.charges.iter().map(figures).collect()
}

fn asked() -> World {
    let mut world = states::idle();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world
}

fn fail(world: &mut World, failure: ModelFailure, request_tokens: u64) {
    let stamp = world.stamp().expect("a model is asked");
    let attempt = Box::new(FailedAttempt {
        shown: Default::default(),
        implausible_usage: None,
        answer_tokens: 20,
        failure,
        timing: make::timing(world.now),
        server: Default::default(),
        interjected: Vec::new(),
        request_tokens,
    });
    world.send(Input::AttemptFailed { stamp, attempt });
}

fn recover(world: &mut World) {
    world.send(Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: Vec::new(),
    });
}

#[test]
fn an_answer_is_charged_with_what_its_provider_reported() {
    let mut world = asked();
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!(charges(&world), [(10, 2, false)]);
    let charge = &world.charges[0];
    assert_eq!(charge.agent_id, charge.root_agent_id);
    assert_eq!(charge.model_ref, "scripted/default");
    assert_eq!(charge.cost, None, "a price that is not known is not zero");
}

#[test]
fn an_implausible_claim_is_recorded_and_the_estimate_is_charged() {
    let mut world = asked();
    let stamp = world.stamp().expect("a model is asked");
    let claim = TokenUsage::new(i64::MAX as u64, 5);
    let answer = RoundAnswer {
        usage: TokenUsage::new(70, 3),
        implausible_usage: Some(claim),
        ..ModelAnswer::words("done").answer(stamp.effect, world.now)
    };
    let answer = Box::new(answer);
    world.send(Input::RoundAnswered { stamp, answer });
    assert_eq!(charges(&world), [(70, 3, true)]);
    assert_eq!(world.agent.totals.usage.input_tokens, 70);
    let recorded = world.events.iter().find_map(|event| match event {
        Event::ProviderRoundCompleted(round) => Some((round.token_usage, round.tries.clone())),
        _ => None,
    });
    let (usage, tries) = recorded.expect("the round is told");
    assert_eq!(usage, TokenUsage::new(70, 3));
    let attempts = tries.timeline(usage).attempts;
    assert_eq!(attempts[0].implausible_usage, Some(claim));
    assert_eq!(attempts[0].token_usage, Some(usage));
}

#[test]
fn a_call_whose_provider_counted_nothing_is_charged_by_its_estimate() {
    let mut world = asked();
    let stamp = world.stamp().expect("a model is asked");
    let answer = RoundAnswer {
        usage: TokenUsage::default(),
        estimate: CallEstimate {
            input_tokens: 500,
            output_tokens: 900,
        },
        ..ModelAnswer::words("done").answer(stamp.effect, world.now)
    };
    let answer = Box::new(answer);
    world.send(Input::RoundAnswered { stamp, answer });
    let charged = charges(&world);
    let [(500, said, true)] = charged[..] else {
        panic!("{charged:?}");
    };
    assert!(
        (1..900).contains(&said),
        "what was said, not the bound: {said}"
    );
}

#[test]
fn a_known_price_makes_the_cost_of_a_charge() {
    let mut world = states::idle();
    let price = ModelPrice {
        input_per_million: 3_000_000,
        cached_input_per_million: None,
        cache_write_per_million: None,
        output_per_million: 15_000_000,
    };
    let prices = &mut world.host.models.prices;
    prices.insert("scripted/default".to_owned(), price);
    world.send(make::admit(make::prompt(Priority::Normal)));
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!(world.charges[0].cost, Some(30 + 30));
}

#[test]
fn a_failure_is_charged_with_its_usage_or_with_its_input_if_it_was_begun() {
    let mut world = asked();
    let refused = ModelFailure::new(ModelFailureKind::ServerError, "busy");
    fail(&mut world, refused.clone(), 80);
    assert_eq!(charges(&world), [], "a refusal costs nothing");
    world.let_due_come();
    let reported = ModelFailure {
        usage: Some(TokenUsage::new(7, 1)),
        ..refused
    };
    fail(&mut world, reported, 80);
    assert_eq!(charges(&world), [(7, 1, false)]);
    world.let_due_come();
    let slow = ModelFailure::new(ModelFailureKind::Timeout, "slow");
    fail(&mut world, slow, 80);
    assert_eq!(charges(&world), [(7, 1, false), (80, 0, true)]);
}

#[test]
fn a_call_that_a_crash_loses_is_charged_as_estimated_once() {
    let mut world = asked();
    recover(&mut world);
    assert_eq!(charges(&world), [(limits::FIRST_CALL_TOKENS, 0, true)]);
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!(charges(&world)[1..], [(10, 2, false)]);
    recover(&mut world);
    assert_eq!(world.charges.len(), 2, "nothing was open any more");
    world.send(make::admit(make::prompt(Priority::Normal)));
    recover(&mut world);
    // The guess grows with the last request.
    assert_eq!(charges(&world)[2..], [(90, 20, true)]);
}

#[test]
fn a_call_that_is_called_off_is_charged_as_estimated() {
    let mut world = asked();
    world.send(Input::Abort {
        run_id: None,
        then: AfterAbort::GoOn,
    });
    assert_eq!(charges(&world), [(limits::FIRST_CALL_TOKENS, 0, true)]);
}
