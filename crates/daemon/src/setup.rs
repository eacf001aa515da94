//! The setup of a running host: its settings, the models that follow from them, and the reload.
//!
//! A reload is atomic: new settings are used only if all of them could be read and bound. Settings that need a
//! restart are used by the next start.

use crate::in_force::{Reread, SettingsInForce};
use crate::port::{ProviderBinding, ReloadableAdapters, limits, wall_clock};
use async_trait::async_trait;
use holon_api::{
    ModelCapabilities, ModelMetadata, ModelsResponse, ProviderSurface, ReloadResponse,
    RuntimeSurface,
};
use holon_config::{
    CatalogModel, CredentialError, Env, ModelCapability, ProviderEntry, Settings, UsdPerMillion,
    credentials,
};
use holon_domain::AgentId;
use holon_domain::hmac;
use holon_domain::model::{ModelChain, ModelPrice, ModelRef};
use holon_domain::provider::{AuthKind, CredentialRenewal, PolicySource};
use holon_domain::text;
use holon_engine::Host;
use holon_server::HostFacts;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Reads the settings again as this process read them at its start: with the same flags and environment.
pub type SettingsReader = Arc<dyn Fn() -> Result<Settings, String> + Send + Sync>;

/// The setup of a running host, as the server exposes it.
pub(crate) struct HostSetup {
    settings: Arc<SettingsInForce>,
    reread: SettingsReader,
    host: Arc<Host>,
    live: ReloadableAdapters,
    /// Held during a reload, so that reloads do not overlap.
    reloading: Mutex<()>,
}

/// Returns the chain of models that agents use.
pub(crate) fn chain(settings: &Settings) -> ModelChain {
    ModelChain {
        default: settings.model.as_ref().map(|model| model.value.clone()),
        fallbacks: settings.fallbacks.value.clone(),
        fallback_disabled: settings.disable_provider_fallback.value,
        local_providers: local_providers(settings),
        renewals: renewals(settings),
        prices: prices(settings),
    }
}

/// Returns the prices of models that are known.
fn prices(settings: &Settings) -> BTreeMap<String, ModelPrice> {
    let row = |model: ModelRef| {
        let price = settings.catalog.price(&model)?;
        Some((
            model.to_string(),
            ModelPrice {
                input_per_million: price.input.micros(),
                cached_input_per_million: price.cache_read.map(UsdPerMillion::micros),
                cache_write_per_million: price.cache_write.map(UsdPerMillion::micros),
                output_per_million: price.output.micros(),
            },
        ))
    };
    let models = settings.catalog.references().into_iter();
    models.filter_map(row).collect()
}

/// Returns the step that renews the credential of each provider.
fn renewals(settings: &Settings) -> BTreeMap<String, CredentialRenewal> {
    let step = |entry: &ProviderEntry| (entry.spec.id.clone(), holon_config::renewal(entry));
    settings.providers.iter().map(step).collect()
}

/// Lists the providers that need no network: those on this machine, and scripts.
fn local_providers(settings: &Settings) -> Vec<String> {
    let here = settings.providers.iter().filter(|entry| entry.loopback);
    here.map(|entry| entry.spec.id.clone())
        .chain([holon_config::SCRIPTED.to_owned()])
        .collect()
}

impl HostSetup {
    /// Creates the setup of a host that runs with these settings.
    pub(crate) fn new(
        settings: SettingsInForce,
        reread: SettingsReader,
        host: Arc<Host>,
        live: ReloadableAdapters,
    ) -> Self {
        Self {
            settings: Arc::new(settings),
            reread,
            host,
            live,
            reloading: Mutex::new(()),
        }
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.now()
    }

    /// Reads the settings again and uses them, all or none.
    ///
    /// # Errors
    /// Returns the reason they cannot be used; the old ones stay.
    pub(crate) async fn reload(&self) -> Result<ReloadResponse, String> {
        let _one = self.reloading.lock().await;
        let (reread, settings) = (Arc::clone(&self.reread), Arc::clone(&self.settings));
        let secrets = self.live.models.secrets().clone();
        // It reads files, so it runs off the async threads.
        let read = tokio::task::spawn_blocking(move || {
            let reread = settings.judge(reread()?);
            let bound = ProviderBinding::new(&reread.settings, limits(&reread.settings), secrets);
            Ok((reread, bound.map_err(|error| error.to_string())?))
        });
        let read = read.await.unwrap_or_else(|ended| Err(ended.to_string()));
        let (reread, bound) = read.inspect_err(|reason| {
            tracing::warn!(%reason, "settings were read again and cannot be used; the old ones stay");
        })?;
        let Reread {
            settings,
            changed,
            restart_needed,
        } = reread;
        let now = chain(&settings);
        self.live.swap(&settings, bound);
        self.host.set_models(now.clone());
        let in_force = Arc::clone(&self.settings);
        let taken = tokio::task::spawn_blocking(move || in_force.take_over(settings));
        if let Err(ended) = taken.await {
            tracing::error!(%ended, "the settings in force were not noted");
        }
        tracing::info!(?changed, ?restart_needed, "settings were read again");
        Ok(ReloadResponse {
            ok: true,
            changed,
            restart_needed,
            default_model: now.default.as_ref().map(ToString::to_string),
            fallback_models: now.fallbacks.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Returns the rows of the model catalog.
fn metadata(settings: &Settings) -> Vec<ModelMetadata> {
    let catalog = &settings.catalog;
    let row = |known: &CatalogModel| {
        let has = |capability| known.capabilities.contains(&capability);
        let policy = catalog
            .policy(&known.model, &settings.max_output_tokens)
            .within_window();
        ModelMetadata {
            model_ref: known.model.to_string(),
            display_name: catalog.display_name(&known.model),
            description: catalog.description(&known.model).unwrap_or_default().into(),
            context_window_tokens: known.context_window_tokens,
            effective_context_window_percent: known.effective_context_window_percent,
            default_max_output_tokens: Some(policy.max_output_tokens),
            max_output_tokens_upper_limit: known.max_output_tokens_upper_limit,
            capabilities: ModelCapabilities {
                parallel_tool_calls: has(ModelCapability::ParallelToolCalls),
                reasoning_summaries: has(ModelCapability::Reasoning),
                image_input: has(ModelCapability::ImageInput),
                interactive_exec: true,
                freeform_tools: has(ModelCapability::FreeformTools),
            },
            source: PolicySource::BuiltInCatalog.to_string(),
            price: known.price.as_ref().and_then(to_wire),
        }
    };
    catalog.models().map(row).collect()
}

/// Returns the effective settings about models and tools, with the credentials that exist.
fn surface(settings: &Settings, env: &Env) -> RuntimeSurface {
    let found = holon_config::model_availability(settings, env, wall_clock());
    let has_credential = |provider: &str| {
        found
            .iter()
            .any(|row| row.provider == provider && row.credential_configured)
    };
    let providers = settings.providers.iter().map(|entry| ProviderSurface {
        id: entry.spec.id.clone(),
        transport: entry.transport().to_owned(),
        base_url: entry.spec.base_url.clone(),
        credential_source: entry.auth.source.as_str().to_owned(),
        credential_kind: entry.auth.kind.as_str().to_owned(),
        credential_configured: has_credential(&entry.spec.id),
    });
    RuntimeSurface {
        model_default: settings.model.as_ref().map(|model| model.value.to_string()),
        model_fallbacks: settings
            .fallbacks
            .value
            .iter()
            .map(ToString::to_string)
            .collect(),
        model_catalog: settings
            .catalog
            .models()
            .map(|known| known.model.to_string())
            .collect(),
        unknown_model_fallback_configured: settings.has_unknown_model_limits(),
        runtime_max_output_tokens: settings.max_output_tokens.value,
        default_tool_output_tokens: settings.default_tool_output_tokens.value,
        max_tool_output_tokens: settings.max_tool_output_tokens.value,
        disable_provider_fallback: settings.disable_provider_fallback.value,
        providers: providers.collect(),
    }
}

/// Converts a row to its wire type. Both types have the same fields; a row that did not fit would be left out and
/// logged.
fn to_wire<T: DeserializeOwned>(row: &impl Serialize) -> Option<T> {
    let made = serde_json::to_value(row).and_then(serde_json::from_value);
    if let Err(error) = &made {
        tracing::error!(%error, "a row of the catalog cannot be sent");
    }
    made.ok()
}

/// Returns the id of the credential profile that holds the secret of an agent's webhooks.
fn webhook_profile(agent_id: &AgentId) -> String {
    let id = format!("webhook:{agent_id}");
    match credentials::check_id(&id) {
        Ok(()) => id,
        // The longest names leave no room for the prefix.
        Err(_) => {
            let digest = text::sha256_hex(agent_id.as_str());
            format!("webhook:{}", text::prefix(&digest, 40))
        }
    }
}

/// A stored secret of webhooks, as far as it concerns the agent with one birth.
#[derive(Debug)]
enum StoredSecret {
    Usable(SecretString),
    /// It was stored for an earlier agent of the name.
    OfAnother,
    Unreadable,
}

/// Encodes a secret for its profile, with the birth of its agent. It is in hexadecimal, because a profile has no spaces
/// and a secret may.
fn encode_secret(birth: i64, secret: &SecretString) -> SecretString {
    let secret = hmac::hex(secret.expose_secret().as_bytes());
    SecretString::from(format!("{birth}.{secret}"))
}

/// Decodes a stored secret. One without a birth was stored by an earlier build, and is that of the present agent.
fn decode_secret(stored: &SecretString, birth: i64) -> StoredSecret {
    let (of, secret) = match stored.expose_secret().split_once('.') {
        Some((of, secret)) => (of.parse().ok(), secret),
        None => (Some(birth), stored.expose_secret()),
    };
    let secret = hmac::from_hex(secret).and_then(|bytes| String::from_utf8(bytes).ok());
    match (of, secret) {
        (Some(of), _) if of != birth => StoredSecret::OfAnother,
        (Some(_), Some(secret)) => StoredSecret::Usable(SecretString::from(secret)),
        (None, _) | (_, None) => StoredSecret::Unreadable,
    }
}

impl HostSetup {
    /// Runs a look at the credentials off the async threads.
    async fn with_credentials<T: Send + 'static>(
        &self,
        agent_id: &AgentId,
        act: impl FnOnce(&Path, &str) -> Result<T, CredentialError> + Send + 'static,
    ) -> Result<T, String> {
        let (home, id) = (
            self.settings().home.value.clone(),
            webhook_profile(agent_id),
        );
        let done = tokio::task::spawn_blocking(move || act(&home, &id)).await;
        done.map_err(|ended| ended.to_string())?
            .map_err(|error| error.to_string())
    }
}

#[async_trait]
impl holon_server::SetupReader for HostSetup {
    async fn has_webhook_secret(&self, agent_id: &AgentId, birth: i64) -> Result<bool, String> {
        let stored = self.with_credentials(agent_id, credentials::stored).await?;
        Ok(
            stored.is_some_and(|stored| match decode_secret(&stored, birth) {
                StoredSecret::Usable(_) | StoredSecret::Unreadable => true,
                StoredSecret::OfAnother => false,
            }),
        )
    }

    async fn models(&self) -> ModelsResponse {
        let settings = self.settings();
        // Looks at files for credentials, so it happens off the async threads.
        let looked = tokio::task::spawn_blocking(move || {
            holon_config::model_availability(&settings, &Env::from_process(), wall_clock())
        });
        let found = looked.await.unwrap_or_default();
        ModelsResponse {
            available_models: metadata(&self.settings()),
            model_availability: found.iter().filter_map(to_wire).collect(),
        }
    }

    async fn facts(&self) -> HostFacts {
        let settings = self.settings();
        let looked = tokio::task::spawn_blocking(move || surface(&settings, &Env::from_process()));
        let record = self.settings.record();
        HostFacts {
            socket_path: Some(record.socket_path.display().to_string()),
            started_at: Some(record.started_at),
            config_fingerprint: record.config_fingerprint,
            runtime: looked.await.ok(),
        }
    }
}

#[async_trait]
impl holon_server::SetupManager for HostSetup {
    async fn reload(&self) -> Result<ReloadResponse, String> {
        self.reload().await
    }

    async fn webhook_secret(
        &self,
        agent_id: &AgentId,
        birth: i64,
    ) -> Result<Option<SecretString>, String> {
        let stored = self.with_credentials(agent_id, credentials::stored).await?;
        match stored.map(|stored| decode_secret(&stored, birth)) {
            None | Some(StoredSecret::OfAnother) => Ok(None),
            Some(StoredSecret::Usable(secret)) => Ok(Some(secret)),
            Some(StoredSecret::Unreadable) => {
                Err("the stored secret of the webhook cannot be read; set it again".to_owned())
            }
        }
    }

    async fn with_webhook_secret(&self, agents: Vec<AgentId>) -> Result<Vec<AgentId>, String> {
        let home = self.settings().home.value.clone();
        let listed = tokio::task::spawn_blocking(move || credentials::list(&home)).await;
        let listed = listed.map_err(|ended| ended.to_string())?;
        let listed = listed.map_err(|error| error.to_string())?;
        let stored: HashSet<String> = listed.into_iter().map(|profile| profile.id).collect();
        let has_secret = |agent_id: &AgentId| stored.contains(&webhook_profile(agent_id));
        Ok(agents.into_iter().filter(has_secret).collect())
    }

    async fn set_webhook_secret(
        &self,
        agent_id: &AgentId,
        birth: i64,
        secret: SecretString,
    ) -> Result<(), String> {
        let encoded = encode_secret(birth, &secret);
        let act = move |home: &Path, id: &str| {
            credentials::set(home, id, AuthKind::BearerToken, &encoded).map(drop)
        };
        self.with_credentials(agent_id, act).await
    }

    async fn remove_webhook_secret(&self, agent_id: &AgentId) -> Result<(), String> {
        let act = |home: &Path, id: &str| credentials::remove(home, id).map(drop);
        self.with_credentials(agent_id, act).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_config::{FileSettings, Flags, resolve};
    use holon_domain::model::ModelRef;

    fn settings(text: &str) -> Settings {
        let file = FileSettings::parse(text, Path::new("/h/config.toml")).unwrap();
        let flags = Flags {
            home: Some("/h".into()),
            ..Flags::default()
        };
        resolve(&Env::default(), &flags, Some(&file)).unwrap()
    }

    #[test]
    fn every_row_of_the_catalog_can_be_sent() {
        let settings = settings("");
        let rows = metadata(&settings);
        assert_eq!(rows.len(), settings.catalog.models().count());
        for row in &rows {
            let known = settings
                .catalog
                .get(&ModelRef::parse(&row.model_ref).unwrap());
            assert_eq!(
                known.unwrap().price.is_some(),
                row.price.is_some(),
                "{row:?}"
            );
        }
        let found = holon_config::model_availability(&settings, &Env::default(), wall_clock());
        let rows: Vec<holon_api::ModelAvailability> = found.iter().filter_map(to_wire).collect();
        assert_eq!(rows.len(), found.len());
        assert!(
            rows.iter()
                .any(|row| !row.available && row.next_step.is_some())
        );
    }

    #[test]
    fn a_secret_of_webhooks_is_that_of_one_agent() {
        let stored = encode_secret(7, &SecretString::from("a secret"));
        let found = |stored: &SecretString, birth| match decode_secret(stored, birth) {
            StoredSecret::Usable(secret) => Some(secret.expose_secret().to_owned()),
            StoredSecret::OfAnother => None,
            StoredSecret::Unreadable => Some("unreadable".to_owned()),
        };
        assert_eq!(found(&stored, 7).as_deref(), Some("a secret"));
        assert_eq!(found(&stored, 8), None);
        let earlier = SecretString::from(hmac::hex(b"a secret"));
        assert_eq!(found(&earlier, 8).as_deref(), Some("a secret"));
        for broken in ["x.00", "7.zz", "zz", "7"] {
            let broken = SecretString::from(broken);
            assert_eq!(found(&broken, 7).as_deref(), Some("unreadable"));
        }
    }
}
