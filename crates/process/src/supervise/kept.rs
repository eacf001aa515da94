//! What is on disk of the output of a command whose shim can no longer be asked.

use crate::record::{OutputFacts, StreamFacts};
use std::io;
use std::path::Path;

/// Finds what the output files hold when nobody is left who knows more: the shim died, does not answer, or never
/// began. The paths are those of the spec.
///
/// Everything in a file counts as the stream's beginning. That is what a shim writes until its command has ended; one
/// that dies just then may have added the end of the stream after a line that says how much is missing. What it held
/// in memory is lost without a trace. A file that is not there is told as missing.
#[must_use]
pub fn kept_output(output_path: &Path, stderr_path: Option<&Path>) -> OutputFacts {
    OutputFacts {
        output: kept(output_path),
        errors: stderr_path.map(kept),
    }
}

fn kept(path: &Path) -> StreamFacts {
    let (bytes, error, missing) = match length(path) {
        Ok(bytes) => (bytes, None, false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (0, None, true),
        Err(error) => (0, Some(error.to_string()), false),
    };
    StreamFacts {
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
    // A shim makes a plain file and nothing else; reading what stands in its place could take for ever.
    let found = std::fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    Ok(found.len())
}
