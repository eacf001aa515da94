//! The environment a login gives: captured once, and again when one of the files it is made of has changed.
//!
//! Owns when and how it is captured, by running a shell that prints it. What of it a command sees is decided beside.
//! Invariants: nothing here shows a value; what a profile printed is in no error and in no log. After a capture that
//! failed nobody waits for another: it goes on beside, and what there was serves until it has come out well.

mod watched;

use holon_domain::command::{CommandEnd, CommandOutput};
use holon_process::CommandSpec;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Short, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, OnceCell};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watched::Stamps;

/// How long a shell may take to print its environment; files of a login that take longer are not waited for.
const CAPTURE_MS: u64 = 5_000;
/// The most it may print. No system takes an environment that is much larger.
const CAPTURE_BYTES: usize = 4 << 20;
/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long after a capture that failed the next is tried, when no file changes before.
const TRY_AGAIN: Duration = Duration::from_secs(60);
/// What separates what the files of a login print from the environment.
const BEGINS: &str = "holon-environment-begins";
/// Ways to print an environment so that no value can be mistaken for another; the second where the first is too old.
const WAYS: [&str; 2] = ["env -0", "cat /proc/self/environ"];

/// Variables by their names.
pub(crate) type Vars = BTreeMap<String, String>;

/// The environments that commands begin with.
pub(crate) struct Login {
    shell: Shell,
    inherited: OnceCell<Arc<Vars>>,
    state: Arc<Mutex<State>>,
    /// The capture that goes on beside, if one does. It ends with us.
    beside: Short<JoinSet<()>>,
}

#[derive(Default)]
struct State {
    /// The last capture, or what stands in for one.
    vars: Option<Arc<Vars>>,
    /// The files as they were before it.
    stamps: Stamps,
    looked: Option<Instant>,
    /// When to try again although nothing has changed, after one that failed.
    again: Option<Instant>,
    /// Whether one goes on beside.
    is_captured_beside: bool,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The variables may hold keys of their own.
        f.debug_struct("Login")
            .field("shell", &self.shell.path)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// The environments of this process and of a login to this shell, both with `over` set.
    pub(crate) fn new(shell: Option<String>, over: Vec<(String, String)>) -> Self {
        Self {
            shell: Shell { path: shell, over },
            inherited: OnceCell::new(),
            state: Arc::default(),
            beside: Short::default(),
        }
    }

    /// What this process was started with, without these variables.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub(crate) async fn inherited(&self, without: &[String]) -> Result<Arc<Vars>, String> {
        let capture = || async {
            let shell = &self.shell;
            let vars = shell.capture(Files::NotRead, without, PathBuf::from("/"));
            vars.await.map(Arc::new)
        };
        self.inherited.get_or_try_init(capture).await.cloned()
    }

    /// What a login gives, without these variables. One caller captures it, the others wait for that; where the last
    /// capture failed, nobody does.
    ///
    /// # Errors
    /// When not even what this process was started with can be told.
    pub(crate) async fn vars(&self, without: &[String]) -> Result<Arc<Vars>, String> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if let Some(vars) = state.fresh(now) {
            return Ok(vars);
        }
        let inherited = self.inherited(without).await?;
        let stamps = Stamps::take(&inherited).await;
        state.looked = Some(now);
        if let Some(vars) = state.unchanged(&stamps, now) {
            return Ok(vars);
        }
        let home = home(&inherited).await;
        if let (Some(vars), Some(_failed)) = (state.vars.clone(), state.again) {
            if !state.is_captured_beside {
                state.is_captured_beside = true;
                self.capture_beside(stamps, without.to_vec(), home);
            }
            return Ok(vars);
        }
        let captured = self.shell.capture(Files::Read, without, home).await;
        state.take(captured, stamps);
        let vars = state.vars.get_or_insert(inherited);
        Ok(Arc::clone(vars))
    }

    fn capture_beside(&self, stamps: Stamps, without: Vec<String>, home: PathBuf) {
        let (shell, state) = (self.shell.clone(), Arc::clone(&self.state));
        let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        // Only one goes on at a time; those before have ended.
        while beside.try_join_next().is_some() {}
        beside.spawn(async move {
            let captured = shell.capture(Files::Read, &without, home).await;
            let mut state = state.lock().await;
            state.is_captured_beside = false;
            state.take(captured, stamps);
        });
    }
}

/// What prints an environment.
#[derive(Clone)]
struct Shell {
    path: Option<String>,
    /// Set over what this process inherited.
    over: Vec<(String, String)>,
}

impl Shell {
    async fn capture(
        &self,
        files: Files,
        without: &[String],
        cwd: PathBuf,
    ) -> Result<Vars, String> {
        let mut why = String::new();
        for way in WAYS {
            let spec = CommandSpec {
                cmd: format!("printf '%s\\0' {BEGINS}; {way}"),
                shell: match files {
                    Files::Read => self.path.clone(),
                    Files::NotRead => None,
                },
                login: files == Files::Read,
                cwd: cwd.clone(),
                env: self.over.clone(),
                remove_env: without.to_vec(),
                timeout_ms: CAPTURE_MS,
                capture_bytes: CAPTURE_BYTES,
            };
            let output = holon_process::run(spec, CancellationToken::new()).await;
            let output = output.map_err(|failure| failure.to_string())?;
            match read(&output) {
                Ok(vars) => return Ok(vars),
                // Another way would hang as well.
                Err(reason) if output.end == CommandEnd::TimedOut => return Err(reason),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }
}

impl State {
    /// The last capture, if its files were looked at just now.
    fn fresh(&self, now: Instant) -> Option<Arc<Vars>> {
        let looked = self.looked?;
        let is_fresh = now.saturating_duration_since(looked) < LOOK_EVERY;
        self.vars.clone().filter(|_| is_fresh)
    }

    /// The last capture, if it would come out the same.
    fn unchanged(&self, stamps: &Stamps, now: Instant) -> Option<Arc<Vars>> {
        let is_due = self.again.is_some_and(|again| again <= now);
        let is_same = self.stamps == *stamps && !is_due;
        self.vars.clone().filter(|_| is_same)
    }

    /// Takes over a capture of the files as they were at these stamps. After one that failed, what there was stays.
    fn take(&mut self, captured: Result<Vars, String>, stamps: Stamps) {
        self.stamps = stamps;
        match captured {
            Ok(vars) => {
                self.vars = Some(Arc::new(vars));
                self.again = None;
            }
            Err(reason) => {
                self.again = Some(Instant::now() + TRY_AGAIN);
                tracing::warn!(%reason, "the environment of a login could not be captured");
            }
        }
    }
}

/// Whether the files of a login are read on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    Read,
    NotRead,
}

/// Where a login begins.
async fn home(vars: &Vars) -> PathBuf {
    let home = PathBuf::from(vars.get("HOME").map_or("/", String::as_str));
    let found = tokio::fs::metadata(&home).await;
    if found.is_ok_and(|found| found.is_dir()) {
        home
    } else {
        PathBuf::from("/")
    }
}

/// The variables a shell printed, or what is wrong; its words are not repeated.
fn read(output: &CommandOutput) -> Result<Vars, String> {
    if output.end == CommandEnd::TimedOut {
        return Err(format!("the shell was not done after {CAPTURE_MS} ms"));
    }
    if output.stdout.dropped_bytes > 0 {
        return Err(format!("the shell printed more than {CAPTURE_BYTES} bytes"));
    }
    let mut parts = output.stdout.head.split('\0');
    // Whatever stands before was printed by the files.
    if !parts.any(|part| part.ends_with(BEGINS)) {
        return Err("the shell did not get to the command it was given".to_owned());
    }
    let vars: Vars = parts.filter_map(variable).collect();
    if vars.is_empty() {
        return Err("the shell printed no environment".to_owned());
    }
    Ok(vars)
}

/// A name and its value. A value that is no text is left out: changed, it would be a trap.
fn variable(entry: &str) -> Option<(String, String)> {
    let (name, value) = entry.split_once('=')?;
    let is_text = !entry.contains(char::REPLACEMENT_CHARACTER);
    (is_text && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests;
