//! The host's setup while it runs: what its settings are, which models follow from them, and reading them again.
//!
//! A reload takes everything or nothing: new settings count only when all of them could be read and bound. What only
//! a start can change is left for the next one.

use async_trait::async_trait;
use holon_api::{ErrorBody, ModelsResponse, ReloadResponse};
use holon_config::Settings;
use holon_domain::model::{ModelChain, ModelRef};
use holon_engine::Host;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Reads the settings again as this process read them at its start: the same flags, the same environment.
pub type Reread = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

/// The doors to a running host's setup.
pub(crate) struct HostSetup {
    settings: RwLock<Arc<Settings>>,
    reread: Reread,
    host: Arc<Host>,
    shutdown: CancellationToken,
    /// One reload at a time.
    reloading: Mutex<()>,
}

/// Whom agents ask, as the settings have it.
pub(crate) fn chain(settings: &Settings) -> ModelChain {
    ModelChain::only(
        settings
            .model
            .as_ref()
            .map_or_else(ModelRef::none, |model| model.value.clone()),
    )
}

impl HostSetup {
    /// The setup of a host that runs with these settings.
    pub(crate) fn new(
        settings: Settings,
        reread: Reread,
        host: Arc<Host>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            settings: RwLock::new(Arc::new(settings)),
            reread,
            host,
            shutdown,
            reloading: Mutex::new(()),
        }
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the settings again and puts them in force, all or none.
    ///
    /// # Errors
    /// Why they cannot be used; the old ones stay.
    pub(crate) async fn read_again(&self) -> Result<ReloadResponse, ErrorBody> {
        let _one = self.reloading.lock().await;
        let reread = Arc::clone(&self.reread);
        let read = tokio::task::spawn_blocking(move || reread()).await;
        let read = read.unwrap_or_else(|stopped| Err(stopped.to_string()));
        let settings = read.map_err(refused)?;
        let before = chain(&self.settings());
        let now = chain(&settings);
        self.host.set_models(now.clone());
        *self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        let changed = if before == now {
            Vec::new()
        } else {
            vec!["model.default".to_owned()]
        };
        tracing::info!(?changed, "settings were read again");
        Ok(ReloadResponse {
            ok: true,
            changed,
            restart_needed: Vec::new(),
            default_model: (!now.default.is_none()).then(|| now.default.to_string()),
            fallback_models: now.fallbacks.iter().map(ToString::to_string).collect(),
        })
    }
}

fn refused(reason: String) -> ErrorBody {
    tracing::warn!(%reason, "settings were read again and cannot be used; the old ones stay");
    ErrorBody::new("invalid_settings", reason)
        .hint("the host goes on with the settings it has; correct this and reload again")
}

#[async_trait]
impl holon_server::Setup for HostSetup {
    async fn models(&self) -> ModelsResponse {
        ModelsResponse {
            available_models: Vec::new(),
            model_availability: Vec::new(),
        }
    }
}

#[async_trait]
impl holon_server::Manage for HostSetup {
    async fn reload(&self) -> Result<ReloadResponse, ErrorBody> {
        self.read_again().await
    }

    fn go_down(&self) {
        self.shutdown.cancel();
    }
}
