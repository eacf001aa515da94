//! Temporary names beside agent homes, and removal of whole trees.
//!
//! `.<id>.<random>.new` is a home being built, `.<id>.<random>.gone` one being removed. Agent ids do not start with a
//! dot, so such a name is never a home; the random part has no dot, so it never belongs to another agent.

use crate::error::{Error, at};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Hexadecimal characters of the random part.
const RANDOM_CHARS: usize = 16;

/// Purpose of a temporary directory, which decides its suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A home that is being built.
    New,
    /// A home that is being removed.
    Gone,
}

impl Purpose {
    const fn suffix(self) -> &'static str {
        match self {
            Self::New => ".new",
            Self::Gone => ".gone",
        }
    }
}

/// Returns a fresh temporary path for this agent.
pub(crate) fn path(agents_dir: &Path, agent_id: &str, purpose: Purpose) -> Result<PathBuf, Error> {
    let random = getrandom::u64().map_err(Error::Random)?;
    Ok(agents_dir.join(format!(".{agent_id}.{random:016x}{}", purpose.suffix())))
}

/// Removes what interrupted attempts for this agent left behind.
pub(crate) fn sweep(agents_dir: &Path, agent_id: &str) -> Result<(), Error> {
    let entries = match fs::read_dir(agents_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at("list", agents_dir)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(at("list", agents_dir))?;
        if entry
            .file_name()
            .to_str()
            .is_some_and(|name| belongs_to(name, agent_id))
        {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

fn belongs_to(name: &str, agent_id: &str) -> bool {
    let random = name
        .strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(agent_id))
        .and_then(|rest| rest.strip_prefix('.'))
        .and_then(|rest| {
            rest.strip_suffix(Purpose::New.suffix())
                .or_else(|| rest.strip_suffix(Purpose::Gone.suffix()))
        });
    random.is_some_and(|random| {
        random.len() == RANDOM_CHARS && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Removes a tree, or a link itself and never its target. Idempotent.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    match remove(path) {
        // Package caches make directories unwritable; these are removed too.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(path);
            remove(path).map_err(at("remove", path))
        }
        other => other.map_err(at("remove", path)),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Gives the owner full rights on each real directory of a tree. Errors are ignored here, because the removal reports
/// them.
fn unlock(root: &Path) {
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        if !fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir()) {
            continue;
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).ok();
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        open.extend(entries.flatten().filter(is_dir).map(|entry| entry.path()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_belong_to_exactly_one_agent() {
        let name = |text: &str| {
            let path = path(Path::new("/a"), text, Purpose::New).unwrap();
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert!(belongs_to(&name("a"), "a"));
        assert!(belongs_to(".a.0123456789abcdef.gone", "a"));
        assert!(!belongs_to(&name("a.b"), "a"));
        assert!(!belongs_to(&name("a.0123456789abcdef"), "a"));
        assert!(!belongs_to(&name("ab"), "a"));
        for other in [
            "a",
            ".a.new",
            ".a.0123456789abcdef",
            ".a.xyz.new",
            ".a.0123456789abcdeg.new",
        ] {
            assert!(!belongs_to(other, "a"), "{other}");
        }
    }
}
