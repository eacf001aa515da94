//! Reads the instruction files of an agent from their stable roots.
//!
//! The files belong to projects and agents, so anything may be in their place. A link is followed if it stays inside of
//! its root, only a regular file is opened, and at most `limits::INSTRUCTION_FILE_BYTES` are read. Each read looks at every file again; the content
//! of a file that has not changed since the last read is taken from memory.

use crate::plain_file::{PlainFile, ReadFailure};
use crate::stamp::FileStamp;
use holon_domain::guidance::{
    GuidanceRoots, InstructionContent, InstructionFile, InstructionKind, InstructionRefusal,
    InstructionScope, InstructionSource, Instructions,
};
use holon_domain::limits::{INSTRUCTION_FILE_BYTES, INSTRUCTION_FILES_KEPT};
use holon_domain::time::Timestamp;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::{Errno, retry_on_intr};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads instruction files, and keeps the content of those that were read last.
#[derive(Debug, Default)]
pub struct InstructionReader {
    /// Directory with the user-wide file, `~/.agents`. Absent if the user has no home.
    user_dir: Option<PathBuf>,
    kept: Mutex<HashMap<PathBuf, KeptFile>>,
}

/// A file as it was when its content was read.
#[derive(Debug, Clone)]
struct KeptFile {
    stamp: FileStamp,
    content: InstructionContent,
}

/// Treatment of a link in the place of a root.
#[derive(Debug, Clone, Copy)]
enum RootLinks {
    /// The user's own directory may be a link, as programs that manage such files make it.
    Follow,
    Refuse,
}

impl InstructionReader {
    /// Creates a reader with the user-wide directory.
    #[must_use]
    pub fn new(user_dir: Option<PathBuf>) -> Self {
        Self {
            user_dir,
            kept: Mutex::default(),
        }
    }

    /// Reads the instruction files of an agent. `now` is the time of the wall clock: a file that changed a moment ago
    /// is read again the next time, because its time of change may not show a further change.
    #[must_use]
    pub fn read(&self, roots: &GuidanceRoots, now: Timestamp) -> Instructions {
        let user_dir = self.user_dir.as_deref();
        let user = user_dir.filter(|_| roots.has_user_instructions());
        let user = user.map(|dir| (InstructionScope::UserGlobal, dir, RootLinks::Follow));
        let home = Path::new(&roots.agent_home);
        let agent = (InstructionScope::Agent, home, RootLinks::Refuse);
        let anchor = roots.workspace_anchor.as_deref().map(Path::new);
        let workspace = anchor.map(|dir| (InstructionScope::Workspace, dir, RootLinks::Refuse));
        let files = user.into_iter().chain([agent]).chain(workspace);
        let find = |(scope, dir, links)| self.find(scope, dir, links, now);
        Instructions {
            files: files.filter_map(find).collect(),
        }
    }

    /// Finds the instruction file of one root. `CLAUDE.md` counts only in a workspace, and only if `AGENTS.md` is
    /// absent: one that is there and refused is not replaced.
    fn find(
        &self,
        scope: InstructionScope,
        dir: &Path,
        links: RootLinks,
        now: Timestamp,
    ) -> Option<InstructionFile> {
        let kinds: &[InstructionKind] = match scope {
            InstructionScope::UserGlobal | InstructionScope::Agent => &[InstructionKind::AgentsMd],
            InstructionScope::Workspace => &[InstructionKind::AgentsMd, InstructionKind::ClaudeMd],
        };
        kinds.iter().find_map(|&kind| {
            let path = dir.join(kind.file_name());
            let content = self.content(dir, &path, kind, links, now)?;
            let path = path.to_string_lossy().into_owned();
            let source = InstructionSource { scope, kind, path };
            Some(InstructionFile { source, content })
        })
    }

    /// Returns the content of a file; `None` if it is absent.
    fn content(
        &self,
        dir: &Path,
        path: &Path,
        kind: InstructionKind,
        links: RootLinks,
        now: Timestamp,
    ) -> Option<InstructionContent> {
        let root = match open_root(dir, links) {
            Ok(root) => root,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return None,
            Err(errno) => return Some(InstructionContent::Refused(unreadable(errno))),
        };
        let stamp = match look(&root, kind.file_name()) {
            Ok(found) => found?,
            Err(refusal) => return Some(InstructionContent::Refused(refusal)),
        };
        if let Some(content) = self.kept_content(path, &stamp) {
            return Some(content);
        }
        let (content, read) = match read_text(&root, kind.file_name()) {
            Ok((text, read)) => (InstructionContent::Text(text), read),
            Err(refusal) => return Some(InstructionContent::Refused(refusal)),
        };
        if read.is_settled_at(now) {
            self.keep(path, read, &content);
        }
        Some(content)
    }

    fn kept_content(&self, path: &Path, stamp: &FileStamp) -> Option<InstructionContent> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let file = kept.get(path).filter(|file| file.stamp == *stamp)?;
        Some(file.content.clone())
    }

    fn keep(&self, path: &Path, stamp: FileStamp, content: &InstructionContent) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= INSTRUCTION_FILES_KEPT {
            kept.clear();
        }
        let content = content.clone();
        kept.insert(path.to_owned(), KeptFile { stamp, content });
    }
}

fn open_root(dir: &Path, links: RootLinks) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let flags = match links {
        RootLinks::Follow => flags,
        RootLinks::Refuse => flags | OFlags::NOFOLLOW,
    };
    retry_on_intr(|| openat(CWD, dir, flags, Mode::empty()))
}

/// Looks at an entry without opening it: `None` if it is absent.
fn look(root: &OwnedFd, name: &str) -> Result<Option<FileStamp>, InstructionRefusal> {
    let found = match statat(root, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(unreadable(errno)),
    };
    let stamp = FileStamp::of(&found);
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile if stamp.bytes() > INSTRUCTION_FILE_BYTES => {
            let bytes = stamp.bytes();
            Err(InstructionRefusal::TooLarge { bytes })
        }
        FileType::RegularFile => Ok(Some(stamp)),
        FileType::Symlink => {
            let file = PlainFile::open_link_beneath(root, name).map_err(refuse)?;
            let stamp = FileStamp::of(file.stat());
            match stamp.bytes() {
                bytes if bytes > INSTRUCTION_FILE_BYTES => {
                    Err(InstructionRefusal::TooLarge { bytes })
                }
                _ => Ok(Some(stamp)),
            }
        }
        _ => Err(InstructionRefusal::NotRegularFile),
    }
}

/// Reads a regular file. It may have been replaced since the look, so everything is checked again on the open file.
fn read_text(root: &OwnedFd, name: &str) -> Result<(Arc<str>, FileStamp), InstructionRefusal> {
    let file = match PlainFile::open_at(root, name) {
        Err(ReadFailure::SymbolicLink) => PlainFile::open_link_beneath(root, name).map(Some),
        opened => opened,
    };
    let file = file.map_err(refuse)?;
    let file = file.ok_or_else(|| unreadable(Errno::NOENT))?;
    let content = file.read(INSTRUCTION_FILE_BYTES).map_err(refuse)?;
    let text = String::from_utf8(content).map_err(|_| InstructionRefusal::NotText)?;
    if text.contains('\0') {
        return Err(InstructionRefusal::NulByte);
    }
    // A writer may have been at work during the read; then the stamp before the read does not match the next look.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok((Arc::from(text), FileStamp::of(file.stat())))
}

fn refuse(failure: ReadFailure) -> InstructionRefusal {
    match failure {
        ReadFailure::SymbolicLink => InstructionRefusal::SymbolicLink,
        ReadFailure::NotRegularFile => InstructionRefusal::NotRegularFile,
        ReadFailure::TooLarge { bytes, .. } => InstructionRefusal::TooLarge { bytes },
        ReadFailure::Io(error) => InstructionRefusal::Unreadable {
            message: error.to_string(),
        },
    }
}

fn unreadable(errno: Errno) -> InstructionRefusal {
    InstructionRefusal::Unreadable {
        message: std::io::Error::from(errno).to_string(),
    }
}
