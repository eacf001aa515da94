//! One temporary directory with a home in it, and the program run inside that world only.

use crate::meeting::Meeting;
use crate::served::Served;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_store::Readers;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A world of its own: gone when dropped.
#[derive(Debug)]
pub struct World {
    dir: TempDir,
    program: PathBuf,
}

/// A program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it answered.
    pub stdout: String,
    /// What it said beside.
    pub stderr: String,
}

impl Ran {
    /// The answer as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// The answer, if the program ended with success.
    ///
    /// # Panics
    /// When it did not.
    #[must_use]
    pub fn answer(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.stdout
    }
}

impl World {
    /// A world for the program at this path.
    ///
    /// # Panics
    /// When there is no temporary directory to be had.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("user")).expect("a directory for the user");
        Self {
            dir,
            program: program.into(),
        }
    }

    /// The world's directory, which commands start in.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The host's home; not there before the first start.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path().join("holon")
    }

    /// Writes a file into the world.
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

    /// Writes a script with these rounds and names it as a model. It starts over at its end.
    #[must_use]
    pub fn model(&self, name: &str, rounds: &Value) -> String {
        let script = serde_json::json!({ "rounds": rounds, "on_end": "loop" });
        let path = self.write(&format!("{name}.json"), &script.to_string());
        format!("scripted/{}", path.display())
    }

    /// A point where a test and a command of an agent meet.
    #[must_use]
    pub fn meeting(&self, name: &str) -> Meeting {
        Meeting::make(self.path(), name)
    }

    /// The program in this world: its own home and user, nothing else of this process's environment but the way to
    /// find other programs.
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
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, b"")
    }

    /// Runs the program to its end with something on standard input.
    #[must_use]
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        self.run_in(args, stdin, &[])
    }

    /// Runs the program to its end with something on standard input and these variables in its environment.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run_in(&self, args: &[&str], stdin: &[u8], variables: &[(&str, &str)]) -> Ran {
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
        // A program that refuses early does not read to the end; that is its right.
        drop(input.write_all(stdin));
        drop(input);
        let output = child.wait_with_output().expect("the program ends");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// An agent's record as it is on disk, also that of an agent no client is shown; none when it has no row.
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

    /// Starts a host on any free port and waits until it is ready.
    #[must_use]
    pub fn serve(&self, args: &[&str]) -> Served {
        self.serve_with(args, &[])
    }

    /// Starts a host with these variables in its environment, and waits until it is ready.
    #[must_use]
    pub fn serve_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Served {
        let mut command = self.command();
        command.args(["serve", "--port", "0"]).args(args);
        command.envs(variables.iter().copied());
        Served::start(command)
    }
}
