//! Requests and responses about named tokens.

use holon_domain::Timestamp;
use holon_domain::request_key::TokenScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Header with the caller's key of a request that may be repeated.
pub const IDEMPOTENCY_KEY_HEADER: &str = "idempotency-key";

/// Header by which the program names itself as the surface of a prompt. It is a label: the authority of a prompt follows
/// from the route.
pub const SURFACE_HEADER: &str = "x-holon-surface";
/// Value of [`SURFACE_HEADER`] for prompts of `holon prompt` and the console.
pub const CLI_SURFACE: &str = "cli_prompt";

/// Returns true if a client may repeat a request to this control route with its key: the host keeps the reply, or the
/// request changes nothing. Changes of the host itself are not kept, and the secret of a token is given once.
#[must_use]
pub fn is_repeated(target: &str) -> bool {
    !target.starts_with("/control/runtime/")
        && !target.starts_with("/control/tokens")
        && !target.ends_with("/export")
}

/// Body of `POST /control/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// 1 to 64 letters, digits, `.`, `-` and `_`.
    pub name: String,
    #[schemars(with = "String", extend("enum" = ["read", "prompt", "control"]))]
    pub scope: TokenScope,
}

/// A named token in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    pub name: String,
    #[schemars(with = "String", extend("enum" = ["read", "prompt", "control"]))]
    pub scope: TokenScope,
    #[schemars(with = "String")]
    pub created_at: Timestamp,
}

/// Response to a [`CreateTokenRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateTokenResponse {
    pub ok: bool,
    #[serde(flatten)]
    pub view: TokenView,
    /// The secret. The host keeps its hash only, so it is shown once.
    pub token: String,
}

/// Response of `GET /tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokensResponse {
    /// Sorted by name; revoked tokens are not among them.
    pub tokens: Vec<TokenView>,
}

/// Response of `POST /control/tokens/{name}/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokeTokenResponse {
    pub ok: bool,
    pub name: String,
}
