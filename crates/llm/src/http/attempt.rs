//! Runs one attempt at one provider: encode, send, decode, by its protocol.

use super::caller::HttpCaller;
use super::classify::is_about_previous;
use super::error_body::{ErrorBody, is_html};
use super::exchange::{Answer, CompleteBody, Exchange, ExchangeError};
use super::headers;
use super::optional;
use super::report::ErrorContext;
use super::snapshot_cache::Scope;
use crate::codec::responses::Snapshot;
use crate::codec::stream::Assembler;
use crate::codec::{self, Body, DecodedReply, Fault};
use crate::credential::Credential;
use holon_domain::delta::TextSink;
use holon_domain::model::{ModelFailure, ModelRequest};
use holon_domain::provider::PromptCapability;
use reqwest::{Client, Method, Request};
use serde_json::Value;

/// A request and the receiver of its answer's text.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) text: TextSink<'a>,
}

/// State of one attempt.
pub(super) struct Attempt<'a> {
    pub(super) caller: &'a HttpCaller,
    pub(super) credential: Option<&'a Credential>,
    pub(super) exchange: Exchange<'a>,
}

impl<'a> Attempt<'a> {
    /// Asks the provider. A Responses provider is asked in short form if it has stored the rest, and in full if it turns
    /// out to have lost it.
    pub(super) async fn answer(
        &mut self,
        question: Question<'_>,
    ) -> Result<DecodedReply, ModelFailure> {
        let provider = self.exchange.context.provider;
        let full = codec::encode(provider, question.request);
        if !provider.can(PromptCapability::IncrementalResponses) {
            return self.full(&full, question).await;
        }
        let scope = Scope::of(question.request);
        let decoded = match self.caller.snapshots.short_form(&scope, &full) {
            Some(short) => match self.send_short(&short, question).await? {
                Some(decoded) => decoded,
                None => {
                    self.caller.snapshots.mark_lost(&scope);
                    self.full(&full, question).await?
                }
            },
            None => self.full(&full, question).await?,
        };
        let snapshot = Snapshot::of(question.request, &full, &decoded);
        self.caller.snapshots.keep(scope, snapshot);
        Ok(decoded)
    }

    async fn full(
        &mut self,
        body: &Body,
        question: Question<'_>,
    ) -> Result<DecodedReply, ModelFailure> {
        let asked = self.ask(body, question).await;
        asked.map_err(|error| error.failure(&self.exchange.context))
    }

    /// Sends the short form; `None` means that the provider has lost the rest.
    async fn send_short(
        &mut self,
        short: &Body,
        question: Question<'_>,
    ) -> Result<Option<DecodedReply>, ModelFailure> {
        match self.ask(short, question).await {
            Ok(decoded) => Ok(Some(decoded)),
            Err(ExchangeError::ErrorStatus {
                status, error_body, ..
            }) if is_about_previous(status.as_u16(), &error_body) => Ok(None),
            Err(ExchangeError::Faulty {
                fault: Fault::Reported { message, .. },
                ..
            }) if is_about_previous(400, &ErrorBody::plain(&message)) => Ok(None),
            Err(error) => Err(error.failure(&self.exchange.context)),
        }
    }

    /// Sends a request without the optional parts that this server refuses, and once more without each part that it
    /// turns out to refuse.
    async fn ask(
        &mut self,
        body: &Body,
        question: Question<'_>,
    ) -> Result<DecodedReply, ExchangeError> {
        let asked = self.exchange.context;
        let model = &question.request.model;
        let unsupported = &self.caller.unsupported;
        let mut omitted = unsupported.omitted(asked.provider, asked.url, model);
        loop {
            let body = optional::without(body, &omitted);
            let error = match self.once(&body, question).await {
                Err(error) => error,
                Ok(mut decoded) => {
                    if body.get("context_management").is_some() {
                        decoded.reply.context_management.get_or_insert_default();
                    }
                    return Ok(decoded);
                }
            };
            let ExchangeError::ErrorStatus {
                status, error_body, ..
            } = &error
            else {
                return Err(error);
            };
            let option = optional::named(*status, error_body, &body);
            // A part that this request did not hold explains nothing. Another request may have learned it meanwhile.
            let Some(option) = option.filter(|option| omitted.insert(*option)) else {
                return Err(error);
            };
            if unsupported.learn(asked.url, model, option) {
                tracing::info!(
                    provider = asked.provider.id, %model, option = option.as_str(),
                    "the provider refuses an optional part of requests; it is left out from now on"
                );
            }
        }
    }

    /// Sends a request and reads its answer, streamed or whole.
    async fn once(
        &mut self,
        body: &Body,
        question: Question<'_>,
    ) -> Result<DecodedReply, ExchangeError> {
        let transport = self.exchange.context.provider.transport;
        let tools = &question.request.tools;
        let decode = |bytes: &[u8]| codec::decode(transport, tools, bytes);
        if body.get("stream") != Some(&Value::Bool(true)) {
            let whole = self.send(Method::POST, Some(body)).await?;
            return self.decode(&whole, decode);
        }
        let mut request = self.request(Method::POST, Some(body))?;
        headers::accept_events(request.headers_mut());
        let client = self.client()?;
        let mut assembler = Assembler::new(transport, self.caller.limits.answer_bytes);
        let take = |name: Option<&str>, data: &str| {
            assembler.event(name, data, &mut |piece| (question.text)(piece))
        };
        let (url, model) = (self.exchange.context.url, &question.request.model);
        let forms = &self.caller.whole_answers;
        let is_whole = forms.contains(url, model);
        let fetched = self
            .exchange
            .fetch_events(client, request, is_whole, take)
            .await?;
        let status = match fetched {
            Answer::Streamed(status) => status,
            Answer::Whole(whole) => {
                let decoded = self.decode(&whole, decode)?;
                forms.note(url, model, true);
                return Ok(decoded);
            }
        };
        forms.note(url, model, false);
        let document = assembler.finish();
        let answer = document.and_then(|whole| codec::answer(transport, tools, &whole));
        answer.map_err(|fault| ExchangeError::Faulty { fault, status })
    }

    pub(super) async fn send(
        &mut self,
        method: Method,
        body: Option<&Body>,
    ) -> Result<CompleteBody, ExchangeError> {
        let request = self.request(method, body)?;
        let client = self.client()?;
        self.exchange.fetch_body(client, request).await
    }

    fn request(&self, method: Method, body: Option<&Body>) -> Result<Request, ModelFailure> {
        let mut request = Request::new(method, self.exchange.context.url.clone());
        *request.headers_mut() = headers::build(self.exchange.context.provider, self.credential)
            .map_err(|_| invalid_credential(&self.exchange.context))?;
        if let Some(body) = body {
            *request.body_mut() = Some(body.to_json().into());
        }
        Ok(request)
    }

    fn client(&self) -> Result<&'a Client, ModelFailure> {
        let context = &self.exchange.context;
        let client = self.caller.clients.for_url(context.url);
        client.map_err(|error| context.setup_failure(error))
    }

    pub(super) fn decode<T>(
        &self,
        whole: &CompleteBody,
        decode: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, ExchangeError> {
        let fault = match decode(&whole.bytes) {
            Ok(decoded) => return Ok(decoded),
            Err(fault) => fault,
        };
        let fault = match fault {
            Fault::NotJson { .. } if is_html(&whole.bytes) => Fault::NotJson {
                what: ErrorBody::read(&whole.bytes).message,
            },
            // The body has no stated length and ends in the middle of a document: the connection was lost.
            Fault::NotJson { .. } if whole.open_ended && is_cut(&whole.bytes) => Fault::CutOff,
            other => other,
        };
        let status = whole.status;
        Err(ExchangeError::Faulty { fault, status })
    }
}

/// Returns true if the bytes are the beginning of a JSON document.
fn is_cut(bytes: &[u8]) -> bool {
    let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    !bytes.trim_ascii().is_empty() && parsed.is_err_and(|error| error.is_eof())
}

/// Builds the failure for a credential that no header can hold.
pub(super) fn invalid_credential(context: &ErrorContext<'_>) -> ModelFailure {
    context.credential_failure(&format!(
        "the credential of {} holds characters that cannot be sent; set it again",
        context.provider.id
    ))
}
