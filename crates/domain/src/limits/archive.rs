//! Bounds of archives of agents.

/// Most files in the archive of an agent. An export or an import of more is refused.
pub const ARCHIVE_FILES: usize = 50_000;
/// Most bytes of the archive of an agent. An export or an import of more is refused.
pub const ARCHIVE_BYTES: u64 = 2 << 30;
/// Largest file of a home that an export takes, in bytes. It is read whole to look for secrets; a larger one is left out
/// and listed.
pub const ARCHIVE_FILE_BYTES: u64 = 64 << 20;
/// Longest path of a file in an archive, in bytes. A file with a longer one is left out and listed.
pub const ARCHIVE_PATH_BYTES: usize = 240;
/// Deepest directory in an archive. An export lists what is deeper and leaves it out, an import refuses it.
pub const ARCHIVE_DEPTH: usize = 32;
/// Largest manifest, and largest durable record, of an archive, in bytes. A larger one is refused.
pub const ARCHIVE_TEXT_BYTES: u64 = 64 << 20;
/// Most work items in an archive, open ones first. An export lists how many more there are, an import refuses more.
pub const ARCHIVE_WORK_ITEMS: usize = 10_000;
/// Newest entries of the transcript, and newest briefs, that an export writes as files into `history`. It lists how many
/// more there are.
pub const ARCHIVE_HISTORY_ENTRIES: usize = 1_000;
/// Milliseconds that the host waits for the next part of an archive that is sent to it. Then the import is refused.
pub const ARCHIVE_READ_MS: u64 = 60_000;
