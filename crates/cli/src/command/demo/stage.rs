//! The stage: a directory with a home, a repository with a failing test, and the script of the model.

use crate::exit::{Exit, Failure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Output as Finished, Stdio};
use tempfile::TempDir;
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
    ("test-again", "sh test.sh"),
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
}

impl Stage {
    /// Sets the stage.
    pub(super) async fn set(pace: Pace) -> Result<Self, Failure> {
        let dir = tempfile::Builder::new()
            .prefix("holon-demo-")
            .tempdir()
            .map_err(|error| failed("make a temporary directory", &error))?;
        let stage = Self { dir, pace };
        stage.write("repo/greet.sh", PROGRAM)?;
        stage.write("repo/test.sh", TEST)?;
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
        let [test, look, edit, again, commit] = COMMANDS.map(call);
        vec![
            json!({ "delay_ms": pause, "text": "I run the test first, to see what it says.", "calls": [test] }),
            json!({ "delay_ms": pause, "text": "It fails. I look at the program.", "calls": [look],
                    "expect": { "tool_result_contains": "FAILED" } }),
            json!({ "delay_ms": pause, "text": "A typing error: Helo. I correct it.", "calls": [edit] }),
            json!({ "delay_ms": in_flight, "text": "I run the test again.", "calls": [again] }),
            json!({ "delay_ms": pause, "text": "It passes. I commit.", "calls": [commit],
                    "expect": { "tool_result_contains": "ok: Hello, Holon!" } }),
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

    /// Keeps the directory and says where it is.
    pub(super) fn keep(self) -> String {
        self.dir.keep().display().to_string()
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

/// Whether this is the command after which the host dies.
pub(super) fn is_edit(cmd: &str) -> bool {
    cmd.starts_with("echo edit ")
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "demo_failed",
        format!("cannot {what}: {error}"),
    )
    .hint("check permissions and free space of the temporary directory")
}
