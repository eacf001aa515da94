//! The home directory: its layout, its permissions, and the lock that makes this process its one owner.
//!
//! Invariant: while a `Home` exists, no other process has one for the same directory, and no other user can look
//! inside. The lock file is never deleted, because the lock is on the file and not on its existence. If another program
//! deletes it, the lock on the store's directory still keeps a second owner out.

use crate::held_files::FileId;
use crate::open::with_suffix;
use crate::owner::{self, OwnerNote};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

const PRIVATE: u32 = 0o700;
const OTHERS: u32 = 0o077;
/// Bit of a directory in which everyone may write, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// Directories of a home.
const PARTS: [&str; 3] = ["state", "run", "agents"];

/// The reason why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Another process owns the home.
    #[error(
        "another process{} already runs on {path}; stop it first, or use another home",
        pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
    )]
    Owned {
        path: PathBuf,
        /// Process id of the owner, if the lock file names it.
        pid: Option<u32>,
        /// True if the owner is about to exit, so that a retry makes sense.
        leaving: bool,
    },
    /// Other users may read or write the home.
    #[error(
        "{path} has loose permissions ({mode:04o}): others could read or change it. Run: chmod 700 {path}"
    )]
    Loose { path: PathBuf, mode: u32 },
    /// The directory is open to others and holds something else than a home.
    #[error(
        "{path} is open to others ({mode:04o}) and is for something else, so it is no place for a home. Use a directory of its own: --home DIR, or HOLON_HOME"
    )]
    NoHome { path: PathBuf, mode: u32 },
    /// Something else stands where a file of the home belongs.
    #[error("{path} is not a regular file; move it away")]
    NoFile { path: PathBuf },
    /// The home belongs to another user.
    #[error("{path} belongs to user {owner}, not to this user ({user}); use a home of your own")]
    Foreign {
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
        /// User id of this process.
        user: u32,
    },
    /// The home cannot be written.
    #[error(
        "{path} cannot be written: {source}. Make the directory writable for this user, or use another home"
    )]
    ReadOnly {
        path: PathBuf,
        source: std::io::Error,
    },
    /// There are agents, but the store that knows them is gone.
    #[error(
        "{store} is missing, but {agents} holds the homes of agents; a new store would not know them. Put {store} back; or move the whole home aside and use holon restore; or, to start anew, move {agents} aside"
    )]
    StoreMissing {
        /// Expected path of the store.
        store: PathBuf,
        /// Directory that holds the agents.
        agents: PathBuf,
    },
    /// Any other I/O error.
    #[error(
        "cannot use {path}: {source}. Check that it is a directory on a file system with free space"
    )]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// State of a directory that can be a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeState {
    /// The first start creates it.
    Missing,
    /// Open to others, but no host has run in it. The first start makes it private.
    NewAndLoose,
    Private,
}

/// A home that this process owns.
#[derive(Debug)]
pub struct Home {
    root: PathBuf,
    /// Holds the lock while it is open.
    lock: File,
    /// Holds a lock on the store's directory; absent if the file system cannot lock directories.
    _guard: Option<File>,
}

impl Home {
    /// Creates the home if it is missing, checks that it is private, takes its lock, and checks that existing agents
    /// have their store. Without this check, opening would create an empty store that knows none of them.
    ///
    /// # Errors
    /// When the home belongs to another user, is open to others, cannot be written, is in use, or has lost its store.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        Self::prepare(path)?;
        let guard = guard(path)?;
        let lock = lock(path)?;
        let home = Self {
            root: path.to_owned(),
            lock,
            _guard: guard,
        };
        check_store(&home.db_path(), &home.agents_dir())?;
        Ok(home)
    }

    /// Creates the directories of a home that are missing and checks that it is private, without owning it. A directory
    /// that others may enter and in which no host has run, such as one that `mkdir` has just made, is made private.
    ///
    /// # Errors
    /// When the home belongs to another user, is open to others, or cannot be written.
    pub fn prepare(path: &Path) -> Result<(), HomeError> {
        make_private(path)?;
        if Self::examine(path)? == HomeState::NewAndLoose {
            tighten(path)?;
        }
        for part in PARTS {
            make_private(&path.join(part))?;
        }
        Self::examine_parts(path)
    }

    /// Checks that the directories of a home, which may be links, are private too, and that files of the host stand where
    /// they belong. Changes nothing; what is missing is in order.
    ///
    /// # Errors
    /// When a directory belongs to another user or is open to others, when something is no file, or when the store of
    /// existing agents is missing.
    pub fn examine_parts(path: &Path) -> Result<(), HomeError> {
        for part in PARTS.map(|part| path.join(part)) {
            // What lies in a private home is out of the reach of others, unless it lies elsewhere.
            if fs::symlink_metadata(&part).is_ok_and(|found| found.is_symlink()) {
                check(&part)?;
            }
        }
        let store = store_path(path);
        let beside = ["", "-wal", "-shm"].map(|suffix| with_suffix(&store, suffix));
        for file in beside.into_iter().chain([lock_path(path)]) {
            if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
                return Err(HomeError::NoFile { path: file });
            }
        }
        check_store(&store, &path.join("agents"))
    }

    /// Checks that a home belongs to this user and to this user alone. Changes nothing.
    ///
    /// # Errors
    /// When the home belongs to another user, holds files and is open to others, or is not a directory.
    pub fn examine(path: &Path) -> Result<HomeState, HomeError> {
        // A link to nothing exists, and the first start cannot create a directory in its place.
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(HomeState::Missing);
            }
            Err(_) | Ok(_) => {}
        }
        match check(path) {
            Ok(()) => Ok(HomeState::Private),
            Err(HomeError::Loose { .. }) if is_unused(path) => Ok(HomeState::NewAndLoose),
            Err(error) => Err(error),
        }
    }

    /// Writes to the lock file that this process is about to release the home, so that a start that finds it owned
    /// waits. If that fails, such a start gives up at once.
    pub fn note_leaving(&self) {
        self.note(owner::LEAVING);
    }

    /// Writes to the lock file that this process is a host, and not a single run. A process that wants to stop hosts
    /// signals no other owner.
    pub fn note_host(&self) {
        self.note(owner::HOST);
    }

    fn note(&self, word: &str) {
        if let Err(error) = writeln!(&self.lock, "{word}") {
            tracing::debug!(%error, word, "the lock file does not say so");
        }
    }

    /// Path of the file whose lock makes this process the owner.
    #[must_use]
    pub fn lock_path(&self) -> PathBuf {
        lock_path(&self.root)
    }

    /// Returns true if the lock file is still in its place. If it is not, the path may be another process's home.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let (held, found) = (self.lock.metadata(), FileId::at(&self.lock_path()));
        held.is_ok_and(|held| found.is_ok_and(|found| found == FileId::of(&held)))
    }

    pub(crate) const fn lock_file(&self) -> &File {
        &self.lock
    }

    /// Path of the home directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Directory of the store.
    #[must_use]
    pub fn state_path(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Path of the database file.
    #[must_use]
    pub fn db_path(&self) -> PathBuf {
        store_path(&self.root)
    }

    /// Directory of a running host's socket and marks.
    #[must_use]
    pub fn run_dir(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Path of the control socket.
    #[must_use]
    pub fn socket_path(&self) -> PathBuf {
        self.run_dir().join("holon.sock")
    }

    /// Path of the control token.
    #[must_use]
    pub fn token_path(&self) -> PathBuf {
        self.run_dir().join("control.token")
    }

    /// Directory of the agents' homes.
    #[must_use]
    pub fn agents_dir(&self) -> PathBuf {
        self.root.join("agents")
    }
}

fn store_path(home: &Path) -> PathBuf {
    home.join("state").join("holon.sqlite3")
}

/// Checks that existing agents have their store.
fn check_store(store: &Path, agents: &Path) -> Result<(), HomeError> {
    let known = store
        .try_exists()
        .map_err(|source| io_error(store, source))?;
    let has_agents = || match has_directory(agents) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        found => found.map_err(|source| io_error(agents, source)),
    };
    if known || !has_agents()? {
        return Ok(());
    }
    Err(HomeError::StoreMissing {
        store: store.to_owned(),
        agents: agents.to_owned(),
    })
}

/// Returns true if the directory holds another one. An agent's home is a directory; stray files do not count.
fn has_directory(path: &Path) -> std::io::Result<bool> {
    for entry in fs::read_dir(path)? {
        if entry?.file_type()?.is_dir() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Creates a directory with mode 0700 regardless of the umask. An existing one stays as it is.
fn make_private(path: &Path) -> Result<(), HomeError> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE)
        .create(path)
        .map_err(|source| io_error(path, source))?;
    tighten(path)
}

/// Files that an operator puts into a home before its first start. Each marks a directory as a home.
const PREPARED: [&str; 2] = ["config.toml", "credentials.json"];
/// A directory that an operator may put beside them. Others have one of this name too, so it marks nothing.
const SCRIPTS: &str = "scripts";

/// Returns true if no host has run in the directory: it holds at most what an operator prepares. One that cannot be read
/// may hold something else.
fn is_unused(path: &Path) -> bool {
    let is_prepared = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let mut names = PREPARED.into_iter().chain([SCRIPTS]);
            names.any(|name| entry.file_name() == name)
        })
    };
    fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_prepared))
}

/// Returns true if the directory holds nothing. One that cannot be read may hold something.
fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn tighten(path: &Path) -> Result<(), HomeError> {
    fs::set_permissions(path, Permissions::from_mode(PRIVATE))
        .map_err(|source| io_error(path, source))
}

fn check(path: &Path) -> Result<(), HomeError> {
    let found = fs::metadata(path).map_err(|source| io_error(path, source))?;
    let user = rustix::process::geteuid().as_raw();
    if found.uid() != user {
        return Err(HomeError::Foreign {
            path: path.to_owned(),
            owner: found.uid(),
            user,
        });
    }
    let mode = found.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let path = path.to_owned();
    // Advice to close such a directory would break what it is for.
    let is_shared = mode & STICKY != 0 || path.parent().is_none();
    let marks = PARTS.into_iter().chain(PREPARED);
    let is_home = marks.map(|mark| path.join(mark)).any(|mark| mark.exists());
    if is_shared || !is_home && !is_empty(&path) {
        return Err(HomeError::NoHome { path, mode });
    }
    Err(HomeError::Loose { path, mode })
}

pub(crate) fn lock_path(home: &Path) -> PathBuf {
    home.join("run").join("holon.lock")
}

/// Locks the store's directory before the lock file is created, so that the owner's lock file stays as it is, even when
/// it is missing.
fn guard(home: &Path) -> Result<Option<File>, HomeError> {
    let path = home.join("state");
    let directory = File::open(&path).map_err(|source| io_error(&path, source))?;
    match rustix::fs::flock(
        &directory,
        rustix::fs::FlockOperation::NonBlockingLockExclusive,
    ) {
        Ok(()) => Ok(Some(directory)),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let owner = File::open(lock_path(home)).ok();
            let note = owner.map_or_else(OwnerNote::default, |mut file| OwnerNote::read(&mut file));
            Err(owned(home, &note))
        }
        Err(error) => {
            tracing::debug!(%error, "the directory of the store cannot be locked as well");
            Ok(None)
        }
    }
}

fn lock(home: &Path) -> Result<File, HomeError> {
    let path = lock_path(home);
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    let mut file = options
        .open(&path)
        .map_err(|source| io_error(&path, source))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let note = OwnerNote::read(&mut file);
            return Err(owned(home, &note));
        }
        Err(error) => return Err(io_error(&path, error.into())),
    }
    let note = OwnerNote::of_this_process().to_string();
    let named = file
        .set_len(0)
        .and_then(|()| file.write_all(note.as_bytes()));
    if let Err(error) = named {
        // The name is for people only. The lock is held without it, also on a full disk.
        tracing::debug!(%error, "the lock file does not name its owner");
    }
    Ok(file)
}

fn owned(home: &Path, note: &OwnerNote) -> HomeError {
    HomeError::Owned {
        path: home.to_owned(),
        pid: note.pid,
        leaving: note.leaving,
    }
}

fn io_error(path: &Path, source: std::io::Error) -> HomeError {
    let path = path.to_owned();
    match source.kind() {
        std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
            HomeError::ReadOnly { path, source }
        }
        _ => HomeError::Io { path, source },
    }
}
