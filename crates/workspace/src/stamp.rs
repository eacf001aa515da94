//! Tells by its metadata if a file has changed since it was read.

use holon_domain::time::Timestamp;
use rustix::fs::Stat;

/// Milliseconds after a change in which a further change may leave the same times behind. Most filesystems take the
/// time of a change from a clock with a step of a few milliseconds; some have a step of two seconds.
const SETTLING_MS: i64 = 2_500;

/// Identity, size and times of a file. Two equal stamps of settled files mean the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        clippy::useless_conversion,
        reason = "the fields have other types on other systems; a wrapped number still tells two files apart"
    )]
    pub(crate) fn of(found: &Stat) -> Self {
        Self {
            device: found.st_dev as u64,
            inode: found.st_ino as u64,
            bytes: found.st_size as u64,
            modified: (found.st_mtime as i64, found.st_mtime_nsec as i64),
            changed: (found.st_ctime as i64, found.st_ctime_nsec as i64),
        }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if the last change is so old that a further change would show.
    pub(crate) fn is_settled_at(&self, now: Timestamp) -> bool {
        let changed = self.changed.0.saturating_mul(1_000) + self.changed.1 / 1_000_000;
        now.as_millis().saturating_sub(changed) > SETTLING_MS
    }
}
