//! Small files that must appear whole or not at all.

use crate::error::Error;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file only this user can read: beside its place first, then moved there.
///
/// # Errors
/// When the file system refuses.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let beside = path.with_extension("new");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

/// Removes a file that may be gone already; what cannot be removed is only worth a line in the log.
pub(crate) fn remove_quietly(path: &Path) {
    match std::fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(path = %path.display(), %error, "could not be removed"),
    }
}
