//! Loads the settings that a host of this home would use.

use crate::exit::Failure;
use crate::output::Output;
use crate::path;
use holon_config::{ClientSettings, Env, FileSettings, Flags, Settings, Source, Sourced, resolve};
use holon_domain::AgentId;
use holon_domain::model::ModelRef;
use std::path::PathBuf;

/// Loads the settings, with a model derived from credentials if none is chosen.
pub(crate) fn load(flags: &Flags) -> Result<Settings, Failure> {
    let env = Env::from_process();
    let settings = Settings::load_from(&env, flags)?;
    with_absolute_models(settings.with_derived_model(&env, holon_daemon::wall_clock()))
}

/// Loads the settings of a home.
pub(crate) fn load_home(home: Option<PathBuf>) -> Result<Settings, Failure> {
    load(&Flags {
        home,
        ..Flags::default()
    })
}

/// Loads the home and the agent for a command that only talks to a running host. If the file is invalid, returns those
/// of the command line and the environment together with the problem, because a running host does not depend on it.
pub(crate) fn load_client(flags: &Flags) -> Result<(ClientSettings, Option<Failure>), Failure> {
    let env = Env::from_process();
    let bare = ClientSettings::resolve(&env, flags, None)?;
    let read = FileSettings::load(&bare.home.value)
        .and_then(|file| ClientSettings::resolve(&env, flags, file.as_ref()));
    Ok(match read {
        Ok(settings) => (settings, None),
        Err(problem) => (bare, Some(problem.into())),
    })
}

/// Returns the agent for a command that talks to a host at a URL. The settings file of a home on this machine does not
/// count.
pub(crate) fn agent_without_home(agent: Option<String>) -> Result<Sourced<AgentId>, Failure> {
    let flags = Flags {
        agent,
        ..Flags::default()
    };
    let settings = ClientSettings::resolve(&Env::from_process(), &flags, None)?;
    Ok(settings.default_agent)
}

/// Loads the settings for a client of a host. If the file is invalid, returns those of the command line and the
/// environment together with the problem, because a running host does not depend on the file.
pub(crate) fn load_for_client(flags: &Flags) -> Result<(Settings, Option<Failure>), Failure> {
    let env = Env::from_process();
    let problem = match Settings::load_from(&env, flags) {
        Ok(settings) => return Ok((with_absolute_models(settings)?, None)),
        Err(problem) => Failure::from(problem),
    };
    match resolve(&env, flags, None) {
        Ok(settings) => Ok((with_absolute_models(settings)?, Some(problem))),
        // The cause is not the file.
        Err(_) => Err(problem),
    }
}

/// Warns in one line that the settings file is ignored.
pub(crate) fn warn_about_file(problem: &Failure, output: &Output) {
    let words = &problem.body.error;
    // A parser shows the faulty line with marks in the margin.
    let is_excerpt = |line: &&str| {
        let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
        !line.starts_with('|')
    };
    let lines: Vec<&str> = words.lines().filter(is_excerpt).map(str::trim).collect();
    output.note(&format!(
        "warning: config.toml is left out: {}",
        lines.join(", ")
    ));
}

/// Returns the path of the home. Needs no valid settings file, so that commands can repair one.
pub(crate) fn home_dir(home: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let settings = ClientSettings::resolve(&Env::from_process(), &flags, None)?;
    Ok(settings.home.value)
}

/// Makes scripted models of the environment absolute, as on the command line.
fn with_absolute_models(mut settings: Settings) -> Result<Settings, Failure> {
    let seen_from_here = |name: &str, model: &mut ModelRef| -> Result<(), Failure> {
        let text = path::model(name, &model.to_string())?;
        *model = ModelRef::parse(&text).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(())
    };
    if let Some(model) = &mut settings.model
        && model.source == Source::Environment
    {
        seen_from_here("HOLON_MODEL", &mut model.value)?;
    }
    if settings.fallbacks.source == Source::Environment {
        for model in &mut settings.fallbacks.value {
            seen_from_here("HOLON_MODEL_FALLBACKS", model)?;
        }
    }
    Ok(settings)
}
