//! `run/daemon.json`: the record by which other processes find a running host. The lock, not this file, proves that
//! the host runs.

use crate::effective_config::{ConfigMarks, EffectiveConfig};
use crate::error::Error;
use crate::files;
use holon_config::HostOptions;
use holon_domain::Timestamp;
use holon_store::{Home, HomeOwner};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Largest record that is read; a real one has less than a fifth of this.
const MAX_BYTES: u64 = 64 << 10;

/// The record of a running host. Fields that a host of an earlier build did not write are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    pub pid: u32,
    pub home_dir: PathBuf,
    pub socket_path: PathBuf,
    pub http_addr: String,
    /// Time at which the host was ready to answer.
    pub started_at: Timestamp,
    /// Start time of the process, in clock ticks since the boot; see [`HomeOwner::started`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_started: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "ConfigMarks::is_empty")]
    pub config_marks: ConfigMarks,
    /// Mark of the token that the host was started with; see [`crate::token_mark()`]. Absent if it uses the home's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_mark: Option<String>,
    /// Options of the start, without secrets.
    #[serde(default)]
    pub options: HostOptions,
    /// URL by which clients of other machines reach the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise_url: Option<String>,
    /// Log file of a host in the background. Absent if its log goes to a terminal or to a service manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_path: Option<PathBuf>,
    /// Name of the service manager that started the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_manager: Option<String>,
    /// Version of the host's build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl DaemonRecord {
    /// Path of the record in a run directory.
    #[must_use]
    pub fn path(run_dir: &Path) -> PathBuf {
        run_dir.join("daemon.json")
    }

    /// Reads the record in a run directory. `None` if there is none, or if it cannot be read.
    #[must_use]
    pub fn load(run_dir: &Path) -> Option<Self> {
        let text = files::read_bounded(&Self::path(run_dir), MAX_BYTES).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Returns true if this is the record of the process that owns the home now.
    #[must_use]
    pub fn is_of(&self, owner: &HomeOwner) -> bool {
        let same_start = match (self.process_started, owner.started) {
            (Some(own), Some(started)) => own == started,
            (None, _) | (_, None) => true,
        };
        self.pid == owner.pid && same_start
    }

    /// Writes the record atomically.
    fn write(&self, run_dir: &Path) -> Result<(), Error> {
        let path = Self::path(run_dir);
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::File {
            path: path.clone(),
            source: error.into(),
        })?;
        files::write_atomically(&path, &text)
    }

    /// Removes the record from a home.
    pub(crate) fn remove(home: &Home) {
        files::remove_quietly(&Self::path(&home.run_dir()));
    }
}

/// The record of this process. It is written once the host is up, and again whenever its configuration changes.
#[derive(Debug)]
pub(crate) struct OwnRecord {
    run_dir: PathBuf,
    state: Mutex<RecordState>,
}

#[derive(Debug)]
struct RecordState {
    record: DaemonRecord,
    /// True once it is in the run directory.
    written: bool,
}

impl OwnRecord {
    /// Takes a record that is not written yet.
    pub(crate) const fn new(run_dir: PathBuf, record: DaemonRecord) -> Self {
        let state = RecordState {
            record,
            written: false,
        };
        Self {
            run_dir,
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the record as it is now.
    pub(crate) fn now(&self) -> DaemonRecord {
        self.lock().record.clone()
    }

    /// Writes the record of a host that has been ready since this time.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn announce(&self, ready_at: Timestamp) -> Result<(), Error> {
        let mut state = self.lock();
        state.record.started_at = ready_at;
        state.record.write(&self.run_dir)?;
        state.written = true;
        Ok(())
    }

    /// Replaces the fingerprint and the marks, in the file too if there is one.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(crate) fn set_config(&self, config: &EffectiveConfig) -> Result<(), Error> {
        let mut state = self.lock();
        state.record.config_fingerprint = Some(config.fingerprint());
        state.record.config_marks = config.marks();
        if state.written {
            state.record.write(&self.run_dir)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(started: Option<u64>) -> HomeOwner {
        HomeOwner {
            pid: 7,
            started,
            is_host: true,
            leaving: false,
        }
    }

    #[test]
    fn the_record_of_an_earlier_build_is_read_and_known_by_its_process_id() {
        let text = r#"{"pid":7,"home_dir":"/h","socket_path":"/h/run/holon.sock",
            "http_addr":"127.0.0.1:1","started_at":"2026-01-01T00:00:00Z","of_a_later_build":1}"#;
        let record: DaemonRecord = serde_json::from_str(text).unwrap();
        assert_eq!(record.config_fingerprint, None);
        assert_eq!(record.options, HostOptions::default());
        assert!(record.is_of(&owner(Some(9))) && record.is_of(&owner(None)));
        let newer = DaemonRecord {
            process_started: Some(8),
            ..record
        };
        assert!(!newer.is_of(&owner(Some(9))), "the id was used again");
        assert!(newer.is_of(&owner(Some(8))));
    }
}
