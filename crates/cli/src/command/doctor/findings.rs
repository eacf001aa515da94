//! Judges what the doctor has seen: one finding for each check, with the next step. Pure.

use super::view::Finding;
use crate::exit::Failure;
use holon_config::{DoctorReport, IncompleteProvider};
use holon_daemon::HomeState;
use holon_daemon::checkup::{DatabaseCheck, IndexCheck};
use holon_daemon::lifecycle::{ControlAnswer, Found, SocketFound};
use holon_domain::AgentId;
use std::path::PathBuf;

/// Free space below which a host soon refuses messages.
const LITTLE_SPACE: u64 = 100 << 20;
/// Free space below which a busy week can fill the disk.
const SOME_SPACE: u64 = 2 << 30;
/// Oldest git with every option that the runtime uses: major and minor version.
const OLDEST_GIT: (u32, u32) = (2, 40);
/// Narrowest terminal that shows tables as they are meant.
const NARROW: usize = 80;
/// Problems of the database that are named.
const NAMED: usize = 5;

/// What was seen of the machine and of the home's directory.
pub(super) struct MachineFacts {
    pub(super) home_path: PathBuf,
    /// The words of the reason for which the home cannot be used.
    pub(super) home: Result<HomeState, String>,
    /// The words of the reason for which the control token cannot be used. Absent if it can, or there is none yet.
    pub(super) token_problem: Option<String>,
    pub(super) free_bytes: Option<u64>,
    /// Version of git, or the reason for which there is none.
    pub(super) git: Result<String, String>,
    /// Absent if the user's own shell takes no commands.
    pub(super) shell: Option<String>,
    pub(super) terminal: Terminal,
}

/// What was seen of standard output.
pub(super) struct Terminal {
    pub(super) is_terminal: bool,
    pub(super) has_color: bool,
    /// Absent if the terminal is narrower than 40 columns or states no width.
    pub(super) columns: Option<usize>,
}

/// Judges the machine and the home's directory.
pub(super) fn machine(facts: &MachineFacts) -> Vec<Finding> {
    vec![
        home(facts),
        token(facts.token_problem.as_deref()),
        disk(facts.free_bytes),
        git(facts.git.as_deref().map_err(String::as_str)),
        shell(facts.shell.as_deref()),
        terminal(&facts.terminal),
    ]
}

fn home(facts: &MachineFacts) -> Finding {
    let path = facts.home_path.display();
    match &facts.home {
        Ok(HomeState::Private) => Finding::ok("home", format!("{path}, private")),
        Ok(HomeState::Missing) => Finding::ok(
            "home",
            format!("{path} does not exist; the first start creates it"),
        ),
        Ok(HomeState::NewAndLoose) => Finding::ok(
            "home",
            format!("{path} is new and open to others; the first start makes it private"),
        ),
        Err(words) => Finding::error(
            "home",
            words,
            "make the home private, or use another one: --home DIR",
        ),
    }
}

fn token(problem: Option<&str>) -> Finding {
    match problem {
        None => Finding::ok("token", "private, or made by the first start"),
        Some(words) => Finding::error("token", words, "delete it; the next start makes a new one"),
    }
}

fn disk(free: Option<u64>) -> Finding {
    let Some(free) = free else {
        return Finding::ok("disk", "the file system does not tell its free space");
    };
    let words = format!("{} free", size(free));
    let next = "free some space, or move the home to another file system";
    if free < LITTLE_SPACE {
        Finding::error("disk", words, next)
    } else if free < SOME_SPACE {
        Finding::warning("disk", words, next)
    } else {
        Finding::ok("disk", words)
    }
}

fn git(version: Result<&str, &str>) -> Finding {
    let (major, minor) = OLDEST_GIT;
    let next = format!("install git {major}.{minor} or newer");
    match version {
        Err(words) => Finding::warning(
            "git",
            format!("worktrees, remote templates and remote skills do not work: {words}"),
            next,
        ),
        Ok(version) if is_older(version) => Finding::warning(
            "git",
            format!("git {version} lacks options that worktrees need"),
            next,
        ),
        Ok(version) => Finding::ok("git", version),
    }
}

/// Returns true if the version states numbers below the oldest that is supported.
fn is_older(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < OLDEST_GIT,
        _ => false,
    }
}

fn shell(shell: Option<&str>) -> Finding {
    match shell {
        Some(shell) => Finding::ok("shell", shell),
        None => Finding::warning(
            "shell",
            "SHELL names no shell that takes commands; agents use /bin/sh",
            "set SHELL to a shell such as /bin/bash before the host starts",
        ),
    }
}

fn terminal(terminal: &Terminal) -> Finding {
    if !terminal.is_terminal {
        return Finding::ok("terminal", "output goes into a file or a pipe");
    }
    let color = if terminal.has_color {
        "with colours"
    } else {
        "without colours"
    };
    match terminal.columns {
        Some(columns) if columns >= NARROW => {
            Finding::ok("terminal", format!("{columns} columns, {color}"))
        }
        Some(columns) => Finding::warning(
            "terminal",
            format!("{columns} columns, {color}"),
            format!("widen it to {NARROW} columns; tables are wrapped until then"),
        ),
        None => Finding::ok("terminal", format!("of unknown width, {color}")),
    }
}

/// Judges the settings file.
pub(super) fn settings_file(problem: Option<&Failure>) -> Finding {
    match problem {
        None => Finding::ok("settings", "readable"),
        Some(problem) => Finding::error(
            "settings",
            &problem.body.error,
            "correct the settings file; no host starts until then",
        ),
    }
}

/// Judges the owner of the home's lock, and the control socket.
///
/// `suspended` is the process of the host if a signal has stopped it.
pub(super) fn host(found: &Found, suspended: Option<u32>) -> Vec<Finding> {
    vec![lock(found), socket(found, suspended)]
}

fn lock(found: &Found) -> Finding {
    match &found.owner {
        Some(owner) if owner.leaving => Finding::ok(
            "lock",
            format!("process {} is about to release the home", owner.pid),
        ),
        Some(owner) => Finding::ok("lock", format!("process {} owns the home", owner.pid)),
        None if found.has_stale_files() => Finding::warning(
            "lock",
            "no host runs, and one that crashed has left its files",
            "start a host, which removes them: holon daemon start",
        ),
        None => Finding::ok("lock", "free; no host runs"),
    }
}

fn socket(found: &Found, suspended: Option<u32>) -> Finding {
    let path = found.socket_path.display();
    match (&found.owner, found.socket, found.control) {
        (_, SocketFound::Foreign, _) => Finding::error(
            "socket",
            format!("{path} is not a socket"),
            "move it away; no host starts until then",
        ),
        (Some(_), SocketFound::Listening, ControlAnswer::Answered) => {
            Finding::ok("socket", format!("the host answers at {path}"))
        }
        (Some(_), SocketFound::Listening, ControlAnswer::Silent | ControlAnswer::Unasked) => {
            if let Some(pid) = suspended {
                return Finding::error(
                    "socket",
                    format!("the host (pid {pid}) is stopped by a signal and does not answer"),
                    format!("let it go on with: kill -CONT {pid}"),
                );
            }
            Finding::error(
                "socket",
                format!("the host does not answer at {path}"),
                "look into its log with holon daemon logs, and stop it with holon daemon stop",
            )
        }
        (Some(owner), SocketFound::Absent | SocketFound::Stale, _) if owner.is_host => {
            Finding::error(
                "socket",
                format!("the host of this home does not listen at {path}"),
                "restart it: holon daemon restart",
            )
        }
        (None, SocketFound::Listening, _) => Finding::error(
            "socket",
            format!("another program listens at {path}"),
            "end that program, or use another home",
        ),
        (Some(_) | None, SocketFound::Absent | SocketFound::Stale, _) => {
            Finding::ok("socket", format!("none at {path}, because no host runs"))
        }
    }
}

/// Damage is an error: a host would go on, and lose what is on the damaged pages.
pub(super) fn database(check: &DatabaseCheck) -> Finding {
    let Some(bytes) = check.bytes else {
        return Finding::ok("database", "none yet; the first start creates it");
    };
    if check.findings.is_empty() {
        return Finding::ok("database", format!("{}, every page is sound", size(bytes)));
    }
    let more = check.findings.len().saturating_sub(NAMED);
    let mut words: Vec<String> = check.findings.iter().take(NAMED).cloned().collect();
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    Finding::error(
        "database",
        words.join("; "),
        "stop the host, copy the directory state/ away, and restore it from a backup",
    )
}

/// Judges settings of agents that an earlier build let grow. Nothing to say if there are none.
pub(super) fn large_settings(found: &[(AgentId, u64)]) -> Vec<Finding> {
    let Some((first, _)) = found.first() else {
        return Vec::new();
    };
    let words =
        |(agent, bytes): &(AgentId, u64)| format!("the settings of {agent} have {}", size(*bytes));
    let words: Vec<String> = found.iter().map(words).collect();
    vec![Finding::warning(
        "agents",
        format!("{}; each step of the agent reads them", words.join("; ")),
        format!("look for bindings with much metadata and revoke them: holon binding list {first}"),
    )]
}

/// Judges the memory indexes. An index is derived, so that none is an error: the host builds it anew.
pub(super) fn indexes(check: &IndexCheck) -> Finding {
    let Some((first, _)) = check.problems.first() else {
        let words = match check.complete {
            0 => "no memory index yet; the host builds one when an agent searches".to_owned(),
            complete => format!(
                "complete, of {}",
                holon_domain::text::pluralize(complete as u64, "agent")
            ),
        };
        return Finding::ok("memory", words);
    };
    let more = check.problems.len().saturating_sub(NAMED);
    let problems = check.problems.iter().take(NAMED);
    let mut words: Vec<String> = problems
        .map(|(agent, problem)| format!("{agent}: {problem}"))
        .collect();
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    Finding::warning(
        "memory",
        words.join("; "),
        format!("with a running host: holon memory rebuild --agent {first}"),
    )
}

/// What a running host says about the model that its agents ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostModel {
    /// Absent if the host has no default model.
    pub(super) model: Option<String>,
    /// The words of the reason for which the model cannot be asked.
    pub(super) problem: Option<String>,
}

/// Judges the models that agents ask. A running host may have other settings than the file, and its word counts. A model
/// that was probed and did not answer is a problem in any case.
pub(super) fn models(report: &DoctorReport, host: Option<&HostModel>, probed: bool) -> Finding {
    let failed_probe = probed && !report.can_work;
    match host {
        Some(host) if !failed_probe => host_models(host, report),
        Some(_) | None => file_models(report),
    }
}

fn host_models(host: &HostModel, report: &DoctorReport) -> Finding {
    match (&host.model, &host.problem) {
        (Some(model), None) => Finding::ok("models", format!("agents of the host ask {model}")),
        (Some(model), Some(problem)) => Finding::error(
            "models",
            format!("agents of the host cannot ask {model}: {problem}"),
            "holon config doctor names the step for each provider",
        ),
        (None, _) => Finding::error("models", "the host has no model", &report.next_step),
    }
}

fn file_models(report: &DoctorReport) -> Finding {
    let words = match &report.default_model {
        Some(model) => format!("agents ask {model}"),
        None => "no model is set".to_owned(),
    };
    if report.can_work {
        Finding::ok("models", words)
    } else {
        Finding::error("models", words, &report.next_step)
    }
}

/// Judges the search providers: those that lack a key are not asked.
pub(super) fn search_providers(incomplete: &[IncompleteProvider]) -> Vec<Finding> {
    let warn = |one: &IncompleteProvider| {
        Finding::warning(
            "web",
            format!("search provider {} is not asked: {}", one.name, one.problem),
            format!(
                "set it with: holon config set web.providers.{}.KEY VALUE",
                one.name
            ),
        )
    };
    incomplete.iter().map(warn).collect()
}

/// Returns a size for people, such as `1.5 GB`.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(unit, name)| {
            let tenths = u128::from(bytes) * 10 / u128::from(*unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        },
    )
}

#[cfg(test)]
mod tests;
