//! Identity of a root directory apart from its path: a link or another directory at that path differs.

use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

/// Distinguishes a directory from any other that has had its path.
///
/// Inode numbers are reused, so the birth time counts too if the filesystem keeps one. Device numbers may change at
/// boot, so they count only if there is no birth time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootIdentity {
    device: u64,
    inode: u64,
    /// Nanoseconds since 1970; absent if the filesystem does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born_ns: Option<u64>,
}

impl RootIdentity {
    /// Returns the identity of an open directory.
    pub(super) fn of(dir: &File) -> io::Result<Self> {
        let found = dir.metadata()?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            born_ns: born_ns(&found),
        })
    }

    /// Returns true if both are the same directory.
    pub(super) fn is(&self, other: &Self) -> bool {
        let born = self.born_ns.zip(other.born_ns);
        self.inode == other.inode
            && born.map_or(self.device == other.device, |(one, two)| one == two)
    }
}

fn born_ns(found: &Metadata) -> Option<u64> {
    let born = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(born.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inode_counts_with_its_birth_or_else_with_its_device() {
        let identity = |device, inode, born_ns| RootIdentity {
            device,
            inode,
            born_ns,
        };
        let known = identity(1, 2, Some(3));
        assert!(known.is(&identity(9, 2, Some(3))), "booted again");
        assert!(
            !known.is(&identity(1, 2, Some(4))),
            "the number was used again"
        );
        assert!(
            !known.is(&identity(1, 9, Some(3))),
            "made in the same moment"
        );
        assert!(known.is(&identity(1, 2, None)));
        assert!(!known.is(&identity(9, 2, None)));
    }
}
