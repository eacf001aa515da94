//! What model calls used, and the budgets that limit them.

use super::{Facts, nothing};
use crate::overlay::{Entry, Tone};
use holon_api::{BudgetView, BudgetsResponse, UnreadableBudgetView, UsageResponse};
use holon_domain::budget::BudgetPeriod;
use holon_domain::text::pluralize;
use holon_domain::usage::UsageGrouping;
use holon_presentation::{Bar, cost_column};

/// Lists the ways to divide the usage, each with its chart.
pub(crate) fn usage(answers: &[UsageResponse]) -> Vec<Entry> {
    answers.iter().map(grouping).collect()
}

fn grouping(usage: &UsageResponse) -> Entry {
    let name = match usage.by {
        UsageGrouping::Agent => "agent",
        UsageGrouping::Item => "work item",
        UsageGrouping::Day => "day",
        UsageGrouping::Model => "model",
    };
    let chart = usage.rows.iter().map(|row| Bar {
        label: match (usage.by, row.key.as_str()) {
            (UsageGrouping::Item, "") => "without a work item".to_owned(),
            (_, key) => key.to_owned(),
        },
        tokens: row.figures.total_tokens,
        cost: cost_column(row.figures.known_cost_micro_usd, row.figures.unpriced_calls),
    });
    Entry {
        id: usage.by.as_str().to_owned(),
        label: format!("by {name}"),
        detail: total(usage),
        chart: chart.collect(),
        chart_of: name,
        ..Entry::default()
    }
}

fn total(usage: &UsageResponse) -> String {
    if usage.rows.is_empty() {
        return "Nothing was used.".to_owned();
    }
    let total = &usage.total;
    let mut facts = Facts::default();
    facts.0.push(String::new());
    facts.add("in all", total.total_tokens.to_string());
    facts.add("read", total.input_tokens.to_string());
    if total.cache_read_tokens > 0 {
        facts.add("from cache", total.cache_read_tokens.to_string());
    }
    if total.cache_write_tokens > 0 {
        facts.add("to cache", total.cache_write_tokens.to_string());
    }
    facts.add("written", total.output_tokens.to_string());
    facts.add("calls", total.calls.to_string());
    if total.estimated_calls > 0 {
        let (calls, tokens) = (total.estimated_calls, total.estimated_tokens);
        let calls = pluralize(calls, "call");
        facts.add("estimated", format!("{tokens} tokens of {calls}"));
    }
    let cost = cost_column(total.known_cost_micro_usd, total.unpriced_calls);
    facts.add("cost", cost);
    facts.add("days begin", format!("in the zone {}", usage.time_zone));
    if usage.next.is_some() {
        facts.add("more rows", "holon usage lists all of them");
    }
    facts.text()
}

/// Lists the budgets, with the limits of the settings behind them.
pub(crate) fn budgets(all: &BudgetsResponse) -> Vec<Entry> {
    let by_settings = [
        ("each agent", all.agent_day_tokens, "--agent ID"),
        ("the host", all.host_day_tokens, "--host"),
    ];
    let by_settings = by_settings
        .into_iter()
        .filter_map(|(scope, limit, option)| {
            let limit = limit?;
            let mut facts = Facts::default();
            facts.add("limits", scope);
            facts.add("period", "each day");
            facts.add("tokens", format!("at most {limit}"));
            facts.add("set by", "the settings");
            facts.add(
                "replace with",
                format!("holon budget set {option} --day --tokens N"),
            );
            Some(Entry {
                id: format!("settings {scope}"),
                label: format!("{scope}, each day  at most {limit} tokens by the settings"),
                tone: Tone::Faint,
                detail: facts.text(),
                ..Entry::default()
            })
        });
    let budgets = all.budgets.iter();
    let entries: Vec<Entry> = budgets
        .map(|budget| budget_entry(budget, &all.time_zone))
        .chain(by_settings)
        .chain(all.unreadable.iter().map(unreadable_entry))
        .collect();
    if entries.is_empty() {
        return nothing("no budgets; holon budget set --agent ID --tokens N sets one");
    }
    entries
}

fn unreadable_entry(budget: &UnreadableBudgetView) -> Entry {
    let covers = budget.covers.join(" or ");
    let mut facts = Facts::default();
    facts.add("limits", &covers);
    facts.add("cannot be read", &budget.row);
    facts.add("effect", "nothing that it may limit calls a model");
    facts.add("next step", &budget.next_step);
    Entry {
        id: format!("unreadable {}", budget.row),
        label: format!("{covers}  cannot be read, so no call is made"),
        tone: Tone::Bad,
        detail: facts.text(),
        ..Entry::default()
    }
}

fn budget_entry(budget: &BudgetView, time_zone: &str) -> Entry {
    let scope = match budget.key.as_str() {
        "" => budget.scope.clone(),
        key => format!("{} {key}", budget.scope),
    };
    let (period, suffix) = match budget.period {
        BudgetPeriod::Total => ("all time".to_owned(), ""),
        BudgetPeriod::Day => (format!("each day in the zone {time_zone}"), ", each day"),
    };
    let used = used_percent(budget);
    let mut facts = Facts::default();
    facts.add("limits", &scope);
    facts.add("period", period);
    if let Some(limit) = budget.limit_tokens {
        facts.add("tokens", format!("{} of {limit} used", budget.spent_tokens));
    }
    if let Some(limit) = &budget.limit_usd {
        facts.add("dollars", format!("{} of {limit} used", budget.spent_usd));
    }
    if budget.reserved_tokens > 0 {
        let tokens = budget.reserved_tokens;
        facts.add("reserved", format!("{tokens} tokens by open calls"));
    }
    facts.add("set at", budget.set_at.to_string());
    Entry {
        id: format!("{scope} {}", budget.period.as_str()),
        label: match used {
            Some(percent) => format!("{scope}{suffix}  {percent} % used"),
            None => format!("{scope}{suffix}  an unknown part is used"),
        },
        tone: match used {
            Some(100..) => Tone::Bad,
            Some(_) => Tone::Plain,
            None => Tone::Faint,
        },
        detail: facts.text(),
        ..Entry::default()
    }
}

/// Percentage of the limit that is nearest to its end; `None` if only money is limited and the cost is not known.
fn used_percent(budget: &BudgetView) -> Option<u64> {
    let tokens = budget
        .limit_tokens
        .map(|limit| budget.spent_tokens.saturating_mul(100) / limit.max(1));
    let money = budget.limit_usd.as_ref().and_then(|limit| {
        let (limit, spent) = (micros(limit)?, micros(&budget.spent_usd)?);
        Some(spent.saturating_mul(100) / limit.max(1))
    });
    tokens.into_iter().chain(money).max()
}

/// Reads an amount of dollars as the host spells it, in millionths. `None` for `unknown`.
fn micros(spelled: &str) -> Option<u64> {
    let (whole, part) = spelled.split_once('.')?;
    let part: u64 = (part.len() == 6).then(|| part.parse().ok()).flatten()?;
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn budget(fields: &serde_json::Value) -> BudgetView {
        let mut whole = json!({
            "scope": "agent", "key": "main", "period": "total", "spent_tokens": 50, "spent_usd": "0.500000",
            "reserved_tokens": 0, "reserved_usd": "0.000000", "set_at": "2026-11-16T10:00:00.000Z",
        });
        for (name, value) in fields.as_object().unwrap() {
            whole[name] = value.clone();
        }
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn the_limit_that_is_nearest_to_its_end_says_how_much_is_used() {
        for (fields, used) in [
            (json!({"limit_tokens": 100}), Some(50)),
            (json!({"limit_usd": "0.400000"}), Some(125)),
            (
                json!({"limit_tokens": 100, "limit_usd": "1.000000"}),
                Some(50),
            ),
            (
                json!({"limit_tokens": 1000, "limit_usd": "1.000000"}),
                Some(50),
            ),
            (
                json!({"limit_usd": "1.000000", "spent_usd": "unknown"}),
                None,
            ),
            (json!({"limit_tokens": 0, "spent_tokens": 0}), Some(0)),
        ] {
            assert_eq!(used_percent(&budget(&fields)), used, "{fields}");
        }
    }
}
