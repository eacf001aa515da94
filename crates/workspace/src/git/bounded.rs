//! Runs a child process with a bound on its time and its output. At a bound the whole process group is killed.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Interval of the looks at a process that has closed its output and not ended yet.
const LOOK_PAUSE: Duration = Duration::from_millis(2);
/// Interval of the looks at what a process has written to disk.
const WATCH_PAUSE: Duration = Duration::from_millis(20);
/// Bytes kept of the standard error. The rest is read and dropped.
const STDERR_BYTES: usize = 4 << 10;

/// Output and exit status of a process that ran to its end.
#[derive(Debug)]
pub(super) struct ProcessOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Reason for which a process was not run to its end.
#[derive(Debug)]
pub(super) enum ProcessError {
    Io(io::Error),
    TimedOut,
    TooMuchOutput,
}

/// One stream of the process, read to its end.
enum StreamContent {
    Stdout(Result<Vec<u8>, ProcessError>),
    Stderr(Vec<u8>),
}

/// Bounds of one process.
#[derive(Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) limit: Duration,
    pub(super) max_stdout: usize,
    /// Asked at intervals; the process is killed as soon as it returns false.
    pub(super) is_within: Option<&'a dyn Fn() -> bool>,
}

/// Runs a command to its end.
pub(super) fn run(
    command: &mut Command,
    stdin: Stdio,
    limit: Duration,
    max_stdout: usize,
) -> Result<ProcessOutput, ProcessError> {
    let bounds = Bounds {
        limit,
        max_stdout,
        is_within: None,
    };
    run_within(command, stdin, bounds)
}

/// Runs a command to its end, with a watch over what it writes.
pub(super) fn run_within(
    command: &mut Command,
    stdin: Stdio,
    bounds: Bounds<'_>,
) -> Result<ProcessOutput, ProcessError> {
    let deadline = Instant::now() + bounds.limit;
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn().map_err(ProcessError::Io)?;
    let ended = collect(&mut child, deadline, bounds);
    if ended.is_err() {
        kill(&mut child);
    }
    ended
}

fn collect(
    child: &mut Child,
    deadline: Instant,
    bounds: Bounds<'_>,
) -> Result<ProcessOutput, ProcessError> {
    let (sender, printed) = mpsc::channel();
    read_streams(child, &sender, bounds.max_stdout);
    let (mut stdout, mut stderr) = (None, None);
    while stdout.is_none() || stderr.is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        let pause = bounds.is_within.map_or(left, |_| left.min(WATCH_PAUSE));
        match printed.recv_timeout(pause) {
            Ok(StreamContent::Stdout(read)) => stdout = Some(read?),
            Ok(StreamContent::Stderr(read)) => stderr = Some(read),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(ProcessError::TimedOut),
            Err(RecvTimeoutError::Timeout) => {
                if bounds.is_within.is_some_and(|is_within| !is_within()) {
                    return Err(ProcessError::TooMuchOutput);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ProcessError::Io(io::Error::other(
                    "a reader thread ended early",
                )));
            }
        }
    }
    Ok(ProcessOutput {
        status: wait(child, deadline, &printed)?,
        stdout: stdout.unwrap_or_default(),
        stderr: stderr.unwrap_or_default(),
    })
}

/// Reads both streams on threads of their own, which end when the streams do.
fn read_streams(child: &mut Child, sender: &Sender<StreamContent>, max_stdout: usize) {
    if let Some(mut stream) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            // The receiver is gone if a bound was reached; then the text is not wanted.
            drop(sender.send(StreamContent::Stdout(read_all(&mut stream, max_stdout))));
        });
    }
    if let Some(mut stream) = child.stderr.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            drop(sender.send(StreamContent::Stderr(read_head(&mut stream, STDERR_BYTES))));
        });
    }
}

fn read_all(stream: &mut impl Read, max: usize) -> Result<Vec<u8>, ProcessError> {
    let mut text = Vec::new();
    let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let read = stream.take(bound).read_to_end(&mut text);
    match read {
        Err(error) => Err(ProcessError::Io(error)),
        Ok(_) if text.len() > max => Err(ProcessError::TooMuchOutput),
        Ok(_) => Ok(text),
    }
}

/// Reads a stream to its end and keeps its beginning.
fn read_head(stream: &mut impl Read, max: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let bound = u64::try_from(max).unwrap_or(u64::MAX);
    if stream.by_ref().take(bound).read_to_end(&mut text).is_ok() {
        // What is printed beyond the bound must not block the process.
        drop(io::copy(stream, &mut io::sink()));
    }
    text
}

/// Waits for a process whose streams have ended. The channel is empty and serves as the pause between two looks.
fn wait(
    child: &mut Child,
    deadline: Instant,
    empty: &Receiver<StreamContent>,
) -> Result<ExitStatus, ProcessError> {
    loop {
        if let Some(status) = child.try_wait().map_err(ProcessError::Io)? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(ProcessError::TimedOut);
        }
        drop(empty.recv_timeout(LOOK_PAUSE));
    }
}

/// Kills the process group. The child was not waited for yet, so its id cannot belong to another process.
fn kill(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // The group is gone if every process of it has ended, and then there is nothing to kill.
        kill_process_group(pid, Signal::KILL).unwrap_or_default();
    }
    drop(child.wait());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_within_its_bounds_gives_its_output_and_its_end() {
        let ended = run(
            &mut shell("printf out; printf err >&2; exit 3"),
            Stdio::null(),
            Duration::from_secs(10),
            3,
        )
        .unwrap();
        assert_eq!(
            (ended.stdout, ended.stderr),
            (b"out".to_vec(), b"err".to_vec())
        );
        assert_eq!(ended.status.code(), Some(3));
    }

    #[test]
    fn a_process_that_takes_too_long_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let script = format!("cat {} & wait", pipe.display());
        let broken = run(
            &mut shell(&script),
            Stdio::null(),
            Duration::from_millis(50),
            100,
        );
        assert!(matches!(broken, Err(ProcessError::TimedOut)), "{broken:?}");
    }

    #[test]
    fn a_process_that_prints_too_much_is_killed() {
        let broken = run(
            &mut shell("while :; do echo more; done"),
            Stdio::null(),
            Duration::from_secs(10),
            1_000,
        );
        assert!(
            matches!(broken, Err(ProcessError::TooMuchOutput)),
            "{broken:?}"
        );
    }
}
