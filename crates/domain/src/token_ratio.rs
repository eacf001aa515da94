//! The ratio between the tokens that a model's provider counts and those that the runtime estimates.
//!
//! The estimate follows one vocabulary; other models split text into more or fewer tokens. Each answer tells what its
//! request really took, and a moving average of that corrects the budgets of the same model.

use crate::attempt::TokenUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests with a smaller estimate teach nothing: the fixed overhead of a protocol is too large a part of them.
const SMALLEST_REQUEST: u64 = 1_000;
/// A reported count that exceeds the estimate by more than this factor is not a count of the request.
const ABSURD: u64 = 8;
/// Counts of fewer tokens for a thousand estimated ones are not believed: no vocabulary is so large. The server has left
/// part of the request out of its count, such as the tools that the template of a model drops.
const LEAST_BELIEVED: u16 = 750;
/// Share that the newest round has in the average.
const WEIGHT: i64 = 4;
/// A smaller change, in thousandths, is not stored.
const NOTEWORTHY: u16 = 5;

/// Tokens that a provider counts for a thousand estimated ones, from three quarters to twice as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "i64", into = "i64")]
pub struct TokenRatio(u16);

/// Error for a number that no ratio has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a token ratio; it is between 500 and 2000 thousandths")]
pub struct TokenRatioError(i64);

impl TokenRatio {
    /// The provider counts what the runtime estimates.
    pub const ONE: Self = Self(1_000);
    const SMALLEST: u16 = 500;
    const LARGEST: u16 = 2_000;

    /// Returns the ratio that an answered request shows, within its bounds. `None` if the request was too small, or if
    /// the provider reported no count or one that cannot be true. Cached tokens are part of the input.
    #[must_use]
    pub fn of_round(estimated_tokens: u64, usage: TokenUsage) -> Option<Self> {
        let counted = usage.input_tokens;
        let is_absurd = counted > estimated_tokens.saturating_mul(ABSURD);
        if estimated_tokens <= SMALLEST_REQUEST || is_absurd {
            return None;
        }
        let per_mille = counted.saturating_mul(1_000) / estimated_tokens;
        if per_mille < LEAST_BELIEVED.into() {
            return None;
        }
        u16::try_from(per_mille.min(Self::LARGEST.into()))
            .ok()
            .map(Self)
    }

    /// Adds a round to the average, and returns it if it changed enough to be stored. The first round sets the average.
    #[must_use]
    pub fn learn(known: Option<Self>, round: Self) -> Option<Self> {
        let average = match known {
            None => round,
            Some(known) => {
                let step = (i64::from(round.0) - i64::from(known.0)) / WEIGHT;
                let moved = i64::from(known.0) + step;
                u16::try_from(moved).map_or(round, Self)
            }
        };
        let change = average.0.abs_diff(known.unwrap_or(Self::ONE).0);
        (change >= NOTEWORTHY).then_some(average)
    }

    /// Converts estimated tokens to those that the provider counts.
    #[must_use]
    pub fn to_counted(self, estimated_tokens: u64) -> u64 {
        estimated_tokens
            .saturating_mul(self.0.into())
            .div_ceil(1_000)
    }

    /// Converts tokens of the provider to estimated ones.
    #[must_use]
    pub fn to_estimated(self, counted_tokens: u32) -> u32 {
        let estimated = u64::from(counted_tokens) * 1_000 / u64::from(self.0);
        u32::try_from(estimated).unwrap_or(u32::MAX)
    }

    /// Returns the counted tokens for a thousand estimated ones.
    #[must_use]
    pub const fn per_mille(self) -> u16 {
        self.0
    }
}

impl Default for TokenRatio {
    fn default() -> Self {
        Self::ONE
    }
}

impl TryFrom<i64> for TokenRatio {
    type Error = TokenRatioError;

    fn try_from(per_mille: i64) -> Result<Self, Self::Error> {
        let ratio = u16::try_from(per_mille).ok();
        let ratio = ratio.filter(|ratio| (Self::SMALLEST..=Self::LARGEST).contains(ratio));
        match ratio {
            // Earlier builds believed them.
            Some(ratio) if ratio < LEAST_BELIEVED => Ok(Self::ONE),
            Some(ratio) => Ok(Self(ratio)),
            None => Err(TokenRatioError(per_mille)),
        }
    }
}

impl From<TokenRatio> for i64 {
    fn from(ratio: TokenRatio) -> Self {
        Self::from(ratio.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of_round(estimated: u64, counted: u64) -> Option<u16> {
        TokenRatio::of_round(estimated, TokenUsage::new(counted, 10)).map(TokenRatio::per_mille)
    }

    #[test]
    fn a_round_counts_only_if_its_report_can_be_true() {
        assert_eq!(of_round(10_000, 12_500), Some(1_250));
        assert_eq!(of_round(10_000, 9_000), Some(900));
        assert_eq!(of_round(10_000, 30_000), Some(2_000), "bounded");
        assert_eq!(of_round(10_000, 7_500), Some(750));
        assert_eq!(of_round(10_000, 7_499), None, "part was not counted");
        assert_eq!(of_round(10_000, 2_000), None, "part was not counted");
        assert_eq!(of_round(10_000, 0), None, "not reported");
        assert_eq!(of_round(10_000, 90_000), None, "absurd");
        assert_eq!(of_round(1_000, 1_200), None, "too small");
        assert_eq!(of_round(1_001, 1_200), Some(1_198));
    }

    #[test]
    fn cached_tokens_are_part_of_the_count() {
        let usage = TokenUsage {
            cache_read_tokens: 11_000,
            ..TokenUsage::new(12_000, 10)
        };
        let ratio = TokenRatio::of_round(10_000, usage);
        assert_eq!(ratio.map(TokenRatio::per_mille), Some(1_200));
    }

    #[test]
    fn the_average_reaches_a_steady_ratio_and_then_rests() {
        let round = TokenRatio(1_300);
        let mut known = TokenRatio::learn(None, TokenRatio(800));
        assert_eq!(known, Some(TokenRatio(800)), "the first round sets it");
        let mut writes = 0;
        while let Some(next) = TokenRatio::learn(known, round) {
            known = Some(next);
            writes += 1;
        }
        assert!(writes < 20, "{writes}");
        let reached = known.expect("known").per_mille();
        assert!(reached.abs_diff(1_300) < 20, "{reached}");
        assert_eq!(
            TokenRatio::learn(None, TokenRatio(1_003)),
            None,
            "as good as none"
        );
    }

    #[test]
    fn a_stored_number_out_of_bounds_is_no_ratio() {
        for stored in [i64::MIN, -1, 0, 499, 2_001, i64::MAX] {
            assert!(TokenRatio::try_from(stored).is_err(), "{stored}");
        }
        assert_eq!(TokenRatio::try_from(1_250), Ok(TokenRatio(1_250)));
        for unbelieved in [500, 749] {
            assert_eq!(TokenRatio::try_from(unbelieved), Ok(TokenRatio::ONE));
        }
    }

    proptest! {
        #[test]
        fn any_reports_leave_a_ratio_within_its_bounds(
            reports in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50),
        ) {
            let mut known = None;
            for (estimated, counted) in reports {
                let round = TokenRatio::of_round(estimated, TokenUsage::new(counted, 1));
                known = round.and_then(|round| TokenRatio::learn(known, round)).or(known);
                let ratio = known.unwrap_or_default();
                prop_assert!((750..=2_000).contains(&ratio.per_mille()));
            }
        }

        #[test]
        fn a_converted_budget_never_exceeds_the_counted_one(per_mille in 500_i64..=2_000, tokens in any::<u32>()) {
            let ratio = TokenRatio::try_from(per_mille).expect("in bounds");
            let estimated = ratio.to_estimated(tokens);
            if estimated < u32::MAX {
                prop_assert!(ratio.to_counted(estimated.into()) <= u64::from(tokens));
            }
        }
    }
}
