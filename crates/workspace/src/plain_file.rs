//! Reads files that an agent, a user or a repository may have put in their place.
//!
//! Anything can be at such a path. A link in the last component is not followed, opening a pipe does not wait, only a
//! regular file is read, and every read has a bound. Other modules of this crate read such files through this one.

use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Reason for which a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadFailure {
    #[error("it is a symbolic link")]
    SymbolicLink,
    #[error("it is not a regular file")]
    NotRegularFile,
    #[error("it has more than {most} bytes")]
    TooLarge {
        most: u64,
        /// Size of the file, as far as it is known.
        bytes: u64,
    },
    #[error("{0}")]
    Io(io::Error),
}

impl From<Errno> for ReadFailure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::LOOP => Self::SymbolicLink,
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV => Self::NotRegularFile,
            errno => Self::Io(errno.into()),
        }
    }
}

/// A regular file that is open for reading.
#[derive(Debug)]
pub(crate) struct PlainFile {
    file: File,
    found: Stat,
}

impl PlainFile {
    /// Opens the file `name` of an open directory; `None` if it is absent.
    pub(crate) fn open_at(dir: impl AsFd, name: &str) -> Result<Option<Self>, ReadFailure> {
        Self::opened(retry_on_intr(|| openat(&dir, name, FLAGS, Mode::empty())))
    }

    /// Opens the file that a link `name` of an open directory leads to, if it is inside of that directory. A link that
    /// leads out, in a circle or to nothing is refused, and every link where the kernel cannot tell. An absolute link
    /// counts as inside if it names the directory as it is without links.
    pub(crate) fn open_link_beneath(dir: impl AsFd, name: &str) -> Result<Self, ReadFailure> {
        let flags = FLAGS.difference(OFlags::NOFOLLOW);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut path = PathBuf::from(name);
        for _ in 0..=ABSOLUTE_LINKS {
            match retry_on_intr(|| openat2(&dir, &path, flags, Mode::empty(), resolve)) {
                Err(Errno::XDEV) => {
                    path = absolute_beneath(dir.as_fd(), &path).ok_or(ReadFailure::SymbolicLink)?;
                }
                Err(Errno::NOSYS | Errno::PERM) => return Err(ReadFailure::SymbolicLink),
                opened => return Self::opened(opened)?.ok_or(ReadFailure::SymbolicLink),
            }
        }
        Err(ReadFailure::SymbolicLink)
    }

    /// Opens the file at a path; `None` if it is absent. Links before the last component are followed.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, ReadFailure> {
        Self::opened(retry_on_intr(|| openat(CWD, path, FLAGS, Mode::empty())))
    }

    fn opened(opened: Result<impl Into<File>, Errno>) -> Result<Option<Self>, ReadFailure> {
        let file: File = match opened {
            Ok(opened) => opened.into(),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(ReadFailure::NotRegularFile);
        }
        Ok(Some(Self { file, found }))
    }

    /// Returns the open file.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Returns the metadata at the time of the opening.
    pub(crate) const fn stat(&self) -> &Stat {
        &self.found
    }

    /// Returns the size at the time of the opening, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::try_from(self.found.st_size).unwrap_or(u64::MAX)
    }

    /// Reads the whole file. A larger one is refused, also if it grows while it is read.
    pub(crate) fn read(&self, most: u64) -> Result<Vec<u8>, ReadFailure> {
        let too_large = |bytes| Err(ReadFailure::TooLarge { most, bytes });
        if self.bytes() > most {
            return too_large(self.bytes());
        }
        let content = self.read_head(most.saturating_add(1))?;
        match content.len() as u64 {
            bytes if bytes > most => too_large(bytes),
            _ => Ok(content),
        }
    }

    /// Reads the beginning of the file, at most this many bytes.
    pub(crate) fn read_head(&self, most: u64) -> Result<Vec<u8>, ReadFailure> {
        let mut content = Vec::new();
        let mut bounded = (&self.file).take(most);
        bounded.read_to_end(&mut content).map_err(ReadFailure::Io)?;
        Ok(content)
    }

    /// Reads the end of the file, at most this many bytes. Also returns the position at which they begin.
    pub(crate) fn read_tail(&self, most: u64) -> Result<(u64, Vec<u8>), ReadFailure> {
        let start = self.bytes().saturating_sub(most);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start)).map_err(ReadFailure::Io)?;
        Ok((start, self.read_head(most)?))
    }
}

/// Most absolute links in a row that are followed.
const ABSOLUTE_LINKS: usize = 4;

/// Returns the target of an absolute link relative to the directory; `None` if the link is another one or leads out.
fn absolute_beneath(dir: BorrowedFd<'_>, link: &Path) -> Option<PathBuf> {
    let target = readlinkat(dir, link, Vec::new()).ok()?;
    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
    // The kernel names an open directory by its path without links.
    let held = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let root = readlinkat(CWD, held, Vec::new()).ok()?;
    let root = PathBuf::from(OsString::from_vec(root.into_bytes()));
    let beneath = target.strip_prefix(root).ok()?;
    (beneath != Path::new("")).then(|| beneath.to_owned())
}

/// Without NONBLOCK, opening a pipe would wait for its writer.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Reads the regular file at a path; `None` if it is absent.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, ReadFailure> {
    PlainFile::open(path)?
        .map(|file| file.read(most))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_within_the_bound_is_read_and_no_other_kind_makes_the_reader_wait() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "four").unwrap();
        symlink("file", at("link")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let outcome = |name: &str, most| match read(&at(name), most) {
            Ok(Some(content)) => String::from_utf8(content).unwrap(),
            Ok(None) => "absent".to_owned(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(outcome("file", 4), "four");
        assert_eq!(outcome("file", 3), "it has more than 3 bytes");
        assert_eq!(outcome("none", 4), "absent");
        assert_eq!(outcome("link", 4), "it is a symbolic link");
        for name in ["pipe", "socket", "."] {
            assert_eq!(outcome(name, 4), "it is not a regular file", "{name}");
        }
    }

    #[test]
    fn an_absolute_link_is_followed_inside_the_directory_only() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("docs")).unwrap();
        fs::write(root.join("docs/rules"), "inside").unwrap();
        fs::write(outside.path().join("rules"), "outside").unwrap();
        symlink(outside.path(), root.join("away")).unwrap();
        symlink(root.join("docs/rules"), root.join("in")).unwrap();
        symlink(root.join("in"), root.join("twice")).unwrap();
        symlink(outside.path().join("rules"), root.join("out")).unwrap();
        symlink(root.join("away/rules"), root.join("out_again")).unwrap();
        symlink(root.join("docs/../../x"), root.join("above")).unwrap();
        symlink(root.join("circle"), root.join("circle")).unwrap();
        let held = File::open(&root).unwrap();
        for (name, expected) in [
            ("in", Some("inside")),
            ("twice", Some("inside")),
            ("out", None),
            ("out_again", None),
            ("above", None),
            ("circle", None),
        ] {
            let opened = PlainFile::open_link_beneath(&held, name);
            let read = opened.ok().map(|file| file.read(100).unwrap());
            let read = read.map(|content| String::from_utf8(content).unwrap());
            assert_eq!(read.as_deref(), expected, "{name}");
        }
    }

    /// A read outside this module may meet a pipe and wait for ever, or follow a link out of the agent's directories.
    #[test]
    fn no_other_module_of_the_crate_opens_a_file_for_reading_by_itself() {
        // Reads of held directories with the same checks, and of the streams of git.
        let own = [
            "plain_file.rs",
            "tree/file.rs",
            "skill/copy.rs",
            "archive/pack.rs",
            "git/bounded.rs",
        ];
        let readers = [
            "fs::read(",
            "fs::read_to_string(",
            ".read_to_end(",
            ".read_to_string(",
        ];
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut open = vec![src.clone()];
        let mut found = Vec::new();
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&src).unwrap().display().to_string();
                let is_tests = name.split(['/', '.']).any(|part| part == "tests");
                if path.is_dir() {
                    open.push(path);
                } else if !is_tests && !own.contains(&name.as_str()) {
                    let text = fs::read_to_string(&path).unwrap();
                    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                    found.extend(
                        readers
                            .iter()
                            .filter(|call| code.contains(**call))
                            .map(|call| format!("{name}: {call}")),
                    );
                }
            }
        }
        assert_eq!(found, Vec::<String>::new());
    }
}
