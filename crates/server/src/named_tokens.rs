//! Named tokens in memory: hashes, scopes, and the signal of a revocation.
//!
//! The store has the same tokens. This process alone owns the store, so the copy here is never stale: a route commits a
//! change first and then changes the copy, before it answers.

use holon_domain::request_key::{NAMED_TOKEN_PREFIX, TokenRecord, TokenScope};
use holon_domain::text;
use std::sync::{PoisonError, RwLock};
use subtle::{Choice, ConstantTimeEq as _};
use tokio_util::sync::CancellationToken;

/// First characters of every named token. A secret of another kind never has them.
pub(crate) const PREFIX: &str = NAMED_TOKEN_PREFIX;

/// Returns the stored form of a secret. The namespace is part of it, so that the hash of another kind of secret never
/// matches.
pub(crate) fn hash_of(secret: &str) -> String {
    text::sha256_hex(format!("holon.named_token.v1\0{secret}"))
}

/// A caller with a named token.
#[derive(Debug, Clone)]
pub(crate) struct NamedCaller {
    pub(crate) name: String,
    pub(crate) scope: TokenScope,
    /// Cancelled when the token is revoked.
    pub(crate) revoked: CancellationToken,
}

/// The named tokens of the host.
#[derive(Debug, Default)]
pub(crate) struct NamedTokens(RwLock<Vec<(String, NamedCaller)>>);

impl NamedTokens {
    /// Adds tokens that are stored.
    pub(crate) fn add(&self, tokens: impl IntoIterator<Item = TokenRecord>) {
        let entry = |token: TokenRecord| {
            let caller = NamedCaller {
                name: token.name,
                scope: token.scope,
                revoked: CancellationToken::new(),
            };
            (token.hash, caller)
        };
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.extend(tokens.into_iter().map(entry));
    }

    /// Removes a token. Looks and streams of its holder end.
    pub(crate) fn revoke(&self, name: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, caller)| {
            let stays = caller.name != name;
            if !stays {
                caller.revoked.cancel();
            }
            stays
        });
    }

    /// Finds the holder of a secret. Compares with every token, so the duration tells nothing about the matching one.
    pub(crate) fn find(&self, offered: &[u8]) -> Option<NamedCaller> {
        let offered = std::str::from_utf8(offered).ok()?;
        if !offered.starts_with(PREFIX) {
            return None;
        }
        let hash = hash_of(offered);
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for (stored, caller) in all.iter() {
            let equal: Choice = stored.as_bytes().ct_eq(hash.as_bytes());
            if equal.into() {
                found = Some(caller.clone());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::Timestamp;

    fn token(name: &str, secret: &str, scope: TokenScope) -> TokenRecord {
        TokenRecord {
            name: name.to_owned(),
            hash: hash_of(secret),
            scope,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_secret_finds_its_token_until_it_is_revoked() {
        let tokens = NamedTokens::default();
        tokens.add([
            token("a", "hlt_one", TokenScope::Read),
            token("b", "hlt_two", TokenScope::Control),
        ]);
        let found = tokens.find(b"hlt_two").expect("is known");
        assert_eq!(
            (found.name.as_str(), found.scope),
            ("b", TokenScope::Control)
        );
        for unknown in ["hlt_on", "hlt_one2", "", "one"] {
            assert!(tokens.find(unknown.as_bytes()).is_none(), "{unknown}");
        }
        tokens.revoke("b");
        assert!(found.revoked.is_cancelled());
        assert!(tokens.find(b"hlt_two").is_none());
        assert!(tokens.find(b"hlt_one").is_some());
    }

    #[test]
    fn the_hash_of_a_secret_is_no_token_and_a_secret_of_another_kind_finds_nothing() {
        let tokens = NamedTokens::default();
        tokens.add([token("a", "other_one", TokenScope::Read)]);
        assert!(tokens.find(b"other_one").is_none(), "it has no prefix");
        assert!(tokens.find(hash_of("other_one").as_bytes()).is_none());
        assert_ne!(hash_of("hlt_one"), text::sha256_hex("hlt_one"));
    }
}
