//! The stage of the demo: a directory with a home, a repository with a failing test, and the model's script.

use crate::exit::{Exit, Failure};
use rustix::fs::{FileType, Mode};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Output as CommandOutput, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::process::Command;

pub(super) const AGENT: &str = "fixer";
/// Prompt to the agent.
pub(super) const TASK: &str = "The greeting test fails. Fix it and commit.";
/// A command of the demo and the name it logs when it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct DemoCommand {
    pub(super) name: &'static str,
    cmd: &'static str,
}

/// The commands in order; each appends its name to a log when it runs.
pub(super) const COMMANDS: [DemoCommand; 5] = [
    DemoCommand {
        name: "test",
        cmd: "sh test.sh",
    },
    DemoCommand {
        name: "look",
        cmd: "cat greet.sh",
    },
    DemoCommand {
        name: "edit",
        cmd: "sed 's/Helo/Hello/' greet.sh > greet.new && mv greet.new greet.sh",
    },
    DemoCommand {
        name: "all-tests",
        cmd: "sh all-tests.sh",
    },
    DemoCommand {
        name: "commit",
        cmd: "git commit -qam 'Greet with the right word' && git log --oneline",
    },
];

const PROGRAM: &str = "#!/bin/sh\n# Greets the given name.\necho \"Helo, ${1:-world}!\"\n";
const TEST: &str = "#!/bin/sh
got=$(sh greet.sh Holon)
if [ \"$got\" = \"Hello, Holon!\" ]; then echo \"ok: $got\"; else echo \"FAILED: got '$got'\"; exit 1; fi
";
/// Tests that run until the demo releases them, one minute at most, and hold a pipe open meanwhile.
const ALL_TESTS: &str = "#!/bin/sh
# Stands for tests that take long: they end when the file is taken away.
exec 9<> ../all-tests.pipe
tries=0
while [ -e ../all-tests.slow ] && [ $tries -lt 600 ]; do tries=$((tries + 1)); sleep 0.1; done
sh test.sh
";
/// The tests wait while this file exists.
const SLOW: &str = "all-tests.slow";
/// The tests hold this pipe open for writing while they run.
const PIPE: &str = "all-tests.pipe";
/// Timeout for the tests to end after their release.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Speed of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// With pauses for people to read.
    Watched,
    Fast,
}

/// Phase of the demo, which decides the delay of the round during which the host is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptPhase {
    /// The answer is delayed so long that the host is killed before it arrives.
    BeforeCrash,
    /// The answer arrives at once.
    AfterCrash,
}

/// Directory and pipe of the demo. Removed when dropped.
#[derive(Debug)]
pub(super) struct Stage {
    dir: TempDir,
    pace: Pace,
    pipe: Receiver,
}

impl Stage {
    /// Creates the directory with all its files.
    pub(super) async fn create(pace: Pace) -> Result<Self, Failure> {
        let dir = tempfile::Builder::new()
            .prefix("holon-demo-")
            .tempdir()
            .map_err(|error| io_failure("make a temporary directory", &error))?;
        let pipe = make_pipe(&dir.path().join(PIPE))
            .map_err(|error| io_failure("make a named pipe", &error))?;
        let stage = Self { dir, pace, pipe };
        stage.write("repo/greet.sh", PROGRAM)?;
        stage.write("repo/test.sh", TEST)?;
        stage.write("repo/all-tests.sh", ALL_TESTS)?;
        stage.write(SLOW, "")?;
        stage.write("ran.log", "")?;
        stage.write_script(ScriptPhase::BeforeCrash)?;
        stage.make_repository().await?;
        Ok(stage)
    }

    async fn make_repository(&self) -> Result<(), Failure> {
        self.git(&["init", "-q"]).await?;
        // The agent's commit must not depend on the user's signing, name or hooks.
        for (key, value) in [
            ("user.name", "Holon Demo"),
            ("user.email", "demo@holon.invalid"),
            ("commit.gpgsign", "false"),
            ("core.hooksPath", "/dev/null"),
        ] {
            self.git(&["config", key, value]).await?;
        }
        self.git(&["add", "."]).await?;
        self.git(&["commit", "-qm", "A greeting and its test"])
            .await?;
        Ok(())
    }

    /// Writes the model's script, which is read again for each call.
    pub(super) fn write_script(&self, phase: ScriptPhase) -> Result<(), Failure> {
        let script = json!({ "name": "demo", "rounds": self.rounds(phase) });
        self.write("model.json", &script.to_string())
    }

    fn rounds(&self, phase: ScriptPhase) -> Vec<Value> {
        let pause = match self.pace {
            Pace::Watched => 2_200,
            Pace::Fast => 0,
        };
        let in_flight = match phase {
            ScriptPhase::BeforeCrash => 600_000,
            ScriptPhase::AfterCrash => pause,
        };
        let [test, look, edit, mut all, commit] = COMMANDS.map(call);
        all["input"]["yield_time_ms"] = json!(0);
        vec![
            json!({ "delay_ms": pause, "text": "I run the test first, to see what it says.", "calls": [test] }),
            json!({ "delay_ms": pause, "text": "It fails. I look at the program.", "calls": [look],
                    "expect": { "tool_result_contains": "FAILED" } }),
            json!({ "delay_ms": pause, "text": "A typing error: Helo. I correct it.", "calls": [edit] }),
            json!({ "delay_ms": pause, "text": "I run all tests. They take long, so they go on as a task.", "calls": [all] }),
            json!({ "delay_ms": in_flight, "text": "The tests are running. I rest until they end." }),
            json!({ "delay_ms": pause, "text": "They pass. I commit.", "calls": [commit],
                    "expect": { "input_contains": "ok: Hello, Holon!" } }),
            json!({ "delay_ms": pause,
                    "text": "Done: greet.sh said \"Helo\"; it says \"Hello\" now, the test passes, and the fix is committed." }),
        ]
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns the reference of the scripted model.
    pub(super) fn model(&self) -> String {
        format!("scripted/{}", self.dir.path().join("model.json").display())
    }

    /// Returns the path of the host's log.
    pub(super) fn log_path(&self) -> PathBuf {
        self.dir.path().join("host.log")
    }

    /// Returns the path of the repository as text for a request.
    pub(super) fn repo_text(&self) -> String {
        self.repo().display().to_string()
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// Reads the names that the commands logged, in the order they ran.
    pub(super) fn commands_run(&self) -> Result<Vec<String>, Failure> {
        let path = self.dir.path().join("ran.log");
        let text =
            std::fs::read_to_string(&path).map_err(|error| io_failure("read ran.log", &error))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Returns the history of the repository.
    pub(super) async fn git_log(&self) -> Result<String, Failure> {
        self.git(&["log", "--format=%h %an: %s"]).await
    }

    /// Runs the test in this process and returns its output, as an error if it failed.
    pub(super) async fn test_output(&self) -> Result<Result<String, String>, Failure> {
        let finished = self.command("sh", &["test.sh"]).await?;
        let said = String::from_utf8_lossy(&finished.stdout).trim().to_owned();
        Ok(if finished.status.success() {
            Ok(said)
        } else {
            Err(said)
        })
    }

    /// Releases the tests, so that they end.
    pub(super) fn release_tests(&self) {
        // The file may already be gone.
        std::fs::remove_file(self.dir.path().join(SLOW)).ok();
    }

    /// Waits until no test runs, so that no process outlives the demo.
    pub(super) async fn wait_for_tests(&self) {
        let ended = async {
            let mut nothing = [0; 1];
            // A read of zero bytes means that no process has the pipe open for writing.
            while !matches!(self.pipe.try_read(&mut nothing), Ok(0)) {
                if self.pipe.readable().await.is_err() {
                    return;
                }
            }
        };
        // Only a defect takes longer, and then the tests end after a minute anyway.
        drop(tokio::time::timeout(TEST_TIMEOUT, ended).await);
    }

    /// Keeps the directory and returns its path.
    pub(super) fn keep(self) -> String {
        self.dir.keep().display().to_string()
    }

    /// Removes the directory, retrying until the timeout.
    pub(super) async fn remove(self) {
        let dir = self.dir.keep();
        // The shim of the tests may still write its end record.
        let removed = async {
            while std::fs::remove_dir_all(&dir).is_err() && dir.exists() {
                tokio::task::yield_now().await;
            }
        };
        drop(tokio::time::timeout(TEST_TIMEOUT, removed).await);
    }

    async fn git(&self, args: &[&str]) -> Result<String, Failure> {
        let finished = self.command("git", args).await?;
        if finished.status.success() {
            return Ok(String::from_utf8_lossy(&finished.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&finished.stderr);
        let message = format!("git {} failed: {}", args.join(" "), said.trim());
        Err(Failure::new(Exit::Failed, "demo_failed", message))
    }

    async fn command(&self, program: &str, args: &[&str]) -> Result<CommandOutput, Failure> {
        Command::new(program)
            .args(args)
            .current_dir(self.repo())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    let message = format!("the demo needs {program}, and it was not found");
                    Failure::new(Exit::Failed, "demo_failed", message)
                        .hint(format!("install {program} and try again"))
                }
                _ => io_failure(&format!("start {program}"), &error),
            })
    }

    fn write(&self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.dir.path().join(name);
        let parent = path.parent().unwrap_or_else(|| Path::new("/"));
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, content))
            .map_err(|error| io_failure(&format!("write {name}"), &error))
    }
}

/// Builds the model's call of a command, which logs its name first.
fn call(command: DemoCommand) -> Value {
    let DemoCommand { name, cmd } = command;
    json!({ "tool": "ExecCommand", "input": { "cmd": format!("echo {name} >> ../ran.log; {cmd}") } })
}

/// Removes the logging part of a command, for people.
pub(super) fn without_note(cmd: &str) -> &str {
    cmd.split_once("ran.log; ").map_or(cmd, |(_, work)| work)
}

/// Returns true if this is the command during which the host is killed.
pub(super) fn is_slow(cmd: &str) -> bool {
    cmd.starts_with("echo all-tests ")
}

/// Creates a named pipe and opens it for reading.
fn make_pipe(path: &Path) -> std::io::Result<Receiver> {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )?;
    OpenOptions::new().open_receiver(path)
}

fn io_failure(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "demo_failed",
        format!("cannot {what}: {error}"),
    )
    .hint("check permissions and free space of the temporary directory")
}
