//! Packs the home of an agent: regular files only, without secrets, within the limits.
//!
//! Every entry is opened beneath its directory, and no link is followed. A file that the archive cannot hold is left out
//! and listed, so that a single socket does not prevent an export; too much content is an error, because half of a home
//! is no copy of it.

use super::credential::{holds_private_key, is_credential_file, redact_tokens};
use super::spool::write_entry;
use super::{ArchiveError, ArchiveLimits, is_of_host};
use crate::error::at;
use crate::template::{PROVENANCE, UNCONFIRMED};
use holon_domain::archive::{
    ArchivedFile, EntryDigest, HOME, LeftOut, LinkedSkill, RECORD, check_path, ustar,
};
use holon_domain::limits::SKILLS_PER_ROOT;
use holon_domain::template::is_skill_name;
use holon_domain::text::sha256_hex;
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::{Errno, retry_on_intr};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Beginning of the paths of an agent's own skills.
const SKILLS: &str = "skills/";

/// A request to pack a home.
pub struct PackOrder<'a> {
    pub home: &'a Path,
    /// The durable record in JSON.
    pub record: String,
    /// Generated files: their paths below the home, and their contents.
    pub generated: Vec<(String, String)>,
    /// Replaces the secrets that the host knows. `None` if there are none in the text.
    pub redact: &'a dyn Fn(&str) -> Option<String>,
    pub limits: ArchiveLimits,
}

impl std::fmt::Debug for PackOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackOrder").finish_non_exhaustive()
    }
}

/// The packed part of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedHome {
    pub record: EntryDigest,
    pub files: Vec<ArchivedFile>,
    /// Skills that are links.
    pub linked_skills: Vec<LinkedSkill>,
    pub left_out: Vec<LeftOut>,
    /// The record of the home's template. Absent without one.
    pub template: Option<Value>,
}

/// Writes the entries of the record and of the home's files. A missing home has no files.
///
/// # Errors
/// Fails if there is more than an archive may hold, or the filesystem refuses.
pub fn pack_home(order: &PackOrder<'_>, out: &mut dyn Write) -> Result<PackedHome, ArchiveError> {
    let mut packing = Packing {
        order,
        out,
        bytes: 0,
        taken: BTreeSet::new(),
        packed: PackedHome {
            record: digest(&[]),
            files: Vec::new(),
            linked_skills: Vec::new(),
            left_out: Vec::new(),
            template: None,
        },
    };
    packing.record()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match retry_on_intr(|| openat(CWD, order.home, flags, Mode::empty())) {
        Ok(home) => packing.directory(&home, "")?,
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(at("open", order.home)(errno.into()).into()),
    }
    for (path, content) in &order.generated {
        packing.file(path, content.clone().into_bytes(), false)?;
    }
    Ok(packing.packed)
}

struct Packing<'a> {
    order: &'a PackOrder<'a>,
    out: &'a mut dyn Write,
    bytes: u64,
    /// Paths of the files so far.
    taken: BTreeSet<String>,
    packed: PackedHome,
}

fn digest(content: &[u8]) -> EntryDigest {
    EntryDigest {
        bytes: content.len() as u64,
        sha256: sha256_hex(content),
    }
}

impl Packing<'_> {
    fn record(&mut self) -> Result<(), ArchiveError> {
        let (text, redacted) = self.redact(self.order.record.clone());
        if redacted {
            self.leave_out(RECORD, "a secret in it was replaced");
        }
        let content = text.into_bytes();
        self.packed.record = digest(&content);
        self.write(RECORD, &content, false)
    }

    fn directory(&mut self, dir: &OwnedFd, relative: &str) -> Result<(), ArchiveError> {
        for name in self.names(dir, relative)? {
            let path = match relative {
                "" => name.clone(),
                parent => format!("{parent}/{name}"),
            };
            if path == UNCONFIRMED {
                continue;
            }
            if let Some(reason) = self.refusal(&path) {
                self.leave_out(&path, reason);
                continue;
            }
            self.entry(dir, &name, &path)?;
        }
        Ok(())
    }

    /// Returns the reason for which a path is not packed, as far as the path alone tells.
    fn refusal(&self, path: &str) -> Option<String> {
        if is_of_host(path) {
            return Some("it belongs to the host or to tasks, which are not exported".to_owned());
        }
        check_path(path).err().map(|fault| fault.to_string())
    }

    fn entry(&mut self, dir: &OwnedFd, name: &str, path: &str) -> Result<(), ArchiveError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let shown = self.order.home.join(path);
        let opened = match retry_on_intr(|| openat(dir, name, flags, Mode::empty())) {
            Ok(opened) => opened,
            Err(Errno::LOOP) => return self.link(dir, name, path),
            Err(Errno::NXIO) => return self.skip(path, "it is a pipe, a socket or a device"),
            // The agent removed it meanwhile.
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => return self.skip(path, "it cannot be read"),
            Err(errno) => return Err(at("open", &shown)(errno.into()).into()),
        };
        let found = fstat(&opened).map_err(|errno| at("look at", &shown)(errno.into()))?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => self.directory(&opened, path),
            FileType::RegularFile => {
                let executable = found.st_mode & 0o100 != 0;
                self.read(File::from(opened), path, executable)
            }
            _ => self.skip(path, "it is a pipe, a socket or a device"),
        }
    }

    /// Notes the link of a skill. Any other link is left out.
    fn link(&mut self, dir: &OwnedFd, name: &str, path: &str) -> Result<(), ArchiveError> {
        let skill = path.strip_prefix(SKILLS).filter(|name| is_skill_name(name));
        let target = retry_on_intr(|| readlinkat(dir, name, Vec::new())).ok();
        let target = target.and_then(|target| target.into_string().ok());
        let target = target.filter(|target| target.starts_with('/'));
        let has_room = self.packed.linked_skills.len() < SKILLS_PER_ROOT;
        match (skill, target) {
            (Some(name), Some(target)) if has_room && !self.redact(target.clone()).1 => {
                self.packed.linked_skills.push(LinkedSkill {
                    name: name.to_owned(),
                    target,
                });
                Ok(())
            }
            (Some(_) | None, Some(_) | None) => self.skip(path, "it is a symbolic link"),
        }
    }

    fn read(&mut self, file: File, path: &str, executable: bool) -> Result<(), ArchiveError> {
        if is_credential_file(path) {
            return self.skip(path, "its name says that it holds credentials");
        }
        if !ustar::fits(&format!("{HOME}{path}")) {
            return self.skip(path, "its path does not fit into a tar header");
        }
        let max = self.order.limits.file_bytes;
        let mut content = Vec::new();
        let read = file.take(max + 1).read_to_end(&mut content);
        read.map_err(at("read", &self.order.home.join(path)))?;
        if content.len() as u64 > max {
            return self.skip(path, &format!("it has more than {max} bytes"));
        }
        self.file(path, content, executable)
    }

    /// Packs a file without its secrets. A file that is no text is left out if it holds one.
    fn file(&mut self, path: &str, content: Vec<u8>, executable: bool) -> Result<(), ArchiveError> {
        if !self.taken.insert(path.to_owned()) {
            return self.skip(path, "another file has this path");
        }
        let (content, redacted) = match String::from_utf8(content) {
            Ok(text) if holds_private_key(&text) => {
                return self.skip(path, "it holds a private key");
            }
            Ok(text) => {
                let (text, redacted) = self.redact(text);
                (text.into_bytes(), redacted)
            }
            Err(bytes) => {
                let bytes = bytes.into_bytes();
                let shown = String::from_utf8_lossy(&bytes).into_owned();
                if self.redact(shown).1 {
                    return self.skip(path, "it is no text and holds a secret");
                }
                (bytes, false)
            }
        };
        if path == PROVENANCE {
            self.packed.template = serde_json::from_slice(&content).ok();
        }
        self.packed.files.push(ArchivedFile {
            path: path.to_owned(),
            digest: digest(&content),
            executable,
            redacted,
        });
        if self.packed.files.len() > self.order.limits.files {
            return Err(too_large(format!("{} files", self.order.limits.files)));
        }
        self.write(&format!("{HOME}{path}"), &content, executable)
    }

    fn redact(&self, text: String) -> (String, bool) {
        let known = (self.order.redact)(&text);
        let is_changed = known.is_some();
        let text = known.unwrap_or(text);
        match redact_tokens(&text) {
            std::borrow::Cow::Owned(changed) => (changed, true),
            std::borrow::Cow::Borrowed(_) => (text, is_changed),
        }
    }

    fn write(&mut self, path: &str, content: &[u8], executable: bool) -> Result<(), ArchiveError> {
        self.bytes += ustar::entry_bytes(content.len() as u64);
        if self.bytes > self.order.limits.bytes {
            return Err(too_large(format!("{} bytes", self.order.limits.bytes)));
        }
        let written = write_entry(self.out, path, content, executable);
        Ok(written.map_err(at("write", self.order.home))?)
    }

    fn skip(&mut self, path: &str, reason: &str) -> Result<(), ArchiveError> {
        self.leave_out(path, reason);
        Ok(())
    }

    fn leave_out(&mut self, path: &str, reason: impl Into<String>) {
        self.packed.left_out.push(LeftOut::new(path, reason));
    }

    /// Lists the names in a directory, sorted. A name that is not UTF-8 is left out.
    fn names(&mut self, dir: &OwnedFd, relative: &str) -> Result<Vec<String>, ArchiveError> {
        let shown = self.order.home.join(relative);
        let io = |errno: Errno| at("list", &shown)(errno.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(dir).map_err(io)? {
            let entry = entry.map_err(|errno| at("list", &shown)(errno.into()))?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => {
                    let path = self.order.home.join(relative);
                    let path = format!("{} (a name in it)", path.display());
                    self.leave_out(&path, "it is not UTF-8");
                }
            }
            if names.len() > self.order.limits.files {
                return Err(too_large(format!("{} files", self.order.limits.files)));
            }
        }
        names.sort_unstable();
        Ok(names)
    }
}

const fn too_large(what: String) -> ArchiveError {
    ArchiveError::TooLarge { what }
}
