//! The files by which other processes find a host. They are removed with the host, unless the store is lost.

use crate::daemon_record::DaemonRecord;
use crate::files;
use holon_store::{Home, StoreLost};
use std::path::PathBuf;
use tokio::sync::watch;

/// Removes the socket and the record of a host when dropped.
pub(crate) struct HostFiles<'a> {
    home: &'a Home,
    socket_path: PathBuf,
    lost: Option<watch::Receiver<Option<StoreLost>>>,
}

impl<'a> HostFiles<'a> {
    /// Creates the guard for a host of this home.
    pub(crate) const fn new(home: &'a Home, socket_path: PathBuf) -> Self {
        Self {
            home,
            socket_path,
            lost: None,
        }
    }

    /// Keeps the files if the store is lost: another host may have written them by then.
    pub(crate) fn keep_if_lost(&mut self, lost: watch::Receiver<Option<StoreLost>>) {
        self.lost = Some(lost);
    }
}

impl Drop for HostFiles<'_> {
    fn drop(&mut self) {
        if self
            .lost
            .as_ref()
            .is_some_and(|lost| lost.borrow().is_some())
        {
            return;
        }
        files::remove_quietly(&self.socket_path);
        DaemonRecord::remove(self.home);
    }
}
