//! Archives of agents: a home packed into a tar file without its secrets, and a home made from one.
//!
//! `pack` reads a home without following a link. `unpack` checks a whole archive before anything is made from it, and
//! builds the home beside its place. The format itself is in `holon_domain::archive`.

mod credential;
mod entries;
mod error;
mod pack;
mod spool;
mod unpack;

pub use credential::redact_tokens;
pub use error::ArchiveError;
pub use pack::{PackOrder, PackedHome, pack_home};
pub use spool::{SealedArchive, new_spool, seal};
pub use unpack::{CheckedArchive, LinkRoots, check_archive, place_archive};

/// Directories above the record of the template, which is the one file of the host that an archive holds.
const HOST_DIRECTORIES: [&str; 2] = [".holon", ".holon/state"];
/// Directory of the outputs of tasks.
const TASK_OUTPUT: &str = "task-output";

/// Returns true if a path of a home belongs to the host or to tasks. It is neither exported nor imported: what lies
/// there proves that commands of this agent on this host ran.
fn is_of_host(path: &str) -> bool {
    let is_below = |directory: &str| {
        let rest = path.strip_prefix(directory);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_known = HOST_DIRECTORIES.contains(&path) || path == crate::template::PROVENANCE;
    is_below(TASK_OUTPUT) || (is_below(".holon") && !is_known)
}

/// Limits of an archive. Tests use smaller ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    pub files: usize,
    /// Bytes of the whole archive.
    pub bytes: u64,
    /// Bytes of one file of the home.
    pub file_bytes: u64,
    /// Bytes of the manifest, and of the record.
    pub text_bytes: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        use holon_domain::limits;
        Self {
            files: limits::ARCHIVE_FILES,
            bytes: limits::ARCHIVE_BYTES,
            file_bytes: limits::ARCHIVE_FILE_BYTES,
            text_bytes: limits::ARCHIVE_TEXT_BYTES,
        }
    }
}
