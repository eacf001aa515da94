//! Named tokens of callers. The store keeps their hashes; a secret is returned once, when it is made.

use super::{ControlHandle, Once, once};
use crate::error::Error;
use crate::shell::engine_error;
use holon_domain::request_key::{TokenRecord, TokenScope};
use holon_store::{TokenAddition, WriteOrder};

/// The result of adding a named token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMaking {
    Made,
    NameTaken,
    TooMany,
    /// This request has made the token before.
    Repeated,
}

/// The result of removing a named token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRemoval {
    Removed,
    /// This request has removed the token before. There may be another one of its name.
    Repeated,
    /// There is none of this name.
    NotFound,
}

impl From<TokenAddition> for TokenMaking {
    fn from(addition: TokenAddition) -> Self {
        match addition {
            TokenAddition::Added => Self::Made,
            TokenAddition::NameTaken => Self::NameTaken,
            TokenAddition::TooMany => Self::TooMany,
        }
    }
}

impl ControlHandle {
    /// Returns 256 random bits in hexadecimal.
    #[must_use]
    pub fn random_secret(&self) -> String {
        let mut source = self.shell.ports.entropy.source();
        format!("{:032x}{:032x}", source.next(), source.next())
    }

    /// Stores a named token. A repetition of a request that has stored one stores nothing: its secret is not kept, so it
    /// cannot be returned again.
    ///
    /// # Errors
    /// When the key of the request was used for another request, or storage fails.
    pub async fn add_token(
        &self,
        name: String,
        hash: String,
        scope: TokenScope,
    ) -> Result<(TokenRecord, TokenMaking), Error> {
        let now = self.shell.ports.clock.now();
        let token = TokenRecord {
            name,
            hash,
            scope,
            created_at: now,
        };
        let (added, key) = (token.clone(), self.request.clone());
        let making = holon_store::commit(
            self.shell.store.as_ref(),
            WriteOrder::client(0),
            move |ledger| {
                let Some(key) = &key else {
                    return Ok(Ok(ledger.add_token(&added)?.into()));
                };
                if let Some(kept) = ledger.kept_reply(&key.id, now)? {
                    return Ok(kept
                        .answers(key)
                        .then_some(TokenMaking::Repeated)
                        .ok_or(Error::KeyReused));
                }
                let addition = ledger.add_token(&added)?;
                if addition == TokenAddition::Added {
                    ledger.keep_reply(key, None, "{}", now)?;
                }
                Ok(Ok(addition.into()))
            },
        );
        Ok((token, making.await.map_err(engine_error)??))
    }

    /// Removes a named token. A repetition of a request that has removed one removes nothing.
    ///
    /// # Errors
    /// When the key of the request was used for another request, or storage fails.
    pub async fn remove_token(&self, name: &str) -> Result<TokenRemoval, Error> {
        let now = self.shell.ports.clock.now();
        let (name, key) = (name.to_owned(), self.request.clone());
        let removed = holon_store::commit(
            self.shell.store.as_ref(),
            WriteOrder::client(0),
            move |ledger| {
                once(ledger, key.as_deref(), now, |ledger| {
                    Ok(ledger.remove_token(&name)?.then_some(true))
                })
            },
        );
        Ok(match removed.await.map_err(engine_error)?? {
            Once::Made(_) => TokenRemoval::Removed,
            Once::Repeated(_) => TokenRemoval::Repeated,
            Once::Nothing => TokenRemoval::NotFound,
        })
    }
}
