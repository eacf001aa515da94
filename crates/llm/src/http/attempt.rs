//! Runs one attempt at one provider: encode, send, decode, by its protocol.
//!
//! The only state between attempts is what providers have stored (`snapshot_cache`), what they refuse (`optional`) and
//! what they state about themselves (`statements`).

use super::classify::is_about_previous;
use super::client::Clients;
use super::deadline::Deadline;
use super::error_body::{ErrorBody, is_html};
use super::exchange::{Answer, CompleteBody, Exchange, ExchangeError};
use super::headers;
use super::limits::HttpLimits;
use super::listing;
use super::names;
use super::optional::{self, UnsupportedOptions};
use super::provider::Provider;
use super::report::{ErrorContext, Stage};
use super::snapshot_cache::{Scope, SnapshotCache};
use super::statements::Statements;
use crate::codec::responses::Snapshot;
use crate::codec::stream::Assembler;
use crate::codec::{self, Body, DecodedReply, Fault};
use crate::credential::{Credential, Credentials};
use crate::secrets::Secrets;
use holon_domain::delta::TextSink;
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, StopReason,
};
use holon_domain::provider::{PromptCapability, Transport};
use reqwest::{Client, Method, Request, Url};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// State that all attempts share.
#[derive(Debug)]
pub(crate) struct Http {
    clients: Clients,
    credentials: Arc<dyn Credentials>,
    pub(super) limits: HttpLimits,
    snapshots: SnapshotCache,
    /// Optional parts of requests that servers have refused.
    unsupported: UnsupportedOptions,
    /// What servers have stated about their models.
    pub(super) statements: Statements,
    secrets: Secrets,
}

impl Http {
    pub(crate) fn new(credentials: Arc<dyn Credentials>, limits: HttpLimits) -> Self {
        Self {
            clients: Clients::new(&limits, Arc::new(names::SystemLookup)),
            credentials,
            limits,
            snapshots: SnapshotCache::new(),
            unsupported: UnsupportedOptions::default(),
            statements: Statements::default(),
            secrets: Secrets::default(),
        }
    }

    /// The secrets that are removed from everything shown.
    pub(crate) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Replaces the set of secrets that are removed from everything shown; every fetched credential is added to it.
    pub(crate) fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Resolves names with `lookup` and disables the proxy.
    #[cfg(test)]
    pub(crate) fn with_lookup(
        self,
        lookup: Arc<dyn names::Lookup>,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self {
            clients: Clients::new(&self.limits, lookup).direct()?,
            ..self
        })
    }

    /// Runs one attempt at one round. Text of the answer goes to `text` while it arrives.
    pub(crate) async fn call(
        &self,
        provider: &Provider,
        request: &ModelRequest,
        text: TextSink<'_>,
    ) -> Result<ModelReply, ModelFailure> {
        let mut deadline = Deadline::starting(self.limits.content);
        let bare = self.context(provider, Some(&request.model));
        let mut credential = self.credential(&bare, &mut deadline).await?;
        let spoken = AtomicBool::new(false);
        let note_and_pass = |piece: &str| {
            spoken.store(true, Ordering::Relaxed);
            text(piece);
        };
        let question = Question {
            request,
            text: &note_and_pass,
        };
        let mut answer = self
            .attempt(bare, credential.as_ref(), &mut deadline)
            .answer(question)
            .await;
        // Text that was passed on cannot be taken back, so an attempt that has spoken is not repeated.
        if is_auth_refusal(&answer)
            && !spoken.load(Ordering::Relaxed)
            && let Some(renewed) = self
                .renewed(&bare, credential.as_ref(), &mut deadline)
                .await
        {
            credential = Some(renewed);
            let mut attempt = self.attempt(bare, credential.as_ref(), &mut deadline);
            answer = attempt.answer(question).await;
        }
        if is_auth_refusal(&answer) {
            let id = &provider.spec.id;
            self.credentials.note_refused(id, credential.as_ref());
        }
        let mut decoded = answer?;
        if is_cut_silently(provider.spec.transport, request, &decoded.reply) {
            decoded.reply.stop_reason = StopReason::MaxOutputTokens;
        }
        Ok(decoded.reply)
    }

    /// Fetches the ids of the models the provider lists.
    pub(crate) async fn models(&self, provider: &Provider) -> Result<Vec<String>, ModelFailure> {
        let mut deadline = Deadline::starting(self.limits.content);
        let bare = ErrorContext {
            url: &provider.list,
            ..self.context(provider, None)
        };
        let credential = self.credential(&bare, &mut deadline).await?;
        let mut attempt = self.attempt(bare, credential.as_ref(), &mut deadline);
        let listed = match attempt.send(Method::GET, None).await {
            Ok(whole) => attempt.decode(&whole, listing::ids),
            Err(error) => Err(error),
        };
        listed.map_err(|error| error.failure(&attempt.exchange.context))
    }

    /// Sends one small request to another URL of the provider and reads the whole answer.
    pub(super) async fn fetch(
        &self,
        provider: &Provider,
        url: &Url,
        method: Method,
        body: Option<&Body>,
    ) -> Result<Vec<u8>, ExchangeError> {
        let mut deadline = Deadline::starting(self.limits.content);
        let bare = ErrorContext {
            url,
            ..self.context(provider, None)
        };
        let credential = self.credential(&bare, &mut deadline).await?;
        let mut attempt = self.attempt(bare, credential.as_ref(), &mut deadline);
        let whole = attempt.send(method, body).await?;
        Ok(whole.bytes)
    }

    /// Checks that a credential can be obtained, if the provider needs one.
    pub(crate) async fn check(
        &self,
        provider: &Provider,
        model: &ModelRef,
    ) -> Result<(), ModelFailure> {
        let mut deadline = Deadline::starting(self.limits.content);
        let bare = self.context(provider, Some(model));
        let credential = self.credential(&bare, &mut deadline).await?;
        headers::build(&provider.spec, credential.as_ref())
            .map_err(|_| invalid_credential(&bare))?;
        Ok(())
    }

    fn attempt<'a>(
        &'a self,
        bare: ErrorContext<'a>,
        credential: Option<&'a Credential>,
        deadline: &'a mut Deadline,
    ) -> Attempt<'a> {
        Attempt {
            http: self,
            credential,
            exchange: Exchange {
                context: ErrorContext {
                    secret: credential.map(|credential| &credential.secret),
                    ..bare
                },
                limits: &self.limits,
                deadline,
            },
        }
    }

    async fn credential(
        &self,
        context: &ErrorContext<'_>,
        deadline: &mut Deadline,
    ) -> Result<Option<Credential>, ModelFailure> {
        let fetched = self.credentials.credential(&context.provider.id);
        let credential = deadline
            .step(self.limits.content, fetched)
            .await
            .map_err(|limit| context.timeout_failure(Stage::Credential, limit))?
            .map_err(|sentence| context.credential_failure(&sentence))?;
        if let Some(credential) = &credential {
            self.secrets.learn(&credential.secret);
        }
        Ok(credential)
    }

    /// Reads a refused credential again. `None` if it is the same or cannot be read.
    async fn renewed(
        &self,
        context: &ErrorContext<'_>,
        refused: Option<&Credential>,
        deadline: &mut Deadline,
    ) -> Option<Credential> {
        let read = self.credentials.renewed(&context.provider.id, refused?);
        let renewed = deadline.step(self.limits.content, read).await.ok()??;
        self.secrets.learn(&renewed.secret);
        Some(renewed)
    }

    fn context<'a>(
        &'a self,
        provider: &'a Provider,
        model: Option<&'a ModelRef>,
    ) -> ErrorContext<'a> {
        ErrorContext {
            provider: &provider.spec,
            model,
            url: &provider.ask,
            secret: None,
            secrets: &self.secrets,
        }
    }
}

/// A request and the receiver of its answer's text.
#[derive(Clone, Copy)]
struct Question<'a> {
    request: &'a ModelRequest,
    text: TextSink<'a>,
}

/// State of one attempt.
struct Attempt<'a> {
    http: &'a Http,
    credential: Option<&'a Credential>,
    exchange: Exchange<'a>,
}

impl<'a> Attempt<'a> {
    /// Asks the provider. A Responses provider is asked in short form if it has stored the rest, and in full if it turns
    /// out to have lost it.
    async fn answer(&mut self, question: Question<'_>) -> Result<DecodedReply, ModelFailure> {
        let provider = self.exchange.context.provider;
        let full = codec::encode(provider, question.request);
        if !provider.can(PromptCapability::IncrementalResponses) {
            return self.full(&full, question).await;
        }
        let scope = Scope::of(question.request);
        let decoded = match self.http.snapshots.short_form(&scope, &full) {
            Some(short) => match self.send_short(&short, question).await? {
                Some(decoded) => decoded,
                None => {
                    self.http.snapshots.mark_lost(&scope);
                    self.full(&full, question).await?
                }
            },
            None => self.full(&full, question).await?,
        };
        let snapshot = Snapshot::of(question.request, &full, &decoded);
        self.http.snapshots.keep(scope, snapshot);
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
        loop {
            let omitted = self
                .http
                .unsupported
                .omitted(asked.provider, asked.url, model);
            let body = optional::without(body, &omitted);
            let error = match self.once(&body, question).await {
                Err(error) => error,
                answered => return answered,
            };
            let ExchangeError::ErrorStatus {
                status, error_body, ..
            } = &error
            else {
                return Err(error);
            };
            let option = optional::named(*status, error_body, &body);
            let is_new = |option| self.http.unsupported.learn(asked.url, model, option);
            let Some(option) = option.filter(|option| is_new(*option)) else {
                return Err(error);
            };
            tracing::info!(
                provider = asked.provider.id, %model, option = option.as_str(),
                "the provider refuses an optional part of requests; it is left out from now on"
            );
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
        let mut assembler = Assembler::new(transport, self.http.limits.answer_bytes);
        let take = |name: Option<&str>, data: &str| {
            assembler.event(name, data, &mut |piece| (question.text)(piece))
        };
        let status = match self.exchange.fetch_events(client, request, take).await? {
            Answer::Streamed(status) => status,
            Answer::Whole(whole) => return self.decode(&whole, decode),
        };
        let document = assembler.finish();
        let answer = document.and_then(|whole| codec::answer(transport, tools, &whole));
        answer.map_err(|fault| ExchangeError::Faulty { fault, status })
    }

    async fn send(
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
            *request.body_mut() = Some(body.to_string().into());
        }
        Ok(request)
    }

    fn client(&self) -> Result<&'a Client, ModelFailure> {
        let context = &self.exchange.context;
        let client = self.http.clients.for_url(context.url);
        client.map_err(|error| context.setup_failure(error))
    }

    fn decode<T>(
        &self,
        whole: &CompleteBody,
        decode: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, ExchangeError> {
        let fault = match decode(&whole.bytes) {
            Ok(decoded) => return Ok(decoded),
            Err(fault) => fault,
        };
        let fault = match fault {
            Fault::Malformed { .. } if is_html(&whole.bytes) => Fault::Malformed {
                what: ErrorBody::read(&whole.bytes).message,
            },
            // The body has no stated length and ends in the middle of a document: the connection was lost.
            Fault::Malformed { .. } if whole.open_ended && is_cut(&whole.bytes) => Fault::CutOff,
            other => other,
        };
        let status = whole.status;
        Err(ExchangeError::Faulty { fault, status })
    }
}

/// Returns true if the provider refused the credential.
fn is_auth_refusal<T>(answer: &Result<T, ModelFailure>) -> bool {
    let failure = answer.as_ref().err();
    failure.is_some_and(|failure| failure.kind == ModelFailureKind::Auth)
}

/// Returns true if an answer used up its output limit although it claims to be complete, as some local servers do. More
/// tokens than the limit prove that the server did not apply it. The Codex backend is sent no limit.
fn is_cut_silently(transport: Transport, request: &ModelRequest, reply: &ModelReply) -> bool {
    transport != Transport::OpenaiCodexResponses
        && reply.stop_reason == StopReason::EndTurn
        && reply.usage.output_tokens == u64::from(request.max_output_tokens)
}

/// Returns true if the bytes are the beginning of a JSON document.
fn is_cut(bytes: &[u8]) -> bool {
    let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    !bytes.trim_ascii().is_empty() && parsed.is_err_and(|error| error.is_eof())
}

fn invalid_credential(context: &ErrorContext<'_>) -> ModelFailure {
    context.credential_failure(&format!(
        "the credential of {} holds characters that cannot be sent; set it again",
        context.provider.id
    ))
}
