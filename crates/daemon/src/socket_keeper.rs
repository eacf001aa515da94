//! Keeps the control socket in its place: it is created again if another program deletes, moves or replaces it, or if
//! there was no disk space for it at the start.

use holon_store::Home;
use std::convert::Infallible;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Interval of the checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The socket of a host and its listener's way to the server.
#[derive(Debug)]
pub(crate) struct SocketKeeper<'a> {
    home: &'a Home,
    path: PathBuf,
    /// Device and inode number of the bound socket; absent if none could be bound yet.
    bound: Option<(u64, u64)>,
    /// The server, which accepts on the newest listener.
    server: mpsc::Sender<UnixListener>,
    /// True after a failed attempt that is in the log.
    is_failing: bool,
}

impl<'a> SocketKeeper<'a> {
    /// Creates the keeper of the socket that is in its place now, if `is_bound`.
    pub(crate) fn new(
        home: &'a Home,
        path: PathBuf,
        is_bound: bool,
        server: mpsc::Sender<UnixListener>,
    ) -> Self {
        let bound = is_bound.then(|| file_at(&path)).flatten();
        Self {
            home,
            path,
            bound,
            server,
            is_failing: false,
        }
    }

    /// Checks the socket until the host shuts down.
    pub(crate) async fn keep(mut self, shutdown: &CancellationToken) -> Infallible {
        let mut checks = tokio::time::interval(CHECK_INTERVAL);
        while shutdown.run_until_cancelled(checks.tick()).await.is_some() {
            if let Some(listener) = self.bind_if_missing() {
                // A server that has ended needs no socket.
                drop(self.server.send(listener).await);
            }
        }
        std::future::pending().await
    }

    /// Binds the socket if it is not in its place. A home that is no longer this process's is left alone: the path may
    /// belong to another host.
    fn bind_if_missing(&mut self) -> Option<UnixListener> {
        let path = &self.path;
        let is_there = self.bound.is_some() && file_at(path) == self.bound;
        if is_there || !self.home.is_in_place() {
            return None;
        }
        match holon_server::bind_unix(path) {
            Ok(listener) => {
                tracing::warn!(socket = %path.display(), "the control socket was missing and is created again");
                self.bound = file_at(path);
                self.is_failing = false;
                Some(listener)
            }
            Err(error) => {
                if !self.is_failing {
                    tracing::error!(%error, "the control socket is missing and cannot be created again; \
                         clients cannot reach this host by it until that works");
                }
                self.is_failing = true;
                None
            }
        }
    }
}

/// Returns device and inode number of the file at a path itself; a link is not followed.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_bound_again_only_if_it_is_gone_and_the_home_is_this_process_s() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home");
        let home = Home::open(&path).unwrap();
        let first = holon_server::bind_unix(&home.socket_path()).unwrap();
        let mut keeper = SocketKeeper::new(&home, home.socket_path(), true, mpsc::channel(1).0);
        assert!(keeper.bind_if_missing().is_none(), "it is there");
        std::fs::rename(home.socket_path(), path.join("away")).unwrap();
        let second = keeper.bind_if_missing().expect("it was moved");
        assert!(keeper.bind_if_missing().is_none(), "it is there again");
        let other = holon_server::bind_unix(&home.socket_path()).unwrap();
        let third = keeper.bind_if_missing().expect("it was replaced");
        std::fs::remove_file(home.socket_path()).unwrap();
        std::fs::remove_file(home.lock_path()).unwrap();
        assert!(keeper.bind_if_missing().is_none(), "the home is lost");
        drop((first, second, other, third));
    }
}
