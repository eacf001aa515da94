//! What a shim is told: one command, where it runs, where its output goes, and its bounds.
//!
//! Travels as JSON over an inherited descriptor, never in arguments or environment. Fields are only added.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The version of spec, protocol and status this build speaks.
pub const VERSION: u32 = 1;

/// How far commands step back behind the host when nobody says otherwise.
pub const NICENESS: u8 = 5;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters of a line.
    pub columns: u16,
}

/// What becomes of processes that outlive the command's direct child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftovers {
    /// They are counted and killed.
    Kill,
    /// They are counted and left alone, without their pipes.
    Keep,
}

/// What holds a command in. A shim that does not know what it is asked for does not start the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// Nothing: it has the authority of its user.
    None,
}

/// One command for one shim. Every path is absolute.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimSpec {
    /// [`VERSION`] of whoever wrote it.
    pub version: u32,
    /// Whose it is.
    pub task_id: String,
    /// What proves to the shim that it is asked by its own host.
    pub nonce: String,
    /// The shell text.
    pub cmd: String,
    /// Which shell, by path or by name on the search path of `env`; `/bin/sh` when absent.
    pub shell: Option<String>,
    /// Whether as a login shell.
    pub login: bool,
    /// A terminal of this size in place of pipes.
    pub terminal: Option<WindowSize>,
    /// Where. Must be a directory.
    pub cwd: PathBuf,
    /// The environment, whole: nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Whether it gets a standard input that can be written to.
    pub accepts_input: bool,
    /// The file of standard output or of the terminal's transcript. Must not exist.
    pub output_path: PathBuf,
    /// The file of standard error; without one, and always on a terminal, both streams go into one file.
    pub stderr_path: Option<PathBuf>,
    /// The most kept of each file, in bytes.
    pub output_cap_bytes: u64,
    /// The task's own directory, which must exist and be private.
    pub state_dir: PathBuf,
    /// How long it may run; it holds also while the host is down.
    pub timeout_ms: Option<u64>,
    /// What becomes of processes it leaves behind.
    pub leftovers: Leftovers,
    /// How far it steps back behind others, 0 to 19; see [`NICENESS`]. Its shim does so by half.
    pub niceness: u8,
    /// What holds it in.
    pub confinement: Confinement,
}

/// What a shim is told beyond the command: how its host was started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told<S = ShimSpec> {
    #[serde(flatten)]
    pub(crate) spec: S,
    /// How many files the host might have open before it asked for more; the command may do no more either.
    #[serde(default, rename = "host_open_files")]
    pub(crate) open_files: Option<u64>,
}

impl fmt::Debug for ShimSpec {
    /// Without the nonce and the values of the environment, which have no business in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ShimSpec")
            .field("task_id", &self.task_id)
            .field("cmd", &self.cmd)
            .field("shell", &self.shell)
            .field("terminal", &self.terminal)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .field("state_dir", &self.state_dir)
            .field("timeout_ms", &self.timeout_ms)
            .finish_non_exhaustive()
    }
}
