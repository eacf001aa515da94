//! `holon config`: settings, providers, credentials and models of a home. Works with and without a host; a running host
//! reloads after every change.

mod credentials;
mod doctor;
mod keys;
mod providers;
mod running;

pub(crate) use doctor::{Depth, examine_models, probe};

use crate::args::{ConfigCommand, ModelsCommand};
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::reload::{self, ReloadOutcome};
use crate::render;
use crate::settings;
use holon_config::Env;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Runs one subcommand of `config`.
pub(super) async fn run(
    home: Option<PathBuf>,
    command: ConfigCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Get { key } => keys::get(home, &key, output),
        ConfigCommand::Set { key, value } => keys::set(home, &key, &value, output).await,
        ConfigCommand::Unset { key } => keys::unset(home, &key, output).await,
        ConfigCommand::List { effective: false } => keys::list(home, output),
        ConfigCommand::List { effective: true } => keys::list_effective(home, output),
        ConfigCommand::Schema => Ok(keys::schema(output)),
        ConfigCommand::Doctor { probe } => doctor::run(home, Depth::of(probe), output).await,
        ConfigCommand::Providers { command } => providers::run(home, command, output).await,
        ConfigCommand::Credentials { command } => credentials::run(home, command, output).await,
        ConfigCommand::Models {
            command: ModelsCommand::List { all },
        } => list_models(home, all, output),
    }
}

/// Prints the models, and only the usable ones unless `all` is set.
fn list_models(home: Option<PathBuf>, all: bool, output: &Output) -> Result<Exit, Failure> {
    let settings = settings::load_home(home)?;
    let mut models = holon_config::model_availability(
        &settings,
        &Env::from_process(),
        holon_daemon::wall_clock(),
    );
    let known = models.len();
    if !all {
        // A local server is not contacted here, so it may be down; its models are listed with the others.
        models.retain(|model| model.available);
    }
    output.answer(&models, |models| render::config::models(models));
    if !all {
        output.aside(&format!(
            "{} more are known; see them with --all. Limits learned from providers are in: holon status",
            known - models.len()
        ));
    }
    Ok(Exit::Done)
}

/// A change together with the outcome of the reload.
#[derive(Serialize)]
struct ChangeReport<T: Serialize> {
    #[serde(flatten)]
    applied: ReloadOutcome,
    #[serde(flatten)]
    what: T,
}

/// Makes a running host reload, and prints the change with the outcome.
async fn report_change<T: Serialize>(
    home: &Path,
    what: T,
    words: impl FnOnce(&T) -> String,
    output: &Output,
) -> Exit {
    let applied = reload::reload_host(home).await;
    let exit = match &applied.host_refused {
        Some(_) => Exit::Failed,
        None => Exit::Done,
    };
    let changed = ChangeReport { applied, what };
    output.answer(&changed, |changed| words(&changed.what));
    if let (Format::Text, Some(remark)) = (output.format(), changed.applied.remark()) {
        output.note(&remark);
    }
    exit
}
