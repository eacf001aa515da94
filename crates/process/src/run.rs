//! Runs one direct command, from its spec to its output.
//!
//! A command ends when its direct child does, after a short drain of the pipes. Descendants that hold the pipes open
//! do not keep it alive. Members of the group that are left are counted and killed.

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

/// Time to drain the pipes after the direct child has ended.
const DRAIN: Duration = Duration::from_millis(200);
/// Grace period between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// Time to wait for a killed leader. One that is stuck in the kernel longer is left to the runtime's reaper.
const DEATH: Duration = Duration::from_secs(5);

/// The spec of a direct command: what to run, where, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// Shell text, passed with `-c`.
    pub cmd: String,
    /// Shell, by path or by name on the search path; `/bin/sh` if absent.
    pub shell: Option<String>,
    /// True to run it as a login shell.
    pub login: bool,
    /// Working directory. It must exist.
    pub cwd: PathBuf,
    /// Variables set on top of the inherited environment.
    pub env: Vec<(String, String)>,
    /// Variables removed from the inherited environment. A name that is also in `env` is set.
    pub remove_env: Vec<String>,
    pub timeout_ms: u64,
    /// Most bytes kept of each stream.
    pub capture_bytes: usize,
}

/// The reason a wait for a command ended.
enum WaitEnd {
    Ended(CommandEnd),
    TimedOut,
    Cancelled,
}

/// Runs a command until it ends, its timeout expires, or `cancel` fires.
///
/// # Errors
/// Fails if the command could not be started or was cancelled. A command that ran and exited with an error is not an
/// error.
pub async fn run(
    spec: CommandSpec,
    cancel: CancellationToken,
) -> Result<CommandOutput, CommandFailure> {
    if cancel.is_cancelled() {
        return Err(CommandFailure::Cancelled);
    }
    finish(spawn(&spec, Stdio::null()).await?, &spec, cancel).await
}

/// Runs a command like [`run`] with `input` on its stdin. The input must fit into a pipe.
///
/// # Errors
/// As [`run`], and if the input could not be written.
pub async fn run_with_input(
    spec: CommandSpec,
    input: &[u8],
    cancel: CancellationToken,
) -> Result<CommandOutput, CommandFailure> {
    let mut group = spawn(&spec, Stdio::piped()).await?;
    if let Some(mut stdin) = group.child().stdin.take() {
        // A command that does not read its input reports that by its exit status.
        stdin.write_all(input).await.ok();
    }
    finish(group, &spec, cancel).await
}

/// Waits for the end of a command that was started.
async fn finish(
    mut group: Group,
    spec: &CommandSpec,
    cancel: CancellationToken,
) -> Result<CommandOutput, CommandFailure> {
    let started = Instant::now();
    let mut pipes = Pipes::take(&mut group, spec.capture_bytes);
    let wait_end = tokio::select! {
        biased;
        end = group.ended() => WaitEnd::Ended(end),
        () = cancel.cancelled() => WaitEnd::Cancelled,
        () = tokio::time::sleep(Duration::from_millis(spec.timeout_ms)) => WaitEnd::TimedOut,
        // Last, so that a flood of output cannot starve the other branches.
        never = pipes.drain_for_ever() => match never {},
    };
    let (end, leftovers) = match wait_end {
        WaitEnd::Ended(end) => (Ok(end), finish_ended(group, &mut pipes).await),
        WaitEnd::TimedOut => (Ok(CommandEnd::TimedOut), stop(group, &mut pipes).await),
        WaitEnd::Cancelled => (
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

/// Drains the pipes of a command that has ended by itself, then kills what it left behind. Returns the number of
/// leftovers.
async fn finish_ended(group: Group, pipes: &mut Pipes) -> u32 {
    tokio::time::timeout(DRAIN, pipes.drain()).await.ok();
    let leftovers = group.members().await;
    group.finish().await;
    leftovers
}

/// Sends SIGTERM to the group, waits for the grace period, and kills it. Returns the number of leftovers.
async fn stop(mut group: Group, pipes: &mut Pipes) -> u32 {
    group.terminate();
    // The grace period is for the whole group: a shell dies at once while its child may still be saving state.
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
            // It reads the directory, which may block on a bad disk.
            let explained =
                tokio::task::spawn_blocking(move || explain(&error, &shell, &cwd)).await;
            Err(explained.unwrap_or(CommandFailure::Cancelled))
        }
    }
}
