//! The settings as a host of this home would have them, and telling a running one that they changed.

use crate::exit::Failure;
use crate::output::Output;
use crate::{host, path};
use holon_config::{Env, Flags, Settings, Source, resolve};
use holon_domain::model::ModelRef;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The settings, with a model derived from credentials if nobody chose one.
pub(crate) fn load(flags: &Flags) -> Result<Settings, Failure> {
    let env = Env::from_process();
    let settings = Settings::load_from(&env, flags)?;
    with_absolute_models(settings.with_derived_model(&env, holon_daemon::wall_clock()))
}

/// The settings of a home.
pub(crate) fn of(home: Option<PathBuf>) -> Result<Settings, Failure> {
    load(&Flags {
        home,
        ..Flags::default()
    })
}

/// What a client of a host needs: the settings, or where the file cannot be used those of the command line and the
/// environment, with what is wrong with the file. A host that runs need not care about it.
pub(crate) fn of_client(flags: &Flags) -> Result<(Settings, Option<Failure>), Failure> {
    let env = Env::from_process();
    let problem = match Settings::load_from(&env, flags) {
        Ok(settings) => return Ok((with_absolute_models(settings)?, None)),
        Err(problem) => Failure::from(problem),
    };
    match resolve(&env, flags, None) {
        Ok(settings) => Ok((with_absolute_models(settings)?, Some(problem))),
        // Not the file's fault.
        Err(_) => Err(problem),
    }
}

/// Says in one line that the file is left out, and why.
pub(crate) fn warn_of_file(problem: &Failure, output: &Output) {
    let words = &problem.body.error;
    // A parser shows the line it stumbled over, with marks in the margin.
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

/// Where the home is. Needs no settings file that can be read, so that one can be put right.
pub(crate) fn home(home: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let settings = resolve(&Env::from_process(), &flags, None)?;
    Ok(settings.home.value)
}

/// A relative script in the environment is seen from where the command was started, as on the command line.
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

/// How a change of the home's files became known to whoever uses them.
#[derive(Debug, Serialize)]
pub(crate) struct Applied {
    /// `daemon` when a running host has taken it over, `offline_store` when it is only on disk.
    applied_via: &'static str,
    /// Why a running host has not taken it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) host_refused: Option<String>,
    /// Settings that count from the host's next start on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restart_needed: Vec<String>,
}

impl Applied {
    /// What is to be said about it, if anything.
    pub(crate) fn remark(&self) -> Option<String> {
        if let Some(reason) = &self.host_refused {
            return Some(format!(
                "the running host did not take it over: {reason}\nnext: correct that and run: holon config doctor"
            ));
        }
        if !self.restart_needed.is_empty() {
            let keys = self.restart_needed.join(", ");
            return Some(format!("counts from the next start of the host on: {keys}"));
        }
        (self.applied_via == DAEMON).then(|| {
            "the running host has taken it over, for turns that begin from now on".to_owned()
        })
    }
}

const DAEMON: &str = "daemon";
const OFFLINE: &str = "offline_store";

/// Tells the host of a home, if there is one, that its files changed.
pub(crate) async fn apply(home: &Path) -> Applied {
    let on_disk = |host_refused| Applied {
        applied_via: OFFLINE,
        host_refused,
        restart_needed: Vec::new(),
    };
    match host::client(home).reload().await {
        Ok(done) => Applied {
            applied_via: DAEMON,
            host_refused: None,
            restart_needed: done.restart_needed,
        },
        Err(holon_client::Error::Unreachable { .. }) => on_disk(None),
        Err(other) => on_disk(Some(other.to_string())),
    }
}
