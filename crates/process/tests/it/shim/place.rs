//! A directory for one task, and what is needed to run it.

use holon_process::{
    Confinement, Ended, Image, Leftovers, NICENESS, ShimSpec, Sought, Stream, Task, VERSION,
    WindowSize, start,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid,
};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) const TASK: &str = "task_1";
pub(crate) const NONCE: &str = "the nonce of this task";

/// Long enough for any machine; a test that needs it has failed.
pub(crate) const FOREVER: Duration = Duration::from_secs(60);

pub(crate) fn image() -> Image {
    Image::of(Path::new(env!("CARGO_BIN_EXE_holon-shim"))).unwrap()
}

/// The task of a directory.
pub(crate) const fn sought(state_dir: &Path) -> Sought<'_> {
    Sought {
        state_dir,
        task_id: TASK,
        nonce: NONCE,
    }
}

/// A task's place.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    state_dir: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state_dir = dir.path().join("state");
        std::fs::create_dir(&state_dir).unwrap();
        Self { dir, state_dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.state_dir.clone()
    }

    /// Its task.
    pub(crate) fn sought(&self) -> Sought<'_> {
        sought(&self.state_dir)
    }

    /// `cmd` with pipes, both streams kept apart, and bounds it does not reach.
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
            output_cap_bytes: 64 << 20,
            state_dir: self.state_dir(),
            // So that nothing a failed test leaves behind lives for ever.
            timeout_ms: Some(600_000),
            leftovers: Leftovers::Kill,
            niceness: NICENESS,
            confinement: Confinement::None,
        }
    }

    /// `cmd` on a terminal that takes input.
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

pub(crate) async fn begin(spec: ShimSpec) -> Task {
    start(&image(), spec).await.unwrap()
}

pub(crate) async fn finish(spec: ShimSpec) -> Ended {
    end_of(&begin(spec).await).await
}

pub(crate) async fn end_of(task: &Task) -> Ended {
    tokio::time::timeout(FOREVER, task.ended())
        .await
        .expect("it ends")
        .unwrap()
}

/// A handle of a process whose number is its own, as that of a shim which we started and have not reaped.
pub(crate) fn handle(pid: &str) -> OwnedFd {
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

/// Kills a shim that we started and have not reaped.
pub(crate) fn kill_shim(pid: &str) {
    pidfd_send_signal(handle(pid), Signal::KILL).unwrap();
}

/// Suspends a shim that we started, and returns when it is.
pub(crate) fn suspend(pid: &str) {
    pidfd_send_signal(handle(pid), Signal::STOP).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    let stopped = waitpid(pid, WaitOptions::UNTRACED).unwrap();
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
}

/// Waits until a task has written more than `bytes` to its first stream.
pub(crate) async fn until_written(task: &Task, bytes: u64) {
    let follow = async {
        while task.output().await.unwrap().output.total_bytes <= bytes {
            tokio::task::yield_now().await;
        }
    };
    let written = tokio::time::timeout(FOREVER, follow).await;
    written.unwrap_or_else(|_| panic!("it never wrote {bytes} bytes"));
}

/// Follows a task's output until it holds `text`, and returns everything from `from` on.
pub(crate) async fn until_said(task: &Task, from: u64, text: &str) -> String {
    let follow = async {
        let (mut offset, mut said) = (from, Vec::new());
        loop {
            let slice = task.slice(Stream::Output, offset, 64 << 10).await.unwrap();
            offset = slice.next_offset();
            said.extend(slice.bytes);
            let so_far = String::from_utf8_lossy(&said).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
            tokio::task::yield_now().await;
        }
    };
    let said = tokio::time::timeout(FOREVER, follow).await;
    said.unwrap_or_else(|_| panic!("it never said {text:?}"))
}
