//! Credentials of providers and the trait through which an attempt obtains them.
//!
//! The implementor of [`Credentials`] decides where a credential comes from (environment, profile, another program's
//! login, a command). It is called for every attempt, so a renewed login takes effect with the next one.

use async_trait::async_trait;
use holon_domain::provider::AuthKind;
use secrecy::SecretString;

/// A credential, ready to be sent. Its `Debug` output does not show the secret.
#[derive(Debug, Clone)]
pub struct Credential {
    /// Decides the header in which the secret is sent.
    pub kind: AuthKind,
    pub secret: SecretString,
    /// The account it belongs to, for providers that require the account in a header.
    pub account_id: Option<String>,
}

/// Source of the credentials that attempts send. The host implements it.
#[async_trait]
pub trait Credentials: Send + Sync + std::fmt::Debug {
    /// Returns the credential for a provider, or `None` if that provider needs none.
    ///
    /// # Errors
    /// One sentence for the operator: what is missing and the next step.
    async fn credential(&self, provider: &str) -> Result<Option<Credential>, String>;

    /// Reads the credential again because the provider refused it. Called once for each refusal. Returns the new
    /// credential only if it differs; the attempt is then repeated with it.
    async fn renewed(&self, _provider: &str, _refused: &Credential) -> Option<Credential> {
        None
    }

    /// Takes note of the credential with which an attempt was refused; `None` if it was sent without one.
    fn note_refused(&self, _provider: &str, _refused: Option<&Credential>) {}
}
