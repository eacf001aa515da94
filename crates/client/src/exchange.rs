//! One request and its answer over one fresh connection.
//!
//! Connections are not kept: a command makes a handful of requests, and a connection that was kept is one that can
//! have died unnoticed.

use crate::endpoint::{Endpoint, Pipe};
use crate::error::Error;
use bytes::{Bytes, BytesMut};
use holon_domain::limits::ANSWER_BYTES;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long to wait for the next bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// This long.
    Idle(Duration),
    /// As long as it takes.
    Endless,
}

impl Patience {
    async fn wait<T>(self, future: impl Future<Output = T>) -> Result<T, String> {
        match self {
            Self::Endless => Ok(future.await),
            Self::Idle(limit) => tokio::time::timeout(limit, future)
                .await
                .map_err(|_| format!("nothing came for {} ms", limit.as_millis())),
        }
    }
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    /// JSON, if there is a body.
    pub(crate) body: Option<String>,
    pub(crate) patience: Patience,
}

/// An answer whose head is here and whose body may still come.
pub(crate) struct Answer {
    endpoint: String,
    patience: Patience,
    response: Response<Incoming>,
    /// Drives the connection; ends with the answer.
    _driver: JoinSet<()>,
}

/// Asks, and waits for the head of the answer. A refusal is read whole and returned as an error.
pub(crate) async fn ask(endpoint: &Endpoint, ask: Ask) -> Result<Answer, Error> {
    let pipe = endpoint.connect().await?;
    let patience = ask.patience;
    let request = build(endpoint, ask)?;
    let interrupted = |reason: String| Error::Interrupted {
        endpoint: endpoint.to_string(),
        reason,
    };
    let mut driver = JoinSet::new();
    let response = patience
        .wait(send(pipe, request, &mut driver))
        .await
        .and_then(|sent| sent.map_err(|error| error.to_string()))
        .map_err(interrupted)?;
    let mut answer = Answer {
        endpoint: endpoint.to_string(),
        patience,
        response,
        _driver: driver,
    };
    let status = answer.response.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = answer.bytes().await?;
    Err(Error::refused(status.as_u16(), &body))
}

async fn send(
    pipe: Box<dyn Pipe>,
    request: Request<Full<Bytes>>,
    driver: &mut JoinSet<()>,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(pipe)).await?;
    // What breaks the connection shows on the request or on its body, so the driver's own end says nothing more.
    driver.spawn(async move { drop(connection.await) });
    sender.send_request(request).await
}

fn build(endpoint: &Endpoint, ask: Ask) -> Result<Request<Full<Bytes>>, Error> {
    let mut builder = Request::builder()
        .method(ask.method)
        .uri(ask.target)
        .header(HOST, endpoint.host())
        .header(ACCEPT, "application/json, text/event-stream");
    if let Endpoint::Tcp {
        authorization: Some(value),
        ..
    } = endpoint
    {
        builder = builder.header(AUTHORIZATION, value);
    }
    let body = match ask.body {
        Some(json) => {
            builder = builder.header(CONTENT_TYPE, "application/json");
            Full::from(json)
        }
        None => Full::default(),
    };
    builder.body(body).map_err(|error| Error::Protocol {
        endpoint: endpoint.to_string(),
        reason: error.to_string(),
    })
}

impl Answer {
    /// The next piece of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = self
                .patience
                .wait(self.response.body_mut().frame())
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

    /// The whole body.
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

    /// The whole body as a value.
    pub(crate) async fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, Error> {
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes).map_err(|error| self.unexpected(error.to_string()))
    }

    /// Whether the body is an event stream.
    pub(crate) fn is_stream(&self) -> bool {
        let kind = self
            .response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        kind.is_some_and(|kind| kind.starts_with(holon_sse::MEDIA_TYPE))
    }

    /// A header of the answer, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response
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

    fn interrupted(&self, reason: String) -> Error {
        Error::Interrupted {
            endpoint: self.endpoint.clone(),
            reason,
        }
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answer({})", self.response.status())
    }
}
