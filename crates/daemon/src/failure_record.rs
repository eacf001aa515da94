//! The last failures of starting and ending a host, kept in `run/` until a start or a stop succeeds.

use crate::error::Error;
use crate::files;
use crate::port::wall_clock;
use holon_domain::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Largest file that is read.
const MAX_BYTES: u64 = 64 << 10;
/// Command that shows more about a failure.
const DETAIL_HINT: &str = "holon daemon logs";

/// The phase in which a failure happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    /// Before the host answered requests.
    Startup,
    /// While it was ending, or because it could not go on.
    Shutdown,
    /// In the turn of an agent, whose row keeps the failure.
    RuntimeTurn,
}

impl FailurePhase {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Shutdown => "shutdown",
            Self::RuntimeTurn => "runtime_turn",
        }
    }
}

/// One failure, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    pub occurred_at: Timestamp,
    pub summary: String,
    pub phase: FailurePhase,
    /// The next step to learn more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_hint: Option<String>,
    /// Stable error code, if the failure had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl FailureRecord {
    /// A failure that happened now.
    #[must_use]
    pub fn now(phase: FailurePhase, summary: String, code: Option<String>) -> Self {
        Self {
            occurred_at: wall_clock(),
            summary,
            phase,
            detail_hint: Some(DETAIL_HINT.to_owned()),
            code,
        }
    }
}

/// The failure files of a home.
#[derive(Debug, Clone)]
pub struct FailureFiles {
    run_dir: PathBuf,
}

impl FailureFiles {
    /// The files of this home.
    #[must_use]
    pub fn of(home: &Path) -> Self {
        Self {
            run_dir: home.join("run"),
        }
    }

    /// Path of the newest failure of either phase.
    #[must_use]
    pub fn last_path(&self) -> PathBuf {
        self.run_dir.join("last_failure.json")
    }

    /// Path of the last start that failed.
    #[must_use]
    pub fn startup_path(&self) -> PathBuf {
        self.run_dir.join("startup_failure.json")
    }

    /// Path of the last end that failed.
    #[must_use]
    pub fn shutdown_path(&self) -> PathBuf {
        self.run_dir.join("shutdown_failure.json")
    }

    /// Reads one of the files; `None` if it is missing or cannot be read.
    #[must_use]
    pub fn load(path: &Path) -> Option<FailureRecord> {
        let text = files::read_bounded(path, MAX_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps a failure. A home that does not exist, or has no space, keeps none: the caller has the failure anyway.
    pub fn record(&self, failure: &FailureRecord) {
        let own = match failure.phase {
            FailurePhase::Startup => Some(self.startup_path()),
            FailurePhase::Shutdown => Some(self.shutdown_path()),
            FailurePhase::RuntimeTurn => None,
        };
        let Ok(text) = serde_json::to_vec_pretty(failure) else {
            return;
        };
        for path in own.into_iter().chain([self.last_path()]) {
            if let Err(error) = files::write_atomically(&path, &text) {
                tracing::debug!(%error, "a failure was not kept");
            }
        }
    }

    /// Removes all failures, after a start or a stop that succeeded.
    pub fn clear(&self) {
        for path in [self.startup_path(), self.shutdown_path(), self.last_path()] {
            files::remove_quietly(&path);
        }
    }

    /// Keeps the failure of a host that could not start or go on. A home that belongs to another process, or is lost,
    /// is left alone.
    pub(crate) fn record_end(&self, error: &Error, was_ready: bool) {
        if matches!(error.code(), "home_in_use" | "home_unusable" | "store_lost") {
            return;
        }
        let phase = if was_ready {
            FailurePhase::Shutdown
        } else {
            FailurePhase::Startup
        };
        let code = Some(error.code().to_owned());
        self.record(&FailureRecord::now(phase, error.to_string(), code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_both_phases_are_kept_apart_and_cleared_together() {
        let home = tempfile::tempdir().unwrap();
        let files = FailureFiles::of(home.path());
        let startup = FailureRecord::now(FailurePhase::Startup, "no".into(), Some("x".into()));
        files.record(&startup);
        assert!(!files.last_path().exists(), "there is no home");
        std::fs::create_dir(home.path().join("run")).unwrap();
        files.record(&startup);
        let shutdown = FailureRecord::now(FailurePhase::Shutdown, "stuck".into(), None);
        files.record(&shutdown);
        assert_eq!(FailureFiles::load(&files.startup_path()), Some(startup));
        assert_eq!(
            FailureFiles::load(&files.shutdown_path()),
            Some(shutdown.clone())
        );
        assert_eq!(FailureFiles::load(&files.last_path()), Some(shutdown));
        files.clear();
        for path in [
            files.startup_path(),
            files.shutdown_path(),
            files.last_path(),
        ] {
            assert_eq!(FailureFiles::load(&path), None);
        }
    }
}
