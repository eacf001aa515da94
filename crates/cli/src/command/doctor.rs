//! `holon doctor`: whether this machine and this home are ready for agents, and the next step for each problem.
//!
//! This file looks; `findings` judges what was seen.

mod findings;
mod view;

pub(crate) use view::{Examination, Finding, Level};

use super::config::{Depth, examine_models};
use super::daemon::inspect;
use crate::exit::{Exit, Failure};
use crate::host::{client, suspended_pid};
use crate::output::Output;
use crate::{render, settings};
use findings::{
    HostModel, MachineFacts, Terminal, database, host, indexes, large_settings, machine, models,
    search_providers, settings_file,
};
use holon_config::{Color, Env, Flags, Settings, Token};
use holon_daemon::lifecycle::ControlAnswer;
use holon_daemon::{Home, checkup};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for an answer of the host.
const PATIENCE: Duration = Duration::from_secs(5);

/// Examines everything and prints the findings. Fails if one of them is an error.
pub(crate) async fn run(
    home: Option<PathBuf>,
    probe: bool,
    output: &Output,
) -> Result<Exit, Failure> {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let (settings, problem) = settings::load_for_client(&flags)?;
    let home = settings.home.value.clone();
    let found = inspect(&home, PATIENCE).await;
    let (report, _) = examine_models(&settings, Depth::of(probe)).await?;
    let asked = match found.control {
        ControlAnswer::Answered => host_model(&home).await,
        ControlAnswer::Silent | ControlAnswer::Unasked => None,
    };
    let findings = [
        machine(&observe(&settings)),
        vec![settings_file(problem.as_ref())],
        host(&found, suspended_pid(found.owner.map(|owner| owner.pid))),
        vec![
            database(&checkup::check_database(&settings)),
            indexes(&checkup::check_indexes(&settings)),
            models(&report, asked.as_ref(), probe),
        ],
        large_settings(&checkup::large_settings(&settings)),
        search_providers(&settings.web.search.incomplete),
    ];
    let examination = Examination::new(home, findings.concat());
    output.answer_wrapped(&examination, render::doctor::examination);
    Ok(if examination.ok {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Asks the host of a home for the model that its agents ask. `None` if it does not say.
async fn host_model(home: &Path) -> Option<HostModel> {
    let client = client(home);
    let default_agent = client.root().await.ok()?.default_agent;
    let agent = client.status(Some(&default_agent)).await.ok()?;
    let models = client.models().await.ok()?;
    let model = agent.model.runtime_default_model.clone();
    let found = models
        .model_availability
        .iter()
        .find(|found| Some(&found.model) == model.as_ref() && !found.available);
    let problem = found.map(|found| found.unavailable_reason.clone().unwrap_or_default());
    Some(HostModel { model, problem })
}

fn observe(settings: &Settings) -> MachineFacts {
    let home = &settings.home.value;
    MachineFacts {
        home: Home::examine(home)
            .and_then(|state| Home::examine_parts(home).map(|()| state))
            .map_err(|error| error.to_string()),
        home_path: home.clone(),
        token_problem: token_problem(&home.join("run/control.token")),
        free_bytes: checkup::free_bytes(home),
        git: checkup::git_version(),
        shell: checkup::login_shell(settings),
        terminal: Terminal {
            is_terminal: io::stdout().is_terminal(),
            has_color: Color::of_terminal(&Env::from_process()) == Color::Auto,
            columns: crate::output::columns(),
        },
    }
}

/// Returns the reason for which an existing control token cannot be used.
fn token_problem(path: &Path) -> Option<String> {
    if std::fs::symlink_metadata(path).is_err() {
        return None;
    }
    Token::load(path).err().map(|error| error.to_string())
}
