//! Models through the router of providers, as the settings have it now; other settings take their place as a whole.

use super::credential::Keys;
use crate::error::Error;
use async_trait::async_trait;
use holon_config::{Catalog, Env, Settings, Sourced};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_engine::ports::{ModelClient, TextSink};
use holon_llm::{HttpLimits, Router, Secrets};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_util::sync::CancellationToken;

/// Where relative scripts of the scripted provider are looked up, under the home.
const SCRIPTS: &str = "scripts";

/// Every provider of the settings.
#[derive(Debug)]
pub(crate) struct Models {
    bound: RwLock<Arc<Bound>>,
    /// Outlives the settings: a key that was asked with once may still come back.
    secrets: Secrets,
}

/// The providers of one reading of the settings. A call that has begun keeps the one it began with.
#[derive(Debug)]
pub(crate) struct Bound {
    router: Router,
    keys: Arc<Keys>,
    catalog: Catalog,
    max_output_tokens: Sourced<u32>,
}

impl Bound {
    /// Binds what the settings say, and keeps these secrets out of what is answered.
    ///
    /// # Errors
    /// When a provider cannot be spoken to at all, such as one with a malformed address.
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
            router: Router::new(home.join(SCRIPTS), specs, credentials, limits)?.hiding(secrets),
            keys,
            catalog: settings.catalog.clone(),
            max_output_tokens: settings.max_output_tokens.clone(),
        })
    }

    /// One attempt at one round.
    ///
    /// # Errors
    /// The provider's failure, classified.
    pub(crate) async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let answer = self.router.call(request, text, cancel).await;
        if let Err(failure) = &answer
            && failure.kind == ModelFailureKind::Auth
        {
            self.keys.forget(request.model.provider());
        }
        answer
    }

    /// The models a provider lists.
    ///
    /// # Errors
    /// The provider's failure, classified.
    pub(crate) async fn list(
        &self,
        provider: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<String>, ModelFailure> {
        self.router.models(provider, cancel).await
    }
}

/// The deadlines and bounds of calls, as the settings have them.
pub(crate) fn limits(settings: &Settings) -> HttpLimits {
    HttpLimits::with_times(settings.http.timeout.value, settings.http.stream_idle.value)
}

impl Models {
    /// Binds what the settings say.
    ///
    /// # Errors
    /// When a provider cannot be spoken to at all.
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let secrets = Secrets::default();
        let bound = Bound::new(settings, limits(settings), secrets.clone())?;
        Ok(Self {
            bound: RwLock::new(Arc::new(bound)),
            secrets,
        })
    }

    /// What is kept out of every answer.
    pub(crate) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Puts other settings in the place of these, for calls that begin from now on.
    pub(crate) fn swap(&self, bound: Bound) {
        *self.bound.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(bound);
    }

    fn now(&self) -> Arc<Bound> {
        Arc::clone(&self.bound.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl ModelClient for Models {
    async fn call(
        &self,
        request: ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let answer = self.now().call(&request, text, &cancel).await;
        if let Err(failure) = &answer
            && !cancel.is_cancelled()
        {
            // Another model may hide it from the one who asked. The words are bounded and hold no secret.
            let (kind, why) = (failure.kind.as_str(), &failure.message);
            tracing::warn!(model = %request.model, kind, why, "a model did not answer");
        }
        answer
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        self.now().router.check(model).await
    }

    fn policy(&self, model: &ModelRef) -> ModelPolicy {
        let bound = self.now();
        bound.catalog.policy(model, &bound.max_output_tokens)
    }
}
