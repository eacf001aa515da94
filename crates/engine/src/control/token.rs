//! Named tokens of callers. The store keeps their hashes; a secret is returned once, when it is made.

use super::ControlHandle;
use crate::error::Error;
use crate::shell::engine_error;
use holon_domain::request_key::{TokenRecord, TokenScope};
use holon_store::TokenAddition;

impl ControlHandle {
    /// Returns 256 random bits in hexadecimal.
    #[must_use]
    pub fn random_secret(&self) -> String {
        let mut source = self.shell.ports.entropy.source();
        format!("{:032x}{:032x}", source.next(), source.next())
    }

    /// Stores a named token.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn add_token(
        &self,
        name: String,
        hash: String,
        scope: TokenScope,
    ) -> Result<(TokenRecord, TokenAddition), Error> {
        let token = TokenRecord {
            name,
            hash,
            scope,
            created_at: self.shell.ports.clock.now(),
        };
        let added = token.clone();
        let addition = holon_store::commit(self.shell.store.as_ref(), 0, move |ledger| {
            ledger.add_token(&added)
        });
        let addition = addition.await.map_err(engine_error)?;
        Ok((token, addition))
    }

    /// Removes a named token. Returns false if there is none of this name.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn remove_token(&self, name: &str) -> Result<bool, Error> {
        let name = name.to_owned();
        let removed = holon_store::commit(self.shell.store.as_ref(), 0, move |ledger| {
            ledger.remove_token(&name)
        });
        removed.await.map_err(engine_error)
    }
}
