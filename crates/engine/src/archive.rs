//! Archives of agents as the engine and its home port exchange them.

use holon_domain::archive::{ArchiveManifest, ArchiveRecord, ArchivedAgent, LeftOut};
use holon_domain::time::Timestamp;
use std::fs::File;

/// Tells a real request from one that only shows what would happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveMode {
    /// Makes the archive or the agent.
    Make,
    /// Reads and checks everything, and makes nothing.
    DryRun,
}

impl ArchiveMode {
    /// Returns the mode of a request with this flag.
    #[must_use]
    pub const fn of(dry_run: bool) -> Self {
        if dry_run { Self::DryRun } else { Self::Make }
    }
}

/// A request to pack an agent.
#[derive(Debug, Clone)]
pub struct PackOrder {
    pub agent_home: String,
    pub agent: ArchivedAgent,
    pub exported_at: Timestamp,
    pub record: ArchiveRecord,
    /// Files that the engine makes from rows: their paths below the home, and their contents.
    pub generated: Vec<(String, String)>,
    /// Rows that are not exported. The port adds the files.
    pub left_out: Vec<LeftOut>,
    pub mode: ArchiveMode,
}

/// An agent that was packed.
#[derive(Debug)]
pub struct PackedArchive {
    pub manifest: ArchiveManifest,
    /// Bytes of the archive, also for a dry run.
    pub bytes: u64,
    /// The archive, read from its beginning. Absent for a dry run.
    pub file: Option<File>,
}

/// An archive that keeps every rule of its format.
#[derive(Debug)]
pub struct ReadArchive {
    pub manifest: ArchiveManifest,
    pub record: ArchiveRecord,
    pub file: File,
    pub source: ArchiveSource,
}

/// Maker of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveSource {
    /// A file that was sent to this host. Nothing in it is trusted.
    Outside,
    /// This host, for the copy of an agent.
    ThisHost,
}

/// The reason why an archive cannot be made or used, worded for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveFault {
    /// The archive breaks a rule of its format, or the agent has more than one may hold.
    Refused(String),
    /// The disk is full.
    DiskFull,
}

impl ArchiveFault {
    pub(crate) fn unsupported() -> Self {
        Self::Refused("this host cannot make or read archives".to_owned())
    }
}
