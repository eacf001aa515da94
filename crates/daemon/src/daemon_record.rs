//! `run/daemon.json`: what a running host tells other processes about itself. The lock, not this file, says
//! whether it runs.

use crate::endpoint::Endpoints;
use crate::error::Error;
use crate::files;
use holon_domain::Timestamp;
use holon_store::Home;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One running host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    /// Its process.
    pub pid: u32,
    /// Its home.
    pub home_dir: PathBuf,
    /// Its control socket.
    pub socket_path: PathBuf,
    /// Its TCP address.
    pub http_addr: String,
    /// When it was ready.
    pub started_at: Timestamp,
}

impl DaemonRecord {
    /// Where the record of a home is.
    #[must_use]
    pub fn path(run_dir: &Path) -> PathBuf {
        run_dir.join("daemon.json")
    }

    /// Writes the record of this process, whole or not at all.
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
        files::write_whole(&path, &text)
    }

    /// Removes the record of a home.
    pub(crate) fn remove(home: &Home) {
        files::remove_quietly(&Self::path(&home.run_dir()));
    }
}
