//! Calls providers over HTTP: fetches a credential, runs attempts, and repeats one whose credential was renewed.
//!
//! The only state between attempts is what providers have stored (`snapshot_cache`), what they refuse (`optional`), the
//! form of their answers (`whole_answers`) and what they state about themselves (`statements`).

use super::attempt::{Attempt, Question, invalid_credential};
use super::client::Clients;
use super::deadline::Deadline;
use super::exchange::{Exchange, ExchangeError};
use super::headers;
use super::limits::HttpLimits;
use super::listing;
use super::names;
use super::optional::UnsupportedOptions;
use super::provider::Provider;
use super::report::{ErrorContext, Stage};
use super::snapshot_cache::SnapshotCache;
use super::statements::Statements;
use super::whole_answers::WholeAnswers;
use crate::codec::Body;
use crate::credential::{Credential, Credentials};
use crate::secrets::Secrets;
use holon_domain::delta::TextSink;
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, StopReason,
};
use holon_domain::provider::Transport;
use reqwest::{Method, Url};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls providers over HTTP. Holds the state that all attempts share.
#[derive(Debug)]
pub(crate) struct HttpCaller {
    pub(super) clients: Clients,
    pub(super) credentials: Arc<dyn Credentials>,
    pub(super) limits: HttpLimits,
    pub(super) snapshots: SnapshotCache,
    /// Optional parts of requests that servers have refused.
    pub(super) unsupported: UnsupportedOptions,
    /// Servers that do not stream although they are asked to.
    pub(super) whole_answers: WholeAnswers,
    /// What servers have stated about their models.
    pub(super) statements: Statements,
    pub(super) secrets: Secrets,
}

impl HttpCaller {
    pub(crate) fn new(credentials: Arc<dyn Credentials>, limits: HttpLimits) -> Self {
        Self {
            clients: Clients::new(&limits, Arc::new(names::SystemLookup)),
            credentials,
            limits,
            snapshots: SnapshotCache::new(),
            unsupported: UnsupportedOptions::default(),
            whole_answers: WholeAnswers::default(),
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
            caller: self,
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
