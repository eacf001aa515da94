//! The doctor: what can be asked, what cannot and why, and the one thing to do next. It asks no provider anything.

mod report;

pub use report::{DoctorReport, ModelAvailability, ProviderReport, RetryPolicy, Untried};

use crate::credential::{CredentialState, profile_in_use, state};
use crate::env::Env;
use crate::provider::{ProviderEntry, SCRIPTED};
use crate::settings::Settings;
use holon_domain::model::ModelRef;
use holon_domain::time::Timestamp;

/// Looks at everything that decides whether agents can work.
#[must_use]
pub fn doctor(settings: &Settings, env: &Env, now: Timestamp, retry: RetryPolicy) -> DoctorReport {
    let chain = settings.model_chain();
    let available: Vec<ModelAvailability> = chain
        .iter()
        .map(|model| availability(settings, env, now, model))
        .collect();
    let providers = provider_reports(settings, env, now);
    let can_work = available.iter().any(|model| model.available);
    DoctorReport {
        can_work,
        next_step: next_step(&available, &providers),
        default_model: settings.model.as_ref().map(|model| model.value.to_string()),
        default_model_source: settings.model.as_ref().map(|model| model.source.as_str()),
        fallback_models: settings
            .fallbacks
            .value
            .iter()
            .map(ToString::to_string)
            .collect(),
        effective_chain: chain.iter().map(ToString::to_string).collect(),
        disable_provider_fallback: settings.disable_provider_fallback.value,
        runtime_max_output_tokens: settings.max_output_tokens.value,
        provider_http_timeout_secs: settings.http.timeout.value.as_secs(),
        provider_stream_idle_timeout_ms: u64::try_from(settings.http.stream_idle.value.as_millis())
            .unwrap_or(u64::MAX),
        retry_policy: retry,
        provider_patience_secs: settings.provider_patience.value.as_secs(),
        figures_as_of: settings.catalog.figures_as_of(),
        model_availability: available,
        providers,
    }
}

/// Every model anything is known about, and those of the chain, with whether it can be asked.
#[must_use]
pub fn model_availability(
    settings: &Settings,
    env: &Env,
    now: Timestamp,
) -> Vec<ModelAvailability> {
    let mut models = settings.model_chain();
    for model in settings.catalog.references() {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let states = States::look(settings, env, now);
    models
        .iter()
        .map(|model| states.availability(settings, model))
        .collect()
}

/// Every provider, with whether it can be asked.
#[must_use]
pub fn provider_reports(settings: &Settings, env: &Env, now: Timestamp) -> Vec<ProviderReport> {
    let home = &settings.home.value;
    let report = |entry: &ProviderEntry| ProviderReport {
        credential_profile: profile_in_use(entry, env, home),
        ..ProviderReport::of(entry, &state(entry, env, home, now), settings)
    };
    settings.providers.iter().map(report).collect()
}

/// The credential state of each provider, looked up once per report.
struct States(Vec<(String, CredentialState)>);

impl States {
    fn look(settings: &Settings, env: &Env, now: Timestamp) -> Self {
        let home = &settings.home.value;
        let states = settings.providers.iter();
        Self(
            states
                .map(|entry| (entry.spec.id.clone(), state(entry, env, home, now)))
                .collect(),
        )
    }

    fn availability(&self, settings: &Settings, model: &ModelRef) -> ModelAvailability {
        let found = self.0.iter().find(|(id, _)| id == model.provider());
        describe(settings, model, found.map(|(_, state)| state))
    }
}

fn availability(
    settings: &Settings,
    env: &Env,
    now: Timestamp,
    model: &ModelRef,
) -> ModelAvailability {
    let entry = settings.providers.get(model.provider());
    let state = entry.map(|entry| state(entry, env, &settings.home.value, now));
    describe(settings, model, state.as_ref())
}

fn describe(
    settings: &Settings,
    model: &ModelRef,
    state: Option<&CredentialState>,
) -> ModelAvailability {
    let entry = settings.providers.get(model.provider());
    let scripted = model.provider() == SCRIPTED;
    let policy = settings
        .catalog
        .policy(model, &settings.max_output_tokens)
        .within_window();
    let trouble = state.and_then(CredentialState::trouble);
    let (reason, next) = match (trouble, state, scripted) {
        (Some((problem, next)), ..) => (Some(problem.to_owned()), Some(next.to_owned())),
        (None, None, false) => {
            let unknown = settings.providers.unknown(model.provider());
            let next = "choose a model of a provider there is: holon config set model.default PROVIDER/MODEL";
            (Some(unknown), Some(next.to_owned()))
        }
        (None, Some(_), _) | (None, None, true) => (None, None),
    };
    let known = settings.catalog.get(model);
    ModelAvailability {
        model: model.to_string(),
        provider: model.provider().to_owned(),
        display_name: settings.catalog.display_name(model),
        description: settings.catalog.description(model).map(str::to_owned),
        metadata_source: policy.source.as_str(),
        provider_configured: entry.is_some() || scripted,
        provider_source: entry.map(|entry| entry.source.as_str()),
        transport: entry.map(|entry| entry.transport().to_owned()),
        credential_source: entry.map(|entry| entry.auth.source.as_str()),
        credential_kind: entry.map(|entry| entry.auth.kind.as_str()),
        credential_configured: state.is_some_and(CredentialState::is_usable),
        available: reason.is_none(),
        unavailable_reason: reason,
        next_step: next,
        capabilities: known
            .map(|known| known.capabilities.clone())
            .unwrap_or_default(),
        price_usd_per_million_tokens: known.and_then(|known| known.price),
        policy,
    }
}

/// The three ways to a model, for whoever has none.
const THREE_WAYS: &str = "give it a model in one of three ways: log in with `codex login`; set a key such as OPENAI_API_KEY or ANTHROPIC_API_KEY; or start a local server such as Ollama. Then run: holon init. Without any of these, holon demo shows the runtime with a scripted model";

fn next_step(chain: &[ModelAvailability], providers: &[ProviderReport]) -> String {
    let Some(first) = chain.first() else {
        let ready = providers
            .iter()
            .find(|provider| provider.credential == "configured");
        return match ready {
            Some(provider) => format!(
                "{id} has a credential; choose a model: holon config set model.default {id}/MODEL",
                id = provider.provider
            ),
            None => THREE_WAYS.to_owned(),
        };
    };
    let Some(reason) = &first.unavailable_reason else {
        return format!(
            "nothing; try: holon run \"say hello\" (it asks {})",
            first.model
        );
    };
    let next = first.next_step.as_deref().unwrap_or(THREE_WAYS);
    match chain.iter().find(|model| model.available) {
        Some(other) => format!(
            "agents work with {}, because {} cannot be asked ({reason}); {next}",
            other.model, first.model
        ),
        None => format!("{} cannot be asked ({reason}); {next}", first.model),
    }
}
