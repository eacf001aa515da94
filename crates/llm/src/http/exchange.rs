//! One request and its answer: sent, awaited, read within every limit.
//!
//! Owns deadlines and byte caps of a single exchange. The cap counts unpacked bytes as they come, so a small body that
//! unpacks to a large one costs no more than any other. Knows nothing of what is asked or answered.

use super::HttpLimits;
use super::deadline::Deadline;
use super::report::{Asked, Stage};
use super::said::Said;
use crate::codec::Fault;
use crate::codec::codex::Progress;
use bytes::Bytes;
use holon_domain::limits::PROVIDER_STREAM_FACTOR;
use holon_domain::model::ModelFailure;
use holon_sse::Parser;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING};
use reqwest::{Client, Request, Response, StatusCode};
use secrecy::ExposeSecret;
use std::time::Duration;

/// How long the end of a stream is waited for once the answer is complete; less than a new connection takes.
const DRAIN: Duration = Duration::from_millis(50);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The provider answered with a status that is no success.
    Refused {
        /// The status.
        status: StatusCode,
        /// Its headers.
        headers: HeaderMap,
        /// Its words.
        said: Said,
    },
    /// Anything else.
    Failed(Box<ModelFailure>),
}

impl Trouble {
    /// As the caller of the crate sees it.
    pub(super) fn failure(self, asked: &Asked<'_>) -> ModelFailure {
        match self {
            Self::Refused {
                status,
                headers,
                said,
            } => asked.refused(status, &headers, &said),
            Self::Failed(failure) => *failure,
        }
    }
}

impl From<ModelFailure> for Trouble {
    fn from(failure: ModelFailure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// A body that came whole.
#[derive(Debug)]
pub(super) struct Whole {
    /// The bytes, unpacked.
    pub(super) bytes: Vec<u8>,
    /// The status.
    pub(super) status: StatusCode,
    /// Only the end of the connection ended it, so nobody said that it was whole.
    pub(super) open_ended: bool,
}

/// One exchange under way.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    /// Whom we ask.
    pub(super) asked: Asked<'a>,
    /// What may be taken.
    pub(super) limits: &'a HttpLimits,
    /// How long.
    pub(super) deadline: &'a mut Deadline,
}

impl Exchange<'_> {
    /// Sends a request and reads the whole answer.
    pub(super) async fn whole(
        &mut self,
        client: &Client,
        request: Request,
    ) -> Result<Whole, Trouble> {
        let response = self.send(client, request).await?;
        let headers = response.headers();
        let open_ended =
            !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING);
        let status = response.status();
        let (bytes, end) = self.read(response, self.limits.answer_bytes).await?;
        match end {
            End::Whole => Ok(Whole {
                bytes,
                status,
                open_ended,
            }),
            End::Capped => Err(self
                .asked
                .too_large(self.limits.answer_bytes, status)
                .into()),
        }
    }

    /// Sends a request and hands name and data of every event of the answer to `take`, until that says it is done or the stream ends.
    pub(super) async fn events(
        &mut self,
        client: &Client,
        request: Request,
        mut take: impl FnMut(Option<&str>, &str) -> Result<Progress, Fault>,
    ) -> Result<StatusCode, Trouble> {
        let mut response = self.send(client, request).await?;
        let status = response.status();
        if !streams(response.headers()) {
            let (bytes, _) = self.read(response, self.limits.error_bytes).await?;
            let what = format!("no event stream but {:?}", Said::read(&bytes).message);
            return Err(self.asked.fault(&Fault::Malformed { what }, status).into());
        }
        let mut parser = Parser::new(self.limits.answer_bytes);
        let most = self
            .limits
            .answer_bytes
            .saturating_mul(PROVIDER_STREAM_FACTOR);
        let (mut seen, mut frames) = (0_usize, Vec::new());
        while let Some(chunk) = self.chunk(&mut response).await? {
            seen = seen.saturating_add(chunk.len());
            if seen > most {
                return Err(self.asked.too_large(most, status).into());
            }
            let pushed = parser.push(&chunk, &mut frames);
            for frame in frames.drain(..) {
                let Some(data) = &frame.data else { continue };
                match take(frame.event.as_deref(), data) {
                    Ok(Progress::More) => {}
                    Ok(Progress::Done) => {
                        self.drain(response).await;
                        return Ok(status);
                    }
                    Err(fault) => return Err(self.asked.fault(&fault, status).into()),
                }
            }
            pushed.map_err(|broken| self.no_events(broken, status))?;
        }
        Ok(status)
    }

    /// Reads the end of a stream whose answer is complete, if it comes at once: only then can its connection be used
    /// again.
    async fn drain(&mut self, mut response: Response) {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        // Whether the end came or not, the answer is there.
        let _ = self.deadline.step(DRAIN, rest).await;
    }

    fn no_events(&self, broken: holon_sse::Error, status: StatusCode) -> ModelFailure {
        match broken {
            holon_sse::Error::FrameTooLarge { limit } => self.asked.too_large(limit, status),
            holon_sse::Error::NotUtf8 => {
                let what = "the event stream is not UTF-8".to_owned();
                self.asked.fault(&Fault::Malformed { what }, status)
            }
        }
    }

    /// Sends a request and waits for the head of a good answer.
    async fn send(&mut self, client: &Client, request: Request) -> Result<Response, Trouble> {
        let sent = self
            .deadline
            .step(self.limits.first_byte, client.execute(request))
            .await
            .map_err(|late| self.asked.late(Stage::Headers, late))?;
        let response = sent.map_err(|error| self.asked.broke(Stage::Headers, error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let said = self.complaint(response).await;
        Err(Trouble::Refused {
            status,
            headers,
            said,
        })
    }

    /// The words of a refusal, or as many of them as come soon: the status alone decides enough.
    async fn complaint(&mut self, mut response: Response) -> Said {
        let mut bytes = Vec::new();
        let (cap, limit) = (self.limits.error_bytes, self.limits.error);
        let reading = self.fill(&mut response, cap, &mut bytes);
        if !matches!(
            tokio::time::timeout(limit, reading).await,
            Ok(Ok(End::Whole))
        ) {
            // The cut may have left the first half of a secret, which no search would find.
            let secret = self
                .asked
                .secret
                .map_or(0, |secret| secret.expose_secret().len());
            bytes.truncate(bytes.len().saturating_sub(secret));
            let text = String::from_utf8_lossy(&bytes);
            let uncut = self.asked.secrets.uncut(&text);
            bytes = text.get(..uncut).unwrap_or_default().as_bytes().to_vec();
        }
        Said::read(&bytes)
    }

    /// Reads a body up to `cap` bytes.
    async fn read(
        &mut self,
        mut response: Response,
        cap: usize,
    ) -> Result<(Vec<u8>, End), ModelFailure> {
        let mut bytes = Vec::new();
        let end = self.fill(&mut response, cap, &mut bytes).await?;
        Ok((bytes, end))
    }

    /// Reads a body into `bytes`, up to `cap` of them; what was read stays there however it ends.
    async fn fill(
        &mut self,
        response: &mut Response,
        cap: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<End, ModelFailure> {
        while let Some(chunk) = self.chunk(response).await? {
            let room = cap - bytes.len();
            if chunk.len() > room {
                bytes.extend_from_slice(chunk.get(..room).unwrap_or_default());
                return Ok(End::Capped);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(End::Whole)
    }

    async fn chunk(&mut self, response: &mut Response) -> Result<Option<Bytes>, ModelFailure> {
        let read = self.deadline.step(self.limits.idle, response.chunk()).await;
        read.map_err(|late| self.asked.late(Stage::Body, late))?
            .map_err(|error| self.asked.broke(Stage::Body, error))
    }
}

/// How the reading of a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With its last byte.
    Whole,
    /// At the cap.
    Capped,
}

/// Whether a body is an event stream, or at least does not say that it is something else.
fn streams(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_none_or(|kind| {
        let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
        kind.starts_with(holon_sse::MEDIA_TYPE) || kind.starts_with("application/octet-stream")
    })
}
