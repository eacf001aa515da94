//! Idempotency keys of requests, and named tokens of callers.

use crate::text;
use crate::time::Timestamp;
use crate::trigger::TOKEN_PREFIX;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A request that its caller may repeat. Equal requests have equal ids and digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// Hexadecimal SHA-256 of caller, route, agent and the caller's key. The key itself is not stored.
    pub id: String,
    /// Hexadecimal SHA-256 of path, query and body.
    pub digest: String,
}

/// The parts that an idempotency key is scoped to.
#[derive(Debug, Clone, Copy)]
pub struct KeyScope<'a> {
    /// Name of the caller's credential.
    pub caller: &'a str,
    /// Method and path pattern.
    pub route: &'a str,
    /// Agent in the path; empty for a route of the host.
    pub agent: &'a str,
    /// The kind of fact that is kept: `decision` or `response`.
    pub kind: &'a str,
}

impl RequestKey {
    /// Builds the key of a request. `digest` covers what the request asks for.
    #[must_use]
    pub fn new(scope: KeyScope<'_>, key: &str, digest: String) -> Self {
        let parts = [scope.kind, scope.caller, scope.route, scope.agent, key];
        // JSON separates the parts, so that no part can reach into the next.
        let id = text::sha256_hex(serde_json::json!(parts).to_string());
        Self { id, digest }
    }
}

impl RequestKey {
    /// Builds the key of a delivery from outside. `scope` names the capability or the agent that receives it, and `mark`
    /// is the sender's id or another mark by which a repetition is known. A repetition counts as the same also if its
    /// content differs.
    #[must_use]
    pub fn of_delivery(scope: &str, kind: &str, mark: &str) -> Self {
        let scope = KeyScope {
            caller: "@outside",
            route: "delivery",
            agent: scope,
            kind,
        };
        Self::new(scope, mark, String::new())
    }
}

/// A reply that is kept for repetitions of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReply {
    /// Digest of the request that it answered. Absent if it cannot be read.
    pub digest: Option<String>,
    /// JSON of the reply.
    pub reply: String,
    /// Birth of the agent that the request was about, a number that no other agent of the host has. Absent if it was
    /// about none, and in replies that an earlier build kept.
    pub birth: Option<i64>,
}

/// The reason for which a kept reply cannot be given again. Its request stays decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptReplyGap {
    /// Only the newest large replies are kept.
    Removed,
    /// Its row is damaged.
    Unreadable,
}

/// Text of a reply whose row is damaged. It is no JSON.
const DAMAGED: &str = "damaged";

impl KeptReply {
    /// Returns a reply whose row is damaged, and which therefore may belong to any agent.
    #[must_use]
    pub fn damaged(digest: Option<String>) -> Self {
        Self {
            digest,
            reply: DAMAGED.to_owned(),
            birth: None,
        }
    }

    /// Returns true if the reply answered this request. One whose digest cannot be read may have answered any request
    /// with the id of the key.
    #[must_use]
    pub fn answers(&self, key: &RequestKey) -> bool {
        self.digest.as_ref().is_none_or(|kept| *kept == key.digest)
    }

    /// Reads the reply.
    ///
    /// # Errors
    /// When its text is kept no longer, or cannot be read.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, KeptReplyGap> {
        if self.is_removed() {
            return Err(KeptReplyGap::Removed);
        }
        serde_json::from_str(&self.reply).map_err(|_| KeptReplyGap::Unreadable)
    }

    /// Returns true if the reply was given, and its text is kept no longer.
    #[must_use]
    pub const fn is_removed(&self) -> bool {
        self.reply.is_empty()
    }

    /// Returns true if the reply belongs to the agent with this birth, and not to one of the same name that was
    /// removed. Does not depend on the clock, which may be set back. A reply without a birth belongs to the present
    /// agent.
    #[must_use]
    pub fn belongs_to(&self, birth: i64) -> bool {
        self.birth.is_none_or(|kept| kept == birth)
    }
}

/// Prefix of the secrets of named tokens.
pub const NAMED_TOKEN_PREFIX: &str = "hlt_";
/// Fewest different characters of a control token. 128 random bits in hexadecimal practically never have fewer.
pub const CONTROL_TOKEN_CHARACTERS: usize = 10;

/// Returns true if a text is neither in the namespace of callback tokens or named tokens, nor repeats a few characters,
/// so that it can be a control token. Its length and its alphabet are up to the caller.
#[must_use]
pub fn can_be_control_token(text: &str) -> bool {
    let is_other = [TOKEN_PREFIX, NAMED_TOKEN_PREFIX]
        .iter()
        .any(|prefix| text.starts_with(prefix));
    let different: BTreeSet<u8> = text.bytes().collect();
    !is_other && different.len() >= CONTROL_TOKEN_CHARACTERS
}

/// Rights of a named token. Each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Look at agents, events and the host.
    Read,
    /// Also send messages to agents, wake them and run requests.
    Prompt,
    /// Everything that the control token may do.
    Control,
}

impl TokenScope {
    /// Returns the published spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Control => "control",
        }
    }

    /// Parses the published spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Prompt, Self::Control]
            .into_iter()
            .find(|scope| scope.as_str() == text)
    }
}

/// A named token as stored: its secret is known to its holder alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    pub name: String,
    /// Hexadecimal SHA-256 of the namespace and the secret.
    pub hash: String,
    pub scope: TokenScope,
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_its_caller_route_and_agent() {
        let scope = KeyScope {
            caller: "local",
            route: "POST /enqueue",
            agent: "main",
            kind: "decision",
        };
        let id = |scope: KeyScope<'_>, key: &str| RequestKey::new(scope, key, String::new()).id;
        let one = id(scope, "k");
        assert_eq!(one, id(scope, "k"));
        for other in [
            id(scope, "k2"),
            id(
                KeyScope {
                    caller: "ci",
                    ..scope
                },
                "k",
            ),
            id(
                KeyScope {
                    route: "POST /x",
                    ..scope
                },
                "k",
            ),
            id(
                KeyScope {
                    agent: "dev",
                    ..scope
                },
                "k",
            ),
            id(
                KeyScope {
                    kind: "response",
                    ..scope
                },
                "k",
            ),
            id(
                KeyScope {
                    caller: "localPOST /enqueue",
                    route: "",
                    ..scope
                },
                "k",
            ),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn scopes_are_ordered_and_spelled_as_they_are_stored() {
        assert!(TokenScope::Read < TokenScope::Prompt && TokenScope::Prompt < TokenScope::Control);
        for scope in [TokenScope::Read, TokenScope::Prompt, TokenScope::Control] {
            assert_eq!(TokenScope::parse(scope.as_str()), Some(scope));
            assert_eq!(serde_json::json!(scope), scope.as_str());
        }
        assert_eq!(TokenScope::parse("admin"), None);
    }
}
