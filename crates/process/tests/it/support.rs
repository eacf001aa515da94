//! Fixtures of these tests: specs, and a witness that shows when all processes of a command are dead.

use holon_domain::command::{CommandFailure, CommandOutput};
use holon_process::{CommandSpec, run};
use std::io::Read;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Timeout that no test reaches.
pub(crate) const NEVER_MS: u64 = 3_600_000;

/// Returns a spec for `cmd` with limits it does not reach.
pub(crate) fn spec(cmd: &str) -> CommandSpec {
    CommandSpec {
        cmd: cmd.to_owned(),
        shell: None,
        login: false,
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        remove_env: Vec::new(),
        timeout_ms: NEVER_MS,
        capture_bytes: 64 << 10,
    }
}

pub(crate) async fn try_run(spec: CommandSpec) -> Result<CommandOutput, CommandFailure> {
    run(spec, CancellationToken::new()).await
}

pub(crate) async fn output(spec: CommandSpec) -> CommandOutput {
    try_run(spec).await.unwrap()
}

/// A named pipe whose reader sees the end only when every process that holds it has died.
pub(crate) struct Witness {
    dir: tempfile::TempDir,
    reader: JoinHandle<String>,
    opened: std::sync::mpsc::Receiver<()>,
}

impl Witness {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let (send_opened, opened) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut pipe = std::fs::File::open(path).unwrap();
            send_opened.send(()).ok();
            let mut text = String::new();
            pipe.read_to_string(&mut text).unwrap();
            text
        });
        Self {
            dir,
            reader,
            opened,
        }
    }

    /// Path of the pipe, for a command to open for writing.
    pub(crate) fn path(&self) -> String {
        self.dir.path().join("pipe").display().to_string()
    }

    /// Waits until a command has opened the pipe, and returns the witness.
    pub(crate) async fn opened(self) -> Self {
        // On a thread for blocking work, because a paused clock does not advance while one is busy.
        let wait = move || {
            self.opened.recv().unwrap();
            self
        };
        tokio::task::spawn_blocking(wait).await.unwrap()
    }

    /// Waits until every process that held the pipe is dead, and returns what was written to it.
    pub(crate) async fn all_dead(self) -> String {
        tokio::task::spawn_blocking(|| self.reader.join().unwrap())
            .await
            .unwrap()
    }
}

/// Runs a command and lets its timeout expire at the moment it opens the witness.
pub(crate) async fn time_out_once_open(
    spec: CommandSpec,
    witness: Witness,
) -> (CommandOutput, Witness) {
    tokio::time::pause();
    let up = async {
        let witness = witness.opened().await;
        tokio::time::advance(Duration::from_millis(NEVER_MS)).await;
        tokio::time::resume();
        witness
    };
    tokio::join!(output(spec), up)
}
