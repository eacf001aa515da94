//! A repository on another host, read through a fresh bare repository.
//!
//! Nothing is checked out: the caller lists trees and reads blobs, so no hook, filter, attribute, link or submodule of
//! the repository has any effect. One protocol is allowed, no credential is sent, and all commands together have one
//! time limit. What git has downloaded is measured while it runs.

use super::bounded::{self, Bounds, ProcessError};
use super::overrides::{ENVIRONMENT, RepositoryKeys};
use super::repository::{Git, GitOutput, output_of};
use super::{CommitId, GitError, at};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Settings of the commands that reach another host, besides those of every command.
const SETTINGS: [&str; 10] = [
    // A fetch makes one pack, whatever its size, so that its bytes can be measured.
    "fetch.unpackLimit=1",
    "fetch.negotiationAlgorithm=noop",
    // Large files are streamed to disk and not held in memory.
    "core.bigFileThreshold=1m",
    // The server cannot send the client elsewhere.
    "transfer.bundleURI=false",
    "fetch.uriProtocols=",
    "transfer.credentialsInUrl=die",
    "http.followRedirects=initial",
    // A connection without data ends.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=30",
    "advice.fetchShowForcedUpdates=false",
];

/// Address of a repository, made of checked parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitUrl {
    pub(crate) text: String,
    /// The only protocol that git may use.
    pub(crate) protocol: &'static str,
}

/// Bounds of all commands on one remote repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RemoteBounds {
    pub(crate) time: Duration,
    /// Bytes that git may download.
    pub(crate) bytes: u64,
}

/// A remote repository and the bare repository that receives its objects.
#[derive(Debug)]
pub(crate) struct RemoteGit {
    git: Git,
    url: GitUrl,
    /// Directory of the bare repository.
    dir: PathBuf,
    deadline: Instant,
    bounds: RemoteBounds,
}

impl RemoteGit {
    /// Makes the bare repository in `dir`, which must not exist.
    pub(crate) fn new(
        git: &Git,
        url: GitUrl,
        dir: PathBuf,
        bounds: RemoteBounds,
    ) -> Result<Self, GitError> {
        fs::create_dir(&dir).map_err(at("create", &dir))?;
        let remote = Self {
            git: git.clone(),
            url,
            dir,
            deadline: Instant::now() + bounds.time,
            bounds,
        };
        remote.run(&["init", "--quiet", "--bare", "--template="], None, 1 << 10)?;
        Ok(remote)
    }

    /// Returns the refs of the remote repository with one of these full names, and the object of each.
    pub(crate) fn refs(&self, names: &[String]) -> Result<Vec<(String, CommitId)>, GitError> {
        let mut args = vec!["ls-remote", "--quiet", "--", &self.url.text];
        args.extend(names.iter().map(String::as_str));
        let printed = self.run(&args, None, 1 << 20)?;
        let printed = String::from_utf8_lossy(&printed);
        let mut refs = Vec::new();
        for line in printed.lines() {
            let Some((id, name)) = line.split_once('\t') else {
                continue;
            };
            // git matches the ends of names, so it prints `refs/x/refs/heads/main` too.
            if names.iter().any(|wanted| wanted == name) {
                refs.push((name.to_owned(), CommitId::parse(id)?));
            }
        }
        Ok(refs)
    }

    /// Fetches an object with its trees and without the content of files, where the server supports that.
    pub(crate) fn fetch_trees(&self, object: &CommitId) -> Result<(), GitError> {
        let mut args = FETCH.to_vec();
        args.extend(["--depth=1", "origin", object.as_str()]);
        self.run(&args, None, 1 << 20).map(drop)
    }

    /// Fetches the content of files. Objects that are there already are not fetched again.
    pub(crate) fn fetch_blobs(&self, blobs: &[CommitId]) -> Result<(), GitError> {
        let mut args = FETCH.to_vec();
        args.extend(["--stdin", "origin"]);
        self.run(&args, Some(blobs), 1 << 20).map(drop)
    }

    /// Returns the commit that an object is or that a tag names; `None` if it is neither.
    pub(crate) fn commit_of(&self, object: &CommitId) -> Result<Option<CommitId>, GitError> {
        let peeled = format!("{}^{{commit}}", object.as_str());
        let args = ["rev-parse", "--verify", "--quiet", &peeled];
        let output = self.ask(&args, None, 1 << 10)?;
        if !output.success {
            return Ok(None);
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        CommitId::parse(printed.trim_end()).map(Some)
    }

    /// Runs `ls-tree -z` with these arguments. None of them may begin with a hyphen unless the caller wrote it.
    pub(crate) fn list(&self, args: &[&str], max_bytes: usize) -> Result<Vec<u8>, GitError> {
        let mut all = vec!["ls-tree", "-z"];
        all.extend(args);
        self.run(&all, None, max_bytes)
    }

    /// Reads the content of files in the form of `git cat-file --batch`.
    pub(crate) fn read_blobs(
        &self,
        blobs: &[CommitId],
        max_bytes: usize,
    ) -> Result<Vec<u8>, GitError> {
        self.run(&["cat-file", "--batch", "--buffer"], Some(blobs), max_bytes)
    }

    fn run(
        &self,
        args: &[&str],
        input: Option<&[CommitId]>,
        max_stdout: usize,
    ) -> Result<Vec<u8>, GitError> {
        let output = self.ask(args, input, max_stdout)?;
        if output.success {
            return Ok(output.stdout);
        }
        Err(GitError::Failed {
            command: args.first().copied().unwrap_or_default().to_owned(),
            dir: self.dir.clone(),
            stderr: output.stderr,
        })
    }

    fn ask(
        &self,
        args: &[&str],
        input: Option<&[CommitId]>,
        max_stdout: usize,
    ) -> Result<GitOutput, GitError> {
        let stdin = match input {
            Some(ids) => Stdio::from(self.write_input(ids)?),
            None => Stdio::null(),
        };
        let is_within = || downloaded(&self.dir) <= self.bounds.bytes;
        let bounds = Bounds {
            limit: self.deadline.saturating_duration_since(Instant::now()),
            max_stdout,
            is_within: Some(&is_within),
        };
        let command = || args.first().copied().unwrap_or_default().to_owned();
        let dir = || self.dir.clone();
        match bounded::run_within(&mut self.command(args), stdin, bounds) {
            // A small download may end between two looks.
            Ok(_) | Err(ProcessError::TooMuchOutput) if !is_within() => {
                Err(GitError::TooMuchOutput {
                    command: command(),
                    dir: dir(),
                    limit: usize::try_from(self.bounds.bytes).unwrap_or(usize::MAX),
                })
            }
            Ok(ended) => Ok(output_of(ended)),
            Err(ProcessError::Io(error)) => Err(GitError::NotStarted(error)),
            Err(ProcessError::TimedOut) => Err(GitError::TimedOut {
                command: command(),
                dir: dir(),
                limit_ms: u64::try_from(self.bounds.time.as_millis()).unwrap_or(u64::MAX),
            }),
            Err(ProcessError::TooMuchOutput) => Err(GitError::TooMuchOutput {
                command: command(),
                dir: dir(),
                limit: max_stdout,
            }),
        }
    }

    /// Writes the standard input of a command: one id per line.
    fn write_input(&self, ids: &[CommitId]) -> Result<File, GitError> {
        let path = self.dir.with_extension("input");
        let lines: Vec<&str> = ids.iter().map(CommitId::as_str).collect();
        fs::write(&path, lines.join("\n") + "\n").map_err(at("write", &path))?;
        File::open(&path).map_err(at("open", &path))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.git.program);
        command
            .env_clear()
            .env("PATH", &self.git.search_path)
            .envs(ENVIRONMENT.iter().copied())
            .envs(RepositoryKeys::default().variables())
            .envs(self.git.proxies.variables())
            .env("GIT_ALLOW_PROTOCOL", self.url.protocol)
            .env("GIT_DIR", &self.dir)
            .current_dir(&self.dir)
            .arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        let url = format!("remote.origin.url={}", self.url.text);
        command.args(["-c", &url]).args(args);
        command
    }
}

/// Arguments of every fetch.
const FETCH: [&str; 8] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--recurse-submodules=no",
    "--no-show-forced-updates",
    "--filter=blob:none",
];

/// Bytes of the packs of a bare repository, also of one that is being received.
fn downloaded(dir: &Path) -> u64 {
    let packs = fs::read_dir(dir.join("objects/pack"));
    let files = packs.into_iter().flatten().flatten();
    files
        .filter_map(|entry| entry.metadata().ok())
        .map(|found| found.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::proxy::ProxyVariables;

    #[test]
    fn a_command_that_reaches_another_host_uses_the_proxy_of_the_host() {
        let remote = |proxies: ProxyVariables| RemoteGit {
            git: Git::default().with_proxies(proxies),
            url: GitUrl {
                text: "https://github.com/a/b".to_owned(),
                protocol: "https",
            },
            dir: PathBuf::from("/nowhere"),
            deadline: Instant::now(),
            bounds: RemoteBounds {
                time: Duration::ZERO,
                bytes: 0,
            },
        };
        let proxy_of = |remote: &RemoteGit, name: &str| {
            let command = remote.command(&["ls-remote"]);
            let mut variables = command.get_envs();
            let found = variables.find(|(known, _)| *known == name);
            found.and_then(|(_, value)| value?.to_str().map(str::to_owned))
        };
        let plain = remote(ProxyVariables::default());
        assert_eq!(proxy_of(&plain, "https_proxy"), None);
        assert_eq!(proxy_of(&plain, "no_proxy"), None);
        let behind = remote(ProxyVariables {
            https: Some("http://proxy:3128".to_owned()),
            ..ProxyVariables::default()
        });
        let proxy = proxy_of(&behind, "https_proxy");
        assert_eq!(proxy.as_deref(), Some("http://proxy:3128"));
        assert!(proxy_of(&behind, "no_proxy").is_some());
    }
}
