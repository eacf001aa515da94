//! Builds failures for the operator and the timeline: one bounded sentence and structured diagnostics.
//!
//! Everything that leaves this file is free of secrets, of control characters and of the URL's user, password and
//! query. `classify` and `cause` decide what a failure means.

use super::cause;
use super::classify::{Verdict, classify_reported, classify_status};
use super::clean::clean;
use super::deadline::ExpiredLimit;
use super::error_body::ErrorBody;
use crate::codec::Fault;
use crate::host::Proximity;
use crate::secrets::Secrets;
use holon_domain::attempt::TransportDiagnostics;
use holon_domain::limits::{EVENT_PREVIEW_BYTES, FAILURE_SUMMARY_BYTES, SOURCE_CHAIN};
use holon_domain::model::{ModelFailure, ModelFailureKind as Kind, ModelRef};
use holon_domain::provider::{ProviderSpec, Transport};
use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use secrecy::SecretString;

/// Bytes kept of a provider's own message; the rest of the sentence and the next step fit beside it.
const WORDS_BYTES: usize = 320;

/// Step at which an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Credential,
    Connect,
    /// Until the response headers have arrived.
    Headers,
    Body,
    Decode,
}

impl Stage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Credential => "credential",
            Self::Connect => "connect",
            Self::Headers => "headers",
            Self::Body => "body",
            Self::Decode => "decode",
        }
    }

    const fn activity(self) -> &'static str {
        match self {
            Self::Credential => "its credential was fetched",
            Self::Connect => "connecting",
            Self::Headers => "waiting for its answer to begin",
            Self::Body => "reading its answer",
            Self::Decode => "reading its answer",
        }
    }
}

/// Facts about a request that failure messages and diagnostics need.
#[derive(Debug, Clone, Copy)]
pub(super) struct ErrorContext<'a> {
    pub(super) provider: &'a ProviderSpec,
    /// Absent when the list of models was requested.
    pub(super) model: Option<&'a ModelRef>,
    pub(super) url: &'a Url,
    /// The credential of this attempt; removed from messages even if it is short.
    pub(super) secret: Option<&'a SecretString>,
    /// All other known secrets; removed from messages too.
    pub(super) secrets: &'a Secrets,
}

impl ErrorContext<'_> {
    /// Builds the failure of a response with a status other than success.
    pub(super) fn status_failure(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        error_body: &ErrorBody,
    ) -> ModelFailure {
        let verdict = classify_status(status.as_u16(), headers, error_body);
        let sentence = match headers.get("location").filter(|_| status.is_redirection()) {
            Some(target) => format!(
                "{} answered {status} and sends us on to {}; no redirect is followed, so set its base URL to the \
                 right address",
                self.provider.id,
                host(target.to_str().unwrap_or_default()),
            ),
            None => self.sentence(&format!("answered {status}"), error_body, verdict, status),
        };
        self.failure(Stage::Headers, verdict, &sentence, Some(status))
    }

    /// Builds the failure of a response that could not be decoded, or that itself reports a failure.
    pub(super) fn decode_failure(&self, fault: &Fault, status: StatusCode) -> ModelFailure {
        match fault {
            Fault::Malformed { what } => self.other_form(Kind::InvalidResponse, what, status),
            Fault::NotJson { what } => self.other_form(Kind::NotJson, what, status),
            Fault::Reported { kind, message } => {
                let error_body = ErrorBody::read(message.as_bytes());
                let verdict = classify_reported(*kind, &error_body);
                let sentence = self.sentence(
                    "reports a failure in its answer",
                    &error_body,
                    verdict,
                    status,
                );
                self.failure(Stage::Decode, verdict, &sentence, Some(status))
            }
            Fault::CutOff => {
                let sentence = format!(
                    "{} broke off its answer before it was complete",
                    self.provider.id
                );
                self.failure(Stage::Body, kind(Kind::Connection), &sentence, Some(status))
            }
        }
    }

    /// Builds the failure of an answer that has another form than the protocol's.
    fn other_form(&self, class: Kind, what: &str, status: StatusCode) -> ModelFailure {
        let sentence = format!(
            "{} answered {status} with something that is not {}: {}; check its base URL and transport",
            self.provider.id,
            self.provider.transport,
            self.clean(what, WORDS_BYTES),
        );
        self.failure(Stage::Decode, kind(class), &sentence, Some(status))
    }

    /// Builds the failure of an error of the HTTP client.
    pub(super) fn client_failure(&self, stage: Stage, error: reqwest::Error) -> ModelFailure {
        let error = error.without_url();
        let stage = if error.is_connect() {
            Stage::Connect
        } else {
            stage
        };
        let class = cause::kind(&error, Proximity::of(self.url));
        let root = cause::chain(&error).last().map(ToString::to_string);
        let root = self.clean(&root.unwrap_or_default(), WORDS_BYTES);
        let id = &self.provider.id;
        let unknown =
            cause::unknown_name(&error).map(|failure| self.clean(&failure.name, WORDS_BYTES));
        let sentence = match (class, unknown) {
            (_, Some(host)) => format!(
                "{id} cannot be reached: the name {host} could not be looked up ({root}); check its base_url and this \
                 machine's network (name service, proxy)"
            ),
            (Kind::Network, None) => format!(
                "{id} cannot be reached from this machine: {root}; check the network connection and the provider's \
                 base URL"
            ),
            (Kind::Timeout, None) => format!(
                "{id} did not answer in time while {}: {root}",
                stage.activity()
            ),
            (_, None) if stage == Stage::Connect => {
                format!("no connection to {id} at {}: {root}", self.shown_url())
            }
            (_, None) => format!(
                "the connection to {id} failed while {}: {root}",
                stage.activity()
            ),
        };
        let mut failure = self.failure(stage, kind(class), &sentence, None);
        if let Some(diagnostics) = &mut failure.diagnostics {
            diagnostics.reqwest = Some(cause::facts(&error));
            diagnostics.source_chain = self.causes(&error);
        }
        failure
    }

    /// Builds the failure of an expired time limit.
    pub(super) fn timeout_failure(&self, stage: Stage, expired: ExpiredLimit) -> ModelFailure {
        let id = &self.provider.id;
        let sentence = match expired {
            ExpiredLimit::Step(limit) => {
                format!(
                    "{id} sent no byte for {limit:?} (while {})",
                    stage.activity()
                )
            }
            ExpiredLimit::Content(limit) => format!(
                "{id} sent nothing of an answer for {limit:?} (while {})",
                stage.activity()
            ),
        };
        self.failure(stage, kind(Kind::Timeout), &sentence, None)
    }

    /// Builds the failure of a missing credential; `sentence` names the reason and the next step.
    pub(super) fn credential_failure(&self, sentence: &str) -> ModelFailure {
        self.failure(Stage::Credential, kind(Kind::Auth), sentence, None)
    }

    /// Builds the failure of a body that exceeds the byte limit.
    pub(super) fn size_failure(&self, bytes: usize, status: StatusCode) -> ModelFailure {
        let sentence = format!(
            "{} answered with more than {bytes} bytes, which no model says; check its base URL",
            self.provider.id
        );
        self.failure(
            Stage::Body,
            kind(Kind::InvalidResponse),
            &sentence,
            Some(status),
        )
    }

    /// Builds the failure of an HTTP client that cannot be built on this machine.
    pub(super) fn setup_failure(&self, error: reqwest::Error) -> ModelFailure {
        let error = error.without_url();
        let root = cause::chain(&error).last().map(ToString::to_string);
        let sentence = format!(
            "encrypted connections cannot be made from this machine: {}; install its certificate store (often the \
             package ca-certificates)",
            root.unwrap_or_default()
        );
        self.failure(
            Stage::Connect,
            kind(Kind::UnsupportedTransport),
            &sentence,
            None,
        )
    }

    fn sentence(
        &self,
        what: &str,
        error_body: &ErrorBody,
        verdict: Verdict,
        status: StatusCode,
    ) -> String {
        let words = match self.clean(&error_body.message, WORDS_BYTES) {
            words if words.is_empty() => String::new(),
            words => format!(": {}", words.trim_end_matches('.')),
        };
        let id = &self.provider.id;
        let next = self.next_step(verdict, status);
        format!("{id} {what}{words}{next}")
    }

    fn next_step(&self, verdict: Verdict, status: StatusCode) -> String {
        let id = &self.provider.id;
        match verdict.kind {
            Kind::Auth if self.provider.transport == Transport::OpenaiCodexResponses => {
                "; log in again with `codex login`".to_owned()
            }
            Kind::Auth if self.secret.is_none() => format!(
                "; it wants a credential and none is set: store one with `holon config credentials set {id}`, then run \
                 `holon config providers set {id} --credential-profile {id}`"
            ),
            Kind::Auth => format!(
                "; renew the credential of {id} (`holon config doctor` shows where it comes from)"
            ),
            Kind::Quota => match verdict.wait_ms {
                Some(wait) => format!("; the allowance is renewed in {}", wait_in_words(wait)),
                None => "; top up the account or choose another model".to_owned(),
            },
            Kind::ModelUnavailable => {
                "; choose another model (`holon config models list` shows those known here)"
                    .to_owned()
            }
            Kind::UnsupportedTransport if status == StatusCode::NOT_FOUND => {
                format!(
                    "; nothing is served at {}, check the base URL of {id}",
                    self.shown_url()
                )
            }
            Kind::RateLimited | Kind::ServerError | Kind::Timeout => match verdict.wait_ms {
                Some(wait) => format!("; it wants to be asked again in {}", wait_in_words(wait)),
                None => String::new(),
            },
            Kind::InvalidRequest
            | Kind::ContextLengthExceeded
            | Kind::Connection
            | Kind::Network
            | Kind::InvalidResponse
            | Kind::NotJson
            | Kind::UnsupportedTransport => String::new(),
        }
    }

    fn failure(
        &self,
        stage: Stage,
        verdict: Verdict,
        sentence: &str,
        status: Option<StatusCode>,
    ) -> ModelFailure {
        ModelFailure {
            kind: verdict.kind,
            message: self.clean(sentence, FAILURE_SUMMARY_BYTES),
            retry_after_ms: verdict.wait_ms,
            usage: None,
            learned: verdict.learned,
            counts_answer: verdict.counts_answer,
            diagnostics: Some(Box::new(TransportDiagnostics {
                stage: stage.as_str().to_owned(),
                provider: Some(self.provider.id.clone()),
                model_ref: self.model.map(ToString::to_string),
                url: Some(self.shown_url()),
                status: status.map(|status| status.as_u16()),
                ..TransportDiagnostics::default()
            })),
        }
    }

    /// Returns the URL without user, password, query and fragment.
    fn shown_url(&self) -> String {
        let mut url = self.url.clone();
        // This fails only for URLs without a host, which `Provider::new` refuses.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        self.clean(url.as_str(), WORDS_BYTES)
    }

    fn causes(&self, error: &reqwest::Error) -> Vec<String> {
        let mut causes: Vec<String> = cause::chain(error)
            .take(SOURCE_CHAIN)
            .map(|cause| self.clean(&cause.to_string(), EVENT_PREVIEW_BYTES))
            .collect();
        causes.dedup();
        causes
    }

    fn clean(&self, text: &str, bytes: usize) -> String {
        clean(&self.secrets.hide(text), self.secret, bytes)
    }
}

const fn kind(kind: Kind) -> Verdict {
    Verdict {
        kind,
        wait_ms: None,
        learned: None,
        counts_answer: false,
    }
}

/// Returns the host of a redirect target, which may be relative.
fn host(target: &str) -> String {
    let parsed = Url::parse(target).ok();
    parsed
        .as_ref()
        .and_then(Url::host_str)
        .map_or_else(|| "another path of the same host".to_owned(), str::to_owned)
}

fn wait_in_words(millis: u64) -> String {
    if millis < 60_000 {
        return format!("{} s", millis.div_ceil(1_000));
    }
    let minutes = millis.div_ceil(60_000);
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests;
