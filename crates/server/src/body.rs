//! Request bodies: bounded in size and in time, JSON only, with errors that say where.

use crate::refusal::{Refusal, RequestFault};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_LENGTH;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use holon_domain::limits::{REQUEST_BODY_BYTES, REQUEST_READ_MS};
use holon_engine::{Error, Rejection};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use std::time::Duration;

/// How much of a body that is too large is still read and thrown away, so that its sender gets to see the answer
/// instead of a broken connection.
const DISCARDED_BYTES: usize = 4 * REQUEST_BODY_BYTES;

/// A body that must be there.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A body that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let bytes = read(request).await?;
        if bytes.is_empty() {
            return Err(RequestFault::MISSING_BODY.refuse("this request needs a JSON body"));
        }
        parse(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let bytes = read(request).await?;
        if bytes.is_empty() {
            Ok(Self(T::default()))
        } else {
            parse(&bytes).map(Self)
        }
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        let fault = match error.classify() {
            Category::Data => RequestFault::REQUEST,
            Category::Io | Category::Syntax | Category::Eof => RequestFault::JSON,
        };
        fault
            .refuse(format!("the body cannot be read: {error}"))
            .with("line", error.line())
            .with("column", error.column())
    })
}

async fn read(request: Request) -> Result<BytesMut, Refusal> {
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if let Some(bytes) = announced.filter(|bytes| *bytes > DISCARDED_BYTES) {
        return Err(too_large(bytes));
    }
    tokio::time::timeout(
        Duration::from_millis(REQUEST_READ_MS),
        collect(request.into_body()),
    )
    .await
    .unwrap_or_else(|_| Err(too_slow()))
}

async fn collect(body: Body) -> Result<BytesMut, Refusal> {
    let mut stream = body.into_data_stream();
    let mut kept = BytesMut::new();
    let mut seen: usize = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            RequestFault::BODY_BROKEN.refuse(format!("the body broke off: {error}"))
        })?;
        seen = seen.saturating_add(chunk.len());
        if seen > DISCARDED_BYTES {
            return Err(too_large(seen));
        }
        if seen > REQUEST_BODY_BYTES {
            kept = BytesMut::new();
        } else {
            kept.extend_from_slice(&chunk);
        }
    }
    if seen > REQUEST_BODY_BYTES {
        Err(too_large(seen))
    } else {
        Ok(kept)
    }
}

/// The same refusal as for a message that is too large, only for all of its request.
fn too_large(bytes: usize) -> Refusal {
    let rejection = Rejection::TooLarge {
        what: "request body",
        bytes,
        max: REQUEST_BODY_BYTES,
    };
    Refusal::from(Error::from(rejection))
}

fn too_slow() -> Refusal {
    RequestFault::BODY_TIMEOUT.refuse("the body did not arrive in time")
}
