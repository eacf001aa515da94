//! The engine's port for models: calls providers through the router. New settings replace all providers at once.

use super::credential::Keys;
use super::credential_watch::CredentialWatch;
use crate::error::Error;
use async_trait::async_trait;
use holon_config::{Catalog, Env, ProviderEntry, Settings, Sourced};
use holon_domain::delta::TextSink;
use holon_domain::model::{CacheLives, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{
    ModelPolicy, PolicySource, ProviderSpec, RequestOption, StatedWindow, Transport,
};
use holon_engine::ThreadTerms;
use holon_engine::ports::{ModelClient, ModelName};
use holon_llm::{HttpLimits, Router, Secrets, TransportRefusal};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Directory of relative scripts for the scripted provider, in the home.
const SCRIPTS: &str = "scripts";

/// The providers of the current settings.
#[derive(Debug)]
pub(crate) struct Models {
    bound: RwLock<Arc<ProviderBinding>>,
    /// Secrets hidden from answers. They outlive the settings, because a provider may echo an old key.
    secrets: Secrets,
    watch: CredentialWatch,
}

/// The providers of one version of the settings. A call keeps the version it started with.
#[derive(Debug)]
pub(crate) struct ProviderBinding {
    router: Router,
    keys: Arc<Keys>,
    catalog: Catalog,
    max_output_tokens: Sourced<u32>,
    /// Cache life of each provider in milliseconds.
    cache_lives: BTreeMap<String, CacheLives>,
}

/// Returns the providers whose configured transport cannot be used, with the reasons.
fn refused_transports(settings: &Settings) -> BTreeMap<String, TransportRefusal> {
    let refusals = settings.providers.iter().filter_map(|entry| {
        let found = entry.unsupported_transport.clone()?;
        let refusal = TransportRefusal {
            problem: found.problem,
            next_step: found.next_step,
        };
        Some((entry.spec.id.clone(), refusal))
    });
    refusals.collect()
}

/// Returns true if requests to a provider can ask for a longer life of its cache.
fn asks_for_life(provider: &ProviderSpec) -> bool {
    let carrier = match provider.transport {
        Transport::AnthropicMessages => Some(RequestOption::CacheMarks),
        Transport::OpenaiResponses => None,
        Transport::OpenaiCodexResponses | Transport::OpenaiChatCompletions => return false,
    };
    let mut needed = carrier.into_iter().chain([RequestOption::CacheLife]);
    !needed.any(|option| provider.omit.contains(&option))
}

fn cache_lives(settings: &Settings) -> BTreeMap<String, CacheLives> {
    let lives = |entry: &ProviderEntry| {
        let lives = CacheLives {
            usual_ms: u64::from(entry.cache_life_secs) * 1_000,
            long_ms: if asks_for_life(&entry.spec) {
                u64::from(entry.long_cache_life_secs) * 1_000
            } else {
                0
            },
        };
        (entry.spec.id.clone(), lives)
    };
    settings.providers.iter().map(lives).collect()
}

impl ProviderBinding {
    /// Binds the providers of the settings, and hides these secrets from their answers.
    ///
    /// # Errors
    /// Fails if a provider cannot be set up, for example because of a malformed address.
    pub(crate) fn new(
        settings: &Settings,
        limits: HttpLimits,
        secrets: Secrets,
    ) -> Result<Self, Error> {
        let home = &settings.home.value;
        let keys = Arc::new(Keys::new(
            settings.providers.clone(),
            Env::from_process(),
            home.clone(),
        ));
        let specs = settings.providers.specs();
        let credentials = Arc::clone(&keys) as Arc<dyn holon_llm::Credentials>;
        Ok(Self {
            router: Router::new(home.join(SCRIPTS), specs, credentials, limits)?
                .with_refused(refused_transports(settings))
                .with_secrets(secrets),
            keys,
            catalog: settings.catalog.clone(),
            max_output_tokens: settings.max_output_tokens.clone(),
            cache_lives: cache_lives(settings),
        })
    }

    /// Makes one attempt at one model round.
    ///
    /// # Errors
    /// Returns the provider's failure, classified.
    pub(crate) async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.router.call(request, text, cancel).await
    }

    /// Returns true if a provider has a usable credential other than the one it refused last.
    pub(crate) async fn has_renewed_credential(&self, provider: &str) -> bool {
        self.keys.is_renewed(provider).await
    }

    /// Returns the context window that the server of a model states, if the settings and the table know none. For a
    /// binding that asks once.
    pub(crate) async fn stated_window(&self, model: &ModelRef) -> Option<StatedWindow> {
        let policy = self.catalog.policy(model, &self.max_output_tokens);
        match policy.source {
            PolicySource::UnknownFallback => self.router.stated_window(model, Duration::ZERO).await,
            PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => {
                None
            }
        }
    }

    /// Returns true if the server of a model did not answer when it was last asked for the window.
    pub(crate) async fn is_window_unanswered(&self, model: &ModelRef) -> bool {
        self.router.is_window_unanswered(model).await
    }

    /// Lists the models of a provider.
    ///
    /// # Errors
    /// Returns the provider's failure, classified.
    pub(crate) async fn list(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, ModelFailure> {
        self.router.models(provider, cancel).await
    }
}

/// Returns the timeouts and limits of calls from the settings.
pub(crate) fn limits(settings: &Settings) -> HttpLimits {
    HttpLimits::with_times(settings.http.timeout.value, settings.http.stream_idle.value)
}

impl Models {
    /// Binds the providers of the settings.
    ///
    /// # Errors
    /// Fails if a provider cannot be set up.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let secrets = Secrets::default();
        let bound = ProviderBinding::new(settings, limits(settings), secrets.clone())?;
        Ok(Self {
            bound: RwLock::new(Arc::new(bound)),
            secrets,
            watch: CredentialWatch::default(),
        })
    }

    /// Secrets that are hidden from every answer.
    pub(crate) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns every secret that the host can name: those hidden from answers, and the credentials of all providers.
    pub(crate) async fn all_secrets(&self) -> Secrets {
        let bound = self.current();
        self.secrets.with(bound.keys.readable_secrets().await)
    }

    /// Replaces the providers for calls that start from now on.
    pub(crate) fn swap(&self, bound: ProviderBinding) {
        *self.bound.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(bound);
    }

    fn current(&self) -> Arc<ProviderBinding> {
        Arc::clone(&self.bound.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl ModelClient for Models {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.current().call(request, text, &cancel).await
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        self.current().router.check(model).await
    }

    fn name(&self, model: &ModelRef) -> ModelName {
        let bound = self.current();
        ModelName {
            display_name: bound.catalog.display_name(model),
            description: bound.catalog.description(model).map(str::to_owned),
        }
    }

    fn cache_lives(&self, model: &ModelRef) -> CacheLives {
        let bound = self.current();
        let lives = bound.cache_lives.get(model.provider()).copied();
        lives.unwrap_or(ThreadTerms::DEFAULT.cache)
    }

    fn policy(&self, model: &ModelRef) -> ModelPolicy {
        let bound = self.current();
        bound.catalog.policy(model, &bound.max_output_tokens)
    }

    fn endpoint(&self, model: &ModelRef) -> Option<String> {
        self.current().router.endpoint(model)
    }

    async fn stated_window(&self, model: &ModelRef, now: Duration) -> Option<StatedWindow> {
        self.current().router.stated_window(model, now).await
    }

    fn watch_credential(&self, provider: &str) {
        self.watch.add(provider);
    }

    async fn credential_renewed(&self) -> String {
        self.watch.next_renewed(|| self.current()).await
    }
}
