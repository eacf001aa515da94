//! The files other processes find a host by: gone with it, unless the store is lost.

use crate::daemon_record::DaemonRecord;
use crate::files;
use holon_store::{Home, StoreLost};
use tokio::sync::watch;

/// Removes the socket and the record of a host when dropped.
pub(crate) struct Marks<'a> {
    home: &'a Home,
    lost: Option<watch::Receiver<Option<StoreLost>>>,
}

impl<'a> Marks<'a> {
    /// The marks of a host of this home.
    pub(crate) const fn new(home: &'a Home) -> Self {
        Self { home, lost: None }
    }

    /// Leaves everything as it is if the store is lost: what stands under these names may be somebody else's by then.
    pub(crate) fn stay_when(&mut self, lost: watch::Receiver<Option<StoreLost>>) {
        self.lost = Some(lost);
    }
}

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        if self
            .lost
            .as_ref()
            .is_some_and(|lost| lost.borrow().is_some())
        {
            return;
        }
        files::remove_quietly(&self.home.socket_path());
        DaemonRecord::remove(self.home);
    }
}
