//! The spec of a shim: one command, its directory and environment, its output files, and its limits.
//!
//! It is sent as JSON over an inherited descriptor, never in arguments or environment. Fields are only added.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Version of spec, protocol and status that this build speaks.
pub const VERSION: u32 = 1;

/// Default niceness of commands, so that they yield to the host.
pub const NICENESS: u8 = 5;

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    pub rows: u16,
    pub columns: u16,
}

/// Treatment of processes that outlive the command's direct child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftovers {
    /// Counts and kills them.
    Kill,
    /// Counts them and lets them run, without their pipes.
    Keep,
}

/// The sandbox of a command. A shim that does not support the requested one does not start the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// No sandbox: the command has the authority of its user.
    None,
}

/// One command for one shim. Every path is absolute.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimSpec {
    /// [`VERSION`] of the host that wrote the spec.
    pub version: u32,
    /// Id of the command, used in records and to identify the shim.
    pub task_id: String,
    /// Id of the call that asked for the command. A request that names another one is refused, so that a reused
    /// directory is not mistaken for this command; the directory's permissions keep other users out.
    pub nonce: String,
    /// Shell text, passed with `-c`.
    pub cmd: String,
    /// Shell, by path or by name on the search path of `env`; `/bin/sh` if absent.
    pub shell: Option<String>,
    /// True to run it as a login shell.
    pub login: bool,
    /// Size of the terminal; absent for pipes.
    pub terminal: Option<WindowSize>,
    /// Working directory. It must exist.
    pub cwd: PathBuf,
    /// The whole environment. No variable is inherited.
    pub env: Vec<(String, String)>,
    /// True if it gets a standard input that can be written to.
    pub accepts_input: bool,
    /// File for stdout or for the terminal's transcript. It must not exist.
    pub output_path: PathBuf,
    /// File for stderr. If absent, and always on a terminal, both streams go into one file.
    pub stderr_path: Option<PathBuf>,
    /// File for both streams in the order of their arrival, made once both have printed. Absent if there is one stream,
    /// and from hosts of earlier builds.
    #[serde(default)]
    pub combined_path: Option<PathBuf>,
    /// Largest size of each output file, in bytes.
    pub output_cap_bytes: u64,
    /// Claim directory of the command. It must exist and be private.
    #[serde(rename = "state_dir")]
    pub claim_dir: PathBuf,
    /// Timeout. The shim enforces it, also while the host is down.
    pub timeout_ms: Option<u64>,
    pub leftovers: Leftovers,
    /// Niceness of the command, 0 to 19; see [`NICENESS`]. Its shim uses half of it.
    pub niceness: u8,
    pub confinement: Confinement,
}

/// The message with which a host hands a spec to a shim.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartMessage<S = ShimSpec> {
    #[serde(flatten)]
    pub(crate) spec: S,
    /// Soft limit of open files that the host was started with; the command gets the same limit.
    #[serde(default, rename = "host_open_files")]
    pub(crate) open_files: Option<u64>,
}

impl fmt::Debug for ShimSpec {
    /// Leaves out the nonce and the values of the environment, which must not be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ShimSpec")
            .field("task_id", &self.task_id)
            .field("cmd", &self.cmd)
            .field("shell", &self.shell)
            .field("terminal", &self.terminal)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .field("claim_dir", &self.claim_dir)
            .field("timeout_ms", &self.timeout_ms)
            .finish_non_exhaustive()
    }
}
