//! Tests of budgets in turns: a call reserves before it is made, and a turn without room is suspended and goes on.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::assess::{AssessmentInput, assess};
use holon_core::explain::{ExplainedRows, explain};
use holon_domain::brief::ActionCode;
use holon_domain::budget::{
    Budget, BudgetKey, BudgetMeter, BudgetPeriod, BudgetScope, CallTerms, UnreadableBudget,
};
use holon_domain::closure::WaitingReason;
use holon_domain::event::{Event, SuspensionEnd};
use holon_domain::message::Priority;
use holon_domain::model::ModelPrice;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::turn::{Phase, SuspensionReason};
use holon_domain::usage::CallEstimate;

fn key(period: BudgetPeriod) -> BudgetKey {
    BudgetKey {
        scope: BudgetScope::Agent(make::agent_id()),
        period,
    }
}

/// Sets the one budget of the host and keeps what was spent.
fn limit(world: &mut World, period: BudgetPeriod, tokens: u64) {
    let key = key(period);
    world.meters.entry(key.clone()).or_default();
    world.host.budgets = vec![Budget {
        key,
        limit_tokens: Some(tokens),
        limit_micro_usd: None,
        set_at: world.now,
    }]
    .into();
}

fn prompted(tokens: u64) -> World {
    let mut world = states::idle();
    limit(&mut world, BudgetPeriod::Total, tokens);
    world.send(make::admit(make::prompt(Priority::Normal)));
    world
}

fn measure(world: &mut World, input_tokens: u64, output_tokens: u64) {
    let stamp = world.stamp().expect("a model is asked");
    world.send(Input::CallMeasured {
        stamp,
        estimate: CallEstimate {
            input_tokens,
            output_tokens,
        },
    });
}

fn is_suspended(world: &World) -> bool {
    let turn = world.agent.open_turn.as_ref();
    turn.is_some_and(|turn| {
        matches!(
            turn.phase,
            Phase::Suspended {
                reason: SuspensionReason::BudgetReached,
                ..
            }
        )
    })
}

fn reserved(world: &World) -> Option<u64> {
    world.reserved.as_ref().map(|reserved| reserved.tokens)
}

fn spent(world: &World) -> u64 {
    world.meters[&key(BudgetPeriod::Total)].spent_tokens
}

fn ends(world: &World) -> Vec<SuspensionEnd> {
    let end = |event: &Event| match event {
        Event::TurnSuspensionEnded(ended) => Some(ended.by),
        _ => None,
    };
    world.events.iter().filter_map(end).collect()
}

#[test]
fn a_call_reserves_what_it_may_use_and_its_outcome_replaces_that() {
    let mut world = prompted(20_000);
    // The first request is measured: how long its answer may be is not known before.
    let terms = |world: &World| world.agent.open_turn.as_ref().map(|turn| turn.call_terms);
    assert_eq!(
        (reserved(&world), terms(&world)),
        (None, Some(CallTerms::Measure))
    );
    measure(&mut world, 9_000, 32_000);
    // The answer gets what is left.
    assert_eq!(
        (reserved(&world), terms(&world)),
        (Some(20_000), Some(CallTerms::Bound))
    );
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!((reserved(&world), spent(&world)), (None, 12));
    // The next one is guessed from the last, and the guess has room.
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert_eq!(terms(&world), Some(CallTerms::Bound));
}

#[test]
fn a_change_of_another_budget_tells_nothing_new() {
    let mut world = prompted(5_000);
    measure(&mut world, 6_000, 32_000);
    for _ in 0..3 {
        world.send(Input::BudgetChanged);
        measure(&mut world, 6_000, 32_000);
        assert!(is_suspended(&world));
    }
    assert_eq!(world.briefs.len(), 1);
}

#[test]
fn a_small_budget_is_measured_before_anything_is_sent_and_the_turn_is_suspended() {
    let mut world = prompted(5_000);
    let turn = world.agent.open_turn.as_ref().expect("a turn is open");
    assert_eq!(turn.call_terms, CallTerms::Measure);
    assert_eq!(reserved(&world), None);
    measure(&mut world, 6_000, 32_000);
    assert!(is_suspended(&world));
    let briefs: Vec<_> = world.briefs.iter().collect();
    assert_eq!(briefs.len(), 1);
    let asks = briefs[0].action_required.as_ref().expect("an action");
    assert_eq!(asks.code, ActionCode::BudgetReached);
    assert!(
        asks.next_step.contains("holon budget set --agent"),
        "{}",
        asks.next_step
    );
    assert_eq!((spent(&world), world.due.len()), (0, 0));
}

#[test]
fn an_explanation_says_that_only_a_change_of_the_budget_ends_the_suspension() {
    let mut world = prompted(5_000);
    measure(&mut world, 6_000, 32_000);
    let told = explain(&world.agent, &world.queue(), ExplainedRows::default());
    let [woken_by] = told.woken_by.as_slice() else {
        panic!("one cause: {:?}", told.woken_by);
    };
    for part in ["not a message", "5000 tokens", "holon budget set --agent"] {
        assert!(woken_by.contains(part), "{part}: {woken_by}");
    }
}

#[test]
fn an_operators_word_neither_passes_a_budget_nor_writes_a_second_brief() {
    let mut world = prompted(5_000);
    measure(&mut world, 6_000, 32_000);
    for _ in 0..3 {
        world.send(make::admit(make::prompt(Priority::Normal)));
        assert!(is_suspended(&world));
    }
    drop(world.send(Input::Start));
    drop(world.send(Input::ModelsChanged));
    if world.stamp().is_some() {
        measure(&mut world, 6_000, 32_000);
    }
    assert!(is_suspended(&world));
    assert_eq!(world.briefs.len(), 1);
}

#[test]
fn a_raised_budget_goes_on_from_there_and_answers_everything() {
    let mut world = prompted(5_000);
    measure(&mut world, 6_000, 32_000);
    world.send(make::admit(make::prompt(Priority::Normal)));
    limit(&mut world, BudgetPeriod::Total, 50_000);
    world.send(Input::BudgetChanged);
    assert_eq!(ends(&world), [SuspensionEnd::BudgetChanged]);
    let answer = ModelAnswer::words("done")
        .after(world.interjections())
        .to(&world);
    world.send(answer);
    assert_eq!(
        world.ended_as(),
        Some(holon_domain::turn::TerminalReason::Finished)
    );
    assert_eq!(world.briefs.len(), 2);
}

#[test]
fn a_raise_that_is_too_small_is_told_once_more() {
    let mut world = prompted(5_000);
    measure(&mut world, 6_000, 32_000);
    limit(&mut world, BudgetPeriod::Total, 5_500);
    world.send(Input::BudgetChanged);
    measure(&mut world, 6_000, 32_000);
    assert!(is_suspended(&world));
    assert_eq!(world.briefs.len(), 2);
}

#[test]
fn the_budget_of_a_day_ends_at_midnight() {
    let mut world = states::idle();
    limit(&mut world, BudgetPeriod::Day, 5_000);
    world.send(make::admit(make::prompt(Priority::Normal)));
    measure(&mut world, 6_000, 32_000);
    assert!(is_suspended(&world));
    let (_, (time, _)) = world.due.iter().next().expect("midnight is due");
    assert_eq!(time.at().as_millis() % 86_400_000, 0, "midnight in UTC");
    assert!(time.at() > world.now);
    world
        .meters
        .insert(key(BudgetPeriod::Day), BudgetMeter::default());
    limit(&mut world, BudgetPeriod::Day, 5_000);
    world.let_due_come();
    assert_eq!(ends(&world), [SuspensionEnd::PauseOver]);
    measure(&mut world, 600, 32_000);
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert!(world.agent.open_turn.is_none());
}

#[test]
fn a_call_that_a_crash_loses_is_charged_as_reserved_and_the_next_one_has_less_room() {
    let mut world = prompted(20_000);
    measure(&mut world, 9_000, 2_000);
    world.send(Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: Vec::new(),
    });
    assert_eq!(spent(&world), 11_000);
    measure(&mut world, 9_000, 2_000);
    assert!(is_suspended(&world), "9,000 are left");
    assert_eq!((spent(&world), reserved(&world)), (11_000, None));
}

#[test]
fn a_measured_call_that_was_never_sent_costs_nothing() {
    let mut world = prompted(5_000);
    world.send(Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: Vec::new(),
    });
    assert_eq!(spent(&world), 0);
}

#[test]
fn the_limit_of_the_settings_holds_for_each_agent_until_a_budget_replaces_it() {
    let mut world = states::idle();
    world.host.budget_defaults.agent_day_tokens = Some(5_000);
    world
        .meters
        .insert(key(BudgetPeriod::Day), BudgetMeter::default());
    world.send(make::admit(make::prompt(Priority::Normal)));
    measure(&mut world, 6_000, 32_000);
    assert!(is_suspended(&world));
    limit(&mut world, BudgetPeriod::Day, 50_000);
    world.send(Input::BudgetChanged);
    assert_eq!(ends(&world), [SuspensionEnd::BudgetChanged]);
    assert!(!is_suspended(&world));
}

#[test]
fn a_model_whose_price_is_not_known_any_more_does_not_pass_a_money_limit() {
    let mut world = states::idle();
    limit(&mut world, BudgetPeriod::Total, 0);
    let mut budgets = world.host.budgets.to_vec();
    budgets[0].limit_tokens = None;
    budgets[0].limit_micro_usd = Some(5_000_000);
    world.host.budgets = budgets.into();
    let price = ModelPrice {
        input_per_million: 3_000_000,
        cached_input_per_million: None,
        cache_write_per_million: None,
        output_per_million: 15_000_000,
    };
    let model = "scripted/default".to_owned();
    world.host.models.prices.insert(model.clone(), price);
    world.send(make::admit(make::prompt(Priority::Normal)));
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!(world.agent.totals.spending.known_cost, 60);
    let told = world.briefs.last().and_then(|brief| brief.spending);
    assert_eq!(
        told.map(|spent| (spent.tokens, spent.known_cost)),
        Some((12, 60))
    );

    world.host.models.prices.remove(&model);
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert!(is_suspended(&world), "no call is made at an unknown price");
    let asks = world
        .briefs
        .last()
        .and_then(|brief| brief.action_required.as_ref());
    let next_step = &asks.expect("an action").next_step;
    assert!(next_step.contains("price_input"), "{next_step}");
    world.host.models.prices.insert(model, price);
    drop(world.send(Input::ModelsChanged));
    assert!(!is_suspended(&world));
}

fn price(input_per_million: u64, output_per_million: u64) -> ModelPrice {
    ModelPrice {
        input_per_million,
        cached_input_per_million: None,
        cache_write_per_million: None,
        output_per_million,
    }
}

#[test]
fn a_call_costs_what_its_model_cost_when_it_was_made() {
    let model = "scripted/default".to_owned();
    let mut world = states::idle();
    world
        .host
        .models
        .prices
        .insert(model.clone(), price(1_000_000, 1_000_000));
    world.send(make::admit(make::prompt(Priority::Normal)));
    // The price rises while the model works, and is then forgotten.
    world
        .host
        .models
        .prices
        .insert(model.clone(), price(9_000_000, 9_000_000));
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    let costs = |world: &World| -> Vec<Option<u64>> {
        world.charges.iter().map(|charge| charge.cost).collect()
    };
    assert_eq!(costs(&world), [Some(12)]);
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.host.models.prices.remove(&model);
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!(costs(&world), [Some(12), Some(108)]);
    // A price that becomes known later does not make a call cheap that was made without one.
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.host.models.prices.insert(model, price(1, 1));
    let answer = ModelAnswer::words("done").to(&world);
    world.send(answer);
    assert_eq!(costs(&world), [Some(12), Some(108), None]);
    let spent = world.agent.totals.spending;
    assert_eq!((spent.known_cost, spent.unpriced_calls), (120, 1));
}

#[test]
fn a_call_that_a_crash_loses_costs_what_it_did_when_it_was_made() {
    let model = "scripted/default".to_owned();
    let mut world = prompted(1_000_000);
    measure(&mut world, 9_000, 2_000);
    assert_eq!(world.charges, []);
    world
        .host
        .models
        .prices
        .insert(model, price(1_000_000, 1_000_000));
    world.send(Input::Recover {
        exit: PreviousExit::Unclean,
        proven: None,
        found: Vec::new(),
    });
    let lost = world.charges.first().expect("the lost call is charged");
    assert_eq!((lost.estimated, lost.cost), (true, None));
}

#[test]
fn the_budget_of_a_day_ends_at_midnight_of_its_zone_also_on_a_day_of_another_length() {
    // In Berlin the clock goes from 2:00 to 3:00 on this night, so the day has 23 hours.
    for (now, midnight) in [
        ("2026-03-28T23:30:00.000Z", "2026-03-29T22:00:00.000Z"),
        ("2026-10-24T22:30:00.000Z", "2026-10-25T23:00:00.000Z"),
        ("2026-06-30T22:30:00.000Z", "2026-07-01T22:00:00.000Z"),
    ] {
        let at = |text: &str| -> holon_domain::Timestamp {
            serde_json::from_value(serde_json::json!(text)).expect("a time")
        };
        let mut world = states::idle();
        world.now = at(now);
        world.host.zone = "Europe/Berlin".to_owned();
        limit(&mut world, BudgetPeriod::Day, 5_000);
        world.send(make::admit(make::prompt(Priority::Normal)));
        measure(&mut world, 6_000, 32_000);
        assert!(is_suspended(&world), "{now}");
        let (_, (time, _)) = world.due.iter().next().expect("midnight is due");
        assert_eq!(time.at(), at(midnight), "{now}");
    }
}

#[test]
fn deaths_before_a_suspension_do_not_count_against_the_turn_that_goes_on() {
    let mut world = prompted(5_000);
    let die = |world: &mut World| {
        world.send(Input::Recover {
            exit: PreviousExit::Unclean,
            found: Vec::new(),
            proven: None,
        });
    };
    die(&mut world);
    die(&mut world);
    // The host lived to measure the request.
    measure(&mut world, 6_000, 32_000);
    limit(&mut world, BudgetPeriod::Total, 50_000);
    world.send(Input::BudgetChanged);
    die(&mut world);
    die(&mut world);
    let turn = world.agent.open_turn.as_ref();
    assert_eq!(turn.map(|turn| turn.turn_index), Some(1));
    die(&mut world);
    assert!(
        world.agent.open_turn.is_none(),
        "the third death in a row sets the message aside"
    );
}

#[test]
fn a_turn_that_a_budget_of_the_day_holds_waits_for_a_time_and_not_for_something_outside() {
    let mut world = states::idle();
    limit(&mut world, BudgetPeriod::Day, 1);
    world.send(make::admit(make::prompt(Priority::Normal)));
    if !is_suspended(&world) {
        measure(&mut world, 900, 100);
    }
    assert!(is_suspended(&world));
    let shown = assess(AssessmentInput::new(&world.agent, &world.queue()));
    let closure = shown.closure.expect("it waits");
    assert_eq!(closure.waiting_reason, Some(WaitingReason::AwaitingTimer));
    assert!(
        closure.evidence[0].contains("a budget is reached"),
        "{closure:?}"
    );
}

#[test]
fn a_budget_that_cannot_be_read_suspends_what_it_may_cover_until_an_operator_sets_it() {
    let other = holon_domain::AgentId::parse("other").expect("a name");
    let cases = [
        (BudgetScope::Host, true),
        (BudgetScope::Agent(make::agent_id()), true),
        (BudgetScope::Tree(make::agent_id()), true),
        (BudgetScope::Agent(other), false),
    ];
    for (scope, covers) in cases {
        let mut world = states::idle();
        let period = BudgetPeriod::Total;
        world.host.unreadable_budgets = vec![UnreadableBudget {
            row: "budgets 1: its record is no budget".to_owned(),
            keys: vec![BudgetKey { scope, period }],
            stored_as: None,
        }]
        .into();
        world.send(make::admit(make::prompt(Priority::Normal)));
        assert_eq!(is_suspended(&world), covers);
        if covers {
            let words = &world.briefs[0].text;
            let told = format!("{words:?}");
            assert!(
                told.contains("budgets 1: its record is no budget"),
                "{told}"
            );
            assert!(told.contains("holon budget clear"), "{told}");
        }
        world.host.unreadable_budgets = Vec::new().into();
        world.send(Input::BudgetChanged);
        assert!(!is_suspended(&world));
        assert!(world.stamp().is_some(), "a model is asked");
    }
}

#[test]
fn the_refusal_by_a_row_under_another_name_says_to_remove_that_row_first() {
    let mut world = states::idle();
    let other = holon_domain::AgentId::parse("other").expect("a name");
    let of = |scope| BudgetKey {
        scope,
        period: BudgetPeriod::Total,
    };
    let (stored_as, meant) = (
        of(BudgetScope::Agent(other)),
        of(BudgetScope::Agent(make::agent_id())),
    );
    world.host.unreadable_budgets = vec![UnreadableBudget {
        row: "budgets agent other total: its record is of another budget".to_owned(),
        keys: vec![stored_as.clone(), meant.clone()],
        stored_as: Some(stored_as),
    }]
    .into();
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert!(is_suspended(&world));
    let told = format!("{:?}", world.briefs[0].text);
    let steps = format!(
        "holon budget clear --agent other, then holon budget set {}",
        meant.options()
    );
    assert!(told.contains(&steps), "{told}");
}

#[test]
fn a_budget_whose_row_is_lost_suspends_the_turn_until_it_is_cleared_or_set_again() {
    for is_cleared in [true, false] {
        let mut world = states::idle();
        limit(&mut world, BudgetPeriod::Total, 1_000_000);
        let lost = world.meters.remove(&key(BudgetPeriod::Total));
        world.send(make::admit(make::prompt(Priority::Normal)));
        assert!(is_suspended(&world));
        let told = format!("{:?}", world.briefs[0].text);
        assert!(told.contains("there is no such row"), "{told}");
        world.send(Input::BudgetChanged);
        assert!(is_suspended(&world), "nothing has changed");
        if is_cleared {
            world.host.budgets = Vec::new().into();
        } else {
            let lost = lost.expect("it was there");
            world.meters.insert(key(BudgetPeriod::Total), lost);
        }
        world.send(Input::BudgetChanged);
        assert!(!is_suspended(&world));
        assert!(world.stamp().is_some(), "a model is asked");
    }
}
