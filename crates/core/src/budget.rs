//! Budgets: whether a model call may be opened, and what it may use. Pure policy; `turn::ask` applies it.
//!
//! A call reserves its estimate before it is made, so that what is spent and what is reserved stay together below each
//! limit. Only an estimate that was too small can exceed one.

use crate::planted::{Fault, is_planted};
use holon_domain::budget::{BudgetKey, BudgetPeriod, BudgetStanding, UnreadableBudget};
use holon_domain::limits;
use holon_domain::model::ModelPrice;
use holon_domain::usage::{CallEstimate, MicroUsd};

/// Decision about a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetVerdict {
    /// The call may use this much. The answer may be shorter than its model allows.
    Reserved {
        estimate: CallEstimate,
        /// `None` if the price is not known.
        micro_usd: Option<MicroUsd>,
    },
    /// The guess has no room, but the real request may have.
    Measure,
    Refused(BudgetRefusal),
}

/// The budget that has no room for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRefusal {
    pub key: BudgetKey,
    pub cause: RefusalCause,
    /// True if other calls that are open hold the room, so that it may come back without an operator.
    pub is_held_by_others: bool,
    /// True if every budget that refuses is one for a day.
    pub ends_with_day: bool,
}

impl BudgetRefusal {
    /// Builds the refusal of a budget whose own row cannot be read or is lost.
    pub(crate) fn unreadable_row(key: &BudgetKey, row: String) -> Self {
        let budget = UnreadableBudget {
            row,
            keys: vec![key.clone()],
            stored_as: Some(key.clone()),
        };
        Self::unreadable(key, &budget)
    }

    /// Builds the refusal of a budget that cannot be read. It lasts until an operator sets or clears the budget.
    pub(crate) fn unreadable(key: &BudgetKey, budget: &UnreadableBudget) -> Self {
        Self {
            key: key.clone(),
            cause: RefusalCause::Unreadable {
                row: budget.row.clone(),
                next_step: budget.mend(key),
            },
            is_held_by_others: false,
            ends_with_day: false,
        }
    }
}

/// The limit that a call would exceed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalCause {
    Tokens {
        limit: u64,
        spent: u64,
        needed: u64,
    },
    Money {
        limit: MicroUsd,
        spent: MicroUsd,
        needed: MicroUsd,
    },
    /// Money is limited, and the price of the model is not known.
    PriceUnknown,
    /// The stored budget cannot be read, so it is not known what is left of it.
    Unreadable {
        /// Names the row and its fault.
        row: String,
        /// Commands that mend or remove it.
        next_step: String,
    },
}

/// Decides about a call. `is_exact` says that its request was built and measured.
#[must_use]
pub fn reserve(
    standings: &[BudgetStanding],
    estimate: CallEstimate,
    is_exact: bool,
    price: Option<&ModelPrice>,
) -> BudgetVerdict {
    let needed = CallEstimate {
        output_tokens: estimate
            .output_tokens
            .min(limits::BUDGET_LEAST_ANSWER_TOKENS),
        ..estimate
    };
    let found: Vec<Room> = standings
        .iter()
        .map(|standing| room_in(standing, needed, price))
        .collect();
    let refusals: Vec<&BudgetRefusal> = found
        .iter()
        .filter_map(|room| room.refusal.as_ref())
        .collect();
    // Before its first call nobody knows how long an agent's answers may be, and a guess would cut them.
    let is_unknown = !is_exact && estimate.output_tokens == 0;
    if refusals.is_empty() && is_unknown {
        return BudgetVerdict::Measure;
    }
    if refusals.is_empty() {
        let most = found.iter().map(|room| room.output_tokens).min();
        let estimate = CallEstimate {
            output_tokens: estimate.output_tokens.min(most.unwrap_or(u64::MAX)),
            ..estimate
        };
        let micro_usd = price.map(|price| price.cost_at_most(estimate.as_usage()));
        return BudgetVerdict::Reserved {
            estimate,
            micro_usd,
        };
    }
    // A budget that is used up needs no measuring.
    if !is_exact && found.iter().all(|room| room.may_fit_less) {
        return BudgetVerdict::Measure;
    }
    let ends_with_day = refusals
        .iter()
        .all(|refusal| refusal.key.period == BudgetPeriod::Day);
    // What an operator has to do is said before what passes by itself.
    let first = refusals
        .iter()
        .find(|refusal| !refusal.is_held_by_others)
        .or_else(|| refusals.first());
    match first {
        Some(refusal) => BudgetVerdict::Refused(BudgetRefusal {
            ends_with_day,
            ..(**refusal).clone()
        }),
        None => BudgetVerdict::Measure,
    }
}

/// Room of one budget for a call.
struct Room {
    /// Most tokens of the answer.
    output_tokens: u64,
    refusal: Option<BudgetRefusal>,
    /// False if no request of any size fits.
    may_fit_less: bool,
}

fn room_in(standing: &BudgetStanding, needed: CallEstimate, price: Option<&ModelPrice>) -> Room {
    let (budget, meter) = (&standing.budget, &standing.meter);
    let mut room = Room {
        output_tokens: u64::MAX,
        refusal: None,
        may_fit_less: true,
    };
    let refuse = |cause, is_held_by_others| {
        Some(BudgetRefusal {
            key: budget.key.clone(),
            cause,
            is_held_by_others,
            ends_with_day: false,
        })
    };
    if let Some(limit) = budget.limit_tokens {
        let left = limit.saturating_sub(meter.spent_tokens);
        let reserved = match is_planted(Fault::ReservationsIgnored) {
            true => 0,
            false => meter.reserved_tokens,
        };
        let free = left.saturating_sub(reserved);
        room.may_fit_less &= free > 0;
        room.output_tokens = free.saturating_sub(needed.input_tokens);
        if free < needed.total() || free == 0 {
            let cause = RefusalCause::Tokens {
                limit,
                spent: meter.spent_tokens,
                needed: needed.total(),
            };
            room.refusal = refuse(cause, left >= needed.total() && left > 0);
        }
    }
    let Some(limit) = budget.limit_micro_usd else {
        return room;
    };
    let Some(price) = price else {
        room.may_fit_less = false;
        room.refusal = refuse(RefusalCause::PriceUnknown, false);
        return room;
    };
    let left = limit.saturating_sub(meter.spent_micro_usd);
    let free = left.saturating_sub(meter.reserved_micro_usd);
    room.may_fit_less &= free > 0;
    room.output_tokens = room
        .output_tokens
        .min(price.output_for(free, needed.input_tokens));
    let cost = price.cost_at_most(needed.as_usage());
    if room.refusal.is_none() && (free < cost || free == 0) {
        let cause = RefusalCause::Money {
            limit,
            spent: meter.spent_micro_usd,
            needed: cost,
        };
        room.refusal = refuse(cause, left >= cost && left > 0);
    }
    room
}

#[cfg(test)]
mod tests;
