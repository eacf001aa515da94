//! `holon daemon`: the host of a home in the background.

mod activity;
mod launch;
mod logs;
mod start;
mod status;
mod stop;
pub(crate) mod view;

use crate::args::{DaemonCommand, HostArgs};
use crate::exit::{Exit, Failure};
use crate::host_plan::HostPlan;
use crate::output::{Format, Output};
use crate::{host, render, settings};
use holon_daemon::lifecycle::{ControlAnswer, Found, LifecycleLock, SocketFound, look};
use holon_domain::limits::LIFECYCLE_WAIT_MS;
use std::path::{Path, PathBuf};
use std::time::Duration;
use view::{Action, LifecycleResult};

/// Runs a subcommand of `holon daemon`.
pub(super) async fn run(
    home: Option<PathBuf>,
    command: DaemonCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        DaemonCommand::Start(args) => start(home, args, output).await,
        DaemonCommand::Stop => stop(home, output).await,
        DaemonCommand::Status => status(home, output).await,
        DaemonCommand::Restart(args) => restart(home, args, output).await,
        DaemonCommand::Logs(args) => logs::run(&settings::home_dir(home)?, &args, output).await,
    }
}

async fn start(home: Option<PathBuf>, args: HostArgs, output: &Output) -> Result<Exit, Failure> {
    let plan = load_plan(home, args, output)?;
    holon_daemon::Home::prepare(plan.home()).map_err(holon_daemon::Error::from)?;
    let action = start::start(&plan, None).await?;
    print(plan.home(), action, output).await;
    note_missing_model(&plan, output);
    Ok(Exit::Done)
}

/// Says that the host has no model to ask. Agents with a model of their own do not need it.
fn note_missing_model(plan: &HostPlan, output: &Output) {
    if plan.settings.model.is_none() && output.format() == Format::Text {
        output.note(&render::daemon::no_model());
    }
}

async fn stop(home: Option<PathBuf>, output: &Output) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    host::check_access(&home)?;
    let action = if home.join("run").is_dir() {
        let mut turn = take_turn(&home).await?;
        let action = stop::stop(&home).await?;
        if action != Action::NotRunning {
            turn.note_stop(&home);
        }
        action
    } else {
        Action::NotRunning
    };
    print(&home, action, output).await;
    Ok(Exit::Done)
}

async fn restart(home: Option<PathBuf>, args: HostArgs, output: &Output) -> Result<Exit, Failure> {
    let plan = load_plan(home, args, output)?;
    let turn = take_turn(plan.home()).await?;
    refuse_service(plan.home()).await?;
    let before = look(plan.home()).await;
    stop::stop(plan.home()).await?;
    start::start(&plan, Some(turn)).await?;
    print(plan.home(), Action::Restarted, output).await;
    note_other_settings(&before, &look(plan.home()).await, output);
    note_missing_model(&plan, output);
    Ok(Exit::Done)
}

/// Names what a restart changed. Options of a start do not last, and addresses that others were given go with them.
fn note_other_settings(before: &Found, after: &Found, output: &Output) {
    let (Some(before), Some(after)) = (before.current_record(), after.current_record()) else {
        return;
    };
    let names = before.config_marks.differing(&after.config_marks);
    if !names.is_empty() && output.format() == Format::Text {
        output.note(&render::daemon::other_settings(&names, &before.http_addr));
    }
}

/// Loads what a host is started with. A failure of a start that was tried is kept in `run/`, also if it is found before
/// there is a host.
fn load_plan(home: Option<PathBuf>, args: HostArgs, output: &Output) -> Result<HostPlan, Failure> {
    HostPlan::load(home.clone(), args, output).inspect_err(|failure| {
        if let Ok(home) = settings::home_dir(home) {
            start::record(&home, failure);
        }
    })
}

/// A host of a service manager is restarted by that manager: a host in the background would take its place and the
/// manager would not know of it.
async fn refuse_service(home: &Path) -> Result<(), Failure> {
    let found = look(home).await;
    let manager = found
        .current_record()
        .and_then(|record| record.service_manager.clone());
    match manager {
        None => Ok(()),
        Some(manager) => Err(Failure::new(
            Exit::Failed,
            "managed_by_service",
            format!("the host of this home is run by {manager}"),
        )
        .hint("restart it there; holon service status shows how")),
    }
}

async fn status(home: Option<PathBuf>, output: &Output) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    host::check_access(&home)?;
    let view = status::view(&home).await;
    output.answer(&view, render::daemon::status);
    Ok(if view.healthy {
        Exit::Done
    } else {
        Exit::Unreachable
    })
}

async fn print(home: &Path, action: Action, output: &Output) {
    let result = LifecycleResult {
        action,
        status: status::view(home).await,
    };
    output.answer(&result, render::daemon::result);
}

/// Creates the home if it is missing, and waits for the turn of this command on it.
async fn take_turn(home: &Path) -> Result<LifecycleLock, Failure> {
    holon_daemon::Home::prepare(home).map_err(holon_daemon::Error::from)?;
    let patience = Duration::from_millis(LIFECYCLE_WAIT_MS);
    Ok(LifecycleLock::take(home, patience).await?)
}

/// Looks at a home, and asks its host if one listens. A host that is starting answers when it is ready.
pub(super) async fn inspect(home: &Path, patience: Duration) -> Found {
    let mut found = look(home).await;
    if found.owner.is_some() && found.socket == SocketFound::Listening {
        let asked = tokio::time::timeout(patience, host::client(home).health()).await;
        found.control = match asked {
            Ok(Ok(_)) => ControlAnswer::Answered,
            Ok(Err(_)) | Err(_) => ControlAnswer::Silent,
        };
    }
    found
}
