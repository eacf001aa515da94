//! Authority classes: the trust in a message's content. Derived from the interface it came through, never supplied by a
//! caller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Trust in the content of a message, which decides whether a model treats it as instruction, signal or evidence.
/// Ordered, strongest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityClass {
    /// Text of the operator, which defines scope and constraints.
    OperatorInstruction,
    /// A continuation or a notice of the runtime itself.
    RuntimeInstruction,
    /// A structured signal of a configured integration.
    IntegrationSignal,
    /// Content from outside, which the model inspects and does not obey.
    ExternalEvidence,
}

impl AuthorityClass {
    /// Returns the weaker of two classes. A message made by a turn inherits the weaker one.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        self.max(other)
    }

    /// Returns the class of content whose origin is not on record.
    #[must_use]
    pub const fn weakest() -> Self {
        Self::ExternalEvidence
    }
}

/// Older label for the same fact, kept for readers of the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    TrustedOperator,
    TrustedSystem,
    TrustedIntegration,
    UntrustedExternal,
}

impl From<AuthorityClass> for TrustLevel {
    fn from(class: AuthorityClass) -> Self {
        match class {
            AuthorityClass::OperatorInstruction => Self::TrustedOperator,
            AuthorityClass::RuntimeInstruction => Self::TrustedSystem,
            AuthorityClass::IntegrationSignal => Self::TrustedIntegration,
            AuthorityClass::ExternalEvidence => Self::UntrustedExternal,
        }
    }
}

impl From<TrustLevel> for AuthorityClass {
    fn from(trust: TrustLevel) -> Self {
        match trust {
            TrustLevel::TrustedOperator => Self::OperatorInstruction,
            TrustLevel::TrustedSystem => Self::RuntimeInstruction,
            TrustLevel::TrustedIntegration => Self::IntegrationSignal,
            TrustLevel::UntrustedExternal => Self::ExternalEvidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weaker_class_wins_whichever_side_it_stands_on() {
        use AuthorityClass::{ExternalEvidence, OperatorInstruction};
        assert_eq!(
            OperatorInstruction.weaker(ExternalEvidence),
            ExternalEvidence
        );
        assert_eq!(
            ExternalEvidence.weaker(OperatorInstruction),
            ExternalEvidence
        );
    }
}
