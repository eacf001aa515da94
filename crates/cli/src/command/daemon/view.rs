//! The results of `holon daemon`, as they are printed in JSON or rendered as text.

use holon_client::view::{HostActivity, HostFailure};
use holon_daemon::{DaemonRecord, FailureRecord};
use holon_domain::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// What a command has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Started,
    AlreadyRunning,
    /// The host ended after a request over its socket.
    Stopped,
    /// The host ended after SIGTERM.
    Terminated,
    /// The host ended after SIGKILL.
    Killed,
    NotRunning,
    /// No host ran; files of a crashed one were removed.
    Cleaned,
    Restarted,
}

/// State of a home's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Running,
    Stopped,
    /// No host runs, and a crashed one has left files.
    Stale,
}

/// Whether the host answers over its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Connectivity {
    Connected,
    Unreachable,
    NotRunning,
}

/// Result of `holon daemon status`.
#[derive(Debug, Serialize)]
pub(crate) struct DaemonStatus {
    pub(crate) ok: bool,
    pub(crate) state: State,
    /// True if the host answers.
    pub(crate) healthy: bool,
    pub(crate) home_dir: PathBuf,
    pub(crate) socket_path: PathBuf,
    /// Address of the running host, or the one that the settings name. Absent if neither is known.
    pub(crate) http_addr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advertise_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<&'static str>,
    pub(crate) pid: Option<u32>,
    pub(crate) started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) control_connectivity: Connectivity,
    pub(crate) runtime_config_fingerprint: Option<String>,
    /// False if the settings have changed since the host started in a way that its options do not override. Absent if
    /// no host runs, or the settings cannot be read.
    pub(crate) config_fingerprint_match: Option<bool>,
    /// Names of the settings and options that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) config_differences: Vec<String>,
    pub(crate) activity: Option<HostActivity>,
    pub(crate) last_failure: Option<HostFailure>,
    /// Identity of the store, which cursors belong to. Absent if the host does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) epoch: Option<String>,
    pub(crate) stale_files: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_manager: Option<String>,
    pub(crate) log_path: Option<PathBuf>,
    pub(crate) message: String,
}

/// Result of `holon daemon start`, `stop` and `restart`.
#[derive(Debug, Serialize)]
pub(crate) struct LifecycleResult {
    pub(crate) action: Action,
    #[serde(flatten)]
    pub(crate) status: DaemonStatus,
}

/// Result of `holon daemon logs`.
#[derive(Debug, Serialize)]
pub(crate) struct DaemonLogs {
    pub(crate) ok: bool,
    pub(crate) log_path: PathBuf,
    pub(crate) metadata_path: PathBuf,
    pub(crate) last_failure_path: PathBuf,
    pub(crate) startup_failure_path: PathBuf,
    pub(crate) shutdown_failure_path: PathBuf,
    pub(crate) runtime_metadata: Option<DaemonRecord>,
    pub(crate) last_failure: Option<FailureRecord>,
    pub(crate) startup_failure: Option<FailureRecord>,
    pub(crate) shutdown_failure: Option<FailureRecord>,
    pub(crate) tail: Vec<String>,
    pub(crate) message: String,
}
