//! Limits of models that their providers revealed, and the rules by which a server's description replaces them.

use super::LimitSource;
use crate::token_ratio::TokenRatio;
use serde::{Deserialize, Serialize};

/// Limits of a model that its provider revealed: in an error, or in the server's description of itself. Kept until an
/// answer disproves them or the server describes others; the settings override them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearnedLimits {
    /// Tokens of request and answer together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window_tokens: Option<u32>,
    /// Tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Source of the window. An output limit alone comes from an error.
    #[serde(default)]
    pub source: LimitSource,
    /// Tokens that the provider counts for an estimated one. Absent until an answer showed that they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_ratio: Option<TokenRatio>,
}

impl LearnedLimits {
    /// A learned window, and no output limit.
    #[must_use]
    pub const fn window(tokens: u32, source: LimitSource) -> Self {
        Self {
            context_window_tokens: Some(tokens),
            max_output_tokens: None,
            source,
            token_ratio: None,
        }
    }

    /// A learned token ratio, and no limits.
    #[must_use]
    pub fn ratio(token_ratio: TokenRatio) -> Self {
        Self {
            token_ratio: Some(token_ratio),
            ..Self::default()
        }
    }

    /// Returns true if there is a window or an output limit, and not a token ratio alone.
    #[must_use]
    pub const fn has_limit(self) -> bool {
        self.context_window_tokens.is_some() || self.max_output_tokens.is_some()
    }

    /// Merges two sets of limits. The later value wins.
    #[must_use]
    pub fn and_then(self, later: Self) -> Self {
        let source = match later.context_window_tokens {
            Some(_) => later.source,
            None => self.source,
        };
        Self {
            context_window_tokens: later.context_window_tokens.or(self.context_window_tokens),
            max_output_tokens: later.max_output_tokens.or(self.max_output_tokens),
            source,
            token_ratio: later.token_ratio.or(self.token_ratio),
        }
    }
}

/// Context window that a server describes for one of its models, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedWindow {
    /// The window that a request gets.
    Exactly(u32),
    /// The longest window that the model can be loaded with. A request may get less.
    AtMost(u32),
}

/// The server that was asked in a model round.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskedServer {
    /// Base URL of the provider, for which learned limits hold. Absent for a model without a server.
    pub endpoint: Option<String>,
    /// Context window that the server described before the round, in tokens. Absent if it is not new.
    pub stated_window_tokens: Option<u32>,
}

impl AskedServer {
    /// Returns the limits to learn from a round: the window that the server described, then what the round itself
    /// revealed.
    #[must_use]
    pub fn lesson(&self, of_round: Option<LearnedLimits>) -> Option<LearnedLimits> {
        let stated = self.stated_window_tokens;
        let stated = stated.map(|tokens| LearnedLimits::window(tokens, LimitSource::Server));
        match (stated, of_round) {
            (Some(stated), Some(revealed)) => Some(stated.and_then(revealed)),
            (stated, revealed) => revealed.or(stated),
        }
    }
}

/// Learned limits with the server that revealed them, as the store keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredLimits {
    pub limits: LearnedLimits,
    /// Base URL of the provider that revealed them. Absent for a model without a server, and for limits that an earlier
    /// build learned.
    pub endpoint: Option<String>,
    /// Window that the server described last, in tokens. It differs from the window of the limits if an error or an
    /// answer has contradicted it. Absent if the server has described none.
    pub stated_window_tokens: Option<u32>,
}

impl StoredLimits {
    /// Returns the limits as far as they hold for a provider with this base URL. Another server may serve the model
    /// with other limits, so those of another URL are dropped.
    #[must_use]
    pub fn at(self, endpoint: Option<String>) -> Self {
        if self.endpoint == endpoint {
            self
        } else {
            Self {
                endpoint,
                ..Self::default()
            }
        }
    }

    /// Takes over a server's description of its window. Returns the window in tokens, or `None` if the description
    /// changes nothing. `assumed_tokens` is the window that counts while none is known.
    pub fn take_statement(&mut self, stated: StatedWindow, assumed_tokens: u32) -> Option<u32> {
        let (tokens, is_new) = match stated {
            StatedWindow::Exactly(tokens) => (tokens, self.is_replaced_by(tokens)),
            StatedWindow::AtMost(tokens) => (tokens, self.is_narrowed_by(tokens, assumed_tokens)),
        };
        if !is_new {
            return None;
        }
        let window = LearnedLimits::window(tokens, LimitSource::Server);
        self.limits = self.limits.and_then(window);
        self.stated_window_tokens = Some(tokens);
        Some(tokens)
    }

    /// A description that differs from the last one comes from a server that was started anew, so it replaces what
    /// errors and answers have proven. One that was contradicted and is repeated does not.
    fn is_replaced_by(&self, stated: u32) -> bool {
        match (self.stated_window_tokens, self.limits.context_window_tokens) {
            (Some(before), _) => before != stated,
            (None, None) => true,
            (None, Some(known)) => match self.limits.source {
                LimitSource::Server | LimitSource::Refusal => known != stated,
                // An answer of that size has come, so a narrower description is wrong.
                LimitSource::Answer => known < stated,
            },
        }
    }

    /// A bound says nothing about windows within it, so it only narrows.
    fn is_narrowed_by(&self, bound: u32, assumed_tokens: u32) -> bool {
        let window = self.limits.context_window_tokens.unwrap_or(assumed_tokens);
        bound < window && self.limits.source != LimitSource::Answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tokens: u32, source: LimitSource) -> StoredLimits {
        StoredLimits {
            limits: LearnedLimits::window(tokens, source),
            ..StoredLimits::default()
        }
    }

    fn url(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_description_replaces_what_is_known_unless_it_was_contradicted_before() {
        let stated = StatedWindow::Exactly(16_000);
        let take = |mut known: StoredLimits| known.take_statement(stated, 32_000);
        assert_eq!(take(StoredLimits::default()), Some(16_000));
        for (tokens, source, is_replaced) in [
            (8_000, LimitSource::Server, true),
            (16_000, LimitSource::Server, false),
            (32_000, LimitSource::Server, true),
            (8_000, LimitSource::Refusal, true),
            (16_000, LimitSource::Refusal, false),
            (32_000, LimitSource::Refusal, true),
            (8_000, LimitSource::Answer, true),
            (32_000, LimitSource::Answer, false),
        ] {
            let taken = take(known(tokens, source));
            assert_eq!(taken.is_some(), is_replaced, "{tokens} {source}");
        }
        for source in [LimitSource::Refusal, LimitSource::Answer] {
            let mut contradicted = StoredLimits::default();
            assert_eq!(contradicted.take_statement(stated, 32_000), Some(16_000));
            contradicted.limits = LearnedLimits::window(12_000, source);
            assert_eq!(
                contradicted.take_statement(stated, 32_000),
                None,
                "{source}"
            );
            let other = StatedWindow::Exactly(24_000);
            assert_eq!(contradicted.take_statement(other, 32_000), Some(24_000));
            let window = LearnedLimits::window(24_000, LimitSource::Server);
            assert_eq!(contradicted.limits, window);
        }
    }

    #[test]
    fn an_upper_bound_narrows_and_never_widens() {
        let take = |mut known: StoredLimits, most| {
            known.take_statement(StatedWindow::AtMost(most), 32_000)
        };
        assert_eq!(take(StoredLimits::default(), 131_072), None);
        assert_eq!(take(StoredLimits::default(), 32_000), None);
        assert_eq!(take(StoredLimits::default(), 8_192), Some(8_192));
        for source in [LimitSource::Server, LimitSource::Refusal] {
            assert_eq!(take(known(4_096, source), 8_192), None, "{source}");
            assert_eq!(take(known(65_536, source), 8_192), Some(8_192), "{source}");
        }
        let proven = known(65_536, LimitSource::Answer);
        assert_eq!(take(proven, 8_192), None, "an answer was longer");
    }

    #[test]
    fn limits_hold_for_the_server_that_revealed_them() {
        let stored = StoredLimits {
            endpoint: url("http://one/v1"),
            ..known(4_096, LimitSource::Refusal)
        };
        assert_eq!(stored.clone().at(url("http://one/v1")), stored);
        let moved = stored.at(url("http://two/v1"));
        assert_eq!(moved.limits, LearnedLimits::default());
        assert_eq!(moved.endpoint, url("http://two/v1"));
        let old = known(4_096, LimitSource::Refusal).at(url("http://one/v1"));
        assert_eq!(old.limits, LearnedLimits::default());
    }

    #[test]
    fn what_a_round_revealed_counts_more_than_the_description_before_it() {
        let server = |stated_window_tokens| AskedServer {
            endpoint: None,
            stated_window_tokens,
        };
        let window = LearnedLimits::window;
        let output = LearnedLimits {
            max_output_tokens: Some(1_000),
            ..LearnedLimits::default()
        };
        let refused = window(4_000, LimitSource::Refusal);
        assert_eq!(server(None).lesson(None), None);
        assert_eq!(server(None).lesson(Some(refused)), Some(refused));
        assert_eq!(server(Some(8_000)).lesson(Some(refused)), Some(refused));
        let both = server(Some(8_000)).lesson(Some(output)).expect("limits");
        assert_eq!(both.source, LimitSource::Server);
        assert_eq!(both.context_window_tokens, Some(8_000));
        assert_eq!(both.max_output_tokens, Some(1_000));
    }
}
