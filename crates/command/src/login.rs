//! The environment of a login shell: captured once, and again when one of the files it depends on has changed.
//!
//! This file owns when and how the environment is captured, by running a shell that prints it; `environment` decides
//! which variables a command sees. Invariants: no value appears in an error or a log, and neither does the output of
//! a profile. After a failed capture no caller waits for the next one: it runs in the background, and the last good
//! environment is used until it succeeds.

mod watched;

use holon_domain::command::{CommandEnd, CommandOutput};
use holon_process::CommandSpec;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, OnceCell};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watched::Stamps;

/// Timeout of a shell that prints its environment, in milliseconds.
const CAPTURE_MS: u64 = 5_000;
/// Largest environment that is accepted. Operating systems do not accept much larger ones.
const CAPTURE_BYTES: usize = 4 << 20;
/// Interval at which the login files are checked for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Time after a failed capture until the next try, if no file changes earlier.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// Marker printed between the output of the login files and the environment.
const MARKER: &str = "holon-environment-begins";
/// Commands that print an environment with unambiguous separators. The second is for systems whose `env` has no `-0`.
const PRINT_COMMANDS: [&str; 2] = ["env -0", "cat /proc/self/environ"];

/// Environment variables, name to value.
pub(crate) type Vars = BTreeMap<String, String>;

/// The environments that commands start with, cached.
pub(crate) struct Login {
    shell: Shell,
    inherited: OnceCell<Arc<Vars>>,
    state: Arc<Mutex<CaptureState>>,
    /// The capture in the background, if one runs. It is aborted when this is dropped.
    background: SyncMutex<JoinSet<()>>,
}

#[derive(Default)]
struct CaptureState {
    /// Result of the last good capture, or the inherited environment if none succeeded.
    vars: Option<Arc<Vars>>,
    /// Stamps of the files, taken before the capture.
    stamps: Stamps,
    checked_at: Option<Instant>,
    /// Time of the next try after a failed capture; `None` after a good one.
    retry_at: Option<Instant>,
    /// True while a capture runs in the background.
    is_capturing: bool,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The values may be secrets.
        f.debug_struct("Login")
            .field("shell", &self.shell.path)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// Creates the environments of this process and of a login to `shell`, both with `overrides` set.
    pub(crate) fn new(shell: Option<String>, overrides: Vec<(String, String)>) -> Self {
        Self {
            shell: Shell {
                path: shell,
                overrides,
            },
            inherited: OnceCell::new(),
            state: Arc::default(),
            background: SyncMutex::default(),
        }
    }

    /// Returns the environment this process was started with, without the variables in `without`.
    ///
    /// # Errors
    /// Returns the reason the shell could not print it.
    pub(crate) async fn inherited(&self, without: &[String]) -> Result<Arc<Vars>, String> {
        let capture = || async {
            let shell = &self.shell;
            let vars = shell.capture(LoginFiles::NotRead, without, PathBuf::from("/"));
            vars.await.map(Arc::new)
        };
        self.inherited.get_or_try_init(capture).await.cloned()
    }

    /// Returns the environment of a login, without the variables in `without`. One caller captures it and the others
    /// wait for the result. After a failed capture the last good environment is returned at once.
    ///
    /// # Errors
    /// Fails if the inherited environment cannot be captured either.
    pub(crate) async fn vars(&self, without: &[String]) -> Result<Arc<Vars>, String> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if let Some(vars) = state.fresh(now) {
            return Ok(vars);
        }
        let inherited = self.inherited(without).await?;
        let stamps = Stamps::take(&inherited).await;
        state.checked_at = Some(now);
        if let Some(vars) = state.unchanged(&stamps, now) {
            return Ok(vars);
        }
        let home = home(&inherited).await;
        if let (Some(vars), Some(_failed)) = (state.vars.clone(), state.retry_at) {
            if !state.is_capturing {
                state.is_capturing = true;
                self.capture_in_background(stamps, without.to_vec(), home);
            }
            return Ok(vars);
        }
        let captured = self.shell.capture(LoginFiles::Read, without, home).await;
        state.store(captured, stamps);
        let vars = state.vars.get_or_insert(inherited);
        Ok(Arc::clone(vars))
    }

    fn capture_in_background(&self, stamps: Stamps, without: Vec<String>, home: PathBuf) {
        let (shell, state) = (self.shell.clone(), Arc::clone(&self.state));
        let mut background = self
            .background
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Only one capture runs at a time; earlier ones have ended.
        while background.try_join_next().is_some() {}
        background.spawn(async move {
            let captured = shell.capture(LoginFiles::Read, &without, home).await;
            let mut state = state.lock().await;
            state.is_capturing = false;
            state.store(captured, stamps);
        });
    }
}

/// The shell that prints an environment.
#[derive(Clone)]
struct Shell {
    path: Option<String>,
    /// Variables that replace inherited ones.
    overrides: Vec<(String, String)>,
}

impl Shell {
    async fn capture(
        &self,
        files: LoginFiles,
        without: &[String],
        cwd: PathBuf,
    ) -> Result<Vars, String> {
        let mut last_reason = String::new();
        for print in PRINT_COMMANDS {
            let spec = CommandSpec {
                cmd: format!("printf '%s\\0' {MARKER}; {print}"),
                shell: match files {
                    LoginFiles::Read => self.path.clone(),
                    LoginFiles::NotRead => None,
                },
                login: files == LoginFiles::Read,
                cwd: cwd.clone(),
                env: self.overrides.clone(),
                remove_env: without.to_vec(),
                timeout_ms: CAPTURE_MS,
                capture_bytes: CAPTURE_BYTES,
            };
            let output = holon_process::run(spec, CancellationToken::new()).await;
            let output = output.map_err(|failure| failure.to_string())?;
            match parse_environment(&output) {
                Ok(vars) => return Ok(vars),
                // The other command would hang as well.
                Err(reason) if output.end == CommandEnd::TimedOut => return Err(reason),
                Err(reason) => last_reason = reason,
            }
        }
        Err(last_reason)
    }
}

impl CaptureState {
    /// Returns the last capture if its files were checked within the interval.
    fn fresh(&self, now: Instant) -> Option<Arc<Vars>> {
        let checked_at = self.checked_at?;
        let is_fresh = now.saturating_duration_since(checked_at) < CHECK_INTERVAL;
        self.vars.clone().filter(|_| is_fresh)
    }

    /// Returns the last capture if no file has changed and no retry is due.
    fn unchanged(&self, stamps: &Stamps, now: Instant) -> Option<Arc<Vars>> {
        let is_due = self.retry_at.is_some_and(|retry_at| retry_at <= now);
        let is_same = self.stamps == *stamps && !is_due;
        self.vars.clone().filter(|_| is_same)
    }

    /// Stores the result of a capture made at these stamps. After a failure the last good environment stays.
    fn store(&mut self, captured: Result<Vars, String>, stamps: Stamps) {
        self.stamps = stamps;
        match captured {
            Ok(vars) => {
                self.vars = Some(Arc::new(vars));
                self.retry_at = None;
            }
            Err(reason) => {
                self.retry_at = Some(Instant::now() + RETRY_AFTER);
                tracing::warn!(%reason, "the environment of a login could not be captured");
            }
        }
    }
}

/// Tells whether the shell reads its login files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoginFiles {
    Read,
    NotRead,
}

/// Directory in which a login starts: the user's home, or `/` if that is missing.
async fn home(vars: &Vars) -> PathBuf {
    let home = PathBuf::from(vars.get("HOME").map_or("/", String::as_str));
    let found = tokio::fs::metadata(&home).await;
    if found.is_ok_and(|found| found.is_dir()) {
        home
    } else {
        PathBuf::from("/")
    }
}

/// Parses the variables a shell printed. The error never repeats its output.
fn parse_environment(output: &CommandOutput) -> Result<Vars, String> {
    if output.end == CommandEnd::TimedOut {
        return Err(format!("the shell was not done after {CAPTURE_MS} ms"));
    }
    if output.stdout.dropped_bytes > 0 {
        return Err(format!("the shell printed more than {CAPTURE_BYTES} bytes"));
    }
    let mut parts = output.stdout.head.split('\0');
    // The login files printed the text before the marker.
    if !parts.any(|part| part.ends_with(MARKER)) {
        return Err("the shell did not get to the command it was given".to_owned());
    }
    let vars: Vars = parts.filter_map(variable).collect();
    if vars.is_empty() {
        return Err("the shell printed no environment".to_owned());
    }
    Ok(vars)
}

/// Splits an entry into name and value. A value that is not UTF-8 is left out, because a changed value would mislead
/// the command.
fn variable(entry: &str) -> Option<(String, String)> {
    let (name, value) = entry.split_once('=')?;
    let is_text = !entry.contains(char::REPLACEMENT_CHARACTER);
    (is_text && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests;
