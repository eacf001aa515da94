//! Suspends a turn whose next call has no room in a budget, and says what raises it.
//!
//! Nothing is settled or lost: the turn goes on from its log when the budget is raised, and at midnight if every budget
//! that refuses is one for a day.

use super::ending::{Ending, Failure};
use super::{end, notice};
use crate::budget::{BudgetRefusal, RefusalCause};
use crate::draft::Draft;
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::event::{Event, TurnSuspended};
use holon_domain::limits;
use holon_domain::timer::DueAction;
use holon_domain::turn::{
    OpenTurn, Phase, ResumeMark, SuspensionPause, SuspensionReason, TerminalReason,
};
use holon_domain::usage::{MicroUsd, next_midnight, spell_cost};

/// Returns true if the open turn waits for a budget.
pub(crate) fn is_suspended_by_budget(draft: &Draft<'_>) -> bool {
    let turn = draft.agent.open_turn.as_ref();
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

/// Suspends a turn that a budget has no room for. The turn of a run that ends with its caller fails instead: nobody
/// could go on with it.
pub(super) fn suspend(draft: &mut Draft<'_>, mut turn: OpenTurn, refusal: &BudgetRefusal) {
    let told = explain(refusal);
    let next_step = next_step(&turn, refusal);
    if draft.agent.is_one_run() {
        let summary = format!("{told}; next step: {next_step}");
        let failure = Failure::runtime("budget_reached", &summary);
        let ending = Ending::failed(TerminalReason::ProviderFailed, failure);
        return end::end(draft, &turn, ending);
    }
    let pause = begin_pause(draft, turn.turn_index, refusal);
    draft.event(Event::TurnSuspended(TurnSuspended {
        run_id: turn.run_id.clone(),
        turn_index: turn.turn_index,
        round: turn.rounds + 1,
        reason: SuspensionReason::BudgetReached,
        failure_kind: None,
        error: told.clone(),
        until: pause.map(|pause| pause.until),
        waited_ms: 0,
        message_seq: Some(turn.message_seq),
    }));
    // Room that other calls hold comes back without anybody.
    if !refusal.is_held_by_others {
        let until = pause.map(|pause| pause.until);
        let by_itself = until.map_or_else(String::new, |at| format!(", or wait until {at}"));
        let action = ActionRequired {
            code: ActionCode::BudgetReached,
            next_step: format!(
                "{next_step}{by_itself}; the turn then goes on by itself where it stopped"
            ),
        };
        notice::request_budget(draft, &mut turn, limit_of(refusal), &told, action);
    }
    // The host is alive to record this, so earlier resumptions no longer count.
    turn.resume = ResumeMark::default();
    turn.phase = Phase::Suspended {
        reason: SuspensionReason::BudgetReached,
        model_ref: turn.model_ref(),
        error: format!("{told}; {next_step}"),
        pause,
    };
    draft.agent.open_turn = Some(turn);
}

/// Plans the end of a suspension that needs nobody: midnight for a budget of a day, a moment if other calls hold the
/// room.
fn begin_pause(
    draft: &mut Draft<'_>,
    turn_index: u64,
    refusal: &BudgetRefusal,
) -> Option<SuspensionPause> {
    let action = DueAction::ProviderPauseOver { turn_index };
    let (due, until) = if refusal.is_held_by_others {
        let until = draft.now.plus_millis(limits::BUDGET_HELD_PAUSE_MS);
        (draft.set_due(until, action), until)
    } else if refusal.ends_with_day {
        let until = next_midnight(draft.now, &draft.host.zone);
        (draft.set_slot(until, action), until)
    } else {
        return None;
    };
    Some(SuspensionPause {
        due,
        until,
        length_ms: until.millis_since(draft.now),
        renewal: false,
    })
}

/// Names the budget and its limit, so that a change of either is known.
fn limit_of(refusal: &BudgetRefusal) -> String {
    let key = &refusal.key;
    match &refusal.cause {
        RefusalCause::Tokens { limit, .. } => format!("{key}: {limit} tokens"),
        RefusalCause::Money { limit, .. } => format!("{key}: {limit} micro-dollars"),
        RefusalCause::PriceUnknown => format!("{key}: no price"),
        RefusalCause::Unreadable { .. } => format!("{key}: unreadable"),
    }
}

/// Says which limit is reached and what is used of it.
fn explain(refusal: &BudgetRefusal) -> String {
    let key = &refusal.key;
    let held = match refusal.is_held_by_others {
        true => ", and other calls have reserved the rest",
        false => "",
    };
    match &refusal.cause {
        RefusalCause::Tokens {
            limit,
            spent,
            needed,
        } => format!(
            "the budget of {key} is {limit} tokens, {spent} are used{held}, and the next call may take {needed}"
        ),
        RefusalCause::Money {
            limit,
            spent,
            needed,
        } => format!(
            "the budget of {key} is ${}, ${} are used{held}, and the next call may take ${}",
            dollars(*limit),
            dollars(*spent),
            dollars(*needed)
        ),
        RefusalCause::Unreadable { row, .. } => format!(
            "the stored budget of {key} cannot be read ({row}), so no call that it may limit is made"
        ),
        RefusalCause::PriceUnknown => {
            format!("the budget of {key} limits money, and the price of the model is not known")
        }
    }
}

/// Says what an operator can do.
fn next_step(turn: &OpenTurn, refusal: &BudgetRefusal) -> String {
    let options = refusal.key.options();
    match &refusal.cause {
        RefusalCause::Tokens { spent, needed, .. } => {
            let enough = spent.saturating_add(*needed);
            format!(
                "raise it, for the next call alone to {enough}: holon budget set {options} --tokens N"
            )
        }
        RefusalCause::Money { spent, needed, .. } => {
            let enough = dollars(spent.saturating_add(*needed));
            format!(
                "raise it, for the next call alone to {enough}: holon budget set {options} --usd X"
            )
        }
        RefusalCause::Unreadable { next_step, .. } => next_step.clone(),
        RefusalCause::PriceUnknown => {
            let model = turn.model_ref();
            format!(
                "the price of {model} is not known: set models.catalog.\"{model}\".price_input and price_output, choose another \
                 model, or limit tokens instead: holon budget clear {options}"
            )
        }
    }
}

/// Spells an amount in dollars.
fn dollars(amount: MicroUsd) -> String {
    spell_cost(Some(amount))
}
