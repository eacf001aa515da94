//! `holon daemon status`: everything that is known about the host of a home.

use super::view::{Connectivity, DaemonStatus, State};
use super::{activity, inspect};
use crate::addressing::hint;
use crate::{host, host_plan};
use holon_client::view::{HostFailure, HostReport};
use holon_config::HostOptions;
use holon_daemon::lifecycle::{Found, Health, health};
use holon_daemon::{DaemonRecord, EffectiveConfig, FailureFiles, FailurePhase, FailureRecord};
use std::path::Path;
use std::time::Duration;

/// Time for an answer of the host.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gathers the status of a home's host.
pub(super) async fn view(home: &Path) -> DaemonStatus {
    let found = inspect(home, PATIENCE).await;
    let state = health(&found);
    let is_healthy = state == Health::Running { healthy: true };
    let mut report = if is_healthy {
        let asked = tokio::time::timeout(PATIENCE, activity::ask(home)).await;
        asked.unwrap_or_default()
    } else {
        HostReport::default()
    };
    if !is_healthy {
        report.last_failure = agent_failure(home);
    }
    report.last_failure = newest(stored_failure(home), report.last_failure);
    build(home, &found, state, report)
}

fn build(home: &Path, found: &Found, state: Health, report: HostReport) -> DaemonStatus {
    let record = found.current_record();
    let options = record.map_or_else(HostOptions::default, |record| record.options.clone());
    let configured = configuration(home, &options);
    let running = record.and_then(|record| record.config_fingerprint.clone());
    let fingerprint_match = match (&running, &configured) {
        (Some(running), Some((_, configured))) => Some(*running == configured.fingerprint()),
        (None, _) | (_, None) => None,
    };
    let differences = match (record, &configured) {
        (Some(record), Some((_, configured))) => {
            let configured = configured.marks();
            let differing = record.config_marks.differing(&configured).into_iter();
            differing.map(str::to_owned).collect()
        }
        (None, _) | (_, None) => Vec::new(),
    };
    let log = holon_daemon::log_path(home);
    DaemonStatus {
        ok: true,
        state: match state {
            Health::Running { .. } => State::Running,
            Health::Stopped => State::Stopped,
            Health::Stale => State::Stale,
        },
        healthy: state == Health::Running { healthy: true },
        home_dir: home.to_owned(),
        socket_path: found.socket_path.clone(),
        http_addr: record
            .map(|record| record.http_addr.clone())
            .or_else(|| configured.map(|(addr, _)| addr)),
        advertise_url: record.and_then(|record| record.advertise_url.clone()),
        access: record.map(|record| record.options.access.as_str()),
        pid: found.owner.map(|owner| owner.pid),
        started_at: record.map(|record| record.started_at),
        version: record.and_then(|record| record.version.clone()),
        control_connectivity: match state {
            Health::Running { healthy: true } => Connectivity::Connected,
            Health::Running { healthy: false } => Connectivity::Unreachable,
            Health::Stopped | Health::Stale => Connectivity::NotRunning,
        },
        runtime_config_fingerprint: running,
        config_fingerprint_match: fingerprint_match,
        config_differences: differences,
        activity: report.activity,
        last_failure: report.last_failure,
        epoch: report.epoch,
        stale_files: found.stale_files(home),
        service_manager: record.and_then(|record| record.service_manager.clone()),
        log_path: match record {
            Some(record) => record.log_path.clone(),
            None => log.exists().then_some(log),
        },
        message: message(found, state, record),
    }
}

/// Returns the address and the configuration that a start with these options would have. `None` if the settings cannot
/// be read.
fn configuration(home: &Path, options: &HostOptions) -> Option<(String, EffectiveConfig)> {
    let flags = host_plan::flags(Some(home.to_owned()), options);
    let (settings, access) = host_plan::load(&flags, options).ok()?;
    let config = EffectiveConfig::of(&settings, options, &access);
    Some((access.listen.to_string(), config))
}

fn message(found: &Found, state: Health, record: Option<&DaemonRecord>) -> String {
    let pid = found.owner.map_or(0, |owner| owner.pid);
    match state {
        Health::Running { healthy: true } => "the host runs and answers".to_owned(),
        Health::Running { healthy: false } if host::suspended_pid(Some(pid)).is_some() => format!(
            "the host (pid {pid}) is stopped by a signal and does not answer; let it go on with: kill -CONT {pid}"
        ),
        Health::Running { healthy: false } if record.is_none() => {
            format!("the host (pid {pid}) is starting, and does not answer yet")
        }
        Health::Running { healthy: false } => hint(format!(
            "the host (pid {pid}) runs and does not answer; see: holon daemon logs"
        )),
        Health::Stopped if found.owner.is_some() => {
            format!("no host runs; process {pid} owns the home for a single run")
        }
        Health::Stopped => hint("no host runs; start one with: holon daemon start"),
        Health::Stale => {
            "no host runs, and one that ended has left files; a start or a stop removes them"
                .to_owned()
        }
    }
}

fn stored_failure(home: &Path) -> Option<HostFailure> {
    FailureFiles::load(&FailureFiles::of(home).last_path()).map(to_view)
}

/// Returns the newest failure of an agent's turn or home from the store, under the phase of failures of agents. A running
/// host tells it by itself.
fn agent_failure(home: &Path) -> Option<HostFailure> {
    let (agent_id, failure) = holon_daemon::newest_agent_failure(home)?;
    let next = hint(format!("start the host, then: holon explain {agent_id}"));
    Some(HostFailure {
        occurred_at: failure.occurred_at.to_string(),
        summary: failure.failure_artifact.summary.clone(),
        phase: FailurePhase::RuntimeTurn.as_str().to_owned(),
        agent_id: Some(agent_id.to_string()),
        detail_hint: Some(next),
        failure_artifact: serde_json::to_value(&failure.failure_artifact).ok(),
    })
}

/// Converts a stored failure to the shape in which hosts report theirs.
fn to_view(failure: FailureRecord) -> HostFailure {
    HostFailure {
        occurred_at: failure.occurred_at.to_string(),
        summary: failure.summary,
        phase: failure.phase.as_str().to_owned(),
        agent_id: None,
        detail_hint: failure.detail_hint,
        failure_artifact: None,
    }
}

/// Returns the newer of two failures. Times are spelled so that their order is that of the text.
pub(super) fn newest(a: Option<HostFailure>, b: Option<HostFailure>) -> Option<HostFailure> {
    a.into_iter()
        .chain(b)
        .max_by(|a, b| a.occurred_at.cmp(&b.occurred_at))
}
