//! Routes a model reference to the provider that serves it.
//!
//! Knows the providers by id and cancels calls. The protocols are in other modules.

use crate::credential::Credentials;
use crate::error::Error;
use crate::http::{HttpCaller, HttpLimits, Provider};
use crate::scripted::Scripted;
use crate::secrets::{Secrets, TextScreen};
use holon_domain::delta::TextSink;
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{ProviderSpec, StatedWindow};
use holon_domain::text;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Id of the provider that plays scripts.
const SCRIPTED: &str = "scripted";

/// All configured providers and the scripted one. The host makes one router and sends every model call through it.
#[derive(Debug)]
pub struct Router {
    scripted: Scripted,
    http: HttpCaller,
    /// By id. A provider with an unusable base URL is kept with the description of the mistake: the others still work,
    /// and a call to it reports the mistake.
    providers: BTreeMap<String, Result<Provider, &'static str>>,
    /// Providers whose transport cannot be used, by id. A call to one is refused with the reason.
    refused: BTreeMap<String, TransportRefusal>,
    /// Removed from every outcome.
    secrets: Secrets,
}

/// Reason for which a provider is not asked over its configured transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportRefusal {
    /// One clause that begins with the provider.
    pub problem: String,
    pub next_step: String,
}

/// Destination of a request.
enum Route<'a> {
    Script,
    Http(&'a Provider),
}

impl Router {
    /// Creates a router to these providers and to scripts, whose relative paths are resolved under `script_base`.
    ///
    /// # Errors
    /// Fails if two providers have the same id.
    pub fn new(
        script_base: PathBuf,
        providers: Vec<ProviderSpec>,
        credentials: Arc<dyn Credentials>,
        limits: HttpLimits,
    ) -> Result<Self, Error> {
        Self::with_http(script_base, providers, HttpCaller::new(credentials, limits))
    }

    fn with_http(
        script_base: PathBuf,
        providers: Vec<ProviderSpec>,
        http: HttpCaller,
    ) -> Result<Self, Error> {
        let mut by_id = BTreeMap::new();
        for spec in providers {
            let id = spec.id.clone();
            if id == SCRIPTED || by_id.contains_key(&id) {
                return Err(Error::DuplicateProvider { provider: id });
            }
            by_id.insert(id, Provider::new(spec));
        }
        Ok(Self {
            scripted: Scripted::new(script_base),
            secrets: http.secrets().clone(),
            http,
            providers: by_id,
            refused: BTreeMap::new(),
        })
    }

    /// Refuses calls to these providers, because their transport cannot be used. The caller asks its next model.
    #[must_use]
    pub fn with_refused(self, refused: BTreeMap<String, TransportRefusal>) -> Self {
        Self { refused, ..self }
    }

    /// Shares a set of secrets with the host: its secrets are removed from every outcome, and fetched credentials are
    /// added to it.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self {
            http: self.http.with_secrets(secrets.clone()),
            secrets,
            ..self
        }
    }

    /// Runs one attempt at one round; returns at once when `cancel` fires. Text of the answer goes to `text` while it
    /// arrives. It is provisional: only the returned reply is the answer. Neither contains a known secret.
    ///
    /// # Errors
    /// Returns the provider's classified failure.
    pub async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let route = self.route(&request.model)?;
        let screen = TextScreen::new(&self.secrets, text);
        let screened = |piece: &str| screen.push(piece);
        let answer = async {
            match route {
                Route::Script => self.scripted.play(request, &screened).await,
                Route::Http(provider) => self.http.call(provider, request, &screened).await,
            }
        };
        let answer = unless_cancelled(cancel, answer).await;
        if answer.is_ok() {
            screen.finish();
        }
        self.secrets.clean(answer)
    }

    /// Checks that a call to this model could work: a known provider with a usable base URL and, if it needs one, a
    /// credential; or a script that can be played. Nothing is sent.
    ///
    /// # Errors
    /// Returns the failure that a call would have.
    pub async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        match self.route(model)? {
            Route::Script => Ok(self.scripted.check(model.model()).await?),
            Route::Http(provider) => {
                let checked = self.http.check(provider, model).await;
                checked.map_err(|failure| self.secrets.clean_failure(failure))
            }
        }
    }

    /// Fetches the ids of the models a provider lists; empty for scripts.
    ///
    /// # Errors
    /// Returns the provider's classified failure.
    pub async fn models(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, ModelFailure> {
        match self.provider(provider)? {
            Route::Script => Ok(Vec::new()),
            Route::Http(provider) => {
                let listed = unless_cancelled(cancel, self.http.models(provider)).await;
                let mut ids = listed.map_err(|failure| self.secrets.clean_failure(failure))?;
                ids.retain(|id| matches!(self.secrets.hide(id), Cow::Borrowed(_)));
                Ok(ids)
            }
        }
    }

    /// Returns the base URL of the provider that serves a model. `None` for scripts and unknown providers.
    #[must_use]
    pub fn endpoint(&self, model: &ModelRef) -> Option<String> {
        match self.route(model) {
            Ok(Route::Http(provider)) => Some(provider.base_url().to_owned()),
            Ok(Route::Script) | Err(_) => None,
        }
    }

    /// Returns the context window that the server of a model states. `None` if it states none, or does not answer soon.
    /// The answer is remembered; the server is asked again after some time, and earlier if it did not answer. `now` is
    /// the caller's monotonic clock, from any start.
    pub async fn stated_window(&self, model: &ModelRef, now: Duration) -> Option<StatedWindow> {
        match self.route(model) {
            Ok(Route::Http(provider)) => self.http.stated_window(provider, model, now).await,
            Ok(Route::Script) | Err(_) => None,
        }
    }

    /// Returns true if the server of a model did not answer when it was last asked for the context window.
    pub async fn is_window_unanswered(&self, model: &ModelRef) -> bool {
        match self.route(model) {
            Ok(Route::Http(provider)) => self.http.is_window_unanswered(provider, model).await,
            Ok(Route::Script) | Err(_) => false,
        }
    }

    /// Returns the ids of all configured providers and of the scripted one.
    #[must_use]
    pub fn providers(&self) -> Vec<&str> {
        let configured = self.providers.keys().map(String::as_str);
        std::iter::once(SCRIPTED).chain(configured).collect()
    }

    fn route(&self, model: &ModelRef) -> Result<Route<'_>, Error> {
        self.provider(model.provider())
    }

    fn provider(&self, id: &str) -> Result<Route<'_>, Error> {
        if id == SCRIPTED {
            return Ok(Route::Script);
        }
        if let Some(refusal) = self.refused.get(id) {
            return Err(Error::UnsupportedTransport {
                problem: refusal.problem.clone(),
                next_step: refusal.next_step.clone(),
            });
        }
        match self.providers.get(id) {
            Some(Ok(provider)) => Ok(Route::Http(provider)),
            Some(Err(what)) => Err(Error::BadAddress {
                provider: id.to_owned(),
                what,
            }),
            None => Err(Error::UnknownProvider {
                provider: text::preview(id, NAME_BYTES),
                nearest: text::nearest(id, self.providers()).map(str::to_owned),
            }),
        }
    }
}

/// Bytes of an unknown provider id that are repeated in the error; the known ids fit beside it.
const NAME_BYTES: usize = 64;

/// Runs `work` until `cancel` fires; then the work is dropped, and its connection with it.
async fn unless_cancelled<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, ModelFailure>>,
) -> Result<T, ModelFailure> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Error::Cancelled.into()),
        done = work => done,
    }
}

#[cfg(test)]
mod tests;
