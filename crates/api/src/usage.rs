//! Answers about usage: what model calls used, by agent, work item, day or model.

pub use holon_domain::usage::spell_cost;
use holon_domain::usage::{MicroUsd, UsageGrouping, UsageSums};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of one row of usage, or of all rows together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UsageFigures {
    pub calls: u64,
    /// Tokens of the requests, cached ones included.
    pub input_tokens: u64,
    /// Part of the input that was read from a provider's cache.
    pub cache_read_tokens: u64,
    /// Part of the input that was written to a provider's cache.
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    /// Calls whose provider did not say what they used. Their estimate is counted.
    pub estimated_calls: u64,
    pub estimated_tokens: u64,
    /// Cost in US dollars, such as `0.012300`; `unknown` if the price of one of the calls is not known.
    pub cost: String,
    /// Cost of the calls whose price is known, in millionths of a dollar.
    pub known_cost_micro_usd: MicroUsd,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
}

impl From<UsageSums> for UsageFigures {
    fn from(sums: UsageSums) -> Self {
        Self {
            calls: sums.calls,
            input_tokens: sums.input_tokens,
            cache_read_tokens: sums.cache_read_tokens,
            cache_write_tokens: sums.cache_write_tokens,
            output_tokens: sums.output_tokens,
            total_tokens: sums.total_tokens(),
            estimated_calls: sums.estimated_calls,
            estimated_tokens: sums.estimated_tokens,
            cost: spell_cost(sums.cost()),
            known_cost_micro_usd: sums.known_cost,
            unpriced_calls: sums.unpriced_calls,
        }
    }
}

/// One row of usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageEntry {
    /// Name of the agent, id of the work item, day or model. Empty for calls without a work item.
    pub key: String,
    #[serde(flatten)]
    pub figures: UsageFigures,
}

/// Answer of `GET /usage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageResponse {
    /// What the rows are listed by.
    #[schemars(with = "String", extend("enum" = ["agent", "item", "day", "model"]))]
    pub by: UsageGrouping,
    /// Rows in the order of their keys.
    pub rows: Vec<UsageEntry>,
    /// Everything that the query selects, rows of other pages included.
    pub total: UsageFigures,
    /// Time zone in which days begin.
    pub time_zone: String,
    /// The `after` of the next page. Absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_is_never_spelled_as_nothing() {
        assert_eq!(spell_cost(None), "unknown");
        assert_eq!(spell_cost(Some(0)), "0.000000");
        assert_eq!(spell_cost(Some(12_300_001)), "12.300001");
    }
}
