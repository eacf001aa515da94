//! Fixed text of a refusal: its stable code, its meaning and the next step.
//!
//! `core`, the engine and the server each declare this beside the variants they refuse with; the server prints all of
//! them into `docs/reference/refusals.md`. The server decides about the HTTP status.

/// Text that is the same for every refusal of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalText {
    /// Stable and machine-readable. Clients match on it, so it is never renamed.
    pub code: &'static str,
    /// Meaning of the refusal, in one clause for the reference.
    pub meaning: &'static str,
    pub next_step: NextStep,
}

/// Next step of the caller, and whether the error carries it as `hint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Sent as the hint. May contain a placeholder such as `{agent_id}`, which is filled in before it is sent.
    Hint(&'static str),
    /// Printed in the reference, and sent over HTTP. Either the error message names the step itself with details, or the
    /// sender of the request cannot take it, so people are not told twice.
    Unsent(&'static str),
}

impl NextStep {
    /// Returns the text with its placeholders.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Hint(text) | Self::Unsent(text) => text,
        }
    }

    /// Returns the text of the hint with `placeholder` replaced by `value`. `None` if no hint is sent.
    #[must_use]
    pub fn hint_with(self, placeholder: &str, value: &str) -> Option<String> {
        self.hint().map(|hint| hint.replace(placeholder, value))
    }

    /// Returns the text of a hint without placeholders. `None` if no hint is sent.
    #[must_use]
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Hint(text) => Some(text),
            Self::Unsent(_) => None,
        }
    }
}

impl RefusalText {
    /// Creates a refusal whose next step is sent as its hint.
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

    /// Creates a refusal without a hint for people; its next step is printed in the reference and sent over HTTP.
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
