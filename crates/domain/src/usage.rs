//! Usage of models: the charge that one call leaves, and the sums that operators read. Both are exact: the rows of the
//! store are written in the commit of a call's outcome.
//!
//! Money is in micro-dollars, as integers. A price that is not known is never counted as zero.

use crate::agent::AgentIdentity;
use crate::attempt::TokenUsage;
use crate::id::{AgentId, WorkItemId};
use crate::time::Timestamp;
use crate::zone::time_zone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of money in millionths of a US dollar.
pub type MicroUsd = u64;

/// Tokens that a model call takes at most, as they are estimated before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallEstimate {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Most tokens that the answer may have.
    pub output_tokens: u64,
}

impl CallEstimate {
    /// Returns all tokens of the call.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the usage of a call that took everything it was estimated to take.
    #[must_use]
    pub const fn as_usage(self) -> TokenUsage {
        TokenUsage::new(self.input_tokens, self.output_tokens)
    }
}

/// Factor by which a provider's count may exceed what the request explains: vocabularies differ, and some providers count
/// hidden reasoning apart from the answer.
const EXPLAINED: u64 = 8;

/// Most tokens that a call can have used, as its request, its answer and its model explain them. A provider that reports
/// more has not counted this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageBounds {
    input_tokens: u64,
    output_tokens: u64,
}

impl UsageBounds {
    /// Computes the bounds of a call from its estimate, the context window of its model and the estimated tokens of what
    /// came back.
    #[must_use]
    pub fn new(estimate: CallEstimate, window_tokens: u32, answer_tokens: u64) -> Self {
        let output = estimate.output_tokens.max(answer_tokens);
        // An estimate may be small: not every provider bounds its answers, and a full window leaves little room.
        let at_least_window = |tokens: u64| {
            let explained = tokens.saturating_mul(EXPLAINED);
            explained.max(window_tokens.into())
        };
        Self {
            input_tokens: at_least_window(estimate.input_tokens),
            output_tokens: at_least_window(output),
        }
    }

    /// Returns true if a call can have used what its provider claims.
    #[must_use]
    pub const fn explain(self, claim: &TokenUsage) -> bool {
        let most = self.input_tokens.saturating_add(self.output_tokens);
        claim.input_tokens <= self.input_tokens
            && claim.cache_read_tokens <= self.input_tokens
            && claim.cache_write_tokens <= self.input_tokens
            && claim.output_tokens <= self.output_tokens
            && claim.total_tokens <= most
    }
}

/// What one model call used, and who pays for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageCharge {
    pub agent_id: AgentId,
    /// Root of the tree of agents to which the agent belongs.
    pub root_agent_id: AgentId,
    /// Work item of the turn. Absent if the turn was about none.
    pub work_item_id: Option<WorkItemId>,
    /// Day of the charge in the zone of the host, as `YYYY-MM-DD`.
    pub day: String,
    /// Model that was asked, as `provider/model`.
    pub model_ref: String,
    pub usage: TokenUsage,
    /// True if the provider did not say what the call used, or claimed what it cannot have used, so that its estimate
    /// counts.
    pub estimated: bool,
    /// Cost of the call; `None` if the price of the model is not known.
    pub cost: Option<MicroUsd>,
}

/// Tokens, calls and costs of several charges together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageSums {
    /// Calls that were charged.
    pub calls: u64,
    /// Tokens of the requests, cached ones included.
    pub input_tokens: u64,
    /// Part of the input that was read from a provider's cache.
    pub cache_read_tokens: u64,
    /// Part of the input that was written to a provider's cache.
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
    /// Calls whose provider did not say, or not credibly, what they used. Their estimate is counted above.
    pub estimated_calls: u64,
    /// Input and output tokens of these calls.
    pub estimated_tokens: u64,
    /// Cost of the calls whose price is known.
    pub known_cost: MicroUsd,
    /// Calls whose price is not known. They are no part of `known_cost`.
    pub unpriced_calls: u64,
}

impl UsageSums {
    /// Returns input and output tokens together.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the cost of all calls; `None` if the price of one of them is not known.
    #[must_use]
    pub const fn cost(&self) -> Option<MicroUsd> {
        match self.unpriced_calls {
            0 => Some(self.known_cost),
            _ => None,
        }
    }

    /// Adds other sums. Saturates.
    pub const fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cache_read_tokens = self
            .cache_read_tokens
            .saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.estimated_calls = self.estimated_calls.saturating_add(other.estimated_calls);
        self.estimated_tokens = self.estimated_tokens.saturating_add(other.estimated_tokens);
        self.known_cost = self.known_cost.saturating_add(other.known_cost);
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
    }
}

impl UsageCharge {
    /// Returns the sums of this charge alone.
    #[must_use]
    pub fn sums(&self) -> UsageSums {
        let usage = self.usage;
        UsageSums {
            calls: 1,
            input_tokens: usage.input_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            estimated_calls: u64::from(self.estimated),
            estimated_tokens: match self.estimated {
                true => usage.input_tokens.saturating_add(usage.output_tokens),
                false => 0,
            },
            known_cost: self.cost.unwrap_or(0),
            unpriced_calls: u64::from(self.cost.is_none()),
        }
    }
}

/// What a turn, a run or an agent has spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    /// Input and output tokens, estimated ones included.
    pub tokens: u64,
    /// Cost of the calls whose price is known.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub known_cost: MicroUsd,
    /// Calls whose price is not known.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unpriced_calls: u64,
}

impl Spending {
    /// Adds a charge. Saturates.
    pub fn add(&mut self, charge: &UsageCharge) {
        let sums = charge.sums();
        self.tokens = self.tokens.saturating_add(sums.total_tokens());
        self.known_cost = self.known_cost.saturating_add(sums.known_cost);
        self.unpriced_calls = self.unpriced_calls.saturating_add(sums.unpriced_calls);
    }
}

/// Spending as a list of three numbers, for rows that every turn writes.
pub(crate) mod short_list {
    use super::{MicroUsd, Spending};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes the field by reference")]
    pub(crate) fn serialize<S: Serializer>(
        spending: &Option<Spending>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let list = spending.map(|spent| (spent.tokens, spent.known_cost, spent.unpriced_calls));
        list.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Spending>, D::Error> {
        let list: Option<(u64, MicroUsd, u64)> = Option::deserialize(deserializer)?;
        Ok(list.map(|(tokens, known_cost, unpriced_calls)| Spending {
            tokens,
            known_cost,
            unpriced_calls,
        }))
    }
}

/// Spending as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpendingView {
    /// Input and output tokens, estimated ones included.
    pub tokens: u64,
    /// Cost in US dollars, such as `0.012300`; `unknown` if the price of one of the calls is not known.
    pub cost: String,
}

impl From<Spending> for SpendingView {
    fn from(spending: Spending) -> Self {
        let is_known = spending.unpriced_calls == 0;
        Self {
            tokens: spending.tokens,
            cost: spell_cost(is_known.then_some(spending.known_cost)),
        }
    }
}

impl Default for SpendingView {
    /// What an earlier build, which counted nothing, says.
    fn default() -> Self {
        Self {
            tokens: 0,
            cost: spell_cost(None),
        }
    }
}

/// Spells a cost in dollars; one that is not known is said to be `unknown`.
#[must_use]
pub fn spell_cost(cost: Option<MicroUsd>) -> String {
    match cost {
        Some(cost) => format!("{}.{:06}", cost / 1_000_000, cost % 1_000_000),
        None => "unknown".to_owned(),
    }
}

/// What usage is listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageGrouping {
    #[default]
    Agent,
    /// Work item. Calls of turns without one are listed under an empty key.
    Item,
    Day,
    Model,
}

impl UsageGrouping {
    pub const ALL: [Self; 4] = [Self::Agent, Self::Item, Self::Day, Self::Model];

    /// Returns the spelling in requests and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Item => "item",
            Self::Day => "day",
            Self::Model => "model",
        }
    }
}

/// Selects the charges that are summed up. Every condition that is present has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageFilter {
    pub agent_id: Option<AgentId>,
    pub work_item_id: Option<WorkItemId>,
    /// Only this day of the host, as `YYYY-MM-DD`.
    pub day: Option<String>,
}

/// One row of a list of usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Name of the agent, id of the item, day or model, as the list is grouped.
    pub key: String,
    pub sums: UsageSums,
}

/// Returns the root of the tree of agents to which an agent belongs: itself unless another agent made it.
#[must_use]
pub fn budget_root(identity: &AgentIdentity) -> &AgentId {
    identity
        .root_agent_id
        .as_ref()
        .unwrap_or(&identity.agent_id)
}

/// Returns the day of a time in a zone, as `YYYY-MM-DD`. A zone that is not known counts as UTC.
#[must_use]
pub fn day_in(at: Timestamp, zone: &str) -> String {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    at.to_zoned(time_zone(zone)).date().to_string()
}

/// Returns the first moment of the next day in a zone. A zone that is not known counts as UTC.
#[must_use]
pub fn next_midnight(at: Timestamp, zone: &str) -> Timestamp {
    const DAY_MS: u64 = 24 * 3_600 * 1_000;
    let now = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    let tomorrow = now
        .to_zoned(time_zone(zone))
        .tomorrow()
        .and_then(|next| next.start_of_day());
    match tomorrow {
        Ok(next) => Timestamp::from_millis(next.timestamp().as_millisecond()),
        // Only at the end of the calendar.
        Err(_) => at.plus_millis(DAY_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        serde_json::from_value(serde_json::json!(text)).expect("a time")
    }

    #[test]
    fn a_day_begins_and_ends_at_midnight_of_its_zone() {
        let late = at("2026-11-16T23:30:00.000Z");
        assert_eq!(day_in(late, "UTC"), "2026-11-16");
        assert_eq!(day_in(late, "Europe/Berlin"), "2026-11-17");
        assert_eq!(next_midnight(late, "UTC"), at("2026-11-17T00:00:00.000Z"));
        let berlin = next_midnight(late, "Europe/Berlin");
        assert_eq!(berlin, at("2026-11-17T23:00:00.000Z"));
    }

    #[test]
    fn a_day_on_which_the_clock_is_set_has_its_own_length() {
        let before = at("2026-03-28T23:30:00.000Z");
        let zone = "Europe/Berlin";
        assert_eq!(day_in(before, zone), "2026-03-29");
        assert_eq!(next_midnight(before, zone), at("2026-03-29T22:00:00.000Z"));
    }

    #[test]
    fn a_claim_is_believed_up_to_what_the_request_the_answer_and_the_model_explain() {
        let estimate = CallEstimate {
            input_tokens: 1_000,
            output_tokens: 100,
        };
        let claim = TokenUsage::new;
        let cached = |read, write| TokenUsage {
            cache_read_tokens: read,
            cache_write_tokens: write,
            ..TokenUsage::new(10, 1)
        };
        let total = |total_tokens| TokenUsage {
            total_tokens,
            ..TokenUsage::new(10, 1)
        };
        let most = i64::MAX as u64;
        for (window, answer, claim, is_believed) in [
            (0, 0, claim(8_000, 800), true),
            (0, 0, claim(8_001, 1), false),
            (200_000, 0, claim(200_000, 1), true),
            (200_000, 0, claim(200_001, 1), false),
            (0, 0, claim(1, 801), false),
            (200_000, 0, claim(1, 200_000), true),
            (200_000, 0, claim(1, 200_001), false),
            (0, 200, claim(1, 1_600), true),
            (0, 200, claim(1, 1_601), false),
            (0, 0, claim(most, most), false),
            (0, 0, claim(u64::MAX, 0), false),
            (0, 0, cached(8_000, 8_000), true),
            (0, 0, cached(8_001, 0), false),
            (0, 0, cached(0, most), false),
            (0, 0, total(8_800), true),
            (0, 0, total(most), false),
        ] {
            let bounds = UsageBounds::new(estimate, window, answer);
            assert_eq!(bounds.explain(&claim), is_believed, "{claim:?}");
        }
        let everything = CallEstimate {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
        };
        let bounds = UsageBounds::new(everything, u32::MAX, u64::MAX);
        assert!(bounds.explain(&claim(u64::MAX, u64::MAX)));
    }

    #[test]
    fn one_call_without_a_price_makes_the_whole_cost_unknown() {
        let mut sums = UsageSums {
            calls: 1,
            known_cost: 5,
            ..UsageSums::default()
        };
        assert_eq!(sums.cost(), Some(5));
        sums.add(&UsageSums {
            calls: 1,
            unpriced_calls: 1,
            ..UsageSums::default()
        });
        assert_eq!((sums.cost(), sums.known_cost), (None, 5));
    }
}
