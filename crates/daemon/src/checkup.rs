//! Examines the machine around a home, for the doctor. Changes nothing.

use holon_config::Settings;
use holon_workspace::Git;
use std::path::Path;

/// State of a home's database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseCheck {
    /// Size of the file in bytes. Absent if there is no database yet.
    pub bytes: Option<u64>,
    /// Problems in sentences for the operator.
    pub findings: Vec<String>,
}

/// Checks every page of a home's database, and the agents' homes that it should know. Takes a few seconds for each
/// gigabyte.
#[must_use]
pub fn check_database(settings: &Settings) -> DatabaseCheck {
    let path = crate::survey::db_path(settings);
    let mut findings = crate::survey(settings);
    match holon_store::check_pages(&path) {
        Ok(damaged) => findings.extend(damaged),
        Err(error) => findings.push(error.to_string()),
    }
    findings.dedup();
    DatabaseCheck {
        bytes: std::fs::metadata(&path).ok().map(|found| found.len()),
        findings,
    }
}

/// Returns the bytes that this user can still write to the file system of a directory, which may not exist yet. `None`
/// if the file system does not tell.
#[must_use]
pub fn free_bytes(directory: &Path) -> Option<u64> {
    let found = directory
        .ancestors()
        .find_map(|ancestor| rustix::fs::statvfs(ancestor).ok())?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Asks the host's git for its version.
///
/// # Errors
/// git is missing or does not answer; the words name the next step.
pub fn git_version() -> Result<String, String> {
    Git::default().version().map_err(|error| error.to_string())
}

/// Returns the shell that commands of agents run in. `None` if the user's own takes no commands; then it is `/bin/sh`.
#[must_use]
pub fn login_shell(settings: &Settings) -> Option<String> {
    settings
        .shell
        .as_deref()
        .and_then(holon_command::usable_shell)
}
