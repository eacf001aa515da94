//! Makes a backup. The file appears complete under its name or not at all.

use super::error::{BackupError, at};
use super::manifest::{
    FORMAT, FileEntry, INDEX, Index, LeftOut, LinkEntry, MANIFEST, Manifest, SEAL, Seal,
};
use super::staging::{Staging, parent_of, sync_directory};
use super::{AGENTS, IMAGES, SCRIPTS, SETTINGS, STORE};
use holon_domain::Timestamp;
use holon_domain::text::hex;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tar::{EntryType, Header};

/// Directories of an agent's home that are made again by themselves.
const DISPOSABLE: [&str; 2] = [".holon/cache", ".holon/indexes"];
/// Bytes between two reports of progress.
const PROGRESS_BYTES: u64 = 32 << 20;

/// Result of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackupReport {
    pub path: PathBuf,
    pub bytes: u64,
    pub agents: u64,
    pub files: usize,
    pub left_out: Vec<LeftOut>,
}

/// Backs a home up into a new file. A host of the home may be running. `progress` gets the bytes so far.
///
/// # Errors
/// When the home has no store, the target exists or is inside the home, its disk is full, or a file cannot be read or
/// written.
pub fn back_up(
    home: &Path,
    target: &Path,
    now: Timestamp,
    progress: &dyn Fn(u64),
) -> Result<BackupReport, BackupError> {
    let made = make(home, target, now, progress);
    made.map_err(|error| error.on_disk_of(target))
}

fn make(
    home: &Path,
    target: &Path,
    now: Timestamp,
    progress: &dyn Fn(u64),
) -> Result<BackupReport, BackupError> {
    let directory = check_target(home, target)?;
    // Removed when it is dropped, so that a failure leaves nothing.
    let staging = Staging::create(&directory, "backup")?;
    let copy = staging.path("store");
    let store = holon_store::copy_store(&home.join(STORE), &copy)?;
    let manifest = Manifest {
        format: FORMAT,
        created_at: now,
        holon_version: env!("CARGO_PKG_VERSION").to_owned(),
        schema_version: store.schema_version,
        epoch: store.epoch,
        agents: store.agents,
    };
    let partial = staging.path("backup");
    let mut options = fs::OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600);
    let file = opened.open(&partial).map_err(at("created", &partial))?;
    let mut packing = Packing {
        out: tar::Builder::new(BufWriter::new(file)),
        target: target.to_owned(),
        index: Index::default(),
        written: 0,
        reported: 0,
        progress,
    };
    let manifest_sha256 = packing.json(MANIFEST, &manifest)?;
    packing.file(&copy, STORE)?;
    packing.file_if_present(&home.join(SETTINGS), SETTINGS)?;
    for directory in [AGENTS, SCRIPTS, IMAGES] {
        packing.directory(&home.join(directory), directory)?;
    }
    let index = packing.finish(manifest_sha256)?;
    rename_new(&partial, target).map_err(at("created", target))?;
    sync_directory(&directory)?;
    Ok(BackupReport {
        path: target.to_owned(),
        bytes: fs::metadata(target).map_err(at("read", target))?.len(),
        agents: manifest.agents,
        files: index.files.len(),
        left_out: index.left_out,
    })
}

/// Checks the place of a backup, and returns its directory.
fn check_target(home: &Path, target: &Path) -> Result<PathBuf, BackupError> {
    let store = home.join(STORE);
    if !store.try_exists().map_err(at("read", &store))? {
        return Err(BackupError::NoStore {
            home: home.to_owned(),
        });
    }
    if fs::symlink_metadata(target).is_ok() {
        return Err(BackupError::TargetExists {
            path: target.to_owned(),
        });
    }
    let parent = parent_of(target);
    let directory = parent.canonicalize().map_err(at("found", parent))?;
    let home = home.canonicalize().map_err(at("read", home))?;
    if directory.starts_with(&home) {
        return Err(BackupError::TargetInHome {
            path: target.to_owned(),
        });
    }
    Ok(directory)
}

struct Packing<'a> {
    out: tar::Builder<BufWriter<File>>,
    /// Final path of the backup, which errors name instead of the temporary one.
    target: PathBuf,
    index: Index,
    written: u64,
    /// Value of `written` at the last report.
    reported: u64,
    progress: &'a dyn Fn(u64),
}

impl Packing<'_> {
    fn directory(&mut self, directory: &Path, path: &str) -> Result<(), BackupError> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => {
                self.index.directories.push(path.to_owned());
                entries
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return self.leave_out(path, &error.to_string()),
        };
        for entry in entries {
            let entry = entry.map_err(at("read", directory))?;
            let Ok(name) = entry.file_name().into_string() else {
                self.leave_out(path, "a name in it is not UTF-8")?;
                continue;
            };
            let (place, path) = (entry.path(), format!("{path}/{name}"));
            let Ok(kind) = entry.file_type() else {
                // An agent removed it meanwhile.
                continue;
            };
            if kind.is_dir() && !is_disposable(&path) {
                self.directory(&place, &path)?;
            } else if kind.is_file() {
                self.file_if_present(&place, &path)?;
            } else if kind.is_symlink() {
                self.link(&place, path);
            } else if !kind.is_dir() {
                self.leave_out(&path, "it is a pipe, a socket or a device")?;
            }
        }
        Ok(())
    }

    fn link(&mut self, place: &Path, path: String) {
        let target = fs::read_link(place).map(PathBuf::into_os_string);
        match target.map(std::ffi::OsString::into_string) {
            Ok(Ok(target)) => self.index.links.push(LinkEntry { path, target }),
            Ok(Err(_)) | Err(_) => self.index.left_out.push(LeftOut {
                path,
                reason: "it is a link that cannot be read".to_owned(),
            }),
        }
    }

    /// Packs a file of an agent, which may remove or protect it at any time.
    fn file_if_present(&mut self, place: &Path, path: &str) -> Result<(), BackupError> {
        match open_no_follow(place) {
            Ok(file) => self.content(file, place, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => self.leave_out(path, &error.to_string()),
        }
    }

    fn file(&mut self, place: &Path, path: &str) -> Result<(), BackupError> {
        let file = open_no_follow(place).map_err(at("read", place))?;
        self.content(file, place, path)
    }

    /// Packs the content that a file has now. A file that shrinks meanwhile is filled up with zeros, because its length
    /// is already written, and the backup says so.
    fn content(&mut self, file: File, place: &Path, path: &str) -> Result<(), BackupError> {
        let found = file.metadata().map_err(at("read", place))?;
        if !found.is_file() {
            return self.leave_out(path, "it is not a regular file");
        }
        let executable = found.mode() & 0o100 != 0;
        let mut content = Content {
            source: file.take(found.len()),
            left: found.len(),
            digest: Sha256::new(),
            filled: false,
        };
        let mut header = header(found.len(), executable);
        let appended = self.out.append_data(&mut header, path, &mut content);
        appended.map_err(at("written", &self.target))?;
        if content.filled {
            self.leave_out(
                path,
                "it became shorter while it was read; its end is zeros",
            )?;
        }
        self.index.files.push(FileEntry {
            path: path.to_owned(),
            bytes: found.len(),
            sha256: hex(&content.digest.finalize()),
            executable,
        });
        self.written += found.len();
        if self.written - self.reported >= PROGRESS_BYTES {
            self.reported = self.written;
            (self.progress)(self.written);
        }
        Ok(())
    }

    /// Packs a description, and returns its digest.
    fn json(&mut self, path: &str, value: &impl Serialize) -> Result<String, BackupError> {
        let text = serde_json::to_vec(value).map_err(io::Error::from);
        let text = text.map_err(at("written", &self.target))?;
        let mut header = header(text.len() as u64, false);
        let appended = self.out.append_data(&mut header, path, text.as_slice());
        appended.map_err(at("written", &self.target))?;
        Ok(hex(&Sha256::digest(&text)))
    }

    fn leave_out(&mut self, path: &str, reason: &str) -> Result<(), BackupError> {
        self.index.left_out.push(LeftOut {
            path: path.to_owned(),
            reason: reason.to_owned(),
        });
        Ok(())
    }

    /// Writes the index, the seal and the end, and waits until everything is on disk.
    fn finish(mut self, manifest_sha256: String) -> Result<Index, BackupError> {
        let index = std::mem::take(&mut self.index);
        let seal = Seal {
            manifest_sha256,
            index_sha256: self.json(INDEX, &index)?,
        };
        self.json(SEAL, &seal)?;
        let failed = |error| at("written", &self.target)(error);
        let buffered = self.out.into_inner().map_err(failed)?;
        let file = buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        let file = file.map_err(at("written", &self.target))?;
        file.sync_all().map_err(at("written", &self.target))?;
        Ok(index)
    }
}

/// The content of one file with its announced length.
struct Content {
    source: io::Take<File>,
    /// Announced bytes that are still to come.
    left: u64,
    digest: Sha256,
    /// True once zeros stood in for content that was gone.
    filled: bool,
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = self.source.read(buffer)?;
        if count == 0 && self.left > 0 {
            self.filled = true;
            count = buffer
                .len()
                .min(usize::try_from(self.left).unwrap_or(usize::MAX));
            buffer.iter_mut().take(count).for_each(|byte| *byte = 0);
        }
        self.left -= count as u64;
        self.digest.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

fn is_disposable(path: &str) -> bool {
    let below_agent = path.splitn(3, '/').nth(2);
    below_agent.is_some_and(|below| DISPOSABLE.contains(&below))
}

fn open_no_follow(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn header(bytes: u64, executable: bool) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(if executable { 0o700 } else { 0o600 });
    header
}

/// Gives a file its name, unless another file has got it meanwhile. Some network file systems cannot rename like that,
/// and give it a second name instead; the first goes with its directory.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::hard_link(from, to),
        renamed => Ok(renamed?),
    }
}
