//! Routes about budgets.

use crate::body::JsonBody;
use crate::extract::{NoParams, Params};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::State;
use holon_api::{
    BudgetName, BudgetScopeName, BudgetView, BudgetsResponse, ClearBudgetRequest,
    ClearBudgetResponse, SetBudgetRequest,
};
use holon_domain::budget::{Budget, BudgetKey, BudgetMeter, BudgetScope, BudgetStanding};
use holon_domain::usage::MicroUsd;
use holon_domain::{AgentId, WorkItemId};
use holon_engine::BudgetChange;

/// Most of a limit: what the store can count.
pub(crate) const LARGEST: u64 = i64::MAX as u64;
/// Most digits of an amount of dollars before its point, leading zeros aside.
const USD_DIGITS: usize = 12;

/// `GET /budgets`: lists the budgets and how far each is used up.
pub(crate) async fn list(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<BudgetsResponse>, Refusal> {
    let budgets = state.reads.budgets().await?;
    let by_settings = state.reads.budgets_of_settings();
    Ok(Json(BudgetsResponse {
        agent_day_tokens: by_settings.agent_day_tokens,
        host_day_tokens: by_settings.host_day_tokens,
        budgets: budgets
            .standings
            .into_iter()
            .map(BudgetView::from)
            .collect(),
        unreadable: budgets.unreadable.into_iter().map(Into::into).collect(),
        time_zone: state.reads.time_zone(),
    }))
}

/// `POST /control/budgets`: adds a budget or changes its limits. Turns that wait for it go on.
pub(crate) async fn set(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<SetBudgetRequest>,
) -> Result<Json<BudgetView>, Refusal> {
    let key = key_of(request.budget)?;
    let limit_micro_usd = request.usd.as_deref().map(read_usd).transpose()?;
    let limit_tokens = request.tokens;
    if limit_tokens.is_none() && limit_micro_usd.is_none() {
        return Err(RequestFault::BUDGET.refuse("a budget limits tokens, money or both"));
    }
    if limit_tokens.is_some_and(|limit| limit > LARGEST) {
        return Err(RequestFault::BUDGET.refuse(format!("a limit is at most {LARGEST} tokens")));
    }
    if !state.control.is_known(&key.scope).await? {
        let key = &key;
        let refused = RequestFault::BUDGET.refuse(format!("nothing is known of {key}"));
        return Err(refused
            .hint("list agents with: holon agent list, and work items with: holon work list"));
    }
    if limit_micro_usd.is_some()
        && let Some(model) = state.control.unpriced_model(&key.scope).await?
    {
        return Err(RequestFault::PRICE_UNKNOWN.refuse(format!(
            "the price of {model} is not known, so money cannot be limited for {key}; set its price in \
             models.catalog.\"{model}\".price_input and price_output, limit tokens, or use another model"
        )));
    }
    let budget = Budget {
        key,
        limit_tokens,
        limit_micro_usd,
        set_at: state.control.now(),
    };
    match state.control.set_budget(budget.clone()).await? {
        BudgetChange::TooMany => {
            Err(RequestFault::TOO_MANY_BUDGETS.refuse("no more budgets can be set"))
        }
        BudgetChange::Added | BudgetChange::Changed => {
            let budgets = state.reads.budgets().await?;
            let set = budgets
                .standings
                .into_iter()
                .find(|found| found.budget.key == budget.key);
            let meter = BudgetMeter::default();
            Ok(Json(set.unwrap_or(BudgetStanding { budget, meter }).into()))
        }
    }
}

/// `POST /control/budgets/clear`: removes a budget. Turns that wait for it go on.
pub(crate) async fn clear(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<ClearBudgetRequest>,
) -> Result<Json<ClearBudgetResponse>, Refusal> {
    let key = key_of(request.budget)?;
    let name = key.to_string();
    if !state.control.clear_budget(key).await? {
        return Err(RequestFault::NO_SUCH_BUDGET.refuse(format!("there is no budget of {name}")));
    }
    Ok(Json(ClearBudgetResponse { cleared: true }))
}

fn key_of(name: BudgetName) -> Result<BudgetKey, Refusal> {
    let BudgetName { scope, key, period } = name;
    let named = || {
        let key = key.clone().filter(|key| !key.is_empty());
        key.ok_or_else(|| RequestFault::BUDGET.refuse("the budget needs the key of what it limits"))
    };
    let agent = || -> Result<AgentId, Refusal> {
        Ok(AgentId::parse(&named()?).map_err(holon_engine::Error::from)?)
    };
    let scope = match scope {
        BudgetScopeName::Agent => BudgetScope::Agent(agent()?),
        BudgetScopeName::Tree => BudgetScope::Tree(agent()?),
        BudgetScopeName::Item => BudgetScope::Item(WorkItemId::from_stored(named()?)),
        BudgetScopeName::Host if key.is_some() => {
            return Err(RequestFault::BUDGET.refuse("the budget of the host has no key"));
        }
        BudgetScopeName::Host => BudgetScope::Host,
    };
    Ok(BudgetKey { scope, period })
}

/// Reads an amount of dollars with at most six decimals. Amounts are never floating-point numbers.
fn read_usd(text: &str) -> Result<MicroUsd, Refusal> {
    let refuse = || {
        RequestFault::BUDGET.refuse(format!(
            "{text:?} is not an amount of dollars; write it as 2.50, with at most six decimals"
        ))
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_large = whole.trim_start_matches('0').len() > USD_DIGITS;
    if whole.is_empty() || is_large || part.len() > 6 || !is_number(whole) || !is_number(part) {
        return Err(refuse());
    }
    let whole: u64 = whole.parse().map_err(|_| refuse())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| refuse())?;
    let micros = whole
        .checked_mul(1_000_000)
        .and_then(|micros| micros.checked_add(part));
    micros
        .filter(|micros| *micros <= LARGEST)
        .ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::read_usd;

    #[test]
    fn amounts_of_dollars_are_read_exactly_or_refused() {
        let read = |text: &str| read_usd(text).ok();
        assert_eq!(read("2.50"), Some(2_500_000));
        assert_eq!(read("0.000001"), Some(1));
        assert_eq!(read("7"), Some(7_000_000));
        for bad in [
            "-1",
            "",
            ".5",
            "1e3",
            "1,5",
            "0.0000001",
            "99999999999999999999",
            "9999999999999999",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
