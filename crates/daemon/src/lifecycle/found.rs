//! What is found of a home's host: the owner of the lock, the record, and the socket.

use crate::daemon_record::DaemonRecord;
use crate::error::Error;
use crate::files;
use crate::socket_place;
use holon_store::{Home, HomeOwner, home_owner};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;

/// Time for a connection to a socket on this machine. A listener that does not accept in time is still a listener.
const DIAL: Duration = Duration::from_secs(2);

/// What is at the path of the control socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketFound {
    Absent,
    /// A socket file without a listener: its host has ended without removing it.
    Stale,
    /// A socket with a listener.
    Listening,
    /// Something that is not a socket.
    Foreign,
}

/// The answer of a host to a question over its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlAnswer {
    /// No question was asked.
    Unasked,
    Answered,
    /// No answer came, or none that a host gives.
    Silent,
}

/// Everything that a start, a stop or a status finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The living process that holds the home's lock.
    pub owner: Option<HomeOwner>,
    /// The record in `run/`, also one that a crashed host left.
    pub record: Option<DaemonRecord>,
    pub socket: SocketFound,
    pub socket_path: PathBuf,
    /// Filled in by the caller, who asks.
    pub control: ControlAnswer,
}

impl Found {
    /// Returns true if files of a host are there that no process owns.
    #[must_use]
    pub fn has_stale_files(&self) -> bool {
        self.owner.is_none() && (self.record.is_some() || self.socket == SocketFound::Stale)
    }

    /// Lists the files of a host that no process owns.
    #[must_use]
    pub fn stale_files(&self, home: &Path) -> Vec<PathBuf> {
        if self.owner.is_some() {
            return Vec::new();
        }
        let record = DaemonRecord::path(&home.join("run"));
        let record = self.record.is_some().then_some(record);
        let socket = (self.socket == SocketFound::Stale).then(|| self.socket_path.clone());
        record.into_iter().chain(socket).collect()
    }

    /// Returns the record of the process that owns the home now.
    #[must_use]
    pub fn current_record(&self) -> Option<&DaemonRecord> {
        let owner = self.owner.as_ref()?;
        self.record.as_ref().filter(|record| record.is_of(owner))
    }
}

/// Looks at a home without changing it.
pub async fn look(home: &Path) -> Found {
    let socket_path = socket_place::socket_path(home);
    let record = DaemonRecord::load(&home.join("run"));
    Found {
        socket: socket_at(&socket_path).await,
        // After the record, which is of an owner that came earlier or of this one.
        owner: home_owner(home),
        record,
        socket_path,
        control: ControlAnswer::Unasked,
    }
}

/// Finds out what is at a socket's path. A connection is made and closed again.
pub(crate) async fn socket_at(path: &Path) -> SocketFound {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return SocketFound::Absent,
        Ok(found) if found.file_type().is_socket() => {}
        Ok(_) | Err(_) => return SocketFound::Foreign,
    }
    match tokio::time::timeout(DIAL, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => SocketFound::Stale,
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => SocketFound::Absent,
        // A full queue of connections is a listener too.
        Ok(Ok(_) | Err(_)) | Err(_) => SocketFound::Listening,
    }
}

/// Removes the files that a crashed host left in a home. The home is owned meanwhile, so that no host starts that
/// would lose its own files; one that does waits.
///
/// # Errors
/// Fails if the home cannot be owned.
pub fn clean_stale(home: &Path, found: &Found) -> Result<Vec<PathBuf>, Error> {
    let owned = Home::open(home)?;
    owned.note_leaving();
    let stale = found.stale_files(home);
    for path in &stale {
        files::remove_quietly(path);
    }
    Ok(stale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    #[tokio::test]
    async fn a_listener_a_leftover_and_a_foreign_file_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        assert_eq!(socket_at(&path).await, SocketFound::Absent);
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(socket_at(&path).await, SocketFound::Listening);
        drop(listener);
        assert_eq!(socket_at(&path).await, SocketFound::Stale);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(socket_at(&path).await, SocketFound::Foreign);
    }

    #[tokio::test]
    async fn leftovers_are_removed_and_an_owned_home_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home");
        drop(Home::open(&path).unwrap());
        let socket = path.join("run/holon.sock");
        drop(UnixListener::bind(&socket).unwrap());
        let found = look(&path).await;
        assert_eq!(found.stale_files(&path), std::slice::from_ref(&socket));
        let owner = Home::open(&path).unwrap();
        assert!(
            clean_stale(&path, &found).is_err(),
            "a host has started since"
        );
        assert!(socket.exists());
        drop(owner);
        let cleaned = clean_stale(&path, &found).unwrap();
        assert_eq!(cleaned, std::slice::from_ref(&socket));
        assert!(!socket.exists());
        assert!(!look(&path).await.has_stale_files());
    }
}
