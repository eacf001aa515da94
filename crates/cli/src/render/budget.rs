//! Budgets in words.

use crate::addressing::hint;
use holon_api::{BudgetView, BudgetsResponse};
use holon_domain::budget::BudgetPeriod;

/// Renders the budgets, one line each.
pub(crate) fn list(all: &BudgetsResponse) -> String {
    let by_settings = [
        ("each agent", all.agent_day_tokens, "--agent ID"),
        ("host", all.host_day_tokens, "--host"),
    ];
    let by_settings = by_settings.into_iter().filter_map(|(scope, limit, option)| {
        let limit = limit?;
        Some(hint(format!(
            "{scope} for a day: at most {limit} tokens by the settings; holon budget set {option} --day replaces it"
        )))
    });
    let unreadable = all.unreadable.iter().map(|budget| {
        let covers = budget.covers.join(" or of ");
        format!(
            "cannot be read: the budget of {covers} ({}); nothing that it may limit calls a model; {}",
            budget.row,
            hint(budget.next_step.as_str())
        )
    });
    let budgets = all.budgets.iter().map(one);
    let lines: Vec<String> = budgets.chain(by_settings).chain(unreadable).collect();
    match lines.is_empty() {
        true => hint("no budgets; set one with: holon budget set --agent ID --tokens N"),
        false => lines.join("\n"),
    }
}

/// Says of a budget what it limits, and how much of it is used.
pub(crate) fn one(budget: &BudgetView) -> String {
    let period = match budget.period {
        BudgetPeriod::Total => "",
        BudgetPeriod::Day => " for a day",
    };
    let scope = match budget.key.as_str() {
        "" => budget.scope.clone(),
        key => format!("{} {key}", budget.scope),
    };
    let tokens = budget
        .limit_tokens
        .map(|limit| format!("{} of {limit} tokens used", budget.spent_tokens));
    let money = budget.limit_usd.as_ref().map(|limit| {
        let spent = match budget.spent_usd.as_str() {
            "unknown" => "an unknown part".to_owned(),
            spent => format!("${spent}"),
        };
        format!("{spent} of ${limit} used")
    });
    let reserved = match budget.reserved_tokens {
        0 => None,
        tokens => Some(format!("{tokens} tokens reserved by open calls")),
    };
    let parts: Vec<String> = tokens.into_iter().chain(money).chain(reserved).collect();
    format!("{scope}{period}: {}", parts.join(", "))
}
