//! One repository, opened for the runtime's git commands.

use super::bounded::{self, ProcessError, ProcessOutput};
use super::overrides::{ENVIRONMENT, RepositoryKeys};
use super::parent_death::die_with_parent;
use super::{CommitId, GitError, parts};
use holon_domain::limits::{GIT_OUTPUT_BYTES, GIT_READ_MS, GIT_WRITE_MS};
use holon_domain::proxy::ProxyVariables;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Directories in which git is searched if the host names none.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:\
                           /run/current-system/sw/bin:/nix/var/nix/profiles/default/bin";
/// Words of git about a repository that belongs to another user. Its own advice is a setting that is not read.
const OTHER_OWNER: &str = "dubious ownership";
/// Characters of git's own message that an error shows.
const STDERR_CHARS: usize = 600;

/// The git program of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    pub(super) program: PathBuf,
    /// `PATH` of the program.
    pub(super) search_path: OsString,
    /// Proxies of commands that reach another host.
    pub(super) proxies: ProxyVariables,
    /// Milliseconds that a command which only looks may take.
    read_ms: u64,
    /// Bytes that a command may print.
    most_output: usize,
}

impl Default for Git {
    fn default() -> Self {
        Self {
            program: "git".into(),
            search_path: SEARCH_PATH.into(),
            proxies: ProxyVariables::default(),
            read_ms: GIT_READ_MS,
            most_output: GIT_OUTPUT_BYTES,
        }
    }
}

/// Output of a git command that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOutput {
    pub stdout: Vec<u8>,
    /// True if the command ended with code 0.
    pub success: bool,
    /// Standard error of git, cut to a bound.
    pub stderr: String,
}

impl Git {
    /// Uses another program, for tests that look at the arguments.
    #[must_use]
    pub fn with_program(program: PathBuf, search_path: OsString) -> Self {
        Self {
            program,
            search_path,
            ..Self::default()
        }
    }

    /// Uses these proxies for commands that reach another host.
    #[must_use]
    pub fn with_proxies(self, proxies: ProxyVariables) -> Self {
        Self { proxies, ..self }
    }

    /// Bounds the commands that only look, and what every command prints.
    #[must_use]
    pub const fn with_read_bounds(mut self, read_ms: u64, most_output: usize) -> Self {
        (self.read_ms, self.most_output) = (read_ms, most_output);
        self
    }

    /// Asks the program for its version, such as `2.47.3`.
    ///
    /// # Errors
    /// git cannot be started, or does not state a version.
    pub fn version(&self) -> Result<String, GitError> {
        let mut command = Command::new(&self.program);
        command
            .arg("--version")
            .env_clear()
            .env("PATH", &self.search_path)
            .envs(ENVIRONMENT.iter().copied());
        let failed = |stderr: String| GitError::Failed {
            command: "--version".to_owned(),
            dir: PathBuf::from("."),
            stderr,
        };
        let limit = Duration::from_millis(GIT_READ_MS);
        match bounded::run(&mut command, Stdio::null(), limit, STDERR_CHARS) {
            Ok(ended) => String::from_utf8_lossy(&ended.stdout)
                .split_whitespace()
                .nth(2)
                .map(str::to_owned)
                .ok_or_else(|| failed(String::from_utf8_lossy(&ended.stderr).into_owned())),
            Err(ProcessError::Io(error)) => Err(GitError::NotStarted(error)),
            Err(ProcessError::TimedOut | ProcessError::TooMuchOutput) => {
                Err(failed("no version in time".to_owned()))
            }
        }
    }

    /// Opens the repository whose working files are in `root`, a canonical directory with a `.git` in it. Reads the
    /// names of the repository's settings, so that every later command overrides those that run programs.
    ///
    /// # Errors
    /// git cannot be started or does not accept the repository, or the repository sets what is refused.
    pub fn open(&self, root: &Path) -> Result<Repository, GitError> {
        self.open_with(root, None)
    }

    /// Opens the administrative directory of a linked worktree whose working files are gone. Only commands that need no
    /// working files can be run there.
    ///
    /// # Errors
    /// git cannot be started or does not accept the repository, or the repository sets what is refused.
    pub(crate) fn open_admin(&self, admin: &Path) -> Result<Repository, GitError> {
        self.open_with(admin, Some(admin.to_owned()))
    }

    /// Opens a worktree that was moved away from the place that its administrative directory names. git does not note
    /// the new place, because it is told the directory.
    ///
    /// # Errors
    /// git cannot be started or does not accept the repository, or the repository sets what is refused.
    pub(crate) fn open_moved(&self, root: &Path, admin: &Path) -> Result<Repository, GitError> {
        self.open_with(root, Some(admin.to_owned()))
    }

    fn open_with(&self, root: &Path, git_dir: Option<PathBuf>) -> Result<Repository, GitError> {
        parts::check(root, git_dir.as_deref())?;
        let mut repository = Repository {
            lock: None,
            git_dir,
            git: self.clone(),
            root: root.to_owned(),
            keys: RepositoryKeys::default(),
        };
        // Fails where git does not accept the repository, which `config` alone would pass over in silence.
        repository.read(&["rev-parse", "--git-dir"])?;
        let listed = repository.read(&["config", "--list", "--name-only", "-z"])?;
        repository.keys = RepositoryKeys::read(&listed);
        match &repository.keys.refused {
            Some(key) => Err(GitError::RefusedConfig {
                dir: root.to_owned(),
                key: key.clone(),
            }),
            None => Ok(repository),
        }
    }
}

/// A repository whose settings were read.
#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    root: PathBuf,
    /// Directory that git takes for the repository. Absent if git looks for it in the root.
    git_dir: Option<PathBuf>,
    keys: RepositoryKeys,
    /// Locked file that every command inherits, so that the lock is held while one of them runs.
    lock: Option<Arc<File>>,
}

impl Repository {
    /// Returns the directory of the working files.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the names of the filters that the repository configures and that did not run.
    pub fn filters(&self) -> impl Iterator<Item = &str> {
        self.keys.filters.iter().map(String::as_str)
    }

    /// Lets every command hold a locked file until it ends.
    pub(crate) fn holding(mut self, lock: Arc<File>) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Runs a command that only looks, and returns what it printed.
    ///
    /// # Errors
    /// The command failed or reached a bound.
    pub fn read(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let output = self.ask(args)?;
        self.succeeded(args, output)
    }

    /// Runs a command that only looks and may end with a failure that means something.
    ///
    /// # Errors
    /// The command reached a bound.
    pub fn ask(&self, args: &[&str]) -> Result<GitOutput, GitError> {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        self.run(&mut self.command(&args), &args, self.git.read_ms)
    }

    /// Runs a command that only looks at paths that need not be UTF-8, and returns what it printed.
    ///
    /// # Errors
    /// The command failed or reached a bound.
    pub(crate) fn read_os(&self, args: &[&OsStr]) -> Result<Vec<u8>, GitError> {
        let output = self.run(&mut self.command(args), args, self.git.read_ms)?;
        let shown: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
        self.succeeded(&shown, output)
    }

    /// Runs a command that changes the repository.
    ///
    /// # Errors
    /// The command failed or reached a bound.
    pub fn write(&self, args: &[&OsStr]) -> Result<Vec<u8>, GitError> {
        let mut command = self.command(args);
        die_with_parent(&mut command);
        let output = self.run(&mut command, args, GIT_WRITE_MS)?;
        let shown: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
        self.succeeded(&shown, output)
    }

    /// Returns the commit that a full ref or `HEAD` names; `None` if there is none.
    ///
    /// # Errors
    /// git failed, or the text is no ref that the runtime uses.
    pub fn commit_of(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        if name != "HEAD" && !name.starts_with("refs/") {
            return Err(GitError::InvalidName {
                name: name.to_owned(),
            });
        }
        let peeled = format!("{name}^{{commit}}");
        let output = self.ask(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &peeled,
        ])?;
        if !output.success {
            return Ok(None);
        }
        CommitId::parse(line(&output.stdout)).map(Some)
    }

    /// Returns the ref that a full ref names in its place; `None` if it names a commit or is not there.
    ///
    /// # Errors
    /// git failed.
    pub(crate) fn symbolic_target(&self, name: &str) -> Result<Option<String>, GitError> {
        let output = self.ask(&["symbolic-ref", "--quiet", "--no-recurse", name])?;
        Ok(output.success.then(|| line(&output.stdout).to_owned()))
    }

    /// Returns the branch that is checked out; `None` if `HEAD` is detached.
    ///
    /// # Errors
    /// git failed.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        let output = self.ask(&["symbolic-ref", "--quiet", "HEAD"])?;
        let branch = line(&output.stdout).strip_prefix("refs/heads/");
        Ok(branch.filter(|_| output.success).map(str::to_owned))
    }

    fn succeeded(&self, args: &[&str], output: GitOutput) -> Result<Vec<u8>, GitError> {
        if output.success {
            return Ok(output.stdout);
        }
        if output.stderr.contains(OTHER_OWNER) {
            let dir = self.root.clone();
            return Err(GitError::OtherOwner { dir });
        }
        Err(GitError::Failed {
            command: args.first().copied().unwrap_or_default().to_owned(),
            dir: self.root.clone(),
            stderr: output.stderr,
        })
    }

    fn run(
        &self,
        command: &mut Command,
        args: &[&OsStr],
        limit_ms: u64,
    ) -> Result<GitOutput, GitError> {
        let stdin = match &self.lock {
            Some(lock) => Stdio::from(lock.try_clone().map_err(GitError::NotStarted)?),
            None => Stdio::null(),
        };
        let name = || {
            args.first()
                .map_or_else(String::new, |arg| arg.to_string_lossy().into())
        };
        let dir = || self.root.clone();
        match bounded::run(
            command,
            stdin,
            Duration::from_millis(limit_ms),
            self.git.most_output,
        ) {
            Ok(ended) => Ok(output_of(ended)),
            Err(ProcessError::Io(error)) => Err(GitError::NotStarted(error)),
            Err(ProcessError::TimedOut) => Err(GitError::TimedOut {
                command: name(),
                dir: dir(),
                limit_ms,
            }),
            Err(ProcessError::TooMuchOutput) => Err(GitError::TooMuchOutput {
                command: name(),
                dir: dir(),
                limit: self.git.most_output,
            }),
        }
    }

    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.git.program);
        command
            .env_clear()
            .env("PATH", &self.git.search_path)
            .envs(ENVIRONMENT.iter().copied())
            .envs(self.keys.variables())
            .current_dir(&self.root);
        // Only a repository at the root itself is found, and not one that lies around it.
        if let Some(parent) = self.root.parent() {
            command.env("GIT_CEILING_DIRECTORIES", parent);
        }
        if let Some(git_dir) = &self.git_dir {
            command.env("GIT_DIR", git_dir);
        }
        command.arg("--no-pager").args(args);
        command
    }
}

pub(super) fn output_of(ended: ProcessOutput) -> GitOutput {
    let said = String::from_utf8_lossy(&ended.stderr);
    GitOutput {
        success: ended.status.success(),
        stdout: ended.stdout,
        stderr: said.trim().chars().take(STDERR_CHARS).collect(),
    }
}

/// Returns the text of an output of one line.
fn line(printed: &[u8]) -> &str {
    std::str::from_utf8(printed)
        .unwrap_or_default()
        .trim_end_matches('\n')
}
