//! Examines the machine around a home, for the doctor. Changes nothing.

use holon_config::Settings;
use holon_domain::AgentId;
use holon_store::IndexState;
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
    // A pipe in its place would keep a reader waiting.
    if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return DatabaseCheck {
            bytes: Some(0),
            findings: vec![format!("{} is not a regular file", path.display())],
        };
    }
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

/// Lists the agents whose settings are larger than they may grow today, each with the bytes. A store that cannot be read
/// has none here; [`check_database`] reports it.
#[must_use]
pub fn large_settings(settings: &Settings) -> Vec<(AgentId, u64)> {
    holon_store::large_settings(&crate::survey::db_path(settings)).unwrap_or_default()
}

/// State of the memory indexes of a home's agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexCheck {
    /// Number of indexes that are complete.
    pub complete: usize,
    /// Names of the agents whose index is not complete, each with the words of the reason.
    pub problems: Vec<(String, String)>,
}

/// Looks at the memory index of every agent's home. Takes a moment for each hundred megabytes.
#[must_use]
pub fn check_indexes(settings: &Settings) -> IndexCheck {
    let homes = std::fs::read_dir(settings.home.value.join("agents"));
    let mut homes: Vec<_> = homes.into_iter().flatten().flatten().collect();
    homes.sort_by_key(std::fs::DirEntry::file_name);
    let mut check = IndexCheck::default();
    for home in homes {
        let Ok(name) = home.file_name().into_string() else {
            continue;
        };
        if AgentId::parse_stored(&name).is_err() {
            continue;
        }
        match holon_store::examine_index(&home.path()) {
            Ok(IndexState::Absent) => {}
            Ok(IndexState::Complete) => check.complete += 1,
            Ok(IndexState::Unfinished) => {
                let words = "its build goes on, or was interrupted";
                check.problems.push((name, words.to_owned()));
            }
            Err(fault) => check.problems.push((name, fault.to_string())),
        }
    }
    check
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
