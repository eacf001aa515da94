//! The price of a model, in integers.

use crate::attempt::TokenUsage;
use crate::usage::MicroUsd;
use serde::{Deserialize, Serialize};

/// Price of a model in micro-dollars for a million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    pub input_per_million: MicroUsd,
    /// Price of input that is read from the provider's cache. Absent if it is that of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_million: Option<MicroUsd>,
    /// Price of input that is written to the provider's cache. Absent if it is that of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_per_million: Option<MicroUsd>,
    pub output_per_million: MicroUsd,
}

impl ModelPrice {
    /// Returns the tokens of an answer that an amount of money pays for beside the input.
    #[must_use]
    pub fn output_for(&self, money: MicroUsd, input_tokens: u64) -> u64 {
        let input = self.cost_at_most(TokenUsage::new(input_tokens, 0));
        let left = u128::from(money.saturating_sub(input)) * 1_000_000;
        let tokens = left.checked_div(u128::from(self.output_per_million));
        tokens.map_or(u64::MAX, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX))
    }

    /// Returns the most that a call of this size can cost: its input may be written to the provider's cache as a whole,
    /// which some providers charge more for.
    #[must_use]
    pub fn cost_at_most(&self, usage: TokenUsage) -> MicroUsd {
        let dearest = Self {
            input_per_million: self
                .cache_write_per_million
                .map_or(self.input_per_million, |write| {
                    write.max(self.input_per_million)
                }),
            ..*self
        };
        dearest.cost_of(usage)
    }

    /// Returns the cost of a call, rounded up.
    #[must_use]
    pub fn cost_of(&self, usage: TokenUsage) -> MicroUsd {
        let plain = self.input_per_million;
        let read = usage.cache_read_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - read);
        let parts = [
            (usage.input_tokens - read - written, plain),
            (read, self.cached_input_per_million.unwrap_or(plain)),
            (written, self.cache_write_per_million.unwrap_or(plain)),
            (usage.output_tokens, self.output_per_million),
        ];
        let millionths = parts
            .iter()
            .map(|(tokens, price)| u128::from(*tokens) * u128::from(*price))
            .fold(0_u128, u128::saturating_add);
        u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: ModelPrice = ModelPrice {
        input_per_million: 3_000_000,
        cached_input_per_million: Some(300_000),
        cache_write_per_million: None,
        output_per_million: 15_000_000,
    };

    #[test]
    fn cached_input_has_a_price_of_its_own() {
        let usage = TokenUsage {
            cache_read_tokens: 1_000,
            ..TokenUsage::new(3_000, 100)
        };
        assert_eq!(PRICE.cost_of(usage), 6_000 + 300 + 1_500);
        let same = ModelPrice {
            cached_input_per_million: None,
            ..PRICE
        };
        assert_eq!(same.cost_of(usage), 9_000 + 1_500);
    }

    #[test]
    fn written_cache_has_a_price_of_its_own_and_an_estimate_counts_the_dearer_input() {
        let price = ModelPrice {
            cache_write_per_million: Some(3_750_000),
            ..PRICE
        };
        let usage = TokenUsage {
            cache_read_tokens: 1_000,
            cache_write_tokens: 1_000,
            ..TokenUsage::new(3_000, 100)
        };
        assert_eq!(price.cost_of(usage), 3_000 + 300 + 3_750 + 1_500);
        let estimate = TokenUsage::new(3_000, 100);
        assert_eq!(price.cost_at_most(estimate), 11_250 + 1_500);
        assert_eq!(PRICE.cost_at_most(estimate), PRICE.cost_of(estimate));
        let cheap_write = ModelPrice {
            cache_write_per_million: Some(1),
            ..PRICE
        };
        assert_eq!(
            cheap_write.cost_at_most(estimate),
            PRICE.cost_of(estimate),
            "not all of it need be written"
        );
        assert_eq!(price.output_for(12_750, 3_000), 100);
    }

    #[test]
    fn a_part_of_a_micro_dollar_counts_as_a_whole_one_and_huge_counts_saturate() {
        let cheap = ModelPrice {
            input_per_million: 1,
            cached_input_per_million: None,
            cache_write_per_million: None,
            output_per_million: 1,
        };
        assert_eq!(cheap.cost_of(TokenUsage::new(1, 0)), 1);
        assert_eq!(PRICE.cost_of(TokenUsage::new(u64::MAX, u64::MAX)), u64::MAX);
    }
}
