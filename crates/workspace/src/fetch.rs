//! Fetches one directory of a repository on GitHub into a fresh folder, for templates and skills.
//!
//! The tree is listed and checked before any content is downloaded: regular files only, plain names, bounded in number,
//! size and depth. git writes objects and nothing else; the files are written here, without filters, attributes or
//! hooks. What was fetched is removed when its [`FetchedTree`] is dropped, and after a crash by the next fetch.

mod error;
mod folder;
mod listing;
mod reference;
mod search;
mod write;

pub use error::FetchError;

use crate::git::{CommitId, Git, GitUrl, RemoteBounds, RemoteGit};
use folder::FetchFolder;
use holon_domain::guidance::FetchedFrom;
use holon_domain::limits::{FETCH_BYTES, FETCH_LIST_BYTES, FETCH_MS};
use holon_domain::remote::{GitHubRepo, RemoteSkill, SkillPlace};
use holon_domain::template::GitHubTree;
use listing::{Entry, EntryKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The host that stands for `https://github.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHost {
    /// Without a slash at the end: `https://`, `http://` on this machine, or `file://`.
    base_url: String,
}

impl Default for GitHost {
    fn default() -> Self {
        Self::new("https://github.com")
    }
}

impl GitHost {
    /// Uses the repositories at this address, `<base_url>/<owner>/<repo>.git`.
    #[must_use]
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
        }
    }

    fn url(&self, repo: &GitHubRepo) -> GitUrl {
        let protocols = ["http", "file"];
        let given = self.base_url.split("://").next().unwrap_or_default();
        let protocol = protocols.into_iter().find(|name| *name == given);
        GitUrl {
            text: format!("{}/{}/{}.git", self.base_url, repo.owner, repo.repo),
            protocol: protocol.unwrap_or("https"),
        }
    }
}

/// Fetches trees from one host.
#[derive(Debug, Clone)]
pub struct Fetcher {
    git: Git,
    host: GitHost,
    /// Directory in which every fetch makes a folder of its own.
    dir: PathBuf,
    bounds: RemoteBounds,
}

/// A directory that was fetched and checked. It is removed when this is dropped.
#[derive(Debug)]
pub struct FetchedTree {
    path: PathBuf,
    from: FetchedFrom,
    /// Keeps the files until the tree is no longer used.
    _folder: FetchFolder,
}

impl FetchedTree {
    /// Returns the directory with the files. Its name is that of the directory in the repository.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the commit and the directory that the files are from.
    #[must_use]
    pub const fn from(&self) -> &FetchedFrom {
        &self.from
    }
}

impl Fetcher {
    /// Fetches from `host` with folders in `dir`, which is made when it is needed.
    #[must_use]
    pub const fn new(git: Git, host: GitHost, dir: PathBuf) -> Self {
        let bounds = RemoteBounds {
            time: Duration::from_millis(FETCH_MS),
            bytes: FETCH_BYTES,
        };
        Self {
            git,
            host,
            dir,
            bounds,
        }
    }

    /// Sets other bounds, for tests that reach them.
    #[must_use]
    pub const fn with_bounds(mut self, time: Duration, bytes: u64) -> Self {
        self.bounds = RemoteBounds { time, bytes };
        self
    }

    /// Fetches the directory that the URL of a tree names.
    ///
    /// # Errors
    /// Fails if the repository cannot be read, has no such ref or directory, or the directory holds anything but
    /// regular files within the bounds. Then nothing is left.
    pub fn tree(&self, tree: &GitHubTree) -> Result<FetchedTree, FetchError> {
        let repo = GitHubRepo {
            owner: tree.owner.clone(),
            repo: tree.repo.clone(),
        };
        self.fetch(&repo, |session| session.directory(&tree.ref_and_path))
    }

    /// Fetches the directory of a skill.
    ///
    /// # Errors
    /// As [`Fetcher::tree`], and if the repository has no such skill, or several.
    pub fn skill(&self, skill: &RemoteSkill) -> Result<FetchedTree, FetchError> {
        self.fetch(&skill.repo, |session| match &skill.place {
            SkillPlace::Directory { ref_and_path } => session.directory(ref_and_path),
            SkillPlace::Named { name, reference } => {
                session.named(name.as_deref(), reference.as_deref())
            }
        })
    }

    fn fetch(
        &self,
        repo: &GitHubRepo,
        find: impl FnOnce(&Session<'_>) -> Result<Directory, FetchError>,
    ) -> Result<FetchedTree, FetchError> {
        let folder = FetchFolder::make(&self.dir)?;
        let url = self.host.url(repo);
        let objects = folder.path().join("objects.git");
        let remote = RemoteGit::new(&self.git, url, objects, self.bounds);
        let remote = remote.map_err(|source| FetchError::of(repo, source))?;
        let session = Session {
            remote: &remote,
            repo,
        };
        let found = find(&session)?;
        let entries = session.entries(&found)?;
        let name = found
            .path
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty());
        let path = folder.path().join("tree").join(name.unwrap_or(&repo.repo));
        write::write_tree(&session, &entries, &path)?;
        Ok(FetchedTree {
            path,
            from: FetchedFrom {
                repository: repo.to_string(),
                commit: found.commit.as_str().to_owned(),
                directory: found.path,
            },
            _folder: folder,
        })
    }
}

/// A directory of a fetched commit.
#[derive(Debug)]
struct Directory {
    commit: CommitId,
    /// Id of its tree object.
    tree: CommitId,
    /// Path in the repository; empty for the root.
    path: String,
}

/// One fetch in progress.
struct Session<'a> {
    remote: &'a RemoteGit,
    repo: &'a GitHubRepo,
}

impl Session<'_> {
    /// Finds the directory at a ref and a path that are written in one.
    fn directory(&self, ref_and_path: &[String]) -> Result<Directory, FetchError> {
        let names = reference::candidates(ref_and_path);
        let refs = self.remote.refs(&names).map_err(|e| self.fault(e))?;
        let (object, length) =
            reference::longest(&refs, ref_and_path).ok_or_else(|| FetchError::NoRef {
                repository: self.repo.to_string(),
                shown: ref_and_path.join("/"),
            })?;
        let commit = self.receive(&object)?;
        let path = ref_and_path.get(length..).unwrap_or_default().join("/");
        let missing = || FetchError::NoDirectory {
            repository: self.repo.to_string(),
            directory: path.clone(),
            commit: commit.as_str().to_owned(),
        };
        if path.is_empty() {
            return Err(missing());
        }
        let args = [commit.as_str(), path.as_str()];
        let listed = self.remote.list(&args, 1 << 16);
        let listed = listed.map_err(|e| self.fault(e))?;
        let entries = listing::parse(&listed).ok_or_else(missing)?;
        let entry = entries.into_iter().find(|entry| entry.path == path);
        match entry {
            Some(Entry {
                kind: EntryKind::Directory,
                id,
                ..
            }) => Ok(Directory {
                commit,
                tree: id,
                path,
            }),
            Some(_) | None => Err(missing()),
        }
    }

    /// Finds a skill by its name, or the only one.
    fn named(&self, name: Option<&str>, reference: Option<&str>) -> Result<Directory, FetchError> {
        let parts: Vec<String> = reference
            .unwrap_or("HEAD")
            .split('/')
            .map(str::to_owned)
            .collect();
        let names = reference::candidates_of_whole(&parts);
        let refs = self.remote.refs(&names).map_err(|e| self.fault(e))?;
        let found = reference::longest(&refs, &parts).filter(|(_, length)| *length == parts.len());
        let (object, _) = found.ok_or_else(|| FetchError::NoRef {
            repository: self.repo.to_string(),
            shown: reference.unwrap_or("HEAD").to_owned(),
        })?;
        let commit = self.receive(&object)?;
        let listed = self
            .remote
            .list(&["-r", "-t", commit.as_str()], FETCH_LIST_BYTES);
        let listed = listed.map_err(|e| self.fault(e))?;
        let found = search::find_skill(&listed, name, self.repo)?;
        Ok(Directory {
            // The root has no entry of its own; a commit stands for its tree.
            tree: found.tree.unwrap_or_else(|| commit.clone()),
            path: found.path,
            commit,
        })
    }

    /// Fetches an object and returns the commit that it names.
    fn receive(&self, object: &CommitId) -> Result<CommitId, FetchError> {
        let fetched = self.remote.fetch_trees(object);
        fetched.map_err(|e| self.fault(e))?;
        let commit = self.remote.commit_of(object).map_err(|e| self.fault(e))?;
        commit.ok_or_else(|| FetchError::NoRef {
            repository: self.repo.to_string(),
            shown: object.as_str().to_owned(),
        })
    }

    /// Lists and checks the files of a directory, and fetches their content.
    fn entries(&self, directory: &Directory) -> Result<Vec<Entry>, FetchError> {
        let tree = directory.tree.as_str();
        let list = |args: &[&str]| {
            let listed = self.remote.list(args, FETCH_LIST_BYTES);
            listed.map_err(|e| self.fault(e))
        };
        let listed = list(&["-r", "-t", tree])?;
        listing::check(&listed, &directory.path)?;
        let mut blobs: Vec<CommitId> = listing::parse(&listed)
            .into_iter()
            .flatten()
            .filter(|entry| entry.kind != EntryKind::Directory)
            .map(|entry| entry.id)
            .collect();
        blobs.sort_unstable_by(|left, right| left.as_str().cmp(right.as_str()));
        blobs.dedup();
        if !blobs.is_empty() {
            let fetched = self.remote.fetch_blobs(&blobs);
            fetched.map_err(|e| self.fault(e))?;
        }
        listing::check_sizes(&list(&["-r", "-l", tree])?, &directory.path)
    }

    fn fault(&self, source: crate::git::GitError) -> FetchError {
        FetchError::of(self.repo, source)
    }
}
