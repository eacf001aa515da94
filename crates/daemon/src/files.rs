//! Reads and writes small files; writing is atomic.

use crate::error::Error;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a private file atomically: to a temporary name first, then renamed.
///
/// # Errors
/// Fails if the file system refuses it.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> Result<(), Error> {
    let temporary = path.with_extension("new");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

/// Reads a file of at most `max` bytes.
///
/// # Errors
/// When it cannot be read, or is larger.
pub(crate) fn read_bounded(path: &Path, max: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let file = std::fs::File::open(path)?;
    let read = file.take(max + 1).read_to_end(&mut content)?;
    if read as u64 > max {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    Ok(content)
}

/// Removes a file that may be gone already. A failure is only logged.
pub(crate) fn remove_quietly(path: &Path) {
    match std::fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(path = %path.display(), %error, "could not be removed"),
    }
}
