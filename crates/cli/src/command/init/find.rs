//! Finds models on this machine: providers with a credential in order of preference, then local servers.

use crate::exit::Failure;
use crate::report::Candidate;
use holon_config::{CredentialState, Env, ProviderEntry, Settings, state};

/// Providers that usually run on the user's machine, in the order they are examined.
const LOCAL: [&str; 5] = ["ollama", "lmstudio", "llamacpp", "vllm", "litellm"];

/// Finds all candidates. Only local servers are contacted.
pub(super) async fn candidates(settings: &Settings) -> Result<Vec<Candidate>, Failure> {
    let mut found = with_credential(settings);
    let listed = holon_daemon::local_models(settings, &local(settings)).await?;
    for (provider, models) in listed {
        // Servers also list embedding models, which cannot answer.
        let answers = |model: &&String| !model.to_ascii_lowercase().contains("embed");
        if let Some(model) = models.iter().find(answers) {
            found.push(Candidate {
                model: format!("{provider}/{model}"),
                from: format!("the {provider} server on this machine"),
            });
        }
    }
    Ok(found)
}

fn with_credential(settings: &Settings) -> Vec<Candidate> {
    let (env, now) = (Env::from_process(), holon_daemon::wall_clock());
    let home = &settings.home.value;
    let has_one = |entry: &&ProviderEntry| {
        matches!(
            state(entry, &env, home, now),
            CredentialState::Configured | CredentialState::Printed
        )
    };
    let candidate = |entry: &ProviderEntry| {
        let id = &entry.spec.id;
        let model = settings.catalog.default_of(id)?;
        Some(Candidate {
            model: model.to_string(),
            from: format!("a credential for {id}"),
        })
    };
    let preferred = settings.providers.by_preference();
    preferred.filter(has_one).filter_map(candidate).collect()
}

/// Returns the local servers that are on this machine; the settings may give one another address.
fn local(settings: &Settings) -> Vec<&'static str> {
    let here = |id: &&str| {
        let entry = settings.providers.get(id);
        entry.is_some_and(|entry| entry.loopback)
    };
    LOCAL.into_iter().filter(here).collect()
}
