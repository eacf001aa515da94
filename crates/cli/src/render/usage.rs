//! Usage of models, in words and as a chart.

use super::one_line;
use crate::wrap;
use holon_api::{UsageFigures, UsageResponse};
use holon_domain::text;
use holon_domain::usage::UsageGrouping;
use holon_presentation::text::{pad, text_width};
use holon_presentation::{Bar, BarStyle, bars, cost_column};

const NOTHING: &str = "nothing was used";

/// Renders the rows, one line each with the figures in a column, and their sum.
pub(crate) fn list(usage: &UsageResponse) -> String {
    if usage.rows.is_empty() {
        return NOTHING.to_owned();
    }
    let rows = usage.rows.iter();
    let rows = rows.map(|row| (key(usage.by, &row.key), figures(&row.figures)));
    let total = ("total".to_owned(), figures(&usage.total));
    let lines: Vec<(String, String)> = rows.chain([total]).collect();
    let width = lines.iter().map(|(key, _)| text_width(key)).max();
    let lines = lines
        .iter()
        .map(|(key, figures)| format!("{}  {figures}", pad(key, width.unwrap_or(0))));
    lines.collect::<Vec<_>>().join("\n")
}

/// Renders the rows as a chart for a terminal, with the sum in words below it.
pub(crate) fn chart(usage: &UsageResponse, columns: usize, style: BarStyle) -> String {
    if usage.rows.is_empty() {
        return NOTHING.to_owned();
    }
    let rows: Vec<Bar> = usage
        .rows
        .iter()
        .map(|row| Bar {
            label: key(usage.by, &row.key),
            tokens: row.figures.total_tokens,
            cost: cost_column(row.figures.known_cost_micro_usd, row.figures.unpriced_calls),
        })
        .collect();
    let mut lines = bars(&rows, columns, style);
    let total = format!("total  {}", figures(&usage.total));
    lines.push(wrap::wrap(&total, columns));
    lines.join("\n")
}

fn key(by: UsageGrouping, key: &str) -> String {
    match (by, key) {
        (UsageGrouping::Item, "") => "without a work item".to_owned(),
        (UsageGrouping::Agent | UsageGrouping::Day | UsageGrouping::Model, _)
        | (UsageGrouping::Item, _) => one_line(key),
    }
}

/// Renders figures in one line.
pub(crate) fn figures(figures: &UsageFigures) -> String {
    let part = |tokens: u64, words: &str| match tokens {
        0 => String::new(),
        tokens => format!(", {tokens} {words}"),
    };
    let cached = part(figures.cache_read_tokens, "cached")
        + &part(figures.cache_write_tokens, "written to the cache");
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
