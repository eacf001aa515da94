//! The notes that an agent keeps for itself: the two files of its memory, as far as a prompt shows them.

use crate::memory::CuratedFile;
use std::sync::Arc;

/// One file of notes that has content. The agent writes it itself, so any text may stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteFile {
    pub file: CuratedFile,
    /// Beginning of the file, at most [`NOTES_READ_BYTES`](crate::limits::NOTES_READ_BYTES) of it. Bytes that are not
    /// UTF-8 are replaced.
    pub beginning: Arc<str>,
    /// Size of the file.
    pub bytes: u64,
    /// True if the file goes on behind `beginning`.
    pub goes_on: bool,
}
