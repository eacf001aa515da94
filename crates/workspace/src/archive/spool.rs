//! Files without a name, in which archives are put together. A crash leaves nothing of them.

use super::ArchiveError;
use crate::error::{Error, at};
use crate::scratch::{self, Purpose};
use holon_domain::archive::ustar::{self, EntryHeader};
use holon_domain::archive::{ArchiveManifest, MANIFEST};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// A finished archive, read from its beginning.
#[derive(Debug)]
pub struct SealedArchive {
    pub file: File,
    pub bytes: u64,
}

/// Creates a file without a name in a directory, which is created if it is missing.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn new_spool(directory: &Path) -> Result<File, Error> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(at("create", directory))?;
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    if let Ok(file) = openat(CWD, directory, flags, Mode::from_raw_mode(0o600)) {
        return Ok(File::from(file));
    }
    // Some filesystems have no files without a name.
    let path = scratch::path(directory, "archive", Purpose::New)?;
    let mut options = fs::OpenOptions::new();
    let opened = options.read(true).write(true).create_new(true).mode(0o600);
    let file = opened.open(&path).map_err(at("create", &path))?;
    fs::remove_file(&path).map_err(at("remove", &path))?;
    Ok(file)
}

/// Puts the manifest before the packed entries and the end mark behind them.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn seal(
    directory: &Path,
    manifest: &ArchiveManifest,
    mut body: File,
) -> Result<SealedArchive, ArchiveError> {
    let text = manifest_text(manifest)?;
    let mut file = new_spool(directory)?;
    let mut join = || -> io::Result<()> {
        write_entry(&mut file, MANIFEST, &text, false)?;
        body.seek(SeekFrom::Start(0))?;
        io::copy(&mut body, &mut file)?;
        file.write_all(&[0; ustar::END_BYTES as usize])?;
        file.seek(SeekFrom::Start(0)).map(drop)
    };
    join().map_err(at("write", directory))?;
    let bytes = file.metadata().map_err(at("look at", directory))?.len();
    Ok(SealedArchive { file, bytes })
}

/// Renders a manifest as it is stored.
pub(super) fn manifest_text(manifest: &ArchiveManifest) -> Result<Vec<u8>, ArchiveError> {
    let text = serde_json::to_vec_pretty(manifest);
    text.map_err(|error| ArchiveError::refused(format!("the manifest cannot be written: {error}")))
}

/// Writes one entry with its padding.
pub(super) fn write_entry(
    out: &mut dyn Write,
    path: &str,
    content: &[u8],
    executable: bool,
) -> io::Result<()> {
    let header = EntryHeader {
        path: path.to_owned(),
        bytes: content.len() as u64,
        executable,
    };
    let block = ustar::encode(&header)
        .ok_or_else(|| io::Error::other(format!("{path:?} does not fit into a tar header")))?;
    out.write_all(&block)?;
    out.write_all(content)?;
    let zeros = [0; ustar::BLOCK];
    out.write_all(
        zeros
            .get(..ustar::padding(header.bytes))
            .unwrap_or_default(),
    )
}
