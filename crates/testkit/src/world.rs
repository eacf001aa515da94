//! A temporary directory with a home, and the program run inside it only.

use crate::host_process::HostProcess;
use crate::meeting::Meeting;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_store::Readers;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A temporary environment for the program. Its directory is removed when dropped.
#[derive(Debug)]
pub struct World {
    dir: TempDir,
    program: PathBuf,
}

/// The result of a program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Exit code; absent when a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// Parses standard output as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Returns standard output of a program that succeeded.
    ///
    /// # Panics
    /// When the program failed.
    #[must_use]
    pub fn answer(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.stdout
    }
}

impl World {
    /// Creates an environment for the program at this path.
    ///
    /// # Panics
    /// When no temporary directory can be created.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("user")).expect("a directory for the user");
        Self {
            dir,
            program: program.into(),
        }
    }

    /// Directory of the environment, in which commands start.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Home of the host; created by the first start.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path().join("holon")
    }

    /// Writes a file into the directory.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory for the file");
        }
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Writes a script with these rounds and returns its name as a model. The script repeats from its start at the end.
    #[must_use]
    pub fn model(&self, name: &str, rounds: &Value) -> String {
        let script = serde_json::json!({ "rounds": rounds, "on_end": "loop" });
        let path = self.write(&format!("{name}.json"), &script.to_string());
        format!("scripted/{}", path.display())
    }

    /// Creates a meeting point of the test and an agent's command.
    #[must_use]
    pub fn meeting(&self, name: &str) -> Meeting {
        Meeting::make(self.path(), name)
    }

    /// Prepares the program with its own home and user. Its environment holds nothing else of this process except
    /// `PATH`.
    #[must_use]
    #[allow(
        clippy::disallowed_methods,
        reason = "the one variable commands need to find programs"
    )]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().current_dir(self.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("HOME", self.path().join("user"))
            .env("HOLON_HOME", self.home())
            // Texts name times in the zone of the machine.
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program until it ends.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> ProgramOutput {
        self.run_with(args, b"")
    }

    /// Runs the program with this standard input until it ends.
    #[must_use]
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> ProgramOutput {
        self.run_in(args, stdin, &[])
    }

    /// Runs the program with this standard input and these environment variables until it ends.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run_in(&self, args: &[&str], stdin: &[u8], variables: &[(&str, &str)]) -> ProgramOutput {
        let mut child = self
            .command()
            .args(args)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("standard input is a pipe");
        // A program that refuses early may not read its input to the end.
        drop(input.write_all(stdin));
        drop(input);
        let output = child.wait_with_output().expect("the program ends");
        ProgramOutput {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Reads an agent's record from disk, also of an agent that clients cannot see. `None` if it has no row.
    ///
    /// # Panics
    /// When the host's store cannot be read.
    #[must_use]
    pub fn agent_record(&self, agent_id: &str) -> Option<AgentRecord> {
        let id = AgentId::parse_stored(agent_id).expect("a name");
        let readers = Readers::open(&self.home().join("state/holon.sqlite3")).expect("a store");
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let read = readers.read(move |reader| reader.agent(&id));
        let found = runtime.expect("a runtime").block_on(read);
        found.expect("the store is read").map(|(_, agent)| agent)
    }

    /// Returns the names of all agents on disk, also of those that clients cannot see.
    ///
    /// # Panics
    /// When the host's store cannot be read.
    #[must_use]
    pub fn agent_ids(&self) -> Vec<String> {
        let readers = Readers::open(&self.home().join("state/holon.sqlite3")).expect("a store");
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let read = readers.read(|reader| reader.every_agent());
        let found = runtime.expect("a runtime").block_on(read);
        let listed = found.expect("the store is read").into_iter();
        listed.map(|listed| listed.agent_id.to_string()).collect()
    }

    /// Starts a host on a free port and waits until it is ready.
    #[must_use]
    pub fn serve(&self, args: &[&str]) -> HostProcess {
        self.serve_with(args, &[])
    }

    /// Starts a host with these environment variables and waits until it is ready.
    #[must_use]
    pub fn serve_with(&self, args: &[&str], variables: &[(&str, &str)]) -> HostProcess {
        let mut command = self.command();
        command.args(["serve", "--port", "0"]).args(args);
        command.envs(variables.iter().copied());
        HostProcess::start(command)
    }
}
