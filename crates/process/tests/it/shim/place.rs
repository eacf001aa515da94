//! The fixture of these tests: the directory of one task, and helpers to run and follow it.

use holon_process::{
    CommandLocator, Confinement, EndRecord, Image, Leftovers, NICENESS, ShimSpec, ShimmedCommand,
    Stream, VERSION, WindowSize, start,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid,
};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) const TASK: &str = "task_1";
pub(crate) const NONCE: &str = "the nonce of this task";

/// Timeout of every wait. A test that reaches it has failed.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn image() -> Image {
    Image::of(Path::new(env!("CARGO_BIN_EXE_holon-shim"))).unwrap()
}

/// Locates the task of a directory.
pub(crate) const fn locator(claim_dir: &Path) -> CommandLocator<'_> {
    CommandLocator {
        claim_dir,
        task_id: TASK,
        nonce: NONCE,
    }
}

/// A temporary directory for one task.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    claim_dir: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let claim_dir = dir.path().join("state");
        std::fs::create_dir(&claim_dir).unwrap();
        Self { dir, claim_dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn claim_dir(&self) -> PathBuf {
        self.claim_dir.clone()
    }

    /// Locates the task of this place.
    pub(crate) fn locator(&self) -> CommandLocator<'_> {
        locator(&self.claim_dir)
    }

    /// Returns a spec for `cmd` with pipes, separate streams, and limits it does not reach.
    pub(crate) fn spec(&self, cmd: &str) -> ShimSpec {
        ShimSpec {
            version: VERSION,
            task_id: TASK.to_owned(),
            nonce: NONCE.to_owned(),
            cmd: cmd.to_owned(),
            shell: None,
            login: false,
            terminal: None,
            cwd: self.dir.path().to_owned(),
            env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
            accepts_input: false,
            output_path: self.dir.path().join("out"),
            stderr_path: Some(self.dir.path().join("err")),
            combined_path: Some(self.dir.path().join("both")),
            output_cap_bytes: 64 << 20,
            claim_dir: self.claim_dir(),
            // A timeout, so that a failed test leaves no process behind.
            timeout_ms: Some(600_000),
            leftovers: Leftovers::Kill,
            niceness: NICENESS,
            confinement: Confinement::None,
        }
    }

    /// Returns a spec for `cmd` on a terminal that accepts input.
    pub(crate) fn terminal(&self, cmd: &str) -> ShimSpec {
        ShimSpec {
            terminal: Some(WindowSize {
                rows: 24,
                columns: 80,
            }),
            accepts_input: true,
            stderr_path: None,
            ..self.spec(cmd)
        }
    }

    pub(crate) fn out(&self) -> String {
        self.read("out")
    }

    pub(crate) fn err(&self) -> String {
        self.read("err")
    }

    fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.dir.path().join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub(crate) async fn begin(spec: ShimSpec) -> ShimmedCommand {
    start(&image(), spec).await.unwrap()
}

pub(crate) async fn finish(spec: ShimSpec) -> EndRecord {
    end_of(&begin(spec).await).await
}

pub(crate) async fn end_of(task: &ShimmedCommand) -> EndRecord {
    tokio::time::timeout(TEST_TIMEOUT, task.ended())
        .await
        .expect("it ends")
        .unwrap()
}

/// Opens a descriptor of a process that this test started and has not reaped.
pub(crate) fn handle(pid: &str) -> OwnedFd {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

/// Kills a shim that this test started and has not reaped.
pub(crate) fn kill_shim(pid: &str) {
    pidfd_send_signal(handle(pid), Signal::KILL).unwrap();
}

/// Suspends a shim that this test started, and returns when it is stopped.
pub(crate) fn suspend(pid: &str) {
    pidfd_send_signal(handle(pid), Signal::STOP).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    let stopped = waitpid(pid, WaitOptions::UNTRACED).unwrap();
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
}

/// Waits until a task has written more than `bytes` to its first stream.
pub(crate) async fn wait_for_bytes(task: &ShimmedCommand, bytes: u64) {
    let follow = async {
        while task.output().await.unwrap().output.total_bytes <= bytes {
            tokio::task::yield_now().await;
        }
    };
    let written = tokio::time::timeout(TEST_TIMEOUT, follow).await;
    written.unwrap_or_else(|_| panic!("it never wrote {bytes} bytes"));
}

/// Follows a task's output until it contains `text`, and returns everything from `from` on.
pub(crate) async fn wait_for_output(task: &ShimmedCommand, from: u64, text: &str) -> String {
    let follow = async {
        let (mut offset, mut output_text) = (from, Vec::new());
        loop {
            let slice = task.slice(Stream::Output, offset, 64 << 10).await.unwrap();
            offset = slice.next_offset();
            output_text.extend(slice.bytes);
            let text_so_far = String::from_utf8_lossy(&output_text).into_owned();
            if text_so_far.contains(text) {
                return text_so_far;
            }
            tokio::task::yield_now().await;
        }
    };
    let output_text = tokio::time::timeout(TEST_TIMEOUT, follow).await;
    output_text.unwrap_or_else(|_| panic!("it never said {text:?}"))
}
