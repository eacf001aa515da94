//! The fixed part of a refusal: its stable code, what it means and what to do next.
//!
//! `core`, the engine and the server each state this beside the variants they refuse with; the server prints all of
//! them into `docs/reference/refusals.md`. Which HTTP status goes with a refusal is the server's to say.

/// What is the same for every refusal of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalText {
    /// Stable and machine-readable. Clients match on it, so it is never renamed.
    pub code: &'static str,
    /// What the refusal means, in one clause for the reference.
    pub meaning: &'static str,
    /// What the caller does next.
    pub next_step: NextStep,
}

/// The next step after a refusal, and whether it is sent as the `hint` of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Sent as the hint. May hold a placeholder such as `{agent_id}`, which is filled in before it is sent.
    Hint(&'static str),
    /// Printed in the reference only: the error message names the step itself, with details known only there, or the
    /// sender of this one request cannot take it.
    Unsent(&'static str),
}

impl NextStep {
    /// The words, with their placeholders.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Hint(text) | Self::Unsent(text) => text,
        }
    }

    /// The words that are sent as the hint, with `placeholder` replaced by `value`.
    #[must_use]
    pub fn hint_with(self, placeholder: &str, value: &str) -> Option<String> {
        self.hint().map(|hint| hint.replace(placeholder, value))
    }

    /// The words that are sent as the hint, for a step without placeholders.
    #[must_use]
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Hint(text) => Some(text),
            Self::Unsent(_) => None,
        }
    }
}

impl RefusalText {
    /// A refusal whose next step is sent as its hint.
    #[must_use]
    pub const fn with_hint(
        code: &'static str,
        meaning: &'static str,
        next_step: &'static str,
    ) -> Self {
        Self {
            code,
            meaning,
            next_step: NextStep::Hint(next_step),
        }
    }

    /// A refusal without a hint; its next step stands in the reference.
    #[must_use]
    pub const fn without_hint(
        code: &'static str,
        meaning: &'static str,
        next_step: &'static str,
    ) -> Self {
        Self {
            code,
            meaning,
            next_step: NextStep::Unsent(next_step),
        }
    }
}
