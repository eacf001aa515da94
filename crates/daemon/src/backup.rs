//! Backups of a home: one tar file with a consistent copy of the store and the files of the agents, made while a host
//! runs, and a new home made from it.
//!
//! A backup holds no credential, token or key of the host, no worktree, and nothing that proves that a command ran: in a
//! restored home every call that was open has an unknown outcome, and none is repeated.

mod error;
mod manifest;
mod pack;
mod staging;
mod unpack;

pub use error::BackupError;
pub use manifest::LeftOut;
pub use pack::{BackupReport, back_up};
pub use unpack::{RestoreReport, restore};

use std::path::{Component, Path};

/// Path of the store in a home and in a backup.
const STORE: &str = "state/holon.sqlite3";
/// Path of the settings in a home and in a backup.
const SETTINGS: &str = "config.toml";
/// Directory of the agents' homes in a home and in a backup.
const AGENTS: &str = "agents";
/// Directory of the scripts that scripted models play, in a home and in a backup.
const SCRIPTS: &str = "scripts";
/// Directory of the images that operators sent, in a home and in a backup.
const IMAGES: &str = "state/images";

/// Returns true if a backup may hold a file of a home under this path. The directories themselves are not meant.
fn is_backed_up(path: &str) -> bool {
    let is_plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let is_below = |directory: &str| {
        let rest = path.strip_prefix(directory);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    is_plain
        && (path == STORE
            || path == SETTINGS
            || is_below(AGENTS)
            || is_below(SCRIPTS)
            || is_below(IMAGES))
}

#[cfg(test)]
mod tests;
