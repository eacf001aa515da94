//! What a caller proves itself with, and who is asked for it.
//!
//! Where a credential comes from (environment, profile, another program's login, a command) is the business of whoever
//! implements [`Credentials`]. It is asked anew for every attempt, so a renewed login holds from the next one on.

use async_trait::async_trait;
use holon_domain::provider::AuthKind;
use secrecy::SecretString;

/// A credential, ready to be sent. Its `Debug` does not show the secret.
#[derive(Debug, Clone)]
pub struct Credential {
    /// What it is, which decides the header it goes into.
    pub kind: AuthKind,
    /// The secret itself.
    pub secret: SecretString,
    /// The account it belongs to, where the provider wants that said.
    pub account_id: Option<String>,
}

/// The keeper of credentials.
#[async_trait]
pub trait Credentials: Send + Sync + std::fmt::Debug {
    /// The credential for a provider, or `None` if that provider asks for none.
    ///
    /// # Errors
    /// One sentence for the operator: what is missing and the next step.
    async fn credential(&self, provider: &str) -> Result<Option<Credential>, String>;
}
