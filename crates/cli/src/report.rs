//! Results of the commands about settings, as they are printed in JSON or rendered as text.

use crate::reload::ReloadOutcome;
use holon_config::{DoctorReport, Providers};
use holon_daemon::{LearnedModel, Probe};
use holon_domain::Timestamp;
use holon_domain::model::ModelRef;
use holon_domain::provider::{LimitSource, StatedWindow};
use holon_domain::token_ratio::TokenRatio;
use serde::Serialize;

/// A setting with its effective value.
#[derive(Debug, Serialize)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) value: serde_json::Value,
    pub(crate) source: &'static str,
}

/// Result of a probe of one model.
#[derive(Debug, Serialize)]
pub(crate) struct ProbeResult {
    pub(crate) model: String,
    pub(crate) ok: bool,
    pub(crate) latency_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Context window that the server states, in tokens; absent if the settings or the table know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stated_window_tokens: Option<u32>,
    /// Longest context window that the server could load the model with, in tokens; present if it states no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) longest_window_tokens: Option<u32>,
}

impl From<Probe> for ProbeResult {
    fn from(probe: Probe) -> Self {
        let failure = probe.answered.err();
        let (stated_window_tokens, longest_window_tokens) = match probe.stated_window {
            Some(StatedWindow::Exactly(tokens)) => (Some(tokens), None),
            Some(StatedWindow::AtMost(tokens)) => (None, Some(tokens)),
            None => (None, None),
        };
        Self {
            model: probe.model.to_string(),
            ok: failure.is_none(),
            latency_ms: probe.latency_ms,
            failure_kind: failure.as_ref().map(|failure| failure.kind.as_str()),
            error: failure.map(|failure| failure.message),
            stated_window_tokens,
            longest_window_tokens,
        }
    }
}

/// The report of `config doctor` with the results of the probes.
#[derive(Serialize)]
pub(crate) struct Diagnosis {
    #[serde(flatten)]
    pub(crate) report: DoctorReport,
    pub(crate) waiting_failure_kinds: Vec<String>,
    /// Problems of the home's store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) store_findings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) probes: Vec<ProbeResult>,
    /// Limits that providers have revealed.
    pub(crate) learned_limits: Vec<LearnedLimit>,
    /// Absent if no host is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running_host: Option<RunningHost>,
}

/// The limits of one model that its provider has revealed.
#[derive(Debug, Serialize)]
pub(crate) struct LearnedLimit {
    pub(crate) model: String,
    /// Base URL of the provider that revealed them. Absent if an earlier build learned them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    /// False if the provider has another base URL now.
    pub(crate) is_used: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_window_tokens: Option<u32>,
    /// `server`, `refusal` or `answer`; absent without a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window_source: Option<LimitSource>,
    /// Absent if an earlier build learned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window_learned_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_output_tokens: Option<u32>,
    /// Absent if an earlier build learned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_learned_at: Option<Timestamp>,
    /// Tokens that the provider counts for a thousand estimated ones; absent until an answer showed that they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_ratio_per_mille: Option<u16>,
}

impl LearnedLimit {
    /// Describes stored limits. Those of another server than the one that these settings name are not used.
    pub(crate) fn new(learned: LearnedModel, providers: &Providers) -> Self {
        let limits = learned.stored.limits;
        let provider = learned.model_ref.split('/').next();
        let entry = provider.and_then(|provider| providers.get(provider));
        let url = entry.map(|entry| entry.spec.base_url.trim_end_matches('/'));
        Self {
            is_used: learned.stored.endpoint.as_deref() == url,
            model: learned.model_ref,
            endpoint: learned.stored.endpoint,
            context_window_tokens: limits.context_window_tokens,
            window_source: limits.context_window_tokens.map(|_| limits.source),
            window_learned_at: learned.window_learned_at,
            max_output_tokens: limits.max_output_tokens,
            output_learned_at: learned.output_learned_at,
            token_ratio_per_mille: limits.token_ratio.map(TokenRatio::per_mille),
        }
    }
}

/// The models that a running host asks.
#[derive(Debug, Serialize)]
pub(crate) struct RunningHost {
    /// Absent if the host has none.
    pub(crate) default_model: Option<String>,
    pub(crate) fallback_models: Vec<String>,
    /// Agents with a model of their own.
    pub(crate) agents: Vec<AgentChain>,
}

/// The models that an agent with a model of its own asks.
#[derive(Debug, Serialize)]
pub(crate) struct AgentChain {
    pub(crate) agent_id: String,
    pub(crate) model: String,
    pub(crate) fallback_models: Vec<String>,
}

/// A model that `init` may set.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Candidate {
    pub(crate) model: String,
    /// Place the model was found in, for people.
    pub(crate) from: String,
}

impl Candidate {
    /// Creates the candidate that the operator named.
    pub(crate) fn named(model: &ModelRef) -> Self {
        Self {
            model: model.to_string(),
            from: "your choice".to_owned(),
        }
    }
}

/// Result of `init`: candidates, probes and the chosen model.
#[derive(Debug, Serialize)]
pub(crate) struct InitReport {
    pub(crate) ok: bool,
    /// Model that is set now; absent if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// True if this command set the model.
    pub(crate) set: bool,
    /// Fallbacks that this command set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallbacks: Vec<String>,
    /// In the order they were examined.
    pub(crate) found: Vec<Candidate>,
    pub(crate) probes: Vec<ProbeResult>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) applied: Option<ReloadOutcome>,
    /// Ways to get a model; filled only if none was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ways: Vec<String>,
    /// Next steps of the operator.
    pub(crate) next: Vec<String>,
}
