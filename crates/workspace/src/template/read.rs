//! Finds and reads templates. Their skills are checked in `skills`.

use super::builtin::{self, BUILTIN_TEMPLATES, BuiltinTemplate};
use super::error::TemplateError;
use super::skills::{self, TemplateSkill};
use super::{SKILLS_JSON, seed};
use crate::error::{Error, at};
use crate::fetch::Fetcher;
use crate::home::AGENTS_MD;
use crate::plain_file::{PlainFile, ReadFailure};
use holon_domain::guidance::FetchedFrom;
use holon_domain::limits::{INSTRUCTION_FILE_BYTES, TEMPLATE_SKILLS_BYTES};
use holon_domain::template::{GitHubTree, TemplateSelector, is_template_id};
use holon_domain::text;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Source of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum TemplateOrigin {
    /// It is compiled into the program.
    Builtin,
    Directory {
        path: String,
    },
    /// It was fetched from GitHub.
    #[serde(rename = "github")]
    GitHub(FetchedFrom),
}

impl TemplateOrigin {
    /// Returns the place for messages. `id` is that of the template.
    fn shown(&self, id: &str) -> String {
        match self {
            Self::Builtin => id.to_owned(),
            Self::Directory { path } => path.clone(),
            Self::GitHub(from) => format!("{}/{}", from.repository, from.directory),
        }
    }
}

/// A template that was read and checked.
#[derive(Debug, Clone)]
pub struct Template {
    pub id: String,
    pub origin: TemplateOrigin,
    pub agents_md: String,
    /// Skills that a new agent gets, in the order of the template.
    pub skills: Vec<TemplateSkill>,
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
    fetcher: Fetcher,
}

/// Files of a template, read and not checked further.
struct TemplateFiles {
    id: String,
    origin: TemplateOrigin,
    agents_md: String,
    skills_json: Option<Vec<u8>>,
}

impl TemplateStore {
    /// Creates the store of a user. `fetcher` serves templates and skills on GitHub.
    #[must_use]
    pub fn of_user(user_home: Option<&Path>, fetcher: Fetcher) -> Self {
        Self {
            dir: user_home.map(|home| home.join(".agents/templates")),
            fetcher,
        }
    }

    /// Finds, reads and checks a template. What it names on GitHub is fetched.
    ///
    /// # Errors
    /// Fails if there is none, or anything that it contains or names cannot be used.
    pub fn resolve(&self, selector: &TemplateSelector) -> Result<Template, TemplateError> {
        let files = match selector {
            TemplateSelector::GitHub(tree) => self.fetch(tree, &selector.to_string())?,
            TemplateSelector::Path(path) => {
                let id = Path::new(path).file_name();
                let id = id.and_then(|name| name.to_str()).unwrap_or_default();
                read_directory(id, Path::new(path))?
            }
            TemplateSelector::Id(id) => self.find(id)?,
        };
        let shown = files.origin.shown(&files.id);
        let sources = skills::parse(&shown, files.skills_json.as_deref())?;
        Ok(Template {
            skills: skills::prepare(&shown, sources, &self.fetcher)?,
            sha256: digest(files.agents_md.as_bytes(), files.skills_json.as_deref()),
            id: files.id,
            origin: files.origin,
            agents_md: files.agents_md,
        })
    }

    /// Fetches a template and reads it like a local one.
    fn fetch(&self, tree: &GitHubTree, shown: &str) -> Result<TemplateFiles, TemplateError> {
        let fetched = self.fetcher.tree(tree);
        let fetched = fetched.map_err(|source| TemplateError::Fetch {
            shown: shown.to_owned(),
            source,
        })?;
        let id = fetched.path().file_name().and_then(|name| name.to_str());
        let mut files = read_directory(id.unwrap_or_default(), fetched.path())?;
        files.origin = TemplateOrigin::GitHub(fetched.from().clone());
        Ok(files)
    }

    fn find(&self, id: &str) -> Result<TemplateFiles, TemplateError> {
        let path = self.dir.as_ref().map(|dir| dir.join(id));
        match path {
            // What the user has under this id is meant, also if it cannot be used.
            Some(path) if fs::symlink_metadata(&path).is_ok() => read_directory(id, &path),
            Some(_) | None => match builtin::find(id) {
                Some(template) => Ok(read_builtin(template)),
                None => Err(TemplateError::Unknown {
                    id: id.to_owned(),
                    known: self.ids().into_iter().collect::<Vec<_>>().join(", "),
                }),
            },
        }
    }

    /// Returns the reason for which a template cannot be used. Nothing is fetched.
    fn problem(&self, id: &str) -> Option<String> {
        let checked = self.find(id).and_then(|files| {
            let shown = files.origin.shown(&files.id);
            skills::parse(&shown, files.skills_json.as_deref())
        });
        checked.err().map(|error| error.to_string())
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
            TemplateListing {
                problem: self.problem(&id),
                id,
                origin,
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

fn read_builtin(template: &BuiltinTemplate) -> TemplateFiles {
    TemplateFiles {
        id: template.id.to_owned(),
        origin: TemplateOrigin::Builtin,
        agents_md: template.agents_md.to_owned(),
        skills_json: template.skills_json.map(|text| text.as_bytes().to_vec()),
    }
}

fn read_directory(id: &str, path: &Path) -> Result<TemplateFiles, TemplateError> {
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
    let skills_json = read_file(&dir, SKILLS_JSON, TEMPLATE_SKILLS_BYTES).map_err(&refuse)?;
    let agents_md = String::from_utf8(agents_md).ok();
    let agents_md = agents_md.filter(|text| !text.contains('\0') && !text.trim().is_empty());
    let agents_md =
        agents_md.ok_or_else(|| refuse(format!("{AGENTS_MD} is empty or no UTF-8 text")))?;
    Ok(TemplateFiles {
        id: id.to_owned(),
        origin: TemplateOrigin::Directory {
            path: shown.clone(),
        },
        agents_md,
        skills_json,
    })
}

/// Computes the digest of a template's files.
pub(super) fn digest(agents_md: &[u8], skills: Option<&[u8]>) -> String {
    let parts = [Some(agents_md), skills];
    let hashes = parts.map(|part| part.map(text::sha256_hex).unwrap_or_default());
    text::sha256_hex(hashes.join(" "))
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
