//! The control token: what lets a client in over TCP. Made once per home, kept in a file only its user can read.
//!
//! The file appears whole or not at all, so a crash while it is made leaves nothing half-written behind.
//! A token that others may have read is refused, not quietly used.

use crate::error::TokenError;
use holon_domain::request_key::can_be_control_token;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Random bytes in a token; written as twice as many hex digits.
const RANDOM_BYTES: usize = 32;
/// Permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// The control token. Its value shows in no debug output; compare it in constant time.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Shortest token accepted: an operator may choose one, but not a guessable one.
    pub const MIN_LEN: usize = 32;
    pub const MAX_LEN: usize = 256;

    /// The secret itself, for the one header it belongs in.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Reads the control token at `path`.
    ///
    /// # Errors
    /// When there is none, it is no secret of this user, or it cannot be a control token.
    pub fn load(path: &Path) -> Result<Self, TokenError> {
        Self::read(path)?.as_control(&path.display().to_string())
    }

    /// Returns the token if it can be the control token of a host: it is hard to guess and in no other namespace.
    ///
    /// # Errors
    /// When it is one of a callback, a named one, or repeats a few characters. `place` names where it came from.
    pub fn as_control(self, place: &str) -> Result<Self, TokenError> {
        if can_be_control_token(&self.0) {
            return Ok(self);
        }
        Err(TokenError::NotControl {
            place: place.to_owned(),
        })
    }

    fn read(path: &Path) -> Result<Self, TokenError> {
        let failed = |error: rustix::io::Errno| match error {
            rustix::io::Errno::NOENT => TokenError::Missing { path: path.into() },
            // A symbolic link could point at a file someone else chose.
            rustix::io::Errno::LOOP => TokenError::Foreign { path: path.into() },
            other => io(path)(other.into()),
        };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?);
        check_owner(path, &file)?;
        let mut content = String::new();
        file.take(Self::MAX_LEN as u64 + 2)
            .read_to_string(&mut content)
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::InvalidData => TokenError::Malformed { path: path.into() },
                _ => io(path)(error),
            })?;
        Self::parse(content.trim()).ok_or_else(|| TokenError::Malformed { path: path.into() })
    }

    /// Reads the token in a file that an operator named. It may be a named token, with which a client calls a host.
    ///
    /// # Errors
    /// When there is none, or it is no secret of this user, with advice for a file that no start makes.
    pub fn load_given(path: &Path) -> Result<Self, TokenError> {
        Self::read(path).map_err(|error| match error {
            TokenError::Missing { path } => TokenError::GivenMissing { path },
            TokenError::Exposed { path, mode } => TokenError::GivenExposed { path, mode },
            TokenError::Foreign { path } => TokenError::GivenForeign { path },
            TokenError::Malformed { path } => TokenError::GivenMalformed { path },
            other => other,
        })
    }

    /// Takes a token that an operator gave, without the spaces around it. It may be a named token.
    ///
    /// # Errors
    /// When it is too short, too long, or holds other characters than a token may. It is not repeated.
    pub fn given(text: &str, place: &'static str) -> Result<Self, TokenError> {
        Self::parse(text.trim()).ok_or(TokenError::Given { place })
    }

    /// Reads the token at `path`, or makes one there.
    ///
    /// # Errors
    /// When the one there cannot be used, or none can be made.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        match Self::load(path) {
            Err(TokenError::Missing { .. }) => Self::fresh()?.save(path)?,
            other => return other,
        }
        // Read back rather than trusted: if another process made it first, that one counts.
        Self::load(path)
    }

    /// A new token that is written nowhere yet.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn fresh() -> Result<Self, TokenError> {
        random_hex::<RANDOM_BYTES>().map(Self)
    }

    /// Writes the token beside `path`, makes it durable, and moves it there unless something is there by now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TokenError> {
        let beside = sibling(path, &random_hex::<8>()?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let written = rustix::fs::open(&beside, flags, Mode::RUSR | Mode::WUSR)
            .map_err(std::io::Error::from)
            .and_then(|fd| {
                let mut file = File::from(fd);
                writeln!(file, "{}", self.0)?;
                file.sync_all()
            })
            .and_then(|()| move_into_place(&beside, path));
        if written.is_err() {
            // Best effort: what is left behind is an unused file only this user can read.
            drop(std::fs::remove_file(&beside));
        }
        written.map_err(io(path))
    }

    fn parse(text: &str) -> Option<Self> {
        let fits = (Self::MIN_LEN..=Self::MAX_LEN).contains(&text.len());
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (fits && text.chars().all(plain)).then(|| Self(text.to_owned()))
    }
}

fn check_owner(path: &Path, file: &File) -> Result<(), TokenError> {
    let facts = file.metadata().map_err(io(path))?;
    if !facts.is_file() || facts.uid() != rustix::process::geteuid().as_raw() {
        return Err(TokenError::Foreign { path: path.into() });
    }
    if facts.mode() & OTHERS != 0 {
        let mode = facts.mode() & 0o7777;
        return Err(TokenError::Exposed {
            path: path.into(),
            mode,
        });
    }
    Ok(())
}

fn move_into_place(from: &Path, to: &Path) -> std::io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => std::fs::remove_file(from)?,
        Err(error) => return Err(error.into()),
    }
    match to.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

fn sibling(path: &Path, tag: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{tag}.new"))
}

fn random_hex<const N: usize>() -> Result<String, TokenError> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|error| TokenError::Randomness {
        reason: error.to_string(),
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> TokenError {
    move |source| TokenError::Io {
        path: path.to_owned(),
        source,
    }
}
