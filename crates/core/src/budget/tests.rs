//! Tests of the policy of budgets: tables, and the bound on what a limit can be exceeded by.

use super::*;
use holon_domain::budget::{Budget, BudgetMeter, BudgetScope};
use holon_domain::{AgentId, Timestamp};
use proptest::prelude::*;

const PRICE: ModelPrice = ModelPrice {
    input_per_million: 3_000_000,
    cached_input_per_million: None,
    cache_write_per_million: None,
    output_per_million: 15_000_000,
};

fn standing(limit: u64, spent: u64, reserved: u64) -> BudgetStanding {
    let agent = AgentId::parse("a").expect("a name");
    BudgetStanding {
        budget: Budget {
            key: BudgetKey {
                scope: BudgetScope::Agent(agent),
                period: BudgetPeriod::Total,
            },
            limit_tokens: Some(limit),
            limit_micro_usd: None,
            set_at: Timestamp::from_millis(0),
        },
        meter: BudgetMeter {
            spent_tokens: spent,
            reserved_tokens: reserved,
            ..BudgetMeter::default()
        },
    }
}

fn money(limit: MicroUsd, spent: MicroUsd) -> BudgetStanding {
    let mut standing = standing(0, 0, 0);
    standing.budget.limit_tokens = None;
    standing.budget.limit_micro_usd = Some(limit);
    standing.meter.spent_micro_usd = spent;
    standing
}

fn call(input_tokens: u64, output_tokens: u64) -> CallEstimate {
    CallEstimate {
        input_tokens,
        output_tokens,
    }
}

fn refusal(verdict: BudgetVerdict) -> BudgetRefusal {
    match verdict {
        BudgetVerdict::Refused(refusal) => refusal,
        other => panic!("refused, not {other:?}"),
    }
}

#[test]
fn an_answer_is_cut_to_the_room_that_a_budget_has() {
    let verdict = reserve(
        &[standing(5_000, 1_000, 0)],
        call(1_000, 32_000),
        false,
        None,
    );
    let BudgetVerdict::Reserved { estimate, .. } = verdict else {
        panic!("there is room: {verdict:?}");
    };
    assert_eq!(estimate, call(1_000, 3_000));
}

#[test]
fn a_guess_without_room_is_measured_and_an_exact_size_is_refused() {
    let used = [standing(5_000, 4_000, 0)];
    let size = call(990, 32_000);
    assert_eq!(reserve(&used, size, false, None), BudgetVerdict::Measure);
    let found = refusal(reserve(&used, size, true, None));
    let needed = 990 + limits::BUDGET_LEAST_ANSWER_TOKENS;
    assert_eq!(
        found.cause,
        RefusalCause::Tokens {
            limit: 5_000,
            spent: 4_000,
            needed,
        }
    );
    assert!(!found.is_held_by_others && !found.ends_with_day);
}

#[test]
fn a_budget_that_is_used_up_or_zero_refuses_without_measuring() {
    for used in [
        standing(5_000, 5_000, 0),
        standing(5_000, 9_000, 0),
        standing(0, 0, 0),
    ] {
        refusal(reserve(&[used], call(0, 0), false, None));
    }
}

#[test]
fn room_that_other_calls_hold_comes_back() {
    let found = refusal(reserve(
        &[standing(5_000, 0, 4_500)],
        call(1_000, 20),
        true,
        None,
    ));
    assert!(found.is_held_by_others);
    // A budget that is used up is said first, since only an operator ends that.
    let both = [standing(5_000, 0, 4_500), standing(5_000, 4_900, 0)];
    let found = refusal(reserve(&both, call(1_000, 20), true, None));
    assert!(!found.is_held_by_others);
}

#[test]
fn only_budgets_of_a_day_end_with_it() {
    let mut day = standing(5_000, 5_000, 0);
    day.budget.key.period = BudgetPeriod::Day;
    assert!(refusal(reserve(&[day.clone()], call(1, 1), true, None)).ends_with_day);
    let both = [day, standing(5_000, 5_000, 0)];
    assert!(!refusal(reserve(&both, call(1, 1), true, None)).ends_with_day);
}

#[test]
fn money_is_limited_by_the_price_and_not_at_all_without_one() {
    let found = refusal(reserve(&[money(1_000_000, 0)], call(1, 1), false, None));
    assert_eq!(found.cause, RefusalCause::PriceUnknown);
    let verdict = reserve(&[money(33_000, 0)], call(1_000, 32_000), true, Some(&PRICE));
    let reserved = BudgetVerdict::Reserved {
        estimate: call(1_000, 2_000),
        micro_usd: Some(33_000),
    };
    assert_eq!(verdict, reserved);
    let found = refusal(reserve(
        &[money(33_000, 32_000)],
        call(1_000, 10),
        true,
        Some(&PRICE),
    ));
    assert_eq!(
        found.cause,
        RefusalCause::Money {
            limit: 33_000,
            spent: 32_000,
            needed: 3_150,
        }
    );
}

proptest! {
    /// What is spent exceeds a limit by no more than the calls exceeded their estimates.
    #[test]
    fn a_limit_is_exceeded_by_estimation_errors_only(
        limit in 0_u64..20_000,
        calls in prop::collection::vec((0_u64..5_000, 0_u64..5_000, 0_u64..2_000, any::<bool>()), 0..40),
    ) {
        let (mut spent, mut errors) = (0_u64, 0_u64);
        for (input, output, error, answers_in_full) in calls {
            let verdict = reserve(&[standing(limit, spent, 0)], call(input, output), true, None);
            if let BudgetVerdict::Reserved { estimate, .. } = verdict {
                prop_assert!(spent + estimate.total() <= limit);
                let answer = if answers_in_full { estimate.output_tokens } else { 0 };
                spent += estimate.input_tokens + error + answer;
                errors += error;
            }
            prop_assert!(spent <= limit + errors);
        }
    }

    /// Calls of several agents share a budget: reservations count like charges.
    #[test]
    fn open_calls_never_reserve_more_than_a_limit(
        limit in 0_u64..20_000,
        calls in prop::collection::vec((0_u64..3_000, 0_u64..3_000, any::<bool>()), 0..40),
    ) {
        let (mut spent, mut open): (u64, Vec<u64>) = (0, Vec::new());
        for (input, output, closes) in calls {
            if closes && let Some(reserved) = open.pop() {
                spent += reserved;
            }
            let reserved: u64 = open.iter().sum();
            let verdict = reserve(&[standing(limit, spent, reserved)], call(input, output), true, None);
            if let BudgetVerdict::Reserved { estimate, .. } = verdict {
                open.push(estimate.total());
            }
            prop_assert!(spent + open.iter().sum::<u64>() <= limit);
        }
    }
}
