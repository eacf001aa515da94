//! Sends one request over a fresh connection and reads its response.
//!
//! Connections are not pooled: a command makes a handful of requests, and a pooled connection may have died unnoticed.

use crate::endpoint::{Endpoint, Pipe};
use crate::error::Error;
use crate::upload::Upload;
use bytes::{Bytes, BytesMut};
use holon_api::{ARCHIVE_MEDIA_TYPE, CLI_SURFACE, IDEMPOTENCY_KEY_HEADER, SURFACE_HEADER};
use holon_domain::limits::ANSWER_BYTES;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::task::JoinSet;

/// Timeout for the next bytes of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadTimeout {
    /// Fails if no bytes arrive for this long.
    Idle(Duration),
    /// Waits without a limit.
    Unlimited,
}

impl ReadTimeout {
    /// Returns true if a wait of this length used up the time.
    pub(crate) fn is_over(self, elapsed: Duration) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Idle(limit) => elapsed >= limit,
        }
    }

    async fn wait<T>(self, future: impl Future<Output = T>) -> Result<T, String> {
        match self {
            Self::Unlimited => Ok(future.await),
            Self::Idle(limit) => tokio::time::timeout(limit, future)
                .await
                .map_err(|_| format!("nothing came for {} ms", limit.as_millis())),
        }
    }
}

/// Body of a request.
#[derive(Debug)]
pub(crate) enum RequestBody {
    Empty,
    Json(String),
    Archive(Upload),
    Image {
        media_type: &'static str,
        bytes: Bytes,
    },
}

/// Method, target and body of a request.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    /// Path with the query string.
    pub(crate) target: String,
    pub(crate) body: RequestBody,
    /// Idempotency key of a request that changes something.
    pub(crate) key: Option<String>,
    pub(crate) timeout: ReadTimeout,
}

impl HttpRequest {
    /// Creates a request that changes something, with a JSON body.
    pub(crate) fn post(target: &str, json: String, key: &str, timeout: ReadTimeout) -> Self {
        Self {
            method: Method::POST,
            target: target.to_owned(),
            body: RequestBody::Json(json),
            key: Some(key.to_owned()),
            timeout,
        }
    }
}

/// A response whose head has arrived and whose body is still read.
pub(crate) struct HttpResponse {
    endpoint: String,
    timeout: ReadTimeout,
    inner: Response<Incoming>,
    /// Task that drives the connection; aborted when the response is dropped.
    _driver: JoinSet<()>,
}

/// Sends a request and waits for the head of its response. An error response is read whole and returned as an error.
pub(crate) async fn send_request(
    endpoint: &Endpoint,
    request: HttpRequest,
) -> Result<HttpResponse, Error> {
    let pipe = endpoint.connect().await?;
    let timeout = request.timeout;
    let request = build(endpoint, request)?;
    let interrupted = |reason: String| Error::Interrupted {
        endpoint: endpoint.to_string(),
        reason,
    };
    let mut driver = JoinSet::new();
    let response = timeout
        .wait(exchange(pipe, request, &mut driver))
        .await
        .and_then(|sent| sent.map_err(|error| error.to_string()))
        .map_err(interrupted)?;
    let mut response = HttpResponse {
        endpoint: endpoint.to_string(),
        timeout,
        inner: response,
        _driver: driver,
    };
    let status = response.inner.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.bytes().await?;
    Err(Error::from_response(status.as_u16(), &body))
}

async fn exchange(
    pipe: Box<dyn Pipe>,
    request: Request<SentBody>,
    driver: &mut JoinSet<()>,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(pipe)).await?;
    // A broken connection shows up on the request or on its body, so the driver's result adds nothing.
    driver.spawn(async move { drop(connection.await) });
    sender.send_request(request).await
}

/// A body as it is sent: whole, or read while it is sent.
type SentBody = Either<Full<Bytes>, Upload>;

fn build(endpoint: &Endpoint, request: HttpRequest) -> Result<Request<SentBody>, Error> {
    let mut builder = Request::builder()
        .method(request.method)
        .uri(request.target)
        .header(HOST, endpoint.host())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(SURFACE_HEADER, CLI_SURFACE);
    if let Endpoint::Tcp {
        authorization: Some(value),
        ..
    } = endpoint
    {
        builder = builder.header(AUTHORIZATION, value);
    }
    if let Some(key) = request.key {
        builder = builder.header(IDEMPOTENCY_KEY_HEADER, key);
    }
    let body = match request.body {
        RequestBody::Json(json) => {
            builder = builder.header(CONTENT_TYPE, "application/json");
            Either::Left(Full::from(json))
        }
        RequestBody::Archive(upload) => {
            builder = builder
                .header(CONTENT_TYPE, ARCHIVE_MEDIA_TYPE)
                .header(CONTENT_LENGTH, upload.bytes());
            Either::Right(upload)
        }
        RequestBody::Image { media_type, bytes } => {
            builder = builder.header(CONTENT_TYPE, media_type);
            Either::Left(Full::from(bytes))
        }
        RequestBody::Empty => Either::Left(Full::default()),
    };
    builder.body(body).map_err(|error| Error::Protocol {
        endpoint: endpoint.to_string(),
        reason: error.to_string(),
    })
}

impl HttpResponse {
    /// Reads the next chunk of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = self
                .timeout
                .wait(self.inner.body_mut().frame())
                .await
                .map_err(|reason| self.interrupted(reason))?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(self.interrupted(error.to_string())),
                // Trailers carry nothing in this protocol.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// Reads the whole body, up to `ANSWER_BYTES`.
    pub(crate) async fn bytes(&mut self) -> Result<BytesMut, Error> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if all.len() + chunk.len() > ANSWER_BYTES {
                return Err(
                    self.unexpected(format!("the answer is larger than {ANSWER_BYTES} bytes"))
                );
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// Reads the whole body and decodes it as JSON.
    pub(crate) async fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Error> {
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes).map_err(|error| self.unexpected(error.to_string()))
    }

    /// Returns true if the body is an event stream.
    pub(crate) fn is_stream(&self) -> bool {
        let kind = self
            .inner
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with(holon_sse::MEDIA_TYPE))
    }

    /// Returns a response header, if it is present and text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.inner
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    }

    pub(crate) fn unexpected(&self, reason: String) -> Error {
        Error::Protocol {
            endpoint: self.endpoint.clone(),
            reason,
        }
    }

    pub(crate) fn interrupted(&self, reason: String) -> Error {
        Error::Interrupted {
            endpoint: self.endpoint.clone(),
            reason,
        }
    }
}

impl std::fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HttpResponse({})", self.inner.status())
    }
}
