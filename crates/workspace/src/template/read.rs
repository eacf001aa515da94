//! Finds and reads templates, and checks everything that they name.

use super::builtin::{self, BUILTIN_TEMPLATES, BuiltinTemplate};
use super::error::TemplateError;
use super::{SKILLS_JSON, seed};
use crate::error::{Error, at};
use crate::home::AGENTS_MD;
use crate::plain_file::{PlainFile, ReadFailure};
use crate::skill::{BUILTIN_SKILLS, check_skill};
use holon_domain::guidance::{InstallMode, SkillSource};
use holon_domain::limits::{INSTRUCTION_FILE_BYTES, TEMPLATE_SKILLS, TEMPLATE_SKILLS_BYTES};
use holon_domain::template::{TemplateSelector, is_owner, is_repo, is_skill_name, is_template_id};
use holon_domain::text;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Source of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum TemplateOrigin {
    /// It is compiled into the program.
    Builtin,
    Directory {
        path: String,
    },
}

/// A template that was read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub id: String,
    pub origin: TemplateOrigin,
    pub agents_md: String,
    /// Skills that a new agent gets, in the order of the template.
    pub skills: Vec<SkillSource>,
    /// SHA-256 of both files, in hex.
    pub sha256: String,
}

/// A template as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TemplateListing {
    pub id: String,
    #[serde(flatten)]
    pub origin: TemplateOrigin,
    /// The reason for which it cannot be used; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The user's templates, and the built-in ones behind them.
#[derive(Debug, Clone)]
pub struct TemplateStore {
    /// `~/.agents/templates`. Absent if the user has no home.
    pub(super) dir: Option<PathBuf>,
}

/// Content of a `skills.json`; unknown fields are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillList {
    skill_refs: Vec<SkillRef>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum SkillRef {
    Builtin { name: String },
    Local { path: String },
    Github { package: String },
}

impl TemplateStore {
    /// Creates the store of a user.
    #[must_use]
    pub fn of_user(user_home: Option<&Path>) -> Self {
        Self {
            dir: user_home.map(|home| home.join(".agents/templates")),
        }
    }

    /// Finds, reads and checks a template.
    ///
    /// # Errors
    /// Fails if there is none, or anything that it contains or names cannot be used.
    pub fn resolve(&self, selector: &TemplateSelector) -> Result<Template, TemplateError> {
        match selector {
            TemplateSelector::GitHub(_) => Err(TemplateError::Remote {
                shown: selector.to_string(),
            }),
            TemplateSelector::Path(path) => {
                let id = Path::new(path).file_name();
                let id = id.and_then(|name| name.to_str()).unwrap_or_default();
                read_directory(id, Path::new(path))
            }
            TemplateSelector::Id(id) => self.find(id),
        }
    }

    fn find(&self, id: &str) -> Result<Template, TemplateError> {
        let path = self.dir.as_ref().map(|dir| dir.join(id));
        match path {
            // What the user has under this id is meant, also if it cannot be used.
            Some(path) if fs::symlink_metadata(&path).is_ok() => read_directory(id, &path),
            Some(_) | None => match builtin::find(id) {
                Some(template) => read_builtin(template),
                None => Err(TemplateError::Unknown {
                    id: id.to_owned(),
                    known: self.ids().into_iter().collect::<Vec<_>>().join(", "),
                }),
            },
        }
    }

    /// Returns the ids of all templates, sorted.
    fn ids(&self) -> BTreeSet<String> {
        let entries = self.dir.as_ref().and_then(|dir| fs::read_dir(dir).ok());
        let names = entries.into_iter().flatten().flatten();
        names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_template_id(name))
            .chain(BUILTIN_TEMPLATES.map(|template| template.id.to_owned()))
            .collect()
    }

    /// Lists all templates, with the reason where one cannot be used.
    #[must_use]
    pub fn list(&self) -> Vec<TemplateListing> {
        let listing = |id: String| {
            let path = self.dir.as_ref().map(|dir| dir.join(&id));
            let path = path.filter(|path| fs::symlink_metadata(path).is_ok());
            let origin = path.map_or(TemplateOrigin::Builtin, |path| TemplateOrigin::Directory {
                path: path.to_string_lossy().into_owned(),
            });
            let problem = self.find(&id).err().map(|error| error.to_string());
            TemplateListing {
                id,
                origin,
                problem,
            }
        };
        self.ids().into_iter().map(listing).collect()
    }

    /// Writes the built-in templates to the user's directory, and refreshes those that the user has not changed.
    ///
    /// # Errors
    /// Fails if the filesystem refuses. Each template is written completely or not at all.
    pub fn seed_builtins(&self) -> Result<seed::SeedReport, Error> {
        match &self.dir {
            Some(dir) => seed::seed(dir),
            None => Ok(seed::SeedReport::default()),
        }
    }
}

fn read_builtin(template: &BuiltinTemplate) -> Result<Template, TemplateError> {
    let skills = template.skills_json.map(str::as_bytes);
    checked(
        template.id,
        TemplateOrigin::Builtin,
        template.agents_md.to_owned(),
        skills,
    )
}

fn read_directory(id: &str, path: &Path) -> Result<Template, TemplateError> {
    let shown = path.to_string_lossy().into_owned();
    let refuse = |reason: String| TemplateError::Invalid {
        shown: shown.clone(),
        reason,
    };
    let dir = open_directory(path).map_err(|errno| match errno {
        Errno::NOTDIR | Errno::LOOP => refuse("it is not a directory".to_owned()),
        errno => refuse(io::Error::from(errno).to_string()),
    })?;
    let agents_md = read_file(&dir, AGENTS_MD, INSTRUCTION_FILE_BYTES).map_err(&refuse)?;
    let agents_md = agents_md.ok_or_else(|| refuse(format!("it has no {AGENTS_MD}")))?;
    let skills = read_file(&dir, SKILLS_JSON, TEMPLATE_SKILLS_BYTES).map_err(&refuse)?;
    let agents_md = String::from_utf8(agents_md).ok();
    let agents_md = agents_md.filter(|text| !text.contains('\0') && !text.trim().is_empty());
    let agents_md =
        agents_md.ok_or_else(|| refuse(format!("{AGENTS_MD} is empty or no UTF-8 text")))?;
    let origin = TemplateOrigin::Directory {
        path: shown.clone(),
    };
    checked(id, origin, agents_md, skills.as_deref())
}

/// Checks the skills of a template and puts it together.
fn checked(
    id: &str,
    origin: TemplateOrigin,
    agents_md: String,
    skills: Option<&[u8]>,
) -> Result<Template, TemplateError> {
    let shown = match &origin {
        TemplateOrigin::Builtin => id.to_owned(),
        TemplateOrigin::Directory { path } => path.clone(),
    };
    let sha256 = digest(agents_md.as_bytes(), skills);
    let sources = parse_skills(&shown, skills)?;
    let mut names = BTreeSet::new();
    for source in &sources {
        let name = check_source(&shown, source)?;
        if !names.insert(name.clone()) {
            return Err(TemplateError::Invalid {
                shown,
                reason: format!("{SKILLS_JSON} names two skills {name:?}"),
            });
        }
    }
    Ok(Template {
        id: id.to_owned(),
        origin,
        agents_md,
        skills: sources,
        sha256,
    })
}

/// Computes the digest of a template's files.
pub(super) fn digest(agents_md: &[u8], skills: Option<&[u8]>) -> String {
    let parts = [Some(agents_md), skills];
    let hashes = parts.map(|part| part.map(text::sha256_hex).unwrap_or_default());
    text::sha256_hex(hashes.join(" "))
}

fn parse_skills(shown: &str, content: Option<&[u8]>) -> Result<Vec<SkillSource>, TemplateError> {
    let Some(content) = content else {
        return Ok(Vec::new());
    };
    let refuse = |reason: String| TemplateError::Invalid {
        shown: shown.to_owned(),
        reason: format!("{SKILLS_JSON}: {reason}"),
    };
    let list: SkillList =
        serde_json::from_slice(content).map_err(|error| refuse(error.to_string()))?;
    if list.skill_refs.len() > TEMPLATE_SKILLS {
        return Err(refuse(format!(
            "at most {TEMPLATE_SKILLS} skills are allowed"
        )));
    }
    let source = |reference: SkillRef| match reference {
        SkillRef::Builtin { name } => Ok(SkillSource::Builtin { name }),
        SkillRef::Local { path } => Ok(SkillSource::Local {
            path,
            mode: InstallMode::Linked,
        }),
        SkillRef::Github { package } if is_package(&package) => {
            Err(TemplateError::Remote { shown: package })
        }
        SkillRef::Github { package } => Err(refuse(format!(
            "{:?} is not of the form OWNER/REPO@SKILL",
            text::preview(&package, 120)
        ))),
    };
    list.skill_refs.into_iter().map(source).collect()
}

/// Checks the form of a package on GitHub.
fn is_package(package: &str) -> bool {
    let parts = package
        .split_once('@')
        .and_then(|(repo, skill)| Some((repo.split_once('/')?, skill)));
    parts.is_some_and(|((owner, repo), skill)| {
        is_owner(owner) && is_repo(repo) && is_skill_name(skill)
    })
}

/// Checks that a skill exists and can be installed, and returns its name.
fn check_source(shown: &str, source: &SkillSource) -> Result<String, TemplateError> {
    let refuse = |reason: String| TemplateError::Invalid {
        shown: shown.to_owned(),
        reason: format!("{SKILLS_JSON}: {reason}"),
    };
    match source {
        SkillSource::Builtin { name } => {
            if BUILTIN_SKILLS.iter().any(|skill| skill.name == name) {
                Ok(name.clone())
            } else {
                let name = text::preview(name, 120);
                Err(refuse(format!("no skill {name:?} is built in")))
            }
        }
        SkillSource::Local { path, .. } => {
            let path = Path::new(path);
            if path.components().any(|part| part == Component::ParentDir) {
                return Err(refuse("a path must not contain '..'".to_owned()));
            }
            check_skill(path).map_err(|error| refuse(error.to_string()))
        }
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))
}

/// Reads a regular file of bounded size; `None` if it is absent.
pub(super) fn read_file(dir: &OwnedFd, name: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
    let words = |failure: ReadFailure| match failure {
        ReadFailure::SymbolicLink => format!("{name} is a symbolic link"),
        ReadFailure::NotRegularFile => format!("{name} is not a regular file"),
        ReadFailure::TooLarge { .. } => format!("{name} has more than {most} bytes"),
        ReadFailure::Io(error) => format!("{name}: {error}"),
    };
    let file = PlainFile::open_at(dir, name).map_err(words)?;
    file.map(|file| file.read(most)).transpose().map_err(words)
}

/// Reads both files of a template's directory without checking them; used to tell whether they were changed.
pub(super) fn digest_on_disk(path: &Path) -> Option<String> {
    let dir = open_directory(path).ok()?;
    let agents_md = read_file(&dir, AGENTS_MD, INSTRUCTION_FILE_BYTES).ok()??;
    let skills = read_file(&dir, SKILLS_JSON, TEMPLATE_SKILLS_BYTES).ok()?;
    Some(digest(&agents_md, skills.as_deref()))
}

/// Lists the names in a directory.
pub(super) fn entry_names(path: &Path) -> Result<BTreeSet<String>, Error> {
    let entries = fs::read_dir(path).map_err(at("list", path))?;
    let names =
        entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    names.collect::<io::Result<_>>().map_err(at("list", path))
}
