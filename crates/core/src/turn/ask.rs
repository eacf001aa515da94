//! Asks a model: for the first round of a turn or a later one, and again after a failure, a pause or a change of the
//! chain.
//!
//! A turn keeps the chain of models it began with. Only a suspended turn takes the agent's current chain.

use super::budget_limit;
use super::failure::awaited_answer;
use super::tries::current_try;
use crate::budget::{self, BudgetRefusal, BudgetVerdict};
use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::usage;
use holon_domain::attempt::count_attempts;
use holon_domain::budget::{CallTerms, Reservation};
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::limits;
use holon_domain::model::{ModelPrice, ModelRef};
use holon_domain::turn::{OpenTurn, Phase};
use holon_domain::usage::{CallEstimate, budget_root};

/// Opens the effect that asks the turn's model, if the budgets have room for it. Otherwise the turn is suspended.
pub(crate) fn ask(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    if let Some(refusal) = reserve(draft, &mut turn) {
        return budget_limit::suspend(draft, turn, &refusal);
    }
    open_call(draft, turn);
}

/// Reserves what the next call of a turn may use. Returns the refusal of a budget that has no room.
fn reserve(draft: &mut Draft<'_>, turn: &mut OpenTurn) -> Option<BudgetRefusal> {
    let measured = turn.measured.take();
    let guess = measured.unwrap_or_else(|| usage::guess(draft));
    (turn.call, turn.call_terms) = (Some(guess), CallTerms::Free);
    let standings = match draft.budgets_of(turn) {
        Ok(standings) if standings.is_empty() => return None,
        Ok(standings) => standings,
        Err(refusal) => {
            turn.call = None;
            return Some(refusal);
        }
    };
    let price = price_of(draft, turn);
    match budget::reserve(&standings, guess, measured.is_some(), price.as_ref()) {
        BudgetVerdict::Reserved {
            estimate,
            micro_usd,
        } => {
            (turn.call, turn.call_terms) = (Some(estimate), CallTerms::Bound);
            let identity = &draft.agent.identity;
            let reservation = Reservation {
                agent_id: identity.agent_id.clone(),
                root_agent_id: budget_root(identity).clone(),
                work_item_id: usage::charged_item(&draft.agent, turn).cloned(),
                tokens: estimate.total(),
                micro_usd,
            };
            draft.fact(Fact::CallReserved(Box::new(reservation)));
            None
        }
        BudgetVerdict::Measure => {
            turn.call_terms = CallTerms::Measure;
            None
        }
        BudgetVerdict::Refused(refusal) => {
            turn.call = None;
            Some(refusal)
        }
    }
}

/// Returns the price of the turn's model; `None` if it is not known.
fn price_of(draft: &Draft<'_>, turn: &OpenTurn) -> Option<ModelPrice> {
    let models = &draft.host.models;
    let price = turn.model.as_ref().and_then(|model| models.price_of(model));
    price.copied()
}

/// Handles the measured size of a request that was not sent: reserves that much, or suspends the turn.
pub(crate) fn handle_measured(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    estimate: CallEstimate,
) -> Reply {
    let awaited = awaited_answer(draft);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(mut turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    usage::close(draft, &mut turn);
    turn.measured = Some(estimate);
    ask(draft, turn);
    Reply::Done
}

fn open_call(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    turn.call_price = price_of(draft, &turn);
    let effect = draft.open_effect(Effect::CallModel {
        turn_index: turn.turn_index,
        attempt: current_try(&turn),
    });
    turn.phase = Phase::CallingModel { effect };
    draft.agent.open_turn = Some(turn);
}

/// Asks the turn's own chain again, from the first model of the current round, and closes the record of earlier tries.
pub(super) fn ask_chain_again(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    let mut chain: Vec<ModelRef> = Vec::new();
    let asked = draft.attempts();
    let asked = asked
        .iter()
        .filter_map(|attempt| ModelRef::parse(&attempt.model_ref).ok());
    for model in asked.chain(turn.model.clone()).chain(turn.fallbacks) {
        if !chain.contains(&model) {
            chain.push(model);
        }
    }
    let first = (!chain.is_empty()).then(|| chain.remove(0));
    turn.fallbacks = chain;
    close_attempts(draft, &mut turn);
    restore_options(draft, &mut turn, first.as_ref());
    turn.requested_model
        .take_if(|model| Some(&*model) == first.as_ref());
    set_model(&mut turn, first);
    ask(draft, turn);
}

/// Gives a turn that returns to the agent's own model the options that were chosen for it. A fallback in between had
/// none.
pub(super) fn restore_options(draft: &Draft<'_>, turn: &mut OpenTurn, model: Option<&ModelRef>) {
    if model.is_some() && model == draft.agent.model_override.as_ref() {
        turn.reasoning_effort = draft.agent.reasoning_effort;
        turn.thinking_tokens = draft.agent.thinking_tokens;
    }
}

fn close_attempts(draft: &mut Draft<'_>, turn: &mut OpenTurn) {
    if turn.failed_attempts > 0 {
        draft.clear_attempts();
    }
    (turn.failed_attempts, turn.tries) = (0, 0);
}

/// Asks the agent's current chain from its first model, and closes the record of earlier tries.
pub(super) fn ask_from_first(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    close_attempts(draft, &mut turn);
    let own = draft.agent.model_override.as_ref();
    let model = draft.host.models.first(own).cloned();
    let listed = draft.agent.fallback_models.as_deref();
    turn.fallbacks = draft.host.models.fallbacks_after(own, listed);
    turn.fallbacks.truncate(limits::FALLBACKS);
    turn.reasoning_effort = draft.agent.reasoning_effort;
    turn.thinking_tokens = draft.agent.thinking_tokens;
    set_model(&mut turn, model);
    turn.requested_model = None;
    pass_over_refused(draft, &mut turn);
    ask(draft, turn);
}

/// Passes over the first models of the chain that have refused this very request, if another one is left.
fn pass_over_refused(draft: &Draft<'_>, turn: &mut OpenTurn) {
    let Some(refused) = turn.refused.clone() else {
        return;
    };
    let has_refused = |model: &ModelRef| refused.by.contains(model);
    let next = turn.fallbacks.iter().position(|model| !has_refused(model));
    if let Some(next) = next
        && turn.model.as_ref().is_some_and(has_refused)
    {
        let model = turn.fallbacks.drain(..=next).next_back();
        switch_model(draft, turn, model);
        (turn.reasoning_effort, turn.thinking_tokens) = (None, None);
    }
}

/// Changes the model of the turn, and remembers the one it asked first.
pub(super) fn switch_model(draft: &Draft<'_>, turn: &mut OpenTurn, model: Option<ModelRef>) {
    if turn.model == model {
        return;
    }
    let before = turn.model.clone();
    set_model(turn, model);
    if turn.requested_model.is_none() {
        turn.requested_model = before;
    } else if turn.requested_model == turn.model {
        turn.requested_model = None;
    }
    turn.tries = count_attempts(&draft.attempts(), &turn.model_ref());
}

/// Sets the model of the turn. A size that another model answered says nothing about this one.
fn set_model(turn: &mut OpenTurn, model: Option<ModelRef>) {
    if turn.model != model {
        turn.answered_tokens = 0;
    }
    turn.model = model;
}
