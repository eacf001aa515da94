//! Checks a whole archive, and makes the home of a new agent from it.
//!
//! An archive comes from anywhere. Its manifest is read first; then every entry is compared with it: no entry more, none
//! less, each with its size and hash. Only a checked archive is unpacked, from the same open file. The home is built
//! beside its place and renamed; it carries the mark of an unconfirmed home until its agent is stored.

use super::entries::{Entries, differs};
use super::spool::manifest_text;
use super::{ArchiveError, ArchiveLimits, HOST_DIRECTORIES, is_of_host};
use crate::error::{Error, at};
use crate::home::{lock_home, make_dir, place_home, sync, write};
use crate::skill::check_skill;
use crate::template::{UNCONFIRMED, clear_home};
use holon_domain::archive::{
    ArchiveManifest, ArchiveRecord, ArchivedFile, EntryDigest, FORMAT, HOME, LinkedSkill, MANIFEST,
    RECORD, check_path,
};
use holon_domain::limits::SKILLS_PER_ROOT;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Directories that the links of an archive may lead into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkRoots {
    /// Anywhere: this host has made the archive from an agent with the same links.
    Any,
    /// Into these directories, because somebody else chose the targets.
    Under(Vec<PathBuf>),
}

impl LinkRoots {
    /// Returns true if a link to this path may be made: what it names lies in one of the directories.
    fn allow(&self, target: &Path) -> bool {
        let Self::Under(roots) = self else {
            return true;
        };
        let Ok(real) = target.canonicalize() else {
            return false;
        };
        let holds = |root: &PathBuf| root.canonicalize().is_ok_and(|root| real.starts_with(root));
        roots.iter().any(holds)
    }
}

/// An archive that keeps every rule.
#[derive(Debug)]
pub struct CheckedArchive {
    pub manifest: ArchiveManifest,
    pub record: ArchiveRecord,
    pub file: File,
}

/// Reads an archive from its beginning and compares every entry with the manifest. Makes nothing.
///
/// # Errors
/// Names the rule that the archive breaks.
pub fn check_archive(
    mut file: File,
    limits: ArchiveLimits,
) -> Result<CheckedArchive, ArchiveError> {
    let size = file
        .metadata()
        .map_err(|error| ArchiveError::reading(&error))?;
    if size.len() > limits.bytes {
        let max = limits.bytes;
        return Err(ArchiveError::refused(format!(
            "it has more than {max} bytes"
        )));
    }
    file.seek(SeekFrom::Start(0))
        .map_err(|error| ArchiveError::reading(&error))?;
    let mut entries = Entries::new(&mut file);
    let manifest = read_manifest(&mut entries, limits)?;
    let expected = expected_files(&manifest, limits)?;
    let record = read_record(&mut entries, &manifest, limits)?;
    let mut seen = BTreeSet::new();
    while let Some(header) = entries.next_header()? {
        let known = header
            .path
            .strip_prefix(HOME)
            .and_then(|path| expected.get(path));
        let Some(known) = known else {
            let path = &header.path;
            return Err(ArchiveError::refused(format!(
                "the manifest does not list {path:?}"
            )));
        };
        if !seen.insert(header.path.clone()) {
            let path = &header.path;
            return Err(ArchiveError::refused(format!("{path:?} is in it twice")));
        }
        if header.executable != known.executable {
            return Err(differs(&header.path));
        }
        entries.check(&header, &known.digest, &mut io::sink())?;
    }
    entries.check_end()?;
    if let Some(missing) = expected
        .keys()
        .find(|path| !seen.contains(&format!("{HOME}{path}")))
    {
        return Err(ArchiveError::refused(format!("{missing:?} is missing")));
    }
    Ok(CheckedArchive {
        manifest,
        record,
        file,
    })
}

/// Makes a home from a checked archive: all of it or nothing.
///
/// # Errors
/// Fails if the home exists and is not empty, or the filesystem refuses. Then nothing is left.
pub fn place_archive(
    home: &Path,
    archive: &mut CheckedArchive,
    links: &LinkRoots,
) -> Result<(), ArchiveError> {
    let _alone = lock_home(home);
    if !clear_home(home)? {
        return Err(ArchiveError::HomeInUse {
            path: home.to_owned(),
        });
    }
    place_home(home, |new| fill(new, archive, links))
}

fn fill(new: &Path, archive: &mut CheckedArchive, links: &LinkRoots) -> Result<(), ArchiveError> {
    make_dir(new)?;
    archive
        .file
        .seek(SeekFrom::Start(0))
        .map_err(|error| ArchiveError::reading(&error))?;
    let files = archive.manifest.files.iter();
    let expected: BTreeMap<&str, &ArchivedFile> =
        files.map(|file| (file.path.as_str(), file)).collect();
    let mut directories = BTreeSet::new();
    let mut entries = Entries::new(&mut archive.file);
    while let Some(header) = entries.next_header()? {
        let known = header.path.strip_prefix(HOME);
        let Some((path, known)) = known.and_then(|path| Some((path, expected.get(path)?))) else {
            entries.skip(&header)?;
            continue;
        };
        let target = new.join(path);
        make_parents(new, path, &mut directories)?;
        let mode = if known.executable { 0o700 } else { 0o600 };
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(mode);
        let mut file = opened.open(&target).map_err(at("create", &target))?;
        entries.check(&header, &known.digest, &mut file)?;
        file.sync_all().map_err(at("write", &target))?;
    }
    link_skills(new, &archive.manifest, links, &mut directories)?;
    make_parents(new, UNCONFIRMED, &mut directories)?;
    write(&new.join(UNCONFIRMED), "")?;
    for directory in directories.iter().rev() {
        sync(&new.join(directory))?;
    }
    Ok(sync(new)?)
}

/// Links the skills of the manifest that are on this machine too, where links may lead. The others are left out; the
/// import's notes name them.
fn link_skills(
    new: &Path,
    manifest: &ArchiveManifest,
    links: &LinkRoots,
    directories: &mut BTreeSet<String>,
) -> Result<(), Error> {
    for LinkedSkill { name, target } in manifest.linked_skills.iter().take(SKILLS_PER_ROOT) {
        // The target as it is written may lead through links that are changed later.
        let Ok(target) = Path::new(target).canonicalize() else {
            continue;
        };
        let is_there =
            links.allow(&target) && check_skill(&target).is_ok_and(|found| found == *name);
        let path = format!("skills/{name}");
        let place = new.join(&path);
        if !is_there || place.symlink_metadata().is_ok() {
            continue;
        }
        make_parents(new, &path, directories)?;
        symlink(&target, &place).map_err(at("create", &place))?;
    }
    Ok(())
}

/// Creates the directories above a file and notes them.
fn make_parents(new: &Path, path: &str, directories: &mut BTreeSet<String>) -> Result<(), Error> {
    let cuts = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    for directory in cuts {
        if directories.insert(directory.to_owned()) {
            let target = new.join(directory);
            let made = DirBuilder::new().mode(0o700).create(&target);
            made.map_err(at("create", &target))?;
        }
    }
    Ok(())
}

/// The one field that every version of the manifest has.
#[derive(Deserialize)]
struct AnyManifest {
    format: u32,
}

fn read_manifest(
    entries: &mut Entries<'_>,
    limits: ArchiveLimits,
) -> Result<ArchiveManifest, ArchiveError> {
    let text = entries.text(MANIFEST, limits)?;
    let invalid =
        |error: serde_json::Error| ArchiveError::refused(format!("its manifest: {error}"));
    let any: AnyManifest = serde_json::from_slice(&text).map_err(invalid)?;
    if any.format > FORMAT {
        return Err(ArchiveError::Newer {
            found: any.format,
            known: FORMAT,
        });
    }
    serde_json::from_slice(&text).map_err(invalid)
}

fn read_record(
    entries: &mut Entries<'_>,
    manifest: &ArchiveManifest,
    limits: ArchiveLimits,
) -> Result<ArchiveRecord, ArchiveError> {
    let text = entries.text(RECORD, limits)?;
    if digest_of(&text) != manifest.record {
        return Err(differs(RECORD));
    }
    serde_json::from_slice(&text)
        .map_err(|error| ArchiveError::refused(format!("its record: {error}")))
}

/// Checks the paths of the manifest: each once, none reserved, and no file in the place of a directory.
fn expected_files(
    manifest: &ArchiveManifest,
    limits: ArchiveLimits,
) -> Result<BTreeMap<String, ArchivedFile>, ArchiveError> {
    if manifest.files.len() > limits.files {
        let max = limits.files;
        return Err(ArchiveError::refused(format!(
            "it has more than {max} files"
        )));
    }
    let manifest_bytes = manifest_text(manifest)?.len() as u64;
    if manifest.archive_bytes(manifest_bytes) > limits.bytes {
        let max = limits.bytes;
        return Err(ArchiveError::refused(format!(
            "it unpacks to more than {max} bytes"
        )));
    }
    let mut files = BTreeMap::new();
    for file in &manifest.files {
        let refuse = |reason: String| {
            let path = &file.path;
            ArchiveError::refused(format!("the path {path:?}: {reason}"))
        };
        check_path(&file.path).map_err(|fault| refuse(fault.to_string()))?;
        if is_of_host(&file.path) || HOST_DIRECTORIES.contains(&file.path.as_str()) {
            return Err(refuse("it belongs to the host".to_owned()));
        }
        if file.digest.bytes > limits.file_bytes {
            return Err(refuse(format!(
                "it has more than {} bytes",
                limits.file_bytes
            )));
        }
        if files.insert(file.path.clone(), file.clone()).is_some() {
            return Err(refuse("the manifest lists it twice".to_owned()));
        }
    }
    for path in files.keys() {
        let mut parents = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        if let Some(parent) = parents.find(|parent| files.contains_key(*parent)) {
            return Err(ArchiveError::refused(format!(
                "{parent:?} is a file and a directory"
            )));
        }
    }
    Ok(files)
}

fn digest_of(content: &[u8]) -> EntryDigest {
    EntryDigest {
        bytes: content.len() as u64,
        sha256: holon_domain::text::sha256_hex(content),
    }
}
