//! Renders the results of `holon daemon` and `holon service` as text for people.

use super::join_lines;
use crate::addressing::hint;
use crate::command::daemon_view::{Action, DaemonLogs, DaemonStatus, LifecycleResult, State};
use holon_client::view::{HostActivity, HostFailure};
use holon_daemon::FailureRecord;
use holon_domain::text::pluralize;

/// Returns the remark after the start of a host without a default model.
pub(crate) fn no_model() -> String {
    hint(
        "note: the host has no default model, so agents cannot answer yet; run: holon init, or restart it with --model",
    )
}

/// Returns the remark after a restart that changed settings.
pub(crate) fn other_settings(names: &[&str], address: &str) -> String {
    format!(
        "note: the restart changed {} (the address was http://{address}); to keep what options of the start had set, \
         repeat them or put them into the settings",
        names.join(", ")
    )
}

/// Renders the status of a host.
pub(crate) fn status(status: &DaemonStatus) -> String {
    let mut lines = vec![status.message.clone()];
    lines.extend(places(status));
    if let Some(matches) = status.config_fingerprint_match
        && !matches
    {
        let names = match status.config_differences.as_slice() {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        let restart = hint("holon daemon restart uses them");
        lines.push(format!(
            "settings: changed since the host started{names}; {restart}"
        ));
    }
    lines.extend(status.activity.as_ref().map(activity));
    lines.extend(status.last_failure.iter().flat_map(failure));
    let stale = status.stale_files.iter();
    lines.extend(stale.map(|path| format!("left behind: {}", path.display())));
    join_lines(lines)
}

/// Renders what a command has done, and where the host is.
pub(crate) fn result(result: &LifecycleResult) -> String {
    let status = &result.status;
    let pid = status
        .pid
        .map_or_else(String::new, |pid| format!(" (pid {pid})"));
    let done = match result.action {
        Action::Started => format!("started{pid}"),
        Action::AlreadyRunning => format!("already running{pid}"),
        Action::Restarted => format!("restarted{pid}"),
        Action::Stopped => "stopped; its agents continue at the next start".to_owned(),
        Action::Terminated => {
            "stopped with SIGTERM, because it did not answer over its socket".to_owned()
        }
        Action::Killed => {
            "killed, because it did not end in time; the next start takes up what is unfinished"
                .to_owned()
        }
        Action::NotRunning => "no host runs".to_owned(),
        Action::Cleaned => "no host ran; the files that one had left were removed".to_owned(),
    };
    let mut lines = vec![done];
    if status.state == State::Running {
        lines.extend(places(status));
    }
    join_lines(lines)
}

/// The facts that every start prints: address, socket and log.
fn places(status: &DaemonStatus) -> Vec<String> {
    let mut lines = vec![format!("home: {}", status.home_dir.display())];
    let is_running = status.state == State::Running;
    if let Some(addr) = status.http_addr.as_ref().filter(|_| is_running) {
        lines.push(format!("listening on http://{addr}"));
    }
    if let Some(url) = &status.advertise_url {
        lines.push(format!("advertised as {url}"));
    }
    if is_running {
        let why = match status.socket_path.starts_with(&status.home_dir) {
            true => "",
            false => " (the path in the home is too long for the system)",
        };
        lines.push(format!("socket {}{why}", status.socket_path.display()));
    }
    if let Some(pid) = status.pid {
        let since = status
            .started_at
            .map_or_else(String::new, |at| format!(", since {at}"));
        lines.push(format!("process {pid}{since}"));
    }
    match (&status.service_manager, &status.log_path) {
        (Some(manager), _) => lines.push(format!("logs: kept by {manager}")),
        (None, Some(path)) => lines.push(format!("logs: {}", path.display())),
        (None, None) if is_running => lines.push("logs: stderr of its process".to_owned()),
        (None, None) => {}
    }
    lines
}

fn activity(activity: &HostActivity) -> String {
    format!(
        "{}: {}, {} working, {} waiting; {}",
        activity.state,
        pluralize(activity.active_agent_count, "agent"),
        activity.processing_agent_count,
        activity.waiting_agent_count,
        pluralize(activity.active_task_count, "task")
    )
}

fn failure(failure: &HostFailure) -> Vec<String> {
    let HostFailure {
        occurred_at,
        summary,
        phase,
        ..
    } = failure;
    let whose = failure.agent_id.as_ref();
    let whose = whose.map_or_else(String::new, |id| format!(" of agent {id}"));
    let mut lines = vec![format!(
        "last failure{whose} ({phase}, {occurred_at}): {summary}"
    )];
    lines.extend(
        failure
            .detail_hint
            .as_ref()
            .map(|hint| format!("    more: {hint}")),
    );
    lines
}

/// Renders the end of a log and the last failures.
pub(crate) fn logs(logs: &DaemonLogs) -> String {
    let failed = |name: &str, failure: &Option<FailureRecord>| {
        let failure = failure.as_ref()?;
        Some(format!(
            "last failed {name} ({}): {}",
            failure.occurred_at, failure.summary
        ))
    };
    let mut lines = logs.tail.clone();
    lines.push(format!("-- {}", logs.message));
    lines.extend(failed("start", &logs.startup_failure).map(|line| format!("-- {line}")));
    lines.extend(failed("stop", &logs.shutdown_failure).map(|line| format!("-- {line}")));
    join_lines(lines)
}
