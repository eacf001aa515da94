//! Installs skills into an agent's home, completely or not at all, and removes them again.
//!
//! A copy is made in a fresh directory beside its place, synced and renamed, so no reader sees half of it; its record
//! names the source and the hash of the tree. A local skill may be linked instead, so that its author's changes show.
//! Nothing of a skill is run.

use super::copy::{Caches, copy_tree, hash_tree};
use super::error::SkillError;
use super::frontmatter::parse_skill;
use super::ready::{ReadySkill, SkillContent};
use super::record::InstallRecord;
use super::{RECORD, SKILL_MD};
use crate::error::{Error, at};
use crate::home::put_in_place;
use crate::plain_file::{PlainFile, ReadFailure};
use crate::scratch;
use holon_domain::guidance::{InstallMode, InstalledSkill, SkillSourceKind};
use holon_domain::limits::{SKILL_FILE_BYTES, SKILL_FRONTMATTER_BYTES};
use holon_domain::template::is_skill_name;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;

/// The root in an agent's home that installed skills are in.
const ROOT: &str = "skills";

/// Installs a skill into an agent's home, which must exist.
///
/// # Errors
/// Fails if one of its name is installed, or the filesystem refuses. Then nothing is left.
pub fn install_skill(agent_home: &Path, skill: &ReadySkill) -> Result<(), SkillError> {
    let root = agent_home.join(ROOT);
    make_root(&root)?;
    skill.install_into(&root)?;
    sync(&root)
}

impl ReadySkill {
    /// Installs the skill into a root, which must exist.
    pub(crate) fn install_into(&self, root: &Path) -> Result<(), SkillError> {
        let name = self.name();
        refuse_taken(root, name)?;
        match self.content() {
            SkillContent::Builtin(skill_md) => put(root, self, |new| write_builtin(new, skill_md)),
            SkillContent::Link(path) => {
                // It may have changed since it was made ready.
                check_skill(path)?;
                link(root, name, path)
            }
            SkillContent::Copy(path) => {
                check_skill(path)?;
                put(root, self, |new| copy_tree(path, new))
            }
        }
    }
}

/// Removes a skill from an agent's home: the copy, or the link and not its target. Returns the kind of its source if
/// the runtime installed it.
///
/// # Errors
/// Fails if there is none, or the filesystem refuses.
pub fn uninstall_skill(
    agent_home: &Path,
    name: &str,
) -> Result<Option<SkillSourceKind>, SkillError> {
    if !is_skill_name(name) {
        return Err(SkillError::Name {
            name: name.to_owned(),
        });
    }
    let root = agent_home.join(ROOT);
    let place = root.join(name);
    if fs::symlink_metadata(&place).is_err() {
        return Err(SkillError::NotInstalled {
            name: name.to_owned(),
        });
    }
    let kind = source_kind(&place);
    scratch::sweep(&root, name)?;
    let gone = scratch::path(&root, name, scratch::Purpose::Gone)?;
    fs::rename(&place, &gone).map_err(at("remove", &place))?;
    holon_fault::hit("skill.moved_away");
    sync(&root)?;
    scratch::remove_tree(&gone)?;
    Ok(kind)
}

fn source_kind(place: &Path) -> Option<SkillSourceKind> {
    match fs::read_link(place) {
        Ok(_) => Some(SkillSourceKind::Local),
        Err(_) => InstallRecord::read(place)
            .ok()
            .flatten()
            .map(|record| record.kind()),
    }
}

/// Lists the skills in an agent's home by name, with the problems an operator should know of.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn installed_skills(agent_home: &Path) -> Result<Vec<InstalledSkill>, SkillError> {
    let root = agent_home.join(ROOT);
    let entries = match fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at("list", &root)(error).into()),
    };
    let mut skills = Vec::new();
    for entry in entries {
        let entry = entry.map_err(at("list", &root))?;
        if let Some(name) = entry
            .file_name()
            .to_str()
            .filter(|name| is_skill_name(name))
        {
            skills.push(installed(&entry.path(), name));
        }
    }
    skills.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(skills)
}

fn installed(place: &Path, name: &str) -> InstalledSkill {
    let mut skill = InstalledSkill {
        name: name.to_owned(),
        link_target: None,
        install_mode: None,
        fetched_from: None,
        warning: None,
    };
    if let Ok(target) = fs::read_link(place) {
        skill.link_target = Some(target.to_string_lossy().into_owned());
        skill.install_mode = Some(InstallMode::Linked);
        skill.warning = check_skill(&target).err().map(|error| error.to_string());
        return skill;
    }
    let record = match InstallRecord::read(place) {
        Ok(record) => record,
        Err(failure) => {
            skill.warning = Some(format!("{RECORD}: {failure}"));
            return skill;
        }
    };
    if let Some(record) = record {
        skill.install_mode = Some(InstallMode::Copied);
        skill.warning = record.change(place);
        skill.fetched_from = record.fetched_from;
    }
    skill
}

/// Checks that a directory is a skill and returns its name.
pub(crate) fn check_skill(path: &Path) -> Result<String, SkillError> {
    let refuse = |reason: String| SkillError::NotASkill {
        path: path.to_owned(),
        reason,
    };
    if !path.is_absolute() {
        return Err(refuse("its path is relative".to_owned()));
    }
    let found = fs::symlink_metadata(path).map_err(|error| refuse(error.to_string()))?;
    if !found.is_dir() {
        return Err(refuse("it is not a directory".to_owned()));
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.filter(|name| is_skill_name(name));
    let name = name.ok_or_else(|| {
        refuse(
            "its directory must have a name of lower-case letters, digits and hyphens".to_owned(),
        )
    })?;
    let head = read_head(&path.join(SKILL_MD)).map_err(refuse)?;
    parse_skill(&head, name).map_err(refuse)?;
    Ok(name.to_owned())
}

/// Reads the beginning of a `SKILL.md` without following a link.
fn read_head(path: &Path) -> Result<Vec<u8>, String> {
    let words = |failure: ReadFailure| format!("{SKILL_MD}: {failure}");
    let file = PlainFile::open(path).map_err(words)?;
    let file = file.ok_or_else(|| format!("it has no {SKILL_MD}"))?;
    if file.bytes() > SKILL_FILE_BYTES {
        return Err(format!("{SKILL_MD} has more than {SKILL_FILE_BYTES} bytes"));
    }
    file.read_head(SKILL_FRONTMATTER_BYTES).map_err(words)
}

fn refuse_taken(root: &Path, name: &str) -> Result<(), SkillError> {
    match fs::symlink_metadata(root.join(name)) {
        Ok(_) => Err(SkillError::AlreadyInstalled {
            name: name.to_owned(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at("look at", root)(error).into()),
    }
}

/// Fills a fresh directory and puts it in place with its record. `fill` returns the hash of the tree.
fn put(
    root: &Path,
    skill: &ReadySkill,
    fill: impl FnOnce(&Path) -> Result<String, SkillError>,
) -> Result<(), SkillError> {
    let name = skill.name();
    scratch::sweep(root, name)?;
    let new = scratch::path(root, name, scratch::Purpose::New)?;
    let filled = fill(&new).and_then(|sha256| {
        holon_fault::hit("skill.copied");
        write_record(&new, &InstallRecord::of(skill, sha256, &new))?;
        let place = root.join(name);
        put_in_place(&new, &place).map_err(at("create", &place))?;
        holon_fault::hit("skill.placed");
        Ok(())
    });
    if filled.is_err() {
        scratch::remove_tree(&new)?;
    }
    filled
}

fn link(root: &Path, name: &str, path: &Path) -> Result<(), SkillError> {
    let place = root.join(name);
    symlink(path, &place).map_err(at("create", &place))?;
    Ok(())
}

fn write_builtin(new: &Path, skill_md: &str) -> Result<String, SkillError> {
    private_dir(new)?;
    write(&new.join(SKILL_MD), skill_md.as_bytes())?;
    sync(new)?;
    hash_tree(new, Caches::LeftOut)
}

fn write_record(dir: &Path, record: &InstallRecord) -> Result<(), SkillError> {
    let path = dir.join(RECORD);
    let text = serde_json::to_vec_pretty(record);
    let text = text.map_err(|error| at("write", &path)(io::Error::other(error)))?;
    write(&path, &text)?;
    sync(dir)
}

fn write(path: &Path, content: &[u8]) -> Result<(), SkillError> {
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut file = opened.map_err(at("create", path))?;
    file.write_all(content)
        .and_then(|()| file.sync_all())
        .map_err(at("write", path))?;
    Ok(())
}

fn private_dir(path: &Path) -> Result<(), SkillError> {
    let made = DirBuilder::new().mode(0o700).create(path);
    Ok(made.map_err(at("create", path))?)
}

/// Creates the root of an agent's skills. A link in its place is refused.
fn make_root(root: &Path) -> Result<(), SkillError> {
    match fs::symlink_metadata(root) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::NotADirectory {
            what: "skill root",
            path: root.to_owned(),
        }
        .into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => private_dir(root),
        Err(error) => Err(at("look at", root)(error).into()),
    }
}

fn sync(directory: &Path) -> Result<(), SkillError> {
    let synced = File::open(directory).and_then(|dir| dir.sync_all());
    Ok(synced.map_err(at("sync", directory))?)
}
