//! A little space kept beside the database, so that a host which is started on a full disk can open it.
//!
//! Opening takes space: the index of the write-ahead log, and the mark that the store is in use. The reserve is given
//! up for that, and made again when there is space.

use crate::open;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Bytes kept: the index of a short log takes 32 KiB, the mark a few pages.
const RESERVE_BYTES: usize = 128 << 10;
/// Free bytes from which on the reserve is made: it must not be what fills the disk.
const ENOUGH_BYTES: u64 = 1 << 20;

/// Makes the reserve of the database at `path` if it is missing and there is space.
pub(crate) fn keep(path: &Path) {
    let reserve = open::beside(path, "-reserve");
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

/// Gives the reserve up. False when there was none.
pub(crate) fn release(path: &Path) -> bool {
    fs::remove_file(open::beside(path, "-reserve")).is_ok()
}

/// Whether the file system of the database at `path` takes no more: no block or no file.
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
