//! Charges model calls: what a provider reported, or the estimate of a call whose usage nobody knows.
//!
//! Every call that may have reached a provider is charged exactly once, in the commit that closes it.

use crate::draft::Draft;
use crate::input::{FailedAttempt, RoundAnswer};
use holon_domain::WorkItemId;
use holon_domain::agent::AgentRecord;
use holon_domain::attempt::TokenUsage;
use holon_domain::block::Block;
use holon_domain::budget::CallTerms;
use holon_domain::decision::Fact;
use holon_domain::limits;
use holon_domain::model::{ModelFailureKind, ModelPrice};
use holon_domain::turn::{OpenTurn, Phase};
use holon_domain::usage::{CallEstimate, UsageCharge, budget_root, day_in};

/// Guesses the tokens of the turn's next call: those of the last one and some more, since conversations grow.
pub(crate) fn guess(draft: &Draft<'_>) -> CallEstimate {
    match draft.agent.totals.last_call {
        Some(last) => CallEstimate {
            input_tokens: last.input_tokens.saturating_add(last.input_tokens / 8),
            output_tokens: last.output_tokens,
        },
        None => CallEstimate {
            input_tokens: limits::FIRST_CALL_TOKENS,
            output_tokens: 0,
        },
    }
}

/// Charges an answered call: what its provider reported, or an estimate if it reported nothing or what is implausible.
pub(crate) fn charge_answer(draft: &mut Draft<'_>, turn: &mut OpenTurn, answer: &RoundAnswer) {
    let call = close(draft, turn);
    let usage = match answer.implausible_usage {
        // No request is empty, so a provider that counted no input has counted nothing.
        None if answer.usage.input_tokens == 0 => {
            let said: usize = answer.blocks.iter().map(Block::estimated_tokens).sum();
            let said = u64::try_from(said).unwrap_or(u64::MAX);
            let said = said.max(answer.usage.output_tokens);
            CallUsage::Estimated(TokenUsage::new(answer.estimate.input_tokens, said))
        }
        None => CallUsage::Reported(answer.usage),
        Some(_) => CallUsage::Estimated(answer.usage),
    };
    charge(draft, turn, &call, usage);
}

/// Charges a failed call: what its provider reported, or its input if the provider has probably read it.
pub(crate) fn charge_failure(draft: &mut Draft<'_>, turn: &mut OpenTurn, failed: &FailedAttempt) {
    let call = close(draft, turn);
    match failed.failure.usage {
        Some(usage) => charge(draft, turn, &call, CallUsage::Reported(usage)),
        None if was_begun(failed) => {
            let usage = TokenUsage::new(failed.request_tokens, 0);
            charge(draft, turn, &call, CallUsage::Estimated(usage));
        }
        None => {}
    }
}

/// Returns true if a provider has probably worked on a request although it reported no usage.
fn was_begun(failed: &FailedAttempt) -> bool {
    if failed.request_tokens == 0 {
        return false;
    }
    // A provider that counts something has begun, however wrong the count is.
    if failed.implausible_usage.is_some() {
        return true;
    }
    let broke_off = || {
        let diagnostics = failed.failure.diagnostics.as_ref();
        diagnostics.is_some_and(|found| found.stage == "body")
    };
    match failed.failure.kind {
        ModelFailureKind::Timeout
        | ModelFailureKind::InvalidResponse
        | ModelFailureKind::NotJson => true,
        ModelFailureKind::Connection => broke_off(),
        ModelFailureKind::Network
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError
        | ModelFailureKind::Quota
        | ModelFailureKind::Auth
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::UnsupportedTransport
        | ModelFailureKind::ModelUnavailable
        | ModelFailureKind::ContextLengthExceeded => false,
    }
}

/// Charges the open call of a turn as estimated, because its outcome will never be known: the process died, or the turn
/// was called off.
pub(crate) fn charge_lost(draft: &mut Draft<'_>, turn: &mut OpenTurn) {
    let measured = turn.call_terms == CallTerms::Measure;
    let call = close(draft, turn);
    if measured || !matches!(turn.phase, Phase::CallingModel { .. }) {
        return;
    }
    if let Some(estimate) = call.estimate.filter(|estimate| estimate.total() > 0) {
        let usage = CallUsage::Estimated(estimate.as_usage());
        charge(draft, turn, &call, usage);
    }
}

/// A call that is not open any more.
pub(crate) struct ClosedCall {
    estimate: Option<CallEstimate>,
    /// Price as it stood when the call was opened; `None` if it was not known.
    price: Option<ModelPrice>,
}

/// Tokens of a call, and who counted them.
#[derive(Debug, Clone, Copy)]
enum CallUsage {
    /// By the provider of the call.
    Reported(TokenUsage),
    /// By the runtime, because the provider did not say or is not believed.
    Estimated(TokenUsage),
}

/// Closes the open call of a turn and releases what it had reserved.
pub(crate) fn close(draft: &mut Draft<'_>, turn: &mut OpenTurn) -> ClosedCall {
    if std::mem::take(&mut turn.call_terms) == CallTerms::Bound {
        draft.fact(Fact::ReservationReleased);
    }
    ClosedCall {
        estimate: turn.call.take(),
        price: turn.call_price.take(),
    }
}

fn charge(draft: &mut Draft<'_>, turn: &mut OpenTurn, call: &ClosedCall, usage: CallUsage) {
    let (usage, estimated) = match usage {
        CallUsage::Reported(usage) => (usage, false),
        CallUsage::Estimated(usage) => (usage, true),
    };
    let identity = &draft.agent.identity;
    let charge = UsageCharge {
        agent_id: identity.agent_id.clone(),
        root_agent_id: budget_root(identity).clone(),
        work_item_id: charged_item(&draft.agent, turn).cloned(),
        day: day_in(draft.now, &draft.host.zone),
        model_ref: turn.model_ref(),
        usage,
        estimated,
        cost: call.price.map(|price| price.cost_of(usage)),
    };
    turn.spending.add(&charge);
    draft.agent.totals.spending.add(&charge);
    draft.add_to_meters(&charge);
    draft.fact(Fact::UsageCharged(Box::new(charge)));
}

/// Returns the work item that the calls of a turn are charged to: for a private child the one that it was made for,
/// because work that is handed on is still work for that item.
pub(crate) fn charged_item<'a>(
    agent: &'a AgentRecord,
    turn: &'a OpenTurn,
) -> Option<&'a WorkItemId> {
    let supervision = agent.supervision.as_ref();
    let handed_on = supervision.and_then(|own| own.work_item_id.as_ref());
    handed_on.or(turn.work_item_id.as_ref())
}
