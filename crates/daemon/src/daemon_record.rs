//! `run/daemon.json`: the record by which other processes find a running host. The lock, not this file, proves that
//! the host runs.

use crate::endpoint::Endpoints;
use crate::error::Error;
use crate::files;
use holon_domain::Timestamp;
use holon_store::Home;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The record of a running host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    pub pid: u32,
    pub home_dir: PathBuf,
    pub socket_path: PathBuf,
    pub http_addr: String,
    /// Time at which the host was ready to answer.
    pub started_at: Timestamp,
}

impl DaemonRecord {
    /// Path of the record in a run directory.
    #[must_use]
    pub fn path(run_dir: &Path) -> PathBuf {
        run_dir.join("daemon.json")
    }

    /// Writes the record of this process atomically.
    pub(crate) fn write(home: &Home, endpoints: &Endpoints, now: Timestamp) -> Result<(), Error> {
        let record = Self {
            pid: std::process::id(),
            home_dir: home.root().to_owned(),
            socket_path: endpoints.socket_path.clone(),
            http_addr: endpoints.http_addr.to_string(),
            started_at: now,
        };
        let path = Self::path(&home.run_dir());
        let text = serde_json::to_vec_pretty(&record).map_err(|error| Error::File {
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
