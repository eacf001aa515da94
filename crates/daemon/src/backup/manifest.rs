//! The descriptions in a backup: the manifest at its beginning, and at its end the index and the seal over both.

use holon_domain::Timestamp;
use serde::{Deserialize, Serialize};

/// Path of the manifest, which is the first entry.
pub(super) const MANIFEST: &str = "holon-backup.json";
/// Path of the index, which follows all files. A backup without it is cut off.
pub(super) const INDEX: &str = "holon-backup-index.json";
/// Path of the seal, which is the last entry.
pub(super) const SEAL: &str = "holon-backup-seal.json";
/// Format that this build writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 2;
/// Oldest format, which has no seal.
pub(super) const UNSEALED: u32 = 1;
/// Bound on the manifest and on the seal, which have a few hundred bytes.
pub(super) const MANIFEST_BYTES: u64 = 64 << 10;
/// Longest index: a few hundred bytes for each of a million files.
pub(super) const INDEX_BYTES: u64 = 512 << 20;

/// Origin of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) created_at: Timestamp,
    pub(super) holon_version: String,
    pub(super) schema_version: i64,
    /// Identity of the store that was copied.
    pub(super) epoch: String,
    pub(super) agents: u64,
}

/// Everything that a backup holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index {
    /// All of them, because an empty one counts too, for example in a repository.
    pub(super) directories: Vec<String>,
    pub(super) files: Vec<FileEntry>,
    pub(super) links: Vec<LinkEntry>,
    pub(super) left_out: Vec<LeftOut>,
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
    pub(super) executable: bool,
}

/// One symbolic link of an agent's home, such as a linked skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinkEntry {
    pub(super) path: String,
    pub(super) target: String,
}

/// A file that a backup does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub reason: String,
}

/// Digests of the other two descriptions, so that a changed byte of them is noticed like one of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seal {
    pub(super) manifest_sha256: String,
    pub(super) index_sha256: String,
}
