//! `holon config providers`: lists, shows, checks and changes providers.

use super::doctor::{Depth, probe};
use super::report_change;
use crate::args::{ProviderArgs, ProvidersCommand};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::report::ProbeResult;
use crate::{render, settings};
use holon_config::edit::{self, ProviderChange};
use holon_config::{Env, ModelAvailability, ProviderReport, Settings};
use holon_domain::model::ModelRef;
use holon_domain::provider::{AuthSource, Transport};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Serialize)]
struct ProviderChangeReport {
    provider: ProviderReport,
}

#[derive(Serialize)]
struct RemovalReport {
    provider: String,
    status: &'static str,
}

/// One provider, and its models in the fallback chain.
#[derive(Serialize)]
struct ProviderDiagnosis {
    provider: ProviderReport,
    model_chain_diagnostics: Vec<ModelAvailability>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    probes: Vec<ProbeResult>,
}

/// Runs one subcommand of `config providers`.
pub(super) async fn run(
    home: Option<PathBuf>,
    command: ProvidersCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        ProvidersCommand::Set(args) => set(home, args, output).await,
        ProvidersCommand::Get { id } => {
            let provider = report(&settings::load_home(home)?, &id)?;
            output.answer(&provider, render::config::provider);
            Ok(Exit::Done)
        }
        ProvidersCommand::List { all } => list(home, all, output),
        ProvidersCommand::Remove { id } => {
            let home = settings::home_dir(home)?;
            edit::remove_provider(&home, &id)?;
            let removed = RemovalReport {
                provider: id,
                status: "removed",
            };
            let words = |removed: &RemovalReport| {
                format!("{} is removed from config.toml", removed.provider)
            };
            Ok(report_change(&home, removed, words, output).await)
        }
        ProvidersCommand::Doctor { id, probe } => {
            diagnose(home, &id, Depth::of(probe), output).await
        }
    }
}

fn reports(settings: &Settings) -> Vec<ProviderReport> {
    holon_config::provider_reports(settings, &Env::from_process(), holon_daemon::wall_clock())
}

fn report(settings: &Settings, id: &str) -> Result<ProviderReport, Failure> {
    let found = reports(settings)
        .into_iter()
        .find(|report| report.provider == id);
    found.ok_or_else(|| {
        let message = settings.providers.unknown(id);
        Failure::new(Exit::Failed, "provider_not_found", message)
    })
}

fn list(home: Option<PathBuf>, all: bool, output: &Output) -> Result<Exit, Failure> {
    let mut providers = reports(&settings::load_home(home)?);
    let known = providers.len();
    if !all {
        providers.retain(|provider| provider.problem.is_none() || provider.source != "built_in");
    }
    output.answer(&providers, |providers| render::config::providers(providers));
    if !all {
        output.aside(&format!(
            "{} more are built in and lack a credential; see them with --all",
            known - providers.len()
        ));
    }
    Ok(Exit::Done)
}

async fn set(home: Option<PathBuf>, args: ProviderArgs, output: &Output) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    let id = args.id.clone();
    let mut change = provider_change(args);
    // Settings that cannot be read may hold a protocol for this provider, which must not be overwritten.
    let known = settings::load_home(Some(home.clone()))
        .map_or(true, |settings| settings.providers.get(&id).is_some());
    if !known && change.transport.is_none() {
        change.transport = Some(Transport::OpenaiChatCompletions.as_str().to_owned());
    }
    edit::set_provider(&home, &id, &change)?;
    let provider = report(&settings::load_home(Some(home.clone()))?, &id)?;
    let words = |set: &ProviderChangeReport| render::config::provider(&set.provider);
    Ok(report_change(&home, ProviderChangeReport { provider }, words, output).await)
}

/// Builds the change. The source of the credential follows from the other credential options.
fn provider_change(args: ProviderArgs) -> ProviderChange {
    let implied = [
        (
            !args.credential_command.is_empty(),
            AuthSource::CredentialProcess,
        ),
        (
            args.credential_profile.is_some(),
            AuthSource::CredentialProfile,
        ),
        (args.credential_external.is_some(), AuthSource::ExternalCli),
        (args.credential_env.is_some(), AuthSource::Env),
    ];
    let implied = implied.into_iter().find(|(said, _)| *said);
    let source = match (args.credential_source, implied) {
        (Some(said), _) => Some(said),
        (None, implied) => implied.map(|(_, source)| source),
    };
    ProviderChange {
        transport: args.transport.map(|one| one.as_str().to_owned()),
        base_url: args.base_url,
        reasoning_effort: args.reasoning_effort.map(|one| one.as_str().to_owned()),
        omit: (!args.omit.is_empty()).then(|| {
            args.omit
                .iter()
                .map(|one| one.as_str().to_owned())
                .collect()
        }),
        auth_source: source.map(|one| one.as_str().to_owned()),
        auth_kind: args.credential_kind.map(|one| one.as_str().to_owned()),
        auth_env: args.credential_env,
        auth_profile: args.credential_profile,
        auth_external: args.credential_external,
        auth_command: (!args.credential_command.is_empty()).then_some(args.credential_command),
    }
}

async fn diagnose(
    home: Option<PathBuf>,
    id: &str,
    depth: Depth,
    output: &Output,
) -> Result<Exit, Failure> {
    let settings = settings::load_home(home)?;
    let mut provider = report(&settings, id)?;
    let (env, now) = (Env::from_process(), holon_daemon::wall_clock());
    let chain: Vec<ModelRef> = settings.model_chain();
    let of_chain = |model: &ModelAvailability| {
        model.provider == id && chain.iter().any(|one| one.to_string() == model.model)
    };
    let mut models = holon_config::model_availability(&settings, &env, now);
    models.retain(of_chain);
    let asked = chain
        .into_iter()
        .find(|model| model.provider() == id)
        .or_else(|| settings.catalog.default_of(id));
    let probes = match (depth, asked, &provider.problem) {
        (Depth::Probe, Some(model), None) => probe(&settings, &[model]).await?,
        (Depth::Probe | Depth::Look, _, _) => Vec::new(),
    };
    if !probes.is_empty() {
        provider.not_tried = None;
    }
    let works = provider.problem.is_none() && probes.iter().all(|probe| probe.ok);
    let diagnosis = ProviderDiagnosis {
        provider,
        model_chain_diagnostics: models,
        probes,
    };
    output.answer(&diagnosis, |diagnosis| {
        render::config::provider_diagnosis(&diagnosis.provider, &diagnosis.probes)
    });
    Ok(if works { Exit::Done } else { Exit::Failed })
}
