//! The results of `holon service`, as they are printed in JSON or rendered as text.

use serde::Serialize;
use std::path::PathBuf;

/// Result of `holon service install` and `uninstall`.
#[derive(Debug, Serialize)]
pub(crate) struct ServiceChange {
    pub(crate) ok: bool,
    pub(crate) action: &'static str,
    pub(crate) manager: &'static str,
    pub(crate) name: String,
    /// Path of the service file.
    pub(crate) path: PathBuf,
    /// What the operator should know or do next.
    pub(crate) notes: Vec<String>,
}

/// Result of `holon service status`.
#[derive(Debug, Serialize)]
pub(crate) struct ServiceStatus {
    pub(crate) ok: bool,
    pub(crate) manager: &'static str,
    pub(crate) name: String,
    /// Path of the service file.
    pub(crate) path: PathBuf,
    pub(crate) installed: bool,
    /// True if it starts with the user's session. Absent if the manager does not say.
    pub(crate) enabled: Option<bool>,
    /// State as the manager spells it. Absent if the manager does not say.
    pub(crate) active: Option<String>,
    /// True if it outlives the user's session. Absent if the manager does not say.
    pub(crate) lingering: Option<bool>,
    /// Commands of the manager that start, restart, stop and watch the service.
    pub(crate) commands: Vec<String>,
}
