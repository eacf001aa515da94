//! What the doctor reports, as people and programs read it. Nothing secret is in here.

use crate::catalog::{ModelCapability, Price};
use crate::credential::CredentialState;
use crate::provider::ProviderEntry;
use crate::settings::Settings;
use holon_domain::provider::ModelPolicy;
use serde::Serialize;

/// Whether agents can work, why, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// Whether any model of the chain can be asked.
    pub can_work: bool,
    /// The one thing to do next.
    pub next_step: String,
    /// The model agents ask unless they have their own.
    pub default_model: Option<String>,
    /// Who chose it.
    pub default_model_source: Option<&'static str>,
    /// Models to turn to, as set.
    pub fallback_models: Vec<String>,
    /// The models a turn may ask, in order.
    pub effective_chain: Vec<String>,
    /// Whether only the chosen model is ever asked.
    pub disable_provider_fallback: bool,
    /// Tokens a model may write in one round.
    pub runtime_max_output_tokens: u32,
    /// Seconds a provider may take until its answer begins.
    pub provider_http_timeout_secs: u64,
    /// Milliseconds an answer that has begun may be silent.
    pub provider_stream_idle_timeout_ms: u64,
    /// What happens when an attempt fails.
    pub retry_policy: RetryPolicy,
    /// The date of the built-in figures.
    pub figures_as_of: &'static str,
    /// Each model of the chain.
    pub model_availability: Vec<ModelAvailability>,
    /// Each provider.
    pub providers: Vec<ProviderReport>,
}

/// What happens when an attempt fails; the numbers are those of whoever retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetryPolicy {
    /// Tries beside the first.
    pub max_retries_per_provider: u32,
    /// All tries.
    pub max_attempts_per_provider: u32,
    /// First pause between tries.
    pub base_backoff_ms: u64,
    /// How many times as long each further pause is.
    pub backoff_growth: u64,
    /// The same while somebody waits for the answer.
    pub attended_backoff_growth: u64,
    /// Longest pause between tries.
    pub max_backoff_ms: u64,
    /// Longest pause of a suspended turn before all models are asked again; the first is as long as the first above.
    pub max_suspension_pause_ms: u64,
    /// What is tried again.
    pub retryable_failure_kinds: Vec<String>,
    /// What is not.
    pub fail_fast_failure_kinds: Vec<String>,
}

/// Whether a model can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelAvailability {
    /// Which, as `provider/model`.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// What people read.
    pub display_name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where its figures come from.
    pub metadata_source: &'static str,
    /// Whether there is such a provider.
    pub provider_configured: bool,
    /// Who says what the provider is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_source: Option<&'static str>,
    /// How it is spoken to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<&'static str>,
    /// Where the credential comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_source: Option<&'static str>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_kind: Option<&'static str>,
    /// Whether there is one, or none is needed.
    pub credential_configured: bool,
    /// Whether it can be asked.
    pub available: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_reason: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// What it can do beside text and tools.
    pub capabilities: Vec<ModelCapability>,
    /// What it costs; absent when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd_per_million_tokens: Option<Price>,
    /// The figures it is asked by.
    pub policy: ModelPolicy,
}

/// Whether a provider can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderReport {
    /// Its id.
    pub provider: String,
    /// Who says what it is.
    pub source: &'static str,
    /// How it is spoken to.
    pub transport: &'static str,
    /// Where.
    pub base_url: String,
    /// What the lowering of a prompt may use with it.
    pub prompt_capabilities: Vec<&'static str>,
    /// Where the credential comes from.
    pub credential_source: &'static str,
    /// What it is.
    pub credential_kind: &'static str,
    /// Variables that are looked at for it, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credential_env: Vec<String>,
    /// The stored profile it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_profile: Option<String>,
    /// `configured`, `not_needed`, `missing`, `expired` or `unusable`.
    pub credential: &'static str,
    /// What of it has not been tried, although nothing is known to be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<Untried>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What to do about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The model that is asked when none is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
}

/// What only a question to the provider would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Untried {
    /// Whether the command prints its credential.
    Command,
    /// Whether its server, which asks for no credential, runs.
    Server,
}

impl Untried {
    const fn of(state: &CredentialState) -> Option<Self> {
        match state {
            CredentialState::Printed => Some(Self::Command),
            CredentialState::NotNeeded => Some(Self::Server),
            CredentialState::Configured
            | CredentialState::Missing { .. }
            | CredentialState::Expired { .. }
            | CredentialState::Unusable { .. } => None,
        }
    }
}

impl ProviderReport {
    pub(super) fn of(entry: &ProviderEntry, state: &CredentialState, settings: &Settings) -> Self {
        let capabilities = entry.spec.capabilities();
        let trouble = state.trouble();
        Self {
            provider: entry.spec.id.clone(),
            source: entry.source.as_str(),
            transport: entry.spec.transport.as_str(),
            base_url: entry.spec.base_url.clone(),
            prompt_capabilities: capabilities.iter().map(|one| one.as_str()).collect(),
            credential_source: entry.auth.source.as_str(),
            credential_kind: entry.auth.kind.as_str(),
            credential_env: entry
                .auth
                .env
                .iter()
                .map(|variable| variable.name.clone())
                .collect(),
            credential_profile: entry.auth.profile.clone(),
            credential: state.as_str(),
            not_tried: Untried::of(state),
            problem: trouble.map(|(problem, _)| problem.to_owned()),
            next_step: trouble.map(|(_, next)| next.to_owned()),
            default_model: settings
                .catalog
                .default_of(&entry.spec.id)
                .map(|model| model.to_string()),
        }
    }
}
