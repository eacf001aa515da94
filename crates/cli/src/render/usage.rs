//! Usage of models in words.

use holon_api::{UsageFigures, UsageResponse};
use holon_domain::text;
use holon_domain::usage::UsageGrouping;

/// Renders the rows, one line each, and their sum.
pub(crate) fn list(usage: &UsageResponse) -> String {
    if usage.rows.is_empty() {
        return "nothing was used".to_owned();
    }
    let key = |key: &str| match (usage.by, key) {
        (UsageGrouping::Item, "") => "without a work item".to_owned(),
        (UsageGrouping::Agent | UsageGrouping::Day | UsageGrouping::Model, _)
        | (UsageGrouping::Item, _) => key.to_owned(),
    };
    let rows = usage
        .rows
        .iter()
        .map(|row| format!("{}  {}", key(&row.key), figures(&row.figures)));
    let total = format!("total  {}", figures(&usage.total));
    rows.chain([total]).collect::<Vec<_>>().join("\n")
}

/// Renders figures in one line.
pub(crate) fn figures(figures: &UsageFigures) -> String {
    let cached = match figures.cache_read_tokens {
        0 => String::new(),
        tokens => format!(", {tokens} cached"),
    };
    let estimated = match figures.estimated_calls {
        0 => String::new(),
        calls => format!(
            "; {} of {} estimated",
            text::pluralize(calls, "call"),
            text::pluralize(figures.estimated_tokens, "token")
        ),
    };
    format!(
        "{} tokens in {} ({} in{cached}, {} out), cost {}{estimated}",
        figures.total_tokens,
        text::pluralize(figures.calls, "call"),
        figures.input_tokens,
        figures.output_tokens,
        cost(figures),
    )
}

/// Renders the cost, and the part of it that is known.
fn cost(figures: &UsageFigures) -> String {
    match (figures.unpriced_calls, figures.known_cost_micro_usd) {
        (0, _) => format!("${}", figures.cost),
        (_, 0) => "unknown".to_owned(),
        (calls, known) => format!(
            "unknown (${} known, the price of {} is not)",
            holon_api::spell_cost(Some(known)),
            text::pluralize(calls, "call")
        ),
    }
}
