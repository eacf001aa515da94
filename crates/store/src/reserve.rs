//! Reserved disk space beside the database, so that a host can open it on a full disk.
//!
//! Opening needs space for the index of the write-ahead log and for the mark that the store is in use. The reserve is
//! released for that, and recreated when there is space.

use crate::open;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Size of the reserve: the index of a short log takes 32 KiB, the mark a few pages.
const RESERVE_BYTES: usize = 128 << 10;
/// Free bytes needed to create the reserve, so that the reserve itself does not fill the disk.
const ENOUGH_BYTES: u64 = 1 << 20;

/// Creates the reserve of the database at `path` if it is missing and there is space.
pub(crate) fn keep(path: &Path) {
    let reserve = open::with_suffix(path, "-reserve");
    if reserve.exists() || free_bytes(path).is_none_or(|free| free < ENOUGH_BYTES) {
        return;
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&reserve)
        .and_then(|mut file| file.write_all(&vec![0; RESERVE_BYTES]));
    if let Err(error) = made {
        tracing::debug!(%error, "no space is kept for the next start");
        release(path);
    }
}

/// Deletes the reserve. Returns false if there was none.
pub(crate) fn release(path: &Path) -> bool {
    fs::remove_file(open::with_suffix(path, "-reserve")).is_ok()
}

/// Returns true if the file system of the database at `path` has no free block or no free inode.
pub(crate) fn is_exhausted(path: &Path) -> bool {
    let Some(directory) = path.parent() else {
        return false;
    };
    rustix::fs::statvfs(directory).is_ok_and(|found| {
        let lacks_files = found.f_files > 0 && found.f_favail == 0;
        found.f_bavail == 0 || lacks_files
    })
}

fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path.parent()?).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
