//! Sends one request and reads its response within all limits.
//!
//! Owns the deadlines and byte limits of a single exchange. The limit counts decompressed bytes as they arrive, so a
//! small body that expands to a large one is cut off early. Content is not interpreted here.

use super::HttpLimits;
use super::deadline::Deadline;
use super::error_body::ErrorBody;
use super::report::{ErrorContext, Stage};
use crate::codec::Fault;
use crate::codec::stream::Progress;
use bytes::Bytes;
use holon_domain::limits::PROVIDER_STREAM_FACTOR;
use holon_domain::model::ModelFailure;
use holon_sse::Parser;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};
use reqwest::{Client, Request, Response, StatusCode};
use secrecy::ExposeSecret;
use std::time::Duration;

/// Time to wait for the end of a stream after the answer is complete; less than a new connection takes.
const DRAIN: Duration = Duration::from_millis(50);

/// Factor by which the first byte of a whole answer may take longer than that of a stream: it comes when the model is
/// done.
const WHOLE_FACTOR: u32 = 3;

/// Reason why an exchange brought no answer.
#[derive(Debug)]
pub(super) enum ExchangeError {
    /// The provider answered with a status other than success.
    ErrorStatus {
        status: StatusCode,
        headers: Box<HeaderMap>,
        error_body: ErrorBody,
    },
    /// The provider answered with success, but not with a usable answer.
    Faulty { fault: Fault, status: StatusCode },
    /// Any other failure, already classified.
    Failed(Box<ModelFailure>),
}

impl ExchangeError {
    /// Converts the error to the failure that the crate's caller sees.
    pub(super) fn failure(self, context: &ErrorContext<'_>) -> ModelFailure {
        match self {
            Self::ErrorStatus {
                status,
                headers,
                error_body,
            } => context.status_failure(status, &headers, &error_body),
            Self::Faulty { fault, status } => context.decode_failure(&fault, status),
            Self::Failed(failure) => *failure,
        }
    }
}

impl From<ModelFailure> for ExchangeError {
    fn from(failure: ModelFailure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// A response body that was read to its end.
#[derive(Debug)]
pub(super) struct CompleteBody {
    pub(super) bytes: Vec<u8>,
    pub(super) status: StatusCode,
    /// The body had no stated length, so only the end of the connection marks its end and it may be incomplete.
    pub(super) open_ended: bool,
}

/// The answer to a request for a stream.
#[derive(Debug)]
pub(super) enum Answer {
    /// All events were passed on.
    Streamed(StatusCode),
    /// The server sent one document instead.
    Whole(CompleteBody),
}

/// State of one exchange.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    /// Describes the request in failure messages.
    pub(super) context: ErrorContext<'a>,
    pub(super) limits: &'a HttpLimits,
    pub(super) deadline: &'a mut Deadline,
}

impl Exchange<'_> {
    /// Sends a request and reads the whole body of the response.
    pub(super) async fn fetch_body(
        &mut self,
        client: &Client,
        request: Request,
    ) -> Result<CompleteBody, ExchangeError> {
        let patience = self.first_byte_limit(true);
        let response = self.send(client, request, patience).await?;
        self.body(response, Bytes::new()).await
    }

    /// Returns the time limit for the first byte of a whole answer or of a stream.
    const fn first_byte_limit(&self, is_whole: bool) -> Duration {
        let factor = if is_whole { WHOLE_FACTOR } else { 1 };
        self.limits.first_byte.saturating_mul(factor)
    }

    /// Reads the whole body of a response, of which `first` has been read.
    async fn body(
        &mut self,
        response: Response,
        first: Bytes,
    ) -> Result<CompleteBody, ExchangeError> {
        let headers = response.headers();
        let open_ended =
            !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING);
        let status = response.status();
        let cap = self.limits.answer_bytes;
        let (bytes, end) = self.read(response, first, cap).await?;
        match end {
            BodyEnd::Complete => Ok(CompleteBody {
                bytes,
                status,
                open_ended,
            }),
            BodyEnd::Capped => Err(self
                .context
                .size_failure(self.limits.answer_bytes, status)
                .into()),
        }
    }

    /// Sends a request and passes name and data of every event to `take`, until `take` returns `Done` or the stream
    /// ends. A server that does not stream answers with a whole body; `is_whole` if it is known to do so.
    pub(super) async fn fetch_events(
        &mut self,
        client: &Client,
        request: Request,
        is_whole: bool,
        mut take: impl FnMut(Option<&str>, &str) -> Result<Progress, Fault>,
    ) -> Result<Answer, ExchangeError> {
        let patience = self.first_byte_limit(is_whole);
        let mut response = self.send(client, request, patience).await?;
        let status = response.status();
        let first = self.chunk(&mut response).await?.unwrap_or_default();
        if !is_stream(response.headers(), &first) {
            return self.body(response, first).await.map(Answer::Whole);
        }
        let mut parser = Parser::new(self.limits.answer_bytes);
        let most = self
            .limits
            .answer_bytes
            .saturating_mul(PROVIDER_STREAM_FACTOR);
        let (mut seen, mut frames) = (0_usize, Vec::new());
        let mut next = Some(first);
        while let Some(chunk) = next {
            seen = seen.saturating_add(chunk.len());
            if seen > most {
                return Err(self.context.size_failure(most, status).into());
            }
            let pushed = parser.push(&chunk, &mut frames);
            for frame in frames.drain(..) {
                let Some(data) = &frame.data else { continue };
                match take(frame.event.as_deref(), data) {
                    Ok(Progress::Idle) => {}
                    Ok(Progress::More) => self.deadline.renew(),
                    Ok(Progress::Done) => {
                        self.drain(response).await;
                        return Ok(Answer::Streamed(status));
                    }
                    Err(fault) => return Err(ExchangeError::Faulty { fault, status }),
                }
            }
            pushed.map_err(|broken| self.stream_failure(broken, status))?;
            next = self.chunk(&mut response).await?;
        }
        Ok(Answer::Streamed(status))
    }

    /// Reads the end of a stream after its answer, if it arrives at once. Only then can the connection be reused.
    async fn drain(&mut self, mut response: Response) {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        // The answer is complete whether or not the end arrived.
        let _ = self.deadline.step(DRAIN, rest).await;
    }

    fn stream_failure(&self, broken: holon_sse::Error, status: StatusCode) -> ModelFailure {
        match broken {
            holon_sse::Error::FrameTooLarge { limit } => self.context.size_failure(limit, status),
            holon_sse::Error::NotUtf8 => {
                let what = "the event stream is not UTF-8".to_owned();
                self.context
                    .decode_failure(&Fault::Malformed { what }, status)
            }
        }
    }

    /// Sends a request and waits for the headers of a successful response.
    async fn send(
        &mut self,
        client: &Client,
        request: Request,
        patience: Duration,
    ) -> Result<Response, ExchangeError> {
        let sent = self
            .deadline
            .step(patience, client.execute(request))
            .await
            .map_err(|limit| self.context.timeout_failure(Stage::Headers, limit))?;
        let response = sent.map_err(|error| self.context.client_failure(Stage::Headers, error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), Box::new(response.headers().clone()));
        let error_body = self.read_error_body(response).await;
        Err(ExchangeError::ErrorStatus {
            status,
            headers,
            error_body,
        })
    }

    /// Reads the error body of a refusal, as far as it arrives within the time limit. Without it the status decides.
    async fn read_error_body(&mut self, mut response: Response) -> ErrorBody {
        let mut bytes = Vec::new();
        let (cap, limit) = (self.limits.error_bytes, self.limits.error);
        let reading = self.fill(&mut response, cap, &mut bytes);
        if !matches!(
            tokio::time::timeout(limit, reading).await,
            Ok(Ok(BodyEnd::Complete))
        ) {
            // A cut body may end in the first half of a secret, which no search would find.
            let secret = self
                .context
                .secret
                .map_or(0, |secret| secret.expose_secret().len());
            bytes.truncate(bytes.len().saturating_sub(secret));
            let text = String::from_utf8_lossy(&bytes);
            let readable_len = self.context.secrets.readable_len(&text);
            bytes = text
                .get(..readable_len)
                .unwrap_or_default()
                .as_bytes()
                .to_vec();
        }
        ErrorBody::read(&bytes)
    }

    /// Reads a body of up to `cap` bytes, of which `first` has been read.
    async fn read(
        &mut self,
        mut response: Response,
        first: Bytes,
        cap: usize,
    ) -> Result<(Vec<u8>, BodyEnd), ModelFailure> {
        let mut bytes = Vec::from(first);
        if bytes.len() > cap {
            return Ok((bytes, BodyEnd::Capped));
        }
        let end = self.fill(&mut response, cap, &mut bytes).await?;
        Ok((bytes, end))
    }

    /// Appends a body to `bytes`, up to `cap`. Bytes that were read before an error stay there.
    async fn fill(
        &mut self,
        response: &mut Response,
        cap: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<BodyEnd, ModelFailure> {
        while let Some(chunk) = self.chunk(response).await? {
            // Some servers send spaces while the model thinks.
            if !chunk.trim_ascii().is_empty() {
                self.deadline.renew();
            }
            let room = cap - bytes.len();
            if chunk.len() > room {
                bytes.extend_from_slice(chunk.get(..room).unwrap_or_default());
                return Ok(BodyEnd::Capped);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(BodyEnd::Complete)
    }

    async fn chunk(&mut self, response: &mut Response) -> Result<Option<Bytes>, ModelFailure> {
        let read = self.deadline.step(self.limits.idle, response.chunk()).await;
        read.map_err(|limit| self.context.timeout_failure(Stage::Body, limit))?
            .map_err(|error| self.context.client_failure(Stage::Body, error))
    }
}

/// Reason why the reading of a body stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Complete,
    /// The byte limit was reached.
    Capped,
}

/// Returns true if a body is an event stream: it says so or names no other type, and it does not begin like a document,
/// which no line of a stream does. Some gateways keep the type of a document on a stream, so a body that begins with a
/// field of an event is one too.
fn is_stream(headers: &HeaderMap, first: &[u8]) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|kind| {
        let kind = String::from_utf8_lossy(kind.as_bytes());
        kind.to_ascii_lowercase()
    });
    let is = |stream: &str| kind.as_ref().is_some_and(|kind| kind.starts_with(stream));
    let says_nothing = kind.is_none() || is("application/octet-stream") || is("text/plain");
    match first.trim_ascii_start().first() {
        Some(b'{' | b'[' | b'<') => false,
        Some(_) => is(holon_sse::MEDIA_TYPE) || says_nothing || begins_event(first),
        None => is(holon_sse::MEDIA_TYPE),
    }
}

/// Returns true if a body begins with a field or a comment of an event stream. Its first piece may end inside the name.
fn begins_event(first: &[u8]) -> bool {
    let line = first.trim_ascii_start();
    let is_begun = |field: &&[u8]| line.starts_with(field) || field.starts_with(line);
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(is_begun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn a_stream_is_known_by_its_type_or_by_its_first_field() {
        let judge = |kind: Option<&'static str>, first: &[u8]| {
            let kind = kind.map(|kind| (CONTENT_TYPE, HeaderValue::from_static(kind)));
            is_stream(&kind.into_iter().collect(), first)
        };
        let (stream, document) = (Some("text/event-stream"), Some("application/json"));
        for first in [
            &b"data: {}"[..],
            b"event: x",
            b": waiting",
            b"\nid: 1",
            b"da",
        ] {
            assert!(judge(stream, first) && judge(document, first) && judge(None, first));
        }
        for first in [&b"{\"a\": 1}"[..], b"[1]", b"<html>"] {
            assert!(!judge(stream, first) && !judge(document, first) && !judge(None, first));
        }
        assert!(!judge(document, b"database error"));
        assert!(!judge(document, b"") && judge(stream, b""));
    }
}
