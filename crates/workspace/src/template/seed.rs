//! Writes the built-in templates to the user's directory.
//!
//! A marker in each directory holds the digest of what was written. A template is replaced by a newer one only if its
//! files still have that digest and nothing was added, so that no change of the user is lost. A replacement is one
//! exchange of two directories.

use super::SKILLS_JSON;
use super::builtin::{BUILTIN_TEMPLATES, BuiltinTemplate};
use super::read::{digest, digest_on_disk, entry_names};
use crate::error::{Error, at};
use crate::home::{AGENTS_MD, make_dir, put_in_place, sync, write};
use crate::plain_file;
use crate::scratch::{self, Purpose};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Name of the marker.
const MARKER: &str = ".holon-builtin-template.json";
/// Largest marker that is read, in bytes. A larger one is the user's.
const MARKER_BYTES: u64 = 4 << 10;

/// Content of the marker file.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    sha256: String,
}

/// Result of a seeding, by template id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeedReport {
    pub written: Vec<&'static str>,
    pub refreshed: Vec<&'static str>,
    /// Templates that the user changed, or that something else is in the place of.
    pub left: Vec<&'static str>,
}

/// Writes what is missing and refreshes what is unchanged.
pub(super) fn seed(dir: &Path) -> Result<SeedReport, Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(at("create", dir))?;
    let mut report = SeedReport::default();
    for template in &BUILTIN_TEMPLATES {
        let place = dir.join(template.id);
        let current = digest(
            template.agents_md.as_bytes(),
            template.skills_json.map(str::as_bytes),
        );
        let is_missing = match fs::symlink_metadata(&place) {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(at("look at", &place)(error)),
        };
        if is_missing {
            put(dir, template, &current, Put::Fresh)?;
            report.written.push(template.id);
        } else if !is_unchanged(&place)? {
            report.left.push(template.id);
        } else if digest_on_disk(&place).as_ref() != Some(&current) {
            put(dir, template, &current, Put::Exchange)?;
            report.refreshed.push(template.id);
        }
    }
    Ok(report)
}

/// Returns true if a directory holds exactly what a seeding wrote.
fn is_unchanged(place: &Path) -> Result<bool, Error> {
    if !fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()) {
        return Ok(false);
    }
    let ours = BTreeSet::from([AGENTS_MD, SKILLS_JSON, MARKER].map(str::to_owned));
    if !entry_names(place)?.is_subset(&ours) {
        return Ok(false);
    }
    let marker = plain_file::read(&place.join(MARKER), MARKER_BYTES).ok();
    let marker = marker
        .flatten()
        .and_then(|text| serde_json::from_slice::<Marker>(&text).ok());
    Ok(marker.is_some_and(|marker| digest_on_disk(place) == Some(marker.sha256)))
}

/// How a template is put in place.
#[derive(Debug, Clone, Copy)]
enum Put {
    Fresh,
    /// In the place of an older one.
    Exchange,
}

/// Exchanges two directories. Where the filesystem cannot, the old one is moved away first; a crash in between leaves
/// none, and the next seeding writes it.
fn exchange(dir: &Path, id: &str, new: &Path, place: &Path) -> io::Result<()> {
    match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let gone = scratch::path(dir, id, Purpose::Gone).map_err(io::Error::other)?;
            fs::rename(place, &gone)?;
            fs::rename(new, place)?;
            scratch::remove_tree(&gone).map_err(io::Error::other)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Builds a template under a temporary name and puts it in place. After an exchange the old one has that name.
fn put(dir: &Path, template: &BuiltinTemplate, sha256: &str, how: Put) -> Result<(), Error> {
    let place = dir.join(template.id);
    scratch::sweep(dir, template.id)?;
    let new = scratch::path(dir, template.id, Purpose::New)?;
    let marker = Marker {
        sha256: sha256.to_owned(),
    };
    let marker = serde_json::to_string(&marker);
    let marker = marker.map_err(|error| at("write", &place)(io::Error::other(error)))?;
    let built = make_dir(&new)
        .and_then(|()| write(&new.join(AGENTS_MD), template.agents_md))
        .and_then(|()| match template.skills_json {
            Some(skills) => write(&new.join(SKILLS_JSON), skills),
            None => Ok(()),
        })
        .and_then(|()| write(&new.join(MARKER), &marker))
        .and_then(|()| sync(&new))
        .and_then(|()| {
            let renamed = match how {
                Put::Fresh => put_in_place(&new, &place),
                Put::Exchange => exchange(dir, template.id, &new, &place),
            };
            renamed.map_err(at("create", &place))
        })
        .and_then(|()| sync(dir));
    scratch::remove_tree(&new)?;
    built
}
