//! Makes a home from a backup. The home is built beside its place and appears complete or not at all.
//!
//! Nothing in the file is believed: each path must be one that a backup holds, each content must match the index, and
//! the store must open and be sound.

use super::error::{BackupError, at};
use super::manifest::{
    FORMAT, FileEntry, INDEX, INDEX_BYTES, Index, MANIFEST, MANIFEST_BYTES, Manifest, SEAL, Seal,
    UNSEALED,
};
use super::staging::{Staging, parent_of, sync_directory};
use super::{AGENTS, IMAGES, SCRIPTS, STORE, is_backed_up};
use holon_domain::Timestamp;
use holon_domain::text::hex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use tar::{Archive, Entry, EntryType};

/// Longest path of a file in a backup. Linux has none that is longer.
const LONG_PATH_BYTES: u64 = 4_096;
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// Result of a restoration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    pub home_dir: PathBuf,
    /// Time at which the backup was made.
    pub backed_up_at: Timestamp,
    pub agents: u64,
    pub files: usize,
}

/// Restores a backup into a home that is empty or does not exist.
///
/// # Errors
/// When the home holds something, the file is no whole backup, the disk is full, or the filesystem refuses. Nothing is
/// left then.
pub fn restore(backup: &Path, home: &Path) -> Result<RestoreReport, BackupError> {
    let made = make(backup, home);
    made.map_err(|error| error.on_disk_of(home))
}

fn make(backup: &Path, home: &Path) -> Result<RestoreReport, BackupError> {
    check_empty(home)?;
    let found = fs::metadata(backup).map_err(at("read", backup))?;
    if !found.is_file() {
        return Err(BackupError::Invalid {
            path: backup.to_owned(),
            reason: "it is not a regular file".to_owned(),
        });
    }
    let file = File::open(backup).map_err(at("read", backup))?;
    let parent = parent_of(home);
    fs::create_dir_all(parent).map_err(at("created", parent))?;
    let staging = Staging::create(parent, "restore")?;
    let mut unpacking = Unpacking {
        backup,
        root: staging.root().to_owned(),
        files: BTreeMap::new(),
    };
    let (manifest, index) = unpacking.read(file)?;
    unpacking.compare(&index)?;
    unpacking.make_directories(&index)?;
    unpacking.make_links(&index)?;
    let store = unpacking.root.join(STORE);
    let damaged = holon_store::check_pages(&store)?;
    if let Some(found) = damaged.first() {
        return Err(unpacking.invalid(format!("its store is damaged: {found}")));
    }
    let restored = holon_store::mark_restored(&store)?;
    sync_all(&unpacking.root)?;
    // Replaces an empty directory, and nothing else.
    fs::rename(staging.root(), home).map_err(|source| BackupError::Place {
        home: home.to_owned(),
        source,
    })?;
    sync_directory(parent)?;
    Ok(RestoreReport {
        home_dir: home.to_owned(),
        backed_up_at: manifest.created_at,
        agents: restored.agents,
        files: index.files.len(),
    })
}

fn check_empty(home: &Path) -> Result<(), BackupError> {
    match fs::read_dir(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at("read", home)(error)),
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(BackupError::HomeNotEmpty {
                home: home.to_owned(),
            }),
        },
    }
}

/// A description of the backup, and the digest of its text.
struct Described<T> {
    value: T,
    sha256: String,
}

struct Unpacking<'a> {
    backup: &'a Path,
    root: PathBuf,
    /// Files that were written so far, by path: bytes and digest.
    files: BTreeMap<String, (u64, String)>,
}

impl Unpacking<'_> {
    fn invalid(&self, reason: impl Into<String>) -> BackupError {
        BackupError::Invalid {
            path: self.backup.to_owned(),
            reason: reason.into(),
        }
    }

    /// Reads every entry, and writes the files among them.
    fn read(&mut self, file: File) -> Result<(Manifest, Index), BackupError> {
        let mut archive = Archive::new(BufReader::new(file));
        let cut_off = |unpacking: &Self, error: io::Error| {
            unpacking.invalid(format!("it cannot be read as a tar file ({error})"))
        };
        // Raw, because the library reads the headers of long paths whole, whatever size they state.
        let entries = archive.entries().map_err(|error| cut_off(self, error))?;
        let (mut manifest, mut index, mut seal) = (None, None, None);
        let mut long_path = None;
        for entry in entries.raw(true) {
            let entry = entry.map_err(|error| match &manifest {
                // The error would quote bytes of whatever the file is.
                None => self.invalid("it is not a file that holon backup made"),
                Some(_) => cut_off(self, error),
            })?;
            if entry.header().entry_type() == EntryType::GNULongName {
                long_path = Some(self.long_path(entry)?);
                continue;
            }
            let path = self.path_of(&entry, long_path.take())?;
            match (&manifest, &index, &seal) {
                (None, ..) if path == MANIFEST => {
                    let read: Described<Manifest> = self.json(entry, MANIFEST_BYTES)?;
                    if read.value.format > FORMAT {
                        return Err(BackupError::Newer {
                            path: self.backup.to_owned(),
                            format: read.value.format,
                        });
                    }
                    manifest = Some(read);
                }
                (None, ..) => {
                    return Err(self.invalid(format!("it does not begin with {MANIFEST}")));
                }
                (Some(_), None, _) if path == INDEX => {
                    index = Some(self.json(entry, INDEX_BYTES)?);
                }
                (Some(_), None, _) => self.write(entry, path)?,
                (Some(_), Some(_), None) if path == SEAL => {
                    seal = Some(self.json(entry, MANIFEST_BYTES)?.value);
                }
                (Some(_), Some(_), _) => return Err(self.invalid("something follows its index")),
            }
        }
        let (Some(manifest), Some(index)) = (manifest, index) else {
            return Err(self.invalid("it is cut off"));
        };
        self.check_seal(&manifest, &index, seal.as_ref())?;
        Ok((manifest.value, index.value))
    }

    /// Compares the manifest and the index with the seal.
    fn check_seal(
        &self,
        manifest: &Described<Manifest>,
        index: &Described<Index>,
        seal: Option<&Seal>,
    ) -> Result<(), BackupError> {
        match (manifest.value.format, seal) {
            (UNSEALED, None) => Ok(()),
            (FORMAT, Some(seal)) if seal.manifest_sha256 != manifest.sha256 => {
                Err(self.invalid("its manifest differs from its seal"))
            }
            (FORMAT, Some(seal)) if seal.index_sha256 != index.sha256 => {
                Err(self.invalid("its index differs from its seal"))
            }
            (FORMAT, Some(_)) => Ok(()),
            (FORMAT, None) => Err(self.invalid("it is cut off")),
            (format, _) => Err(self.invalid(format!("it does not fit its format {format}"))),
        }
    }

    /// Reads the path of the next entry, which is too long for its header.
    fn long_path(&self, entry: Entry<'_, impl Read>) -> Result<String, BackupError> {
        let mut path = Vec::new();
        let read = entry.take(LONG_PATH_BYTES + 1).read_to_end(&mut path);
        read.map_err(|error| self.invalid(error.to_string()))?;
        if path.len() as u64 > LONG_PATH_BYTES {
            return Err(self.invalid("a path in it is too long"));
        }
        if path.last() == Some(&0) {
            path.pop();
        }
        String::from_utf8(path).map_err(|_| self.invalid("a path in it is not text"))
    }

    fn path_of(
        &self,
        entry: &Entry<'_, impl Read>,
        long_path: Option<String>,
    ) -> Result<String, BackupError> {
        let in_header = || Some(entry.path().ok()?.to_str()?.to_owned());
        let path = long_path.or_else(in_header);
        let path = path.ok_or_else(|| self.invalid("a path in it is not text"))?;
        if entry.header().entry_type() == EntryType::Regular {
            Ok(path)
        } else {
            Err(self.invalid(format!("{path:?} is not a regular file")))
        }
    }

    fn json<T: DeserializeOwned>(
        &self,
        entry: Entry<'_, impl Read>,
        limit: u64,
    ) -> Result<Described<T>, BackupError> {
        let mut text = Vec::new();
        let read = entry.take(limit + 1).read_to_end(&mut text);
        read.map_err(|error| self.invalid(error.to_string()))?;
        if text.len() as u64 > limit {
            return Err(self.invalid("one of its descriptions is too long"));
        }
        let value = serde_json::from_slice(&text);
        Ok(Described {
            value: value.map_err(|error| self.invalid(error.to_string()))?,
            sha256: hex(&Sha256::digest(&text)),
        })
    }

    fn write(&mut self, mut entry: Entry<'_, impl Read>, path: String) -> Result<(), BackupError> {
        if !is_backed_up(&path) || self.files.contains_key(&path) {
            return Err(self.invalid(format!("{path:?} does not belong into a backup")));
        }
        let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let place = self.root.join(&path);
        let parent = place.parent().unwrap_or(&self.root);
        make_private(parent).map_err(at("created", parent))?;
        let mut options = OpenOptions::new();
        let mode = if executable { 0o700 } else { 0o600 };
        let opened = options.write(true).create_new(true).mode(mode).open(&place);
        let mut file = opened.map_err(at("created", &place))?;
        let (mut bytes, mut digest, mut chunk) = (0_u64, Sha256::new(), vec![0; CHUNK]);
        loop {
            let count = entry.read(&mut chunk);
            let count = count.map_err(|error| self.invalid(format!("it is cut off ({error})")))?;
            let part = chunk.get(..count).unwrap_or_default();
            if part.is_empty() {
                break;
            }
            digest.update(part);
            bytes += part.len() as u64;
            file.write_all(part).map_err(at("written", &place))?;
        }
        let digest = hex(&digest.finalize());
        self.files.insert(path, (bytes, digest));
        Ok(())
    }

    /// Compares the files that were written with the index.
    fn compare(&self, index: &Index) -> Result<(), BackupError> {
        let is_same = |file: &FileEntry| {
            let written = self.files.get(&file.path);
            written.is_some_and(|(bytes, digest)| *bytes == file.bytes && *digest == file.sha256)
        };
        if let Some(file) = index.files.iter().find(|file| !is_same(file)) {
            return Err(self.invalid(format!("{} differs from its index", file.path)));
        }
        let listed: BTreeSet<&str> = index.files.iter().map(|file| file.path.as_str()).collect();
        if listed.len() != self.files.len() || !self.files.contains_key(STORE) {
            return Err(self.invalid("its index does not list its files"));
        }
        Ok(())
    }

    /// Makes the directories that hold no file.
    fn make_directories(&self, index: &Index) -> Result<(), BackupError> {
        for path in &index.directories {
            if ![AGENTS, SCRIPTS, IMAGES].contains(&path.as_str()) && !is_backed_up(path) {
                return Err(self.invalid(format!("{path:?} does not belong into a backup")));
            }
            let place = self.root.join(path);
            make_private(&place).map_err(at("created", &place))?;
        }
        Ok(())
    }

    /// Makes the links of agents' homes, after all files, so that no file was written through one.
    fn make_links(&self, index: &Index) -> Result<(), BackupError> {
        for link in &index.links {
            if !is_backed_up(&link.path) || link.path == STORE {
                return Err(self.invalid(format!("{:?} does not belong into a backup", link.path)));
            }
            let place = self.root.join(&link.path);
            let parent = place.parent().unwrap_or(&self.root);
            self.check_unlinked(parent)?;
            make_private(parent).map_err(at("created", parent))?;
            symlink(&link.target, &place).map_err(at("created", &place))?;
        }
        Ok(())
    }

    /// Refuses a directory that a link of the backup leads out of the new home.
    fn check_unlinked(&self, directory: &Path) -> Result<(), BackupError> {
        let is_link =
            |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let inside = directory.ancestors().take_while(|path| *path != self.root);
        match inside.into_iter().find(is_link) {
            Some(_) => Err(self.invalid("one of its links is below another")),
            None => Ok(()),
        }
    }
}

fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// Waits until everything below the root is on disk.
fn sync_all(root: &Path) -> Result<(), BackupError> {
    let opened = File::open(root).map_err(at("read", root))?;
    rustix::fs::syncfs(&opened).map_err(|errno| at("written", root)(errno.into()))
}
