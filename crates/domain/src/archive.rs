//! The archive of an agent: a tar file with a manifest, the agent's durable record and the files of its home.
//!
//! The entries are `manifest.json`, `record.json` and `home/...`, in this order. The manifest lists every other entry
//! with its size and hash, so a reader checks all of them before it makes anything. An archive holds no credential; the
//! manifest lists what was left out. This module does not read or write files.

mod manifest;
mod record;
mod report;
pub mod ustar;

pub use manifest::{
    ArchiveCounts, ArchiveManifest, ArchivedAgent, ArchivedFile, EntryDigest, LeftOut, LinkedSkill,
};
pub use record::{
    ArchiveRecord, ArchivedModel, ArchivedRecheck, ArchivedTimer, ArchivedWorkItem, ImportOrigin,
};
pub use report::{ImportReport, ImportedFile, ImportedWorkspace, WorkspaceImport};

use crate::limits::{ARCHIVE_DEPTH, ARCHIVE_PATH_BYTES};
use crate::text::is_display_control;

/// Version of the archive format. A reader refuses a greater one.
pub const FORMAT: u32 = 1;
/// Name of the first entry.
pub const MANIFEST: &str = "manifest.json";
/// Name of the second entry.
pub const RECORD: &str = "record.json";
/// Prefix of the entries that are files of the home.
pub const HOME: &str = "home/";

/// Reason for which a path cannot be a path of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("it is empty or longer than {ARCHIVE_PATH_BYTES} bytes")]
    Length,
    #[error("it is absolute")]
    Absolute,
    #[error("a part of it is empty, `.` or `..`")]
    Component,
    #[error("it has a character that cannot be shown, or a backslash")]
    Character,
    #[error("it is deeper than {ARCHIVE_DEPTH} directories")]
    Depth,
}

/// Checks the path of a file below the home. A path that passes cannot leave the directory that it is joined to.
///
/// # Errors
/// Names the rule that the path breaks.
pub fn check_path(path: &str) -> Result<(), PathFault> {
    if path.is_empty() || path.len() > ARCHIVE_PATH_BYTES {
        return Err(PathFault::Length);
    }
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    if path.chars().any(|c| is_display_control(c) || c == '\\') {
        return Err(PathFault::Character);
    }
    let mut depth = 0;
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(PathFault::Component);
        }
        depth += 1;
    }
    if depth > ARCHIVE_DEPTH {
        return Err(PathFault::Depth);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_an_archive_stays_beneath_its_root() {
        for (path, fault) in [
            ("", PathFault::Length),
            ("/etc/passwd", PathFault::Absolute),
            ("..", PathFault::Component),
            ("a/../b", PathFault::Component),
            ("a/./b", PathFault::Component),
            ("a//b", PathFault::Component),
            ("a/", PathFault::Component),
            ("a\\..\\b", PathFault::Character),
            ("a\nb", PathFault::Character),
            ("a\0b", PathFault::Character),
        ] {
            assert_eq!(check_path(path), Err(fault), "{path:?}");
        }
        let deep = vec!["d"; ARCHIVE_DEPTH + 1].join("/");
        assert_eq!(check_path(&deep), Err(PathFault::Depth));
        let long = "x".repeat(ARCHIVE_PATH_BYTES + 1);
        assert_eq!(check_path(&long), Err(PathFault::Length));
        for path in ["AGENTS.md", "memory/self.md", "..x/y..", "a b/ü"] {
            assert_eq!(check_path(path), Ok(()), "{path:?}");
        }
    }
}
