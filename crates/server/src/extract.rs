//! Extractors for paths and queries. Both refuse names that they do not know.

use crate::refusal::{Refusal, RequestFault};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use holon_domain::AgentId;
use holon_domain::id::AgentIdError;
use holon_engine::Error;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Error for an agent name that is not UTF-8 after percent decoding.
const NOT_TEXT: AgentIdError = AgentIdError::Character {
    found: char::REPLACEMENT_CHARACTER,
};

/// The agent named in the path.
pub(crate) struct AgentPath(pub(crate) AgentId);

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::from(NOT_TEXT))?;
        Ok(Self(AgentId::parse_stored(&text).map_err(Error::from)?))
    }
}

/// The agent named in the path, and the id of one of its work items, waits or timers.
pub(crate) struct MemberPath {
    pub(crate) agent_id: AgentId,
    pub(crate) member: String,
}

impl<S: Send + Sync> FromRequestParts<S> for MemberPath {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let Path((agent, member)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::from(NOT_TEXT))?;
        Ok(Self {
            agent_id: AgentId::parse_stored(&agent).map_err(Error::from)?,
            member,
        })
    }
}

/// The query, decoded into a type that names every allowed parameter.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(params)| Self(params))
            .map_err(|error| RequestFault::QUERY.refuse(error.body_text()))
    }
}

/// The query of a route without parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// The query of a list with a limit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitParams {
    pub(crate) limit: Option<u64>,
}

/// Checks a limit against its range; the default applies if it is absent.
pub(crate) fn check_limit(asked: Option<u64>, default: u64, max: u64) -> Result<u64, Refusal> {
    match asked {
        None => Ok(default),
        Some(limit) if (1..=max).contains(&limit) => Ok(limit),
        Some(limit) => {
            let message = format!("limit {limit} is not between 1 and {max}");
            Err(RequestFault::LIMIT.refuse(message))
        }
    }
}

/// Clamps a sequence number to the range of the store, which uses signed numbers. A larger one means the far end.
pub(crate) fn clamp_seq(asked: Option<u64>) -> Option<u64> {
    asked.map(|seq| seq.min(i64::MAX.unsigned_abs()))
}
