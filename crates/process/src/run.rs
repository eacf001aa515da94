//! One direct command: from its specification to its output.
//!
//! A command ends when its direct child does, plus a short drain of what stands in the pipes; descendants that
//! hold the pipes open do not keep it alive. What the group leaves behind is counted and killed.

use crate::failure::{DEFAULT_SHELL, explain};
use crate::group::Group;
use crate::pipe::Pipes;
use holon_domain::command::{CommandEnd, CommandFailure, CommandOutput};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

/// How long pipes are read after the direct child has ended.
const DRAIN: Duration = Duration::from_millis(200);
/// How long a group has between being asked and being made to end.
const GRACE: Duration = Duration::from_millis(500);
/// How long a killed leader may take to die; one stuck in the kernel longer is left to the runtime's reaper.
const DEATH: Duration = Duration::from_secs(5);

/// What to run, where and within which bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The shell text.
    pub cmd: String,
    /// Which shell, by path or by name on the search path; `/bin/sh` when absent.
    pub shell: Option<String>,
    /// Whether as a login shell.
    pub login: bool,
    /// Where. Must be a directory.
    pub cwd: PathBuf,
    /// Set on top of the inherited environment.
    pub env: Vec<(String, String)>,
    /// Taken out of the inherited environment; a name that is also in `env` is set all the same.
    pub remove_env: Vec<String>,
    /// How long it may run.
    pub timeout_ms: u64,
    /// The most kept of each stream, in bytes.
    pub capture_bytes: usize,
}

/// How the wait for a command came out.
enum Waited {
    Ended(CommandEnd),
    TimedOut,
    Cancelled,
}

/// Runs a command to its end, its timeout or `cancel`, whichever is first.
///
/// # Errors
/// When it could not be started, or was cancelled. A command that ran and failed is no error.
pub async fn run(
    spec: CommandSpec,
    cancel: CancellationToken,
) -> Result<CommandOutput, CommandFailure> {
    if cancel.is_cancelled() {
        return Err(CommandFailure::Cancelled);
    }
    finish(spawn(&spec, Stdio::null()).await?, &spec, cancel).await
}

/// Runs a command like [`run`] and gives it `input` to read, which must fit into a pipe.
///
/// # Errors
/// As [`run`], and when the input could not be handed over.
pub async fn run_with_input(
    spec: CommandSpec,
    input: &[u8],
    cancel: CancellationToken,
) -> Result<CommandOutput, CommandFailure> {
    let mut group = spawn(&spec, Stdio::piped()).await?;
    if let Some(mut stdin) = group.child().stdin.take() {
        // A command that does not read its input has its own way of saying so: its exit status.
        stdin.write_all(input).await.ok();
    }
    finish(group, &spec, cancel).await
}

/// Waits for a command that was started.
async fn finish(
    mut group: Group,
    spec: &CommandSpec,
    cancel: CancellationToken,
) -> Result<CommandOutput, CommandFailure> {
    let started = Instant::now();
    let mut pipes = Pipes::take(&mut group, spec.capture_bytes);
    let waited = tokio::select! {
        biased;
        end = group.ended() => Waited::Ended(end),
        () = cancel.cancelled() => Waited::Cancelled,
        () = tokio::time::sleep(Duration::from_millis(spec.timeout_ms)) => Waited::TimedOut,
        // Last, so that a flood of output cannot starve the others.
        never = pipes.drain_for_ever() => match never {},
    };
    let (end, leftovers) = match waited {
        Waited::Ended(end) => (Ok(end), settle(group, &mut pipes).await),
        Waited::TimedOut => (Ok(CommandEnd::TimedOut), stop(group, &mut pipes).await),
        Waited::Cancelled => (
            Err(CommandFailure::Cancelled),
            stop(group, &mut pipes).await,
        ),
    };
    let (stdout, stderr) = pipes.finish();
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(CommandOutput {
        end: end?,
        stdout,
        stderr,
        duration_ms,
        leftovers,
        survivors: 0,
        stopped: false,
    })
}

/// After the leader has ended by itself: takes what is in the pipes, then ends what it left behind.
async fn settle(group: Group, pipes: &mut Pipes) -> u32 {
    tokio::time::timeout(DRAIN, pipes.drain()).await.ok();
    let leftovers = group.members().await;
    group.finish().await;
    leftovers
}

/// Asks the group to end, waits a little, and makes it.
async fn stop(mut group: Group, pipes: &mut Pipes) -> u32 {
    group.terminate();
    // The grace is for the whole group: a shell dies at once while its child is still writing its state down.
    tokio::time::timeout(GRACE, async { tokio::join!(group.ended(), pipes.drain()) })
        .await
        .ok();
    let leftovers = group.members().await;
    group.kill();
    if tokio::time::timeout(DEATH, group.ended()).await.is_ok() {
        tokio::time::timeout(DRAIN, pipes.drain()).await.ok();
        group.finish().await;
    }
    leftovers
}

async fn spawn(spec: &CommandSpec, stdin: Stdio) -> Result<Group, CommandFailure> {
    let shell = spec.shell.as_deref().unwrap_or(DEFAULT_SHELL);
    let mut command = Command::new(shell);
    if spec.login {
        command.arg("-l");
    }
    command.arg("-c").arg(&spec.cmd).current_dir(&spec.cwd);
    for name in &spec.remove_env {
        command.env_remove(name);
    }
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match Group::spawn(&mut command) {
        Ok(group) => Ok(group),
        Err(error) => {
            let (shell, cwd) = (shell.to_owned(), spec.cwd.clone());
            // It looks at the directory, which may take a while on a bad disk.
            let explained =
                tokio::task::spawn_blocking(move || explain(&error, &shell, &cwd)).await;
            Err(explained.unwrap_or(CommandFailure::Cancelled))
        }
    }
}
