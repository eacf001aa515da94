//! The option that lowers the trust in a text.

use clap::ValueEnum;
use holon_domain::authority::TrustLevel;

/// Trust in a text that the caller passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustArg {
    /// It is the operator's own word.
    TrustedOperator,
    /// It is a notice of a system of the operator.
    TrustedSystem,
    /// It is a signal of a configured integration.
    TrustedIntegration,
    /// It comes from outside and instructs nobody.
    UntrustedExternal,
}

impl From<TrustArg> for TrustLevel {
    fn from(trust: TrustArg) -> Self {
        match trust {
            TrustArg::TrustedOperator => Self::TrustedOperator,
            TrustArg::TrustedSystem => Self::TrustedSystem,
            TrustArg::TrustedIntegration => Self::TrustedIntegration,
            TrustArg::UntrustedExternal => Self::UntrustedExternal,
        }
    }
}
