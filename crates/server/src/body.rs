//! Reads request bodies: JSON only, bounded in size and time, with errors that name line and column.

use crate::body_room::{BodyRoom, TakenRoom};
use crate::refusal::{Refusal, RequestFault};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_LENGTH;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use holon_domain::limits::{DELIVERY_ROOM_BYTES, JSON_DEPTH, REQUEST_BODY_BYTES, REQUEST_READ_MS};
use holon_domain::nesting::is_too_deep;
use holon_engine::{Error, Rejection};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;
use std::time::Duration;

/// Bytes of an oversized body that are still read and discarded, so that the sender sees the error response instead of
/// a broken connection.
const DISCARDED_BYTES: usize = 4 * REQUEST_BODY_BYTES;

/// A required JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body that may be absent; its type's default then applies.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let bytes = read_body(request).await?;
        if bytes.is_empty() {
            return Err(RequestFault::MISSING_BODY.refuse("this request needs a JSON body"));
        }
        parse(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let bytes = read_body(request).await?;
        if bytes.is_empty() {
            Ok(Self(T::default()))
        } else {
            parse(&bytes).map(Self)
        }
    }
}

/// Parses a body. Every documented body is an object; the decoder alone would also take a list of the fields' values.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let first = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
    if let Some(at) = first.filter(|at| bytes.get(*at) == Some(&b'[')) {
        let before = bytes.get(..at).unwrap_or_default();
        let lines = before.split(|byte| *byte == b'\n');
        let column = lines.clone().next_back().map_or(0, <[u8]>::len) + 1;
        return Err(RequestFault::REQUEST
            .refuse("the body cannot be read: it is a list, and an object is expected")
            .hint("send the fields by their names, for example {\"name\": value}")
            .with("line", lines.count())
            .with("column", column));
    }
    if is_too_deep(bytes) {
        return Err(RequestFault::JSON
            .refuse(format!(
                "the body cannot be read: it is nested more than {JSON_DEPTH} levels deep"
            ))
            .hint("send the value flatter, or as text"));
    }
    serde_json::from_slice(bytes)
        .or_else(|error| match error.classify() {
            Category::Data => parse_integral(bytes).ok_or(error),
            Category::Io | Category::Syntax | Category::Eof => Err(error),
        })
        .map_err(|error| {
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

/// Parses a body again with whole numbers for those that are written like `5.0`, which JSON does not tell apart.
fn parse_integral<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    let fields = value.as_object_mut()?.values_mut();
    let mut changed = false;
    for field in fields {
        // Within this range a floating point number is exact.
        let whole = field.as_f64().filter(|number| {
            field.is_f64() && number.fract() == 0.0 && (0.0..9e15).contains(number)
        });
        if let Some(whole) = whole {
            *field = format!("{whole:.0}").parse::<u64>().ok()?.into();
            changed = true;
        }
    }
    if changed {
        serde_json::from_value(value).ok()
    } else {
        None
    }
}

/// Size limit of a body, with its name in the refusal.
#[derive(Clone, Copy)]
pub(crate) struct BodyLimit {
    pub(crate) what: &'static str,
    pub(crate) max: usize,
}

const JSON_BODY: BodyLimit = BodyLimit {
    what: "request body",
    max: REQUEST_BODY_BYTES,
};

pub(crate) async fn read_body(request: Request) -> Result<BytesMut, Refusal> {
    read_within(request, JSON_BODY).await
}

/// Reads a body of any kind, bounded in size and time.
pub(crate) async fn read_within(request: Request, limit: BodyLimit) -> Result<BytesMut, Refusal> {
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if let Some(bytes) = announced.filter(|bytes| *bytes > DISCARDED_BYTES) {
        return Err(refuse_large_body(bytes, limit));
    }
    let room = request.extensions().get::<BodyRoom>().cloned();
    let room = room.unwrap_or_else(|| BodyRoom::of(DELIVERY_ROOM_BYTES));
    tokio::time::timeout(
        Duration::from_millis(REQUEST_READ_MS),
        collect(request.into_body(), limit, room.begin()),
    )
    .await
    .unwrap_or_else(|_| Err(refuse_slow_body()))
}

/// Collects a body. What cannot be kept is read and discarded, up to a bound.
async fn collect(body: Body, limit: BodyLimit, room: TakenRoom) -> Result<BytesMut, Refusal> {
    let mut stream = body.into_data_stream();
    let mut kept = Ok((BytesMut::new(), room));
    let mut seen: usize = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            RequestFault::BODY_BROKEN.refuse(format!("the body broke off: {error}"))
        })?;
        seen = seen.saturating_add(chunk.len());
        if seen > DISCARDED_BYTES {
            return Err(refuse_large_body(seen, limit));
        }
        kept = kept.and_then(|(mut bytes, mut room)| {
            if seen > limit.max {
                return Err(None);
            }
            room.grow(seen).map_err(Some)?;
            bytes.extend_from_slice(&chunk);
            Ok((bytes, room))
        });
    }
    kept.map(|(bytes, _)| bytes)
        .map_err(|refused| refused.unwrap_or_else(|| refuse_large_body(seen, limit)))
}

/// Refuses with the code of an oversized message, for the whole request.
fn refuse_large_body(bytes: usize, limit: BodyLimit) -> Refusal {
    let rejection = Rejection::TooLarge {
        what: limit.what,
        bytes,
        max: limit.max,
    };
    Refusal::from(Error::from(rejection))
}

fn refuse_slow_body() -> Refusal {
    RequestFault::BODY_TIMEOUT.refuse("the body did not arrive in time")
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_api::{CreateTimerRequest, EmptyRequest};

    #[test]
    fn a_list_is_not_taken_for_an_object() {
        let code = |refused: Result<(), Refusal>| refused.err().and_then(|no| no.into_body().code);
        for body in ["[7200000]", " \n[7200000]", "[]"] {
            let refused = parse::<CreateTimerRequest>(body.as_bytes()).map(drop);
            assert_eq!(code(refused).as_deref(), Some("invalid_request"), "{body}");
        }
        let refused = parse::<EmptyRequest>(b"[]").map(drop);
        assert_eq!(code(refused).as_deref(), Some("invalid_request"));
        assert!(parse::<CreateTimerRequest>(b" {\"duration_ms\": 5}").is_ok());
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_nothing() {
        let parsed = parse::<CreateTimerRequest>(b"{\"duration_ms\": 5.0}").ok();
        assert_eq!(parsed.and_then(|timer| timer.duration_ms), Some(5));
        assert!(parse::<CreateTimerRequest>(b"{\"duration_ms\": 5.5}").is_err());
        assert!(parse::<CreateTimerRequest>(b"{\"duration_ms\": -5.0}").is_err());
    }
}
