//! The path of a home's control socket, for hosts and for clients.
//!
//! An address of a unix socket holds about a hundred bytes. The socket of a home with a longer path lies in a private
//! directory of the user, under a name made from the home's path; the host's record tells clients where.

use crate::daemon_record::DaemonRecord;
use crate::error::Error;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Longest socket path that every supported system accepts, without the final NUL.
const SOCKET_PATH_MAX: usize = 103;
/// Bytes of the digest in a tag.
const TAG_BYTES: usize = 8;

/// Returns the path of a home's control socket, for clients that look for its host.
#[must_use]
pub fn socket_path(home: &Path) -> PathBuf {
    let own = own_path(home);
    if fits(&own) {
        return own;
    }
    let record = DaemonRecord::load(&home.join("run"));
    record.map_or(own, |record| record.socket_path)
}

/// Private directories of the user in which short sockets may lie, in the order of preference.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShortDirs {
    /// Private directory of the user's session.
    pub(crate) runtime: Option<PathBuf>,
    /// Home of the user.
    pub(crate) user: Option<PathBuf>,
}

/// Returns the path at which a host binds its socket: in its home, or a short one.
///
/// # Errors
/// When the path in the home is too long and there is no other place.
pub(crate) fn place(home: &Path, dirs: &ShortDirs) -> Result<PathBuf, Error> {
    let own = own_path(home);
    if fits(&own) {
        return Ok(own);
    }
    let name = format!("{}.sock", home_tag(home));
    let candidates = [
        dirs.runtime.as_ref().map(|dir| dir.join("holon")),
        dirs.user.as_ref().map(|dir| dir.join(".holon-sockets")),
    ];
    for dir in candidates.into_iter().flatten() {
        let path = dir.join(&name);
        if !fits(&path) {
            continue;
        }
        match make_private(&dir) {
            Ok(()) => {
                let len = own.as_os_str().as_bytes().len();
                tracing::warn!(
                    own = %own.display(), used = %path.display(), len, max = SOCKET_PATH_MAX,
                    "the path of the socket in the home is too long for the system; a shorter one is used"
                );
                return Ok(path);
            }
            Err(error) => {
                tracing::warn!(dir = %dir.display(), %error, "no place for the socket");
            }
        }
    }
    Err(Error::SocketPathTooLong {
        len: own.as_os_str().as_bytes().len(),
        path: own,
        max: SOCKET_PATH_MAX,
    })
}

fn own_path(home: &Path) -> PathBuf {
    home.join("run").join("holon.sock")
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= SOCKET_PATH_MAX
}

/// Returns a short tag that no other home of this user has, for names outside the home.
#[must_use]
pub fn home_tag(home: &Path) -> String {
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let mut tag = String::new();
    for byte in Sha256::digest(home.as_os_str().as_bytes())
        .iter()
        .take(TAG_BYTES)
    {
        // Writing to a string cannot fail.
        write!(tag, "{byte:02x}").ok();
    }
    tag
}

/// Creates a directory that only this user can enter; refuses one that others own or can enter.
fn make_private(dir: &Path) -> std::io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => std::fs::set_permissions(dir, Permissions::from_mode(0o700))?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = std::fs::symlink_metadata(dir)?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::PermissionDenied,
        "it is not a private directory of this user",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_home(root: &Path) -> PathBuf {
        root.join("x".repeat(120))
    }

    #[test]
    fn a_path_that_fits_stays_in_the_home() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let own = home.join("run/holon.sock");
        assert_eq!(place(&home, &ShortDirs::default()).unwrap(), own);
        assert_eq!(socket_path(&home), own);
    }

    #[test]
    fn a_path_that_is_too_long_is_replaced_by_a_short_private_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = long_home(dir.path());
        let dirs = ShortDirs {
            runtime: Some(dir.path().into()),
            user: None,
        };
        let short = place(&home, &dirs).unwrap();
        assert!(fits(&short) && short.starts_with(dir.path().join("holon")));
        assert_eq!(place(&home, &dirs).unwrap(), short, "it is always the same");
        let mode = std::fs::metadata(short.parent().unwrap()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        let other = place(&dir.path().join("y".repeat(120)), &dirs).unwrap();
        assert_ne!(other, short, "each home has its own");
    }

    #[test]
    fn a_directory_that_others_can_enter_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("holon");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        let dirs = ShortDirs {
            runtime: Some(dir.path().into()),
            user: Some(dir.path().into()),
        };
        let short = place(&long_home(dir.path()), &dirs).unwrap();
        assert!(
            short.starts_with(dir.path().join(".holon-sockets")),
            "{short:?}"
        );
    }

    #[test]
    fn without_a_place_the_length_is_named() {
        let home = PathBuf::from(format!("/{}", "x".repeat(120)));
        let refused = place(&home, &ShortDirs::default());
        assert!(
            matches!(
                refused,
                Err(Error::SocketPathTooLong {
                    len: 136,
                    max: 103,
                    ..
                })
            ),
            "{refused:?}"
        );
    }
}
