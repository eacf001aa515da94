//! Requests and answers about budgets.

use crate::usage::spell_cost;
use holon_domain::Timestamp;
use holon_domain::budget::{BudgetPeriod, BudgetStanding, UnreadableBudget};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Kind of what a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScopeName {
    /// The calls of one agent.
    Agent,
    /// The calls of turns about one work item.
    Item,
    /// The calls of an agent and of all agents that came from it.
    Tree,
    /// All calls of the host.
    Host,
}

/// The budget that a request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetName {
    pub scope: BudgetScopeName,
    /// Name of the agent or id of the work item. Absent for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `day` for a budget of each day, `total` for one over all time, which is the default.
    #[serde(default, deserialize_with = "default_if_null")]
    #[schemars(with = "String", extend("enum" = ["total", "day"]))]
    pub period: BudgetPeriod,
}

/// Reads a field that may be null, as every optional field of a request.
fn default_if_null<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Body of `POST /control/budgets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetBudgetRequest {
    pub budget: BudgetName,
    /// Most input and output tokens. A limit of the budget that is left out stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Most US dollars, as a decimal number such as `2.50`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<String>,
}

/// Body of `POST /control/budgets/clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearBudgetRequest {
    pub budget: BudgetName,
}

/// A budget and how far it is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetView {
    pub scope: String,
    /// Name of the agent or id of the work item; empty for the host.
    pub key: String,
    #[schemars(with = "String", extend("enum" = ["total", "day"]))]
    pub period: BudgetPeriod,
    /// Absent if tokens are not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
    /// Limit in US dollars. Absent if money is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_usd: Option<String>,
    pub spent_tokens: u64,
    /// Cost in US dollars; `unknown` if the price of one of the calls is not known.
    pub spent_usd: String,
    /// Tokens that open calls have reserved.
    pub reserved_tokens: u64,
    /// Cost of these tokens in US dollars; `unknown` if the price of one of the calls is not known.
    pub reserved_usd: String,
    #[schemars(with = "String")]
    pub set_at: Timestamp,
}

impl From<BudgetStanding> for BudgetView {
    fn from(standing: BudgetStanding) -> Self {
        let BudgetStanding { budget, meter } = standing;
        let spent = (meter.unpriced_calls == 0).then_some(meter.spent_micro_usd);
        let reserved = (meter.unpriced_reservations == 0).then_some(meter.reserved_micro_usd);
        Self {
            scope: budget.key.scope.kind().to_owned(),
            key: budget.key.scope.key().to_owned(),
            period: budget.key.period,
            limit_tokens: budget.limit_tokens,
            limit_usd: budget.limit_micro_usd.map(|limit| spell_cost(Some(limit))),
            spent_tokens: meter.spent_tokens,
            spent_usd: spell_cost(spent),
            reserved_tokens: meter.reserved_tokens,
            reserved_usd: spell_cost(reserved),
            set_at: budget.set_at,
        }
    }
}

/// A stored budget that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnreadableBudgetView {
    /// Row of the database, and its fault.
    pub row: String,
    /// What the budget may limit.
    pub covers: Vec<String>,
    /// Commands that replace or remove it.
    pub next_step: String,
}

impl From<UnreadableBudget> for UnreadableBudgetView {
    fn from(budget: UnreadableBudget) -> Self {
        let next_steps = budget.keys.iter().map(|key| budget.mend(key));
        Self {
            covers: budget.keys.iter().map(ToString::to_string).collect(),
            next_step: next_steps.collect::<Vec<_>>().join("; "),
            row: budget.row,
        }
    }
}

/// Answer of `GET /budgets`, and of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetsResponse {
    pub budgets: Vec<BudgetView>,
    /// Stored budgets that cannot be read. Nothing that they may limit calls a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableBudgetView>,
    /// Time zone in which days begin.
    pub time_zone: String,
    /// Limit of the settings for each agent and day, which a budget of the agent replaces. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_day_tokens: Option<u64>,
    /// Limit of the settings for all agents and each day, which a budget of the host replaces. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_day_tokens: Option<u64>,
}

/// Answer of `POST /control/budgets/clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearBudgetResponse {
    /// False if there was no such budget.
    pub cleared: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_that_is_null_or_absent_is_the_total() {
        for body in [
            r#"{ "scope": "host" }"#,
            r#"{ "scope": "host", "period": null }"#,
            r#"{ "scope": "host", "period": "total" }"#,
        ] {
            let name: BudgetName = serde_json::from_str(body).expect(body);
            assert_eq!(name.period, BudgetPeriod::Total, "{body}");
        }
    }
}
