//! Routes about named tokens.

use crate::body::{JsonBody, OptionalJson};
use crate::extract::{NoParams, Params};
use crate::named_tokens::{PREFIX, hash_of};
use crate::refusal::{Refusal, RequestFault};
use crate::state::{Act, ReadState};
use axum::Json;
use axum::extract::{Path, State};
use holon_api::{
    CreateTokenRequest, CreateTokenResponse, EmptyRequest, RevokeTokenResponse, TokenView,
    TokensResponse,
};
use holon_domain::request_key::TokenRecord;
use holon_engine::{TokenMaking, TokenRemoval};

/// Longest name of a token, in bytes.
const NAME_BYTES: usize = 64;

/// `GET /tokens`: lists the named tokens without their secrets.
pub(crate) async fn list(
    State(state): State<ReadState>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<TokensResponse>, Refusal> {
    let tokens = state.reads.tokens().await?;
    let tokens = tokens.into_iter().map(view).collect();
    Ok(Json(TokensResponse { tokens }))
}

/// `POST /control/tokens`: makes a named token. Its secret is in this response only.
pub(crate) async fn create(
    Act(state): Act,
    Params(NoParams {}): Params<NoParams>,
    JsonBody(request): JsonBody<CreateTokenRequest>,
) -> Result<Json<CreateTokenResponse>, Refusal> {
    let CreateTokenRequest { name, scope } = request;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if !(1..=NAME_BYTES).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(RequestFault::TOKEN_NAME.refuse("the name cannot be used for a token"));
    }
    let secret = format!("{PREFIX}{}", state.control.random_secret());
    let added = state
        .control
        .add_token(name, hash_of(&secret), scope)
        .await?;
    let (record, making) = added;
    match making {
        TokenMaking::Made => {}
        TokenMaking::Repeated => {
            let message = format!("this request has made the token {:?} before", record.name);
            return Err(RequestFault::TOKEN_MADE
                .refuse(message)
                .with("name", record.name));
        }
        TokenMaking::NameTaken => {
            let message = format!("there is a token {:?} already", record.name);
            return Err(RequestFault::TOKEN_EXISTS.refuse(message));
        }
        TokenMaking::TooMany => {
            return Err(RequestFault::TOO_MANY_TOKENS.refuse("no more tokens can be made"));
        }
    }
    state.host.named_tokens.add([record.clone()]);
    Ok(Json(CreateTokenResponse {
        ok: true,
        view: view(record),
        token: secret,
    }))
}

/// `POST /control/tokens/{name}/revoke`: removes a token. Looks and streams of its holder end at once; a
/// change that its holder is making is answered.
pub(crate) async fn revoke(
    Act(state): Act,
    name: Result<Path<String>, axum::extract::rejection::PathRejection>,
    Params(NoParams {}): Params<NoParams>,
    OptionalJson(EmptyRequest { trust: _ }): OptionalJson<EmptyRequest>,
) -> Result<Json<RevokeTokenResponse>, Refusal> {
    let name = name.map_or_else(|_| String::new(), |Path(name)| name);
    let is_gone = match state.control.remove_token(&name).await? {
        TokenRemoval::Removed => true,
        TokenRemoval::Repeated => {
            let tokens = state.reads.tokens().await?;
            !tokens.iter().any(|token| token.name == name)
        }
        TokenRemoval::NotFound => {
            return Err(RequestFault::NO_SUCH_TOKEN.refuse("there is no such token"));
        }
    };
    if is_gone {
        state.host.named_tokens.revoke(&name);
    }
    Ok(Json(RevokeTokenResponse { ok: true, name }))
}

fn view(record: TokenRecord) -> TokenView {
    TokenView {
        name: record.name,
        scope: record.scope,
        created_at: record.created_at,
    }
}
