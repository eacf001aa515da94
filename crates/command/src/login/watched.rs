//! Detects changes to the files that a login shell reads.

use super::Vars;
use crate::off_thread::off_thread;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files of the machine. The directory entry changes when a file is added to it or removed from it.
const MACHINE_FILES: [&str; 9] = [
    "/etc/environment",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/zprofile",
    "/etc/zshenv",
    "/etc/zsh/zprofile",
    "/etc/zsh/zshenv",
    "/etc/fish/config.fish",
];
/// Files that login shells read in the user's home.
const USER_FILES: [&str; 5] = [
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bashrc",
    ".config/fish/config.fish",
];
/// Files of zsh, in the user's home or in `ZDOTDIR`.
const ZSH_FILES: [&str; 4] = [".zshenv", ".zprofile", ".zshrc", ".zlogin"];

/// Inode, length, and modification and change times of a file; `None` if it does not exist.
type Stamp = Option<(u64, u64, i64, i64, i64, i64)>;

/// Stamps of all watched files at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stamps(Vec<(PathBuf, Stamp)>);

impl Stamps {
    /// Reads the stamps of the files that a login in this environment reads.
    pub(super) async fn take(vars: &Vars) -> Self {
        let files = files(vars);
        let stamps = off_thread(move || {
            let stamps = files.into_iter().map(|file| {
                let stamp = stamp(&file);
                (file, stamp)
            });
            Ok(Self(stamps.collect()))
        });
        stamps.await.unwrap_or_default()
    }
}

fn files(vars: &Vars) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = MACHINE_FILES.into_iter().map(PathBuf::from).collect();
    let Some(home) = vars.get("HOME").map(Path::new) else {
        return files;
    };
    files.extend(USER_FILES.map(|name| home.join(name)));
    let zsh = vars.get("ZDOTDIR").map_or(home, Path::new);
    files.extend(ZSH_FILES.map(|name| zsh.join(name)));
    let config = vars.get("XDG_CONFIG_HOME").map(Path::new);
    files.extend(config.map(|config| config.join("fish/config.fish")));
    files
}

fn stamp(file: &Path) -> Stamp {
    let found = std::fs::metadata(file).ok()?;
    Some((
        found.ino(),
        found.len(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ))
}
