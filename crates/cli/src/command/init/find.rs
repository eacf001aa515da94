//! What is on this machine: providers with a credential, in the order they are preferred, then local servers.

use crate::exit::Failure;
use crate::report::Candidate;
use holon_config::{CredentialState, Env, ProviderEntry, Settings, state};

/// Servers people run on their own machine, in the order they are looked for.
const LOCAL: [&str; 4] = ["ollama", "lmstudio", "llamacpp", "vllm"];

/// Everything that can be found. Local servers are asked what they have; nobody else is asked anything.
pub(super) async fn candidates(settings: &Settings) -> Result<Vec<Candidate>, Failure> {
    let mut found = with_credential(settings);
    let listed = holon_daemon::local_models(settings, &local(settings)).await?;
    for (provider, models) in listed {
        // Servers list models that only turn text into numbers beside those that answer.
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

/// The local servers that really are on this machine: somebody may have given one of them another address.
fn local(settings: &Settings) -> Vec<&'static str> {
    let here = |id: &&str| {
        let entry = settings.providers.get(id);
        entry.is_some_and(|entry| entry.loopback)
    };
    LOCAL.into_iter().filter(here).collect()
}
