//! Authority: how much a message's content may decide. Derived from its ingress, never supplied by a caller.

use serde::{Deserialize, Serialize};

/// How message content is treated: as instruction, as signal, or as evidence. Ordered, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityClass {
    /// The operator's own words: defines scope and constraints.
    OperatorInstruction,
    /// The runtime's own continuation or rejoin.
    RuntimeInstruction,
    /// A structured signal of a configured integration.
    IntegrationSignal,
    /// Outside content: to inspect, not to obey.
    ExternalEvidence,
}

impl AuthorityClass {
    /// The weaker of two classes; what a message made by a turn inherits.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        self.max(other)
    }

    /// What anything is worth whose origin is not on record.
    #[must_use]
    pub const fn weakest() -> Self {
        Self::ExternalEvidence
    }
}

/// The older label for the same fact, kept for readers of the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    /// `operator_instruction`
    TrustedOperator,
    /// `runtime_instruction`
    TrustedSystem,
    /// `integration_signal`
    TrustedIntegration,
    /// `external_evidence`
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
