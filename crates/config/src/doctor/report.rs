//! What the doctor reports, as people and programs read it. Nothing secret is in here.

use crate::catalog::{ModelCapability, Price};
use crate::credential::CredentialState;
use crate::provider::ProviderEntry;
use crate::settings::Settings;
use holon_domain::provider::ModelPolicy;
use serde::Serialize;

/// The report of `holon config doctor`: whether agents can work, the reasons, and the next steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// True if any model of the chain can be asked.
    pub can_work: bool,
    /// The one thing to do next.
    pub next_step: String,
    /// The model agents ask unless they have their own.
    pub default_model: Option<String>,
    pub default_model_source: Option<&'static str>,
    /// Models to turn to, as set.
    pub fallback_models: Vec<String>,
    /// The models a turn may ask, in order.
    pub effective_chain: Vec<String>,
    /// True if only the chosen model is ever asked.
    pub disable_provider_fallback: bool,
    /// Tokens a model may write in one round.
    pub runtime_max_output_tokens: u32,
    /// Seconds a provider may take until its answer begins.
    pub provider_http_timeout_secs: u64,
    /// Milliseconds an answer that has begun may be silent.
    pub provider_stream_idle_timeout_ms: u64,
    pub retry_policy: RetryPolicy,
    /// Seconds that a suspended turn asks its models again by itself.
    pub provider_patience_secs: u64,
    /// The date of the built-in figures.
    pub figures_as_of: &'static str,
    /// Each model of the chain.
    pub model_availability: Vec<ModelAvailability>,
    pub providers: Vec<ProviderReport>,
}

/// The retry policy of provider requests. The engine applies it; the numbers are its constants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetryPolicy {
    /// Tries beside the first.
    pub max_retries_per_provider: u32,
    pub max_attempts_per_provider: u32,
    /// First pause between tries.
    pub base_backoff_ms: u64,
    /// Factor by which each further pause is longer.
    pub backoff_growth: u64,
    /// The same while a caller waits for the answer.
    pub attended_backoff_growth: u64,
    /// Longest pause between tries.
    pub max_backoff_ms: u64,
    /// Longest pause of a suspended turn before all models are asked again; the first is as long as the first above.
    pub max_suspension_pause_ms: u64,
    /// Failure kinds that are retried.
    pub retryable_failure_kinds: Vec<String>,
    pub fail_fast_failure_kinds: Vec<String>,
    /// Longest time that a turn waits for the network, or for a named renewal, while a caller waits for its answer.
    pub attended_patience_ms: u64,
    /// Most waits for a named renewal in one such round.
    pub renewals_per_round: u32,
    /// Farthest named renewal that a suspended turn waits for.
    pub renewal_patience_ms: u64,
    /// Failure kinds after which a suspended turn asks its models again by itself.
    pub passing_failure_kinds: Vec<String>,
    /// Failure kinds after which a suspended turn waits for an operator.
    pub operator_failure_kinds: Vec<String>,
    /// Failure kinds that end the turn.
    pub refused_failure_kinds: Vec<String>,
    /// Failure kinds after which no other model is asked, except one on this machine when the network is missing.
    pub last_failure_kinds: Vec<String>,
}

/// The availability of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelAvailability {
    pub model: String,
    pub provider: String,
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub metadata_source: &'static str,
    /// True if there is such a provider.
    pub provider_configured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_kind: Option<&'static str>,
    /// True if there is one, or none is needed.
    pub credential_configured: bool,
    /// True if it can be asked.
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    pub capabilities: Vec<ModelCapability>,
    /// Absent when the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd_per_million_tokens: Option<Price>,
    /// The figures it is asked by.
    pub policy: ModelPolicy,
}

/// The availability of one provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderReport {
    pub provider: String,
    pub source: &'static str,
    /// As the settings spell it, also if this build does not support it.
    pub transport: String,
    pub base_url: String,
    /// Prompt features (caching, reasoning) that requests to this provider may use.
    pub prompt_capabilities: Vec<&'static str>,
    /// Optional parts of a request that the settings leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<&'static str>,
    pub credential_source: &'static str,
    pub credential_kind: &'static str,
    /// Variables that are looked at for it, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credential_env: Vec<String>,
    /// The stored profile it is in. Absent if a variable, a login or a command has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_profile: Option<String>,
    /// `configured`, `not_needed`, `missing`, `expired` or `unusable`.
    pub credential: &'static str,
    /// The check that only a request to the provider would make. Absent when everything was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<Untried>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// The model that is asked when none is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
}

/// A property that only a request to the provider would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Untried {
    /// The command that prints the credential was not run.
    Command,
    /// The server asks for no credential and was not contacted.
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
            transport: entry.transport().to_owned(),
            base_url: entry.spec.base_url.clone(),
            prompt_capabilities: capabilities.iter().map(|one| one.as_str()).collect(),
            omit: entry.spec.omit.iter().map(|one| one.as_str()).collect(),
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
