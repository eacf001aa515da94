//! Discovers the skills of an agent: the first existing root of each scope, and the metadata of the skills in it.
//!
//! Discovery uses the frontmatter and nothing else; of an installed skill it compares the whole `SKILL.md` with the one
//! that was installed. Roots and skills of a workspace are refused where a link is in
//! their place, because the author of a project may be a stranger; the user and the agent may link skills into their own
//! roots.

use super::SKILL_MD;
use super::frontmatter::parse_skill;
use super::record::InstallRecord;
use crate::plain_file::{PlainFile, ReadFailure};
use crate::stamp::FileStamp;
use holon_domain::guidance::{
    GuidanceRoots, SkillCatalog, SkillEntry, SkillNote, SkillRoot, SkillScope,
};
use holon_domain::limits::{SKILL_FILE_BYTES, SKILL_FRONTMATTER_BYTES, SKILLS_PER_ROOT};
use holon_domain::template::is_skill_name;
use holon_domain::time::Timestamp;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::{Errno, retry_on_intr};
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Roots in the user's home and in a workspace, in the order in which they are tried.
const SHARED: [&str; 3] = [".agents/skills", ".codex/skills", ".claude/skills"];
/// Roots in an agent's home.
const OF_AGENT: [&str; 4] = [
    "skills",
    ".agents/skills",
    ".codex/skills",
    ".claude/skills",
];
/// Most skills whose description is kept in memory.
const KEPT: usize = 2_048;

/// Returns the directories in the user's home that hold skills for every agent.
#[must_use]
pub fn user_skill_roots(user_home: Option<&Path>) -> Vec<PathBuf> {
    let roots = user_home.map(|home| SHARED.map(|root| home.join(root)));
    roots.into_iter().flatten().collect()
}

/// Reads catalogues of skills, and keeps the descriptions of those that were read last.
#[derive(Debug, Default)]
pub struct SkillReader {
    /// Home of the user. Absent if it is unknown.
    user_home: Option<PathBuf>,
    kept: Mutex<HashMap<PathBuf, KeptSkill>>,
}

/// The description of a skill, or the reason for which it has none, as of the file's stamp.
#[derive(Debug, Clone)]
struct KeptSkill {
    stamp: FileStamp,
    described: Result<Described, String>,
}

/// What the catalogue says about a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Described {
    description: String,
    /// True if the `SKILL.md` is not the one that was installed.
    is_changed: bool,
}

/// Treatment of links in a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Follow,
    Refuse,
}

/// The roots of one scope.
#[derive(Debug, Clone, Copy)]
struct Scope<'a> {
    scope: SkillScope,
    dir: &'a Path,
    /// Relative to `dir`, in the order in which they are tried.
    roots: &'a [&'a str],
    links: Links,
}

impl SkillReader {
    /// Creates a reader for the skills of a user.
    #[must_use]
    pub fn new(user_home: Option<PathBuf>) -> Self {
        Self {
            user_home,
            kept: Mutex::default(),
        }
    }

    /// Reads the catalogue of an agent. `now` is the time of the wall clock, see `FileStamp`.
    #[must_use]
    pub fn read(&self, roots: &GuidanceRoots, now: Timestamp) -> SkillCatalog {
        let mut catalog = SkillCatalog::default();
        let user = self.user_home.as_deref();
        let user = user.filter(|_| roots.has_user_skills()).map(|dir| Scope {
            scope: SkillScope::User,
            dir,
            roots: &SHARED,
            links: Links::Follow,
        });
        let agent = Scope {
            scope: SkillScope::Agent,
            dir: Path::new(&roots.agent_home),
            roots: &OF_AGENT,
            links: Links::Follow,
        };
        let anchor = roots.workspace_anchor.as_deref().map(Path::new);
        let workspace = anchor.map(|dir| Scope {
            scope: SkillScope::Workspace,
            dir,
            roots: &SHARED,
            links: Links::Refuse,
        });
        for scope in user.into_iter().chain([agent]).chain(workspace) {
            self.read_scope(&mut catalog, &scope, now);
        }
        catalog
    }

    /// Reads the first existing root of a scope. One that exists and cannot be used is named, and no other is tried.
    fn read_scope(&self, catalog: &mut SkillCatalog, scope: &Scope<'_>, now: Timestamp) {
        for name in scope.roots {
            let path = scope.dir.join(name);
            let note = match open_beneath(scope.dir, name, scope.links) {
                Ok(root) => {
                    catalog.discovered_roots.push(SkillRoot {
                        scope: scope.scope,
                        path: path.to_string_lossy().into_owned(),
                    });
                    return self.read_root(catalog, scope, &path, &root, now);
                }
                Err(Errno::NOENT) => continue,
                Err(Errno::NOTDIR | Errno::LOOP) => "it is not a directory, or a link".to_owned(),
                Err(errno) => words(errno),
            };
            let path = path.to_string_lossy().into_owned();
            return catalog.notes.push(SkillNote { path, note });
        }
    }

    fn read_root(
        &self,
        catalog: &mut SkillCatalog,
        scope: &Scope<'_>,
        path: &Path,
        root: &OwnedFd,
        now: Timestamp,
    ) {
        let note = |note: String| SkillNote {
            path: path.to_string_lossy().into_owned(),
            note,
        };
        let Names {
            skills: names,
            misnamed,
        } = match list(root) {
            Ok(names) => names,
            Err(errno) => return catalog.notes.push(note(words(errno))),
        };
        catalog.notes.extend(misnamed.iter().map(|name| {
            SkillNote {
                path: path.join(name).to_string_lossy().into_owned(),
                note: "its directory must have a name of lower-case letters, digits and hyphens"
                    .to_owned(),
            }
        }));
        if names.len() > SKILLS_PER_ROOT {
            catalog.notes.push(note(format!(
                "{} entries; only the first {SKILLS_PER_ROOT} are looked at",
                names.len()
            )));
        }
        for name in names.into_iter().take(SKILLS_PER_ROOT) {
            let file = path.join(&name).join(SKILL_MD);
            let shown = file.to_string_lossy().into_owned();
            match self.describe(root, &name, &file, scope.links, now) {
                Ok(Some(described)) => {
                    let Described {
                        description,
                        is_changed,
                    } = described;
                    let mut entry = SkillEntry::new(scope.scope, &name, description, shown);
                    entry.changed_since_install = is_changed;
                    catalog.discoverable_skills.push(entry);
                }
                Ok(None) => {}
                Err(note) => catalog.notes.push(SkillNote { path: shown, note }),
            }
        }
    }

    /// Returns the description of a skill; `None` if the entry is no directory with a `SKILL.md`.
    fn describe(
        &self,
        root: &OwnedFd,
        name: &str,
        file: &Path,
        links: Links,
        now: Timestamp,
    ) -> Result<Option<Described>, String> {
        let dir = match open_dir(root, name, links) {
            Ok(dir) => dir,
            Err(Errno::NOTDIR | Errno::NOENT) if links == Links::Follow => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => return refuse_link(root, name),
            Err(errno) => return Err(words(errno)),
        };
        let found = match statat(&dir, SKILL_MD, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(words(errno)),
        };
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err("SKILL.md is not a regular file".to_owned());
        }
        let stamp = FileStamp::of(&found);
        if stamp.bytes() > SKILL_FILE_BYTES {
            return Err(format!("SKILL.md has more than {SKILL_FILE_BYTES} bytes"));
        }
        if let Some(kept) = self.kept_description(file, &stamp) {
            return kept.map(Some);
        }
        let installed = file.parent().and_then(|dir| InstallRecord::read(dir).ok()?);
        let (described, read) = read_description(&dir, name, installed.as_ref())?;
        if read.is_settled_at(now) {
            self.keep(file, read, &described);
        }
        described.map(Some)
    }

    fn kept_description(
        &self,
        file: &Path,
        stamp: &FileStamp,
    ) -> Option<Result<Described, String>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let skill = kept.get(file).filter(|skill| skill.stamp == *stamp)?;
        Some(skill.described.clone())
    }

    fn keep(&self, file: &Path, stamp: FileStamp, described: &Result<Described, String>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        let described = described.clone();
        kept.insert(file.to_owned(), KeptSkill { stamp, described });
    }
}

/// Names a link in the place of a skill; any other entry is no skill.
fn refuse_link(root: &OwnedFd, name: &str) -> Result<Option<Described>, String> {
    let found = statat(root, name, AtFlags::SYMLINK_NOFOLLOW);
    match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(FileType::Symlink) => Err("a skill of a workspace must not be a link".to_owned()),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn words(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

/// Opens a directory beneath another, component by component.
fn open_beneath(dir: &Path, name: &str, links: Links) -> Result<OwnedFd, Errno> {
    let first = retry_on_intr(|| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, dir, flags, Mode::empty())
    })?;
    name.split('/')
        .try_fold(first, |dir, part| open_dir(dir, part, links))
}

fn open_dir(dir: impl AsFd, name: &str, links: Links) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let flags = match links {
        Links::Follow => flags,
        Links::Refuse => flags | OFlags::NOFOLLOW,
    };
    retry_on_intr(|| openat(&dir, name, flags, Mode::empty()))
}

/// Names in a skill root, sorted.
#[derive(Debug, Default)]
struct Names {
    /// Names that a skill can have.
    skills: Vec<String>,
    /// Other names of entries that have a `SKILL.md`. The rest belongs to the author of the root.
    misnamed: Vec<String>,
}

fn list(root: &OwnedFd) -> Result<Names, Errno> {
    let mut names = Names::default();
    for entry in Dir::read_from(root)? {
        let entry = entry?;
        let name = entry.file_name().to_str().unwrap_or_default();
        if is_skill_name(name) {
            names.skills.push(name.to_owned());
        } else if !name.starts_with('.') && names.misnamed.len() < SKILLS_PER_ROOT {
            let file = format!("{name}/{SKILL_MD}");
            let found = statat(root, file.as_str(), AtFlags::SYMLINK_NOFOLLOW);
            names
                .misnamed
                .extend(found.is_ok().then(|| name.to_owned()));
        }
    }
    names.skills.sort_unstable();
    names.misnamed.sort_unstable();
    Ok(names)
}

/// Reads the frontmatter of the `SKILL.md` in an open directory.
fn read_description(
    dir: &OwnedFd,
    name: &str,
    installed: Option<&InstallRecord>,
) -> Result<(Result<Described, String>, FileStamp), String> {
    let words = |failure: ReadFailure| format!("{SKILL_MD}: {failure}");
    let file = PlainFile::open_at(dir, SKILL_MD).map_err(words)?;
    let file = file.ok_or_else(|| format!("{SKILL_MD} is gone"))?;
    // The whole text is read only to compare it with what was installed.
    let most = match installed {
        Some(_) => SKILL_FILE_BYTES,
        None => SKILL_FRONTMATTER_BYTES,
    };
    let text = file.read_head(most).map_err(words)?;
    let head = usize::try_from(SKILL_FRONTMATTER_BYTES).unwrap_or(usize::MAX);
    let described = parse_skill(text.get(..head).unwrap_or(&text), name);
    let described = described.map(|skill| Described {
        description: skill.description,
        is_changed: installed.is_some_and(|record| record.has_other_skill_md(&text)),
    });
    Ok((described, FileStamp::of(file.stat())))
}
