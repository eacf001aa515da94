//! The stage: a directory with a home, a repository with a failing test, and the script of the model.

use crate::exit::{Exit, Failure};
use rustix::fs::{FileType, Mode};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Output as Finished, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::process::Command;

/// Who does the work.
pub(super) const AGENT: &str = "fixer";
/// What it is told.
pub(super) const TASK: &str = "The greeting test fails. Fix it and commit.";
/// The commands of the story in order; each notes its own name when it runs.
pub(super) const COMMANDS: [(&str, &str); 5] = [
    ("test", "sh test.sh"),
    ("look", "cat greet.sh"),
    (
        "edit",
        "sed 's/Helo/Hello/' greet.sh > greet.new && mv greet.new greet.sh",
    ),
    ("all-tests", "sh all-tests.sh"),
    (
        "commit",
        "git commit -qam 'Greet with the right word' && git log --oneline",
    ),
];

const PROGRAM: &str = "#!/bin/sh\n# Greets whoever is named.\necho \"Helo, ${1:-world}!\"\n";
const TEST: &str = "#!/bin/sh
got=$(sh greet.sh Holon)
if [ \"$got\" = \"Hello, Holon!\" ]; then echo \"ok: $got\"; else echo \"FAILED: got '$got'\"; exit 1; fi
";
/// Tests that take as long as the story needs, a minute at most, and hold a pipe open meanwhile.
const ALL_TESTS: &str = "#!/bin/sh
# Stands for tests that take long: they end when the file is taken away.
exec 9<> ../all-tests.pipe
tries=0
while [ -e ../all-tests.slow ] && [ $tries -lt 600 ]; do tries=$((tries + 1)); sleep 0.1; done
sh test.sh
";
/// While it is there the tests go on.
const SLOW: &str = "all-tests.slow";
/// Has a writer as long as they run.
const PIPE: &str = "all-tests.pipe";
/// Longest they may take to end once they may.
const PATIENCE: Duration = Duration::from_secs(10);

/// How fast the story goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// With pauses to read.
    Watched,
    /// Without.
    Fast,
}

/// Whether the round during which the host dies is asked for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// It is; the answer takes so long that the host is dead before it comes.
    First,
    /// It is not.
    Again,
}

/// Where the story plays. Gone when dropped.
#[derive(Debug)]
pub(super) struct Stage {
    dir: TempDir,
    pace: Pace,
    pipe: Receiver,
}

impl Stage {
    /// Sets the stage.
    pub(super) async fn set(pace: Pace) -> Result<Self, Failure> {
        let dir = tempfile::Builder::new()
            .prefix("holon-demo-")
            .tempdir()
            .map_err(|error| failed("make a temporary directory", &error))?;
        let pipe = make_pipe(&dir.path().join(PIPE))
            .map_err(|error| failed("make a named pipe", &error))?;
        let stage = Self { dir, pace, pipe };
        stage.write("repo/greet.sh", PROGRAM)?;
        stage.write("repo/test.sh", TEST)?;
        stage.write("repo/all-tests.sh", ALL_TESTS)?;
        stage.write(SLOW, "")?;
        stage.write("ran.log", "")?;
        stage.write_script(Asked::First)?;
        stage.make_repository().await?;
        Ok(stage)
    }

    async fn make_repository(&self) -> Result<(), Failure> {
        self.git(&["init", "-q"]).await?;
        // The agent's commit must not depend on how this user signs, names or hooks commits.
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

    /// Writes the model's script; the file is read anew for each call.
    pub(super) fn write_script(&self, asked: Asked) -> Result<(), Failure> {
        let script = json!({ "name": "demo", "rounds": self.rounds(asked) });
        self.write("model.json", &script.to_string())
    }

    fn rounds(&self, asked: Asked) -> Vec<Value> {
        let pause = match self.pace {
            Pace::Watched => 2_200,
            Pace::Fast => 0,
        };
        let in_flight = match asked {
            Asked::First => 600_000,
            Asked::Again => pause,
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

    /// The home.
    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The model to ask.
    pub(super) fn model(&self) -> String {
        format!("scripted/{}", self.dir.path().join("model.json").display())
    }

    /// Where the host's log goes.
    pub(super) fn log_path(&self) -> PathBuf {
        self.dir.path().join("host.log")
    }

    /// The repository as it travels to the host.
    pub(super) fn repo_text(&self) -> String {
        self.repo().display().to_string()
    }

    fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// The names the commands noted, in the order they ran.
    pub(super) fn commands_run(&self) -> Result<Vec<String>, Failure> {
        let path = self.dir.path().join("ran.log");
        let text =
            std::fs::read_to_string(&path).map_err(|error| failed("read ran.log", &error))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// What the repository's history says.
    pub(super) async fn git_log(&self) -> Result<String, Failure> {
        self.git(&["log", "--format=%h %an: %s"]).await
    }

    /// What the test prints when this process runs it, or how it failed.
    pub(super) async fn test_output(&self) -> Result<Result<String, String>, Failure> {
        let finished = self.command("sh", &["test.sh"]).await?;
        let said = String::from_utf8_lossy(&finished.stdout).trim().to_owned();
        Ok(if finished.status.success() {
            Ok(said)
        } else {
            Err(said)
        })
    }

    /// Lets the tests come to their end.
    pub(super) fn let_tests_end(&self) {
        // Gone already is as good.
        std::fs::remove_file(self.dir.path().join(SLOW)).ok();
    }

    /// Waits until no test runs: whatever outlives the host has ended then.
    pub(super) async fn until_tests_ended(&self) {
        let ended = async {
            let mut nothing = [0; 1];
            // Nobody has it open for writing any more, or nobody ever had.
            while !matches!(self.pipe.try_read(&mut nothing), Ok(0)) {
                if self.pipe.readable().await.is_err() {
                    return;
                }
            }
        };
        // Longer than this only a defect takes, and then they end after a minute by themselves.
        drop(tokio::time::timeout(PATIENCE, ended).await);
    }

    /// Keeps the directory and says where it is.
    pub(super) fn keep(self) -> String {
        self.dir.keep().display().to_string()
    }

    /// Removes the directory.
    pub(super) async fn remove(self) {
        let dir = self.dir.keep();
        // Who looked after the tests may be noting how they ended.
        let removed = async {
            while std::fs::remove_dir_all(&dir).is_err() && dir.exists() {
                tokio::task::yield_now().await;
            }
        };
        drop(tokio::time::timeout(PATIENCE, removed).await);
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

    async fn command(&self, program: &str, args: &[&str]) -> Result<Finished, Failure> {
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
                _ => failed(&format!("start {program}"), &error),
            })
    }

    fn write(&self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.dir.path().join(name);
        let parent = path.parent().unwrap_or_else(|| Path::new("/"));
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, content))
            .map_err(|error| failed(&format!("write {name}"), &error))
    }
}

/// A command of the story as the model calls it: it notes its name, then does its work.
fn call((name, cmd): (&str, &str)) -> Value {
    json!({ "tool": "ExecCommand", "input": { "cmd": format!("echo {name} >> ../ran.log; {cmd}") } })
}

/// The command without its note, for people.
pub(super) fn without_note(cmd: &str) -> &str {
    cmd.split_once("ran.log; ").map_or(cmd, |(_, work)| work)
}

/// Whether this is the command during which the host dies.
pub(super) fn is_slow(cmd: &str) -> bool {
    cmd.starts_with("echo all-tests ")
}

/// A named pipe, open for reading.
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

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "demo_failed",
        format!("cannot {what}: {error}"),
    )
    .hint("check permissions and free space of the temporary directory")
}
