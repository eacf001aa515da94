//! `holon service`: lets the system's service manager run the host of a home.

mod launchd;
mod manager;
mod systemd;
pub(crate) mod view;

use crate::addressing::hint;
use crate::args::{InstallArgs, ManagerArg, ManagerArgs, ServiceCommand};
use crate::exit::{Exit, Failure};
use crate::host_plan::HostPlan;
use crate::output::Output;
use crate::{render, settings};
use holon_config::{Env, ServiceEnv, TokenOption};
use manager::{Asked, ask};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use view::{ServiceChange, ServiceStatus};

/// Line by which a file is recognised as one that this program wrote.
const MARK: &str = "Written by holon service install";

/// A host as a service manager runs it.
#[derive(Debug)]
pub(crate) struct ServiceSpec {
    /// Name without a suffix; each home has its own.
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Log file for a manager that keeps no log.
    pub(crate) log_path: PathBuf,
}

/// A service manager, and the place of its files.
#[derive(Debug)]
struct Manager {
    kind: ManagerArg,
    /// Service file of this home.
    path: PathBuf,
    name: String,
}

/// Runs a subcommand of `holon service`.
pub(super) async fn run(
    home: Option<PathBuf>,
    command: ServiceCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        ServiceCommand::Install(args) => install(home, args, output).await,
        ServiceCommand::Uninstall(args) => uninstall(home, &args, output).await,
        ServiceCommand::Status(args) => status(home, &args, output).await,
    }
}

async fn install(
    home: Option<PathBuf>,
    args: InstallArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let plan = HostPlan::load(home, args.host, output)?;
    let manager = Manager::of(plan.home(), &args.manager)?;
    let text = manager.render(&spec(&plan, &manager)?);
    if args.dry_run {
        output.say_as_written(&text);
        return Ok(Exit::Done);
    }
    manager.check_own()?;
    write(&manager.path, &text)?;
    let loaded = manager.reload().await;
    let started = if args.now {
        Some(manager.start().await)
    } else {
        None
    };
    let change = ServiceChange {
        ok: !matches!(started, Some(Asked::Refused(_))),
        action: "installed",
        name: manager.name.clone(),
        path: manager.path.clone(),
        manager: manager.word(),
        notes: manager.install_notes(&loaded, started.as_ref()).await,
    };
    output.answer(&change, render::service::change);
    match started {
        Some(Asked::Refused(reason)) => Err(Failure::new(
            Exit::Failed,
            "service_not_started",
            format!("the service is installed and could not be started: {reason}"),
        )
        .hint("holon service status shows its state; holon service uninstall removes it")),
        Some(Asked::Done(_)) | None => Ok(Exit::Done),
    }
}

async fn uninstall(
    home: Option<PathBuf>,
    args: &ManagerArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let manager = Manager::of(&settings::home_dir(home)?, args)?;
    let mut notes = Vec::new();
    let action = if manager.path.exists() {
        manager.check_own()?;
        if let Asked::Refused(reason) = manager.stop().await {
            notes.push(format!(
                "the service manager could not be told to stop it: {reason}"
            ));
            notes.push(hint(
                "if its host still runs, stop it with: holon daemon stop",
            ));
        }
        std::fs::remove_file(&manager.path).map_err(|error| unwritable(&manager.path, &error))?;
        // The manager forgets the file now, or at its next start.
        drop(manager.reload().await);
        "uninstalled"
    } else {
        "not_installed"
    };
    let change = ServiceChange {
        ok: true,
        action,
        name: manager.name.clone(),
        path: manager.path.clone(),
        manager: manager.word(),
        notes,
    };
    output.answer(&change, render::service::change);
    Ok(Exit::Done)
}

async fn status(
    home: Option<PathBuf>,
    args: &ManagerArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let home = settings::home_dir(home)?;
    let manager = Manager::of(&home, args)?;
    let is_installed = manager.path.exists();
    let mut status = ServiceStatus {
        ok: true,
        manager: manager.word(),
        name: manager.name.clone(),
        path: manager.path.clone(),
        installed: is_installed,
        enabled: None,
        active: None,
        lingering: None,
        commands: manager.commands(),
    };
    manager.fill(&mut status).await;
    output.answer(&status, render::service::status);
    Ok(if is_installed {
        Exit::Done
    } else {
        Exit::Failed
    })
}

impl Manager {
    fn of(home: &Path, args: &ManagerArgs) -> Result<Self, Failure> {
        let native = if cfg!(target_os = "macos") {
            ManagerArg::Launchd
        } else {
            ManagerArg::Systemd
        };
        let kind = args.manager.unwrap_or(native);
        let env = ServiceEnv::read(&Env::from_process());
        let no_home = || Failure::usage("no directory of the user is known; set HOME");
        let is_default = env
            .user_home
            .as_ref()
            .is_some_and(|user| user.join(".holon") == home);
        let tag = holon_daemon::home_tag(home);
        let name = match (kind, is_default) {
            (ManagerArg::Systemd, true) => "holon".to_owned(),
            (ManagerArg::Systemd, false) => format!("holon-{tag}"),
            (ManagerArg::Launchd, true) => "holon.host".to_owned(),
            (ManagerArg::Launchd, false) => format!("holon.host.{tag}"),
        };
        let path = match kind {
            ManagerArg::Systemd => {
                let dir = env.config_dir.ok_or_else(no_home)?;
                dir.join("systemd/user").join(format!("{name}.service"))
            }
            ManagerArg::Launchd => {
                let dir = env.user_home.ok_or_else(no_home)?;
                dir.join("Library/LaunchAgents")
                    .join(format!("{name}.plist"))
            }
        };
        Ok(Self { kind, path, name })
    }

    const fn word(&self) -> &'static str {
        match self.kind {
            ManagerArg::Systemd => "systemd",
            ManagerArg::Launchd => "launchd",
        }
    }

    fn render(&self, spec: &ServiceSpec) -> String {
        match self.kind {
            ManagerArg::Systemd => systemd::unit(spec),
            ManagerArg::Launchd => launchd::plist(spec),
        }
    }

    /// Refuses a file that this program did not write.
    fn check_own(&self) -> Result<(), Failure> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) if !text.contains(MARK) => {
                let message = format!(
                    "{} was not written by holon service install, and is left as it is",
                    self.path.display()
                );
                Err(Failure::new(Exit::Failed, "service_file_foreign", message)
                    .hint("move it away, and try again"))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(unwritable(&self.path, &error)),
        }
    }

    async fn reload(&self) -> Asked {
        match self.kind {
            ManagerArg::Systemd => ask("systemctl", &["--user", "daemon-reload"]).await,
            ManagerArg::Launchd => Asked::Done(String::new()),
        }
    }

    async fn start(&self) -> Asked {
        match self.kind {
            ManagerArg::Systemd => {
                ask("systemctl", &["--user", "enable", "--now", &self.name]).await
            }
            ManagerArg::Launchd => {
                let path = self.path.display().to_string();
                ask("launchctl", &["load", "-w", &path]).await
            }
        }
    }

    async fn stop(&self) -> Asked {
        match self.kind {
            ManagerArg::Systemd => {
                ask("systemctl", &["--user", "disable", "--now", &self.name]).await
            }
            ManagerArg::Launchd => {
                let path = self.path.display().to_string();
                ask("launchctl", &["unload", "-w", &path]).await
            }
        }
    }

    /// Commands of the manager that an operator needs for this service.
    fn commands(&self) -> Vec<String> {
        match self.kind {
            ManagerArg::Systemd => systemd::commands(&self.name),
            ManagerArg::Launchd => launchd::commands(&self.path, &self.name),
        }
    }

    /// What the operator should know after an installation.
    async fn install_notes(&self, loaded: &Asked, started: Option<&Asked>) -> Vec<String> {
        let mut notes = Vec::new();
        if let Asked::Refused(reason) = loaded {
            notes.push(format!("systemd was not told of the new file: {reason}"));
        }
        if !matches!(started, Some(Asked::Done(_))) {
            notes.extend(
                self.commands()
                    .into_iter()
                    .take(1)
                    .map(|command| format!("start it with: {command}")),
            );
        }
        if self.kind == ManagerArg::Systemd && systemd::lingering().await != Some(true) {
            notes.push(systemd::linger_note());
        }
        notes
    }

    async fn fill(&self, status: &mut ServiceStatus) {
        match self.kind {
            ManagerArg::Systemd => systemd::fill(status).await,
            ManagerArg::Launchd => {
                let listed = ask("launchctl", &["list", &self.name]).await;
                status.active = matches!(listed, Asked::Done(_)).then(|| "loaded".to_owned());
            }
        }
    }
}

/// Describes the host of a plan as a service.
fn spec(plan: &HostPlan, manager: &Manager) -> Result<ServiceSpec, Failure> {
    if plan.options.token == TokenOption::Given {
        return Err(Failure::usage(
            "a service cannot be given a token on the command line; use --token-file FILE",
        ));
    }
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Failed,
            "system_failed",
            format!("the path of this program is not known: {error}"),
        )
    })?;
    let mut words: Vec<OsString> = vec![program.into()];
    words.extend(["serve".into(), "--home".into(), plan.home().into()]);
    words.extend(plan.options.to_args());
    let command = words
        .into_iter()
        .map(plain_text)
        .collect::<Result<_, _>>()?;
    Ok(ServiceSpec {
        name: manager.name.clone(),
        command,
        log_path: holon_daemon::log_path(plan.home()),
    })
}

/// A service file is text of whole lines.
fn plain_text(word: OsString) -> Result<String, Failure> {
    let refused = |word: &str| {
        Failure::usage(format!(
            "{word:?} cannot stand in a service file; use a plain name"
        ))
    };
    match word.into_string() {
        Ok(word) if word.chars().any(char::is_control) => Err(refused(&word)),
        Ok(word) => Ok(word),
        Err(word) => Err(refused(&word.to_string_lossy())),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, text));
    written.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    Failure::new(Exit::Failed, "file_failed", message)
}
