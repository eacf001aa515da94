//! Reads the facts about the output of a command whose shim can no longer be asked.

use crate::record::{OutputRecord, StreamRecord};
use std::io;
use std::path::Path;

/// Returns the facts about output files when the shim is dead, does not answer, or never started. The paths are those
/// of the spec.
///
/// The whole content of a file counts as the stream's beginning. That is what a shim writes until its command has
/// ended; a shim that dies just then may have appended the tail after a line that says how much is missing. Bytes
/// that the shim held in memory are lost. A file that does not exist is reported as missing.
#[must_use]
pub fn kept_output(output_path: &Path, stderr_path: Option<&Path>) -> OutputRecord {
    OutputRecord {
        output: file_facts(output_path),
        errors: stderr_path.map(file_facts),
    }
}

fn file_facts(path: &Path) -> StreamRecord {
    let (bytes, error, missing) = match length(path) {
        Ok(bytes) => (bytes, None, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (0, None, true),
        Err(error) => (0, Some(error.to_string()), false),
    };
    StreamRecord {
        path: path.to_owned(),
        total_bytes: bytes,
        head_bytes: bytes,
        tail_bytes: 0,
        tail_at: None,
        error,
        missing,
    }
}

fn length(path: &Path) -> io::Result<u64> {
    // A shim creates a regular file; reading anything else could block for ever.
    let found = std::fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    Ok(found.len())
}
