//! The fixture of these tests: an agent's home, orders for commands in it, and hosts that start and stop.

use holon_command::Commands;
use holon_domain::command::{
    CommandContext, CommandFailure, CommandKey, CommandOrder, CommandOutput, CommandProbe,
    CommandRun, LatePolicy, RunningCommand, TaskStreams,
};
use holon_domain::intent::{DuplicatePolicy, ExecCommand, TaskInput, TaskOutput};
use holon_domain::task::TaskReport;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, TaskId, Timestamp};
use holon_process::Image;
use holon_workspace::ClaimFolders;
use rustix::process::{
    Flock, FlockType, PidfdFlags, Signal, fcntl_getlk, pidfd_open, pidfd_send_signal,
};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// Yield time that no test reaches.
pub(crate) const NEVER_MS: u64 = 3_600_000;
/// Timeout of every wait. A test that reaches it has failed.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);
/// A variable that cargo sets for every test. The host hides it from commands.
pub(crate) const HIDDEN: &str = "CARGO_PKG_NAME";

/// Starts a host with this home.
fn host(home: &Path) -> Commands {
    let image = Image::open().unwrap();
    let (shell, hidden) = (OsStr::new("/bin/sh"), vec![HIDDEN.to_owned()]);
    let claims = ClaimFolders::of_host(home);
    Commands::new(image, Some(shell), hidden, claims, wall_clock)
}

/// Reads the machine's clock, which shims use for their start times.
#[allow(
    clippy::disallowed_methods,
    reason = "stands in for the daemon's clock adapter"
)]
pub(crate) fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

/// Returns true if a command is proven to run.
pub(crate) async fn is_alive(host: &Commands, key: &CommandKey) -> bool {
    matches!(host.probe(key).await, CommandProbe::Running(_))
}

/// Waits for a future that must complete.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(TEST_TIMEOUT, future).await;
    done.expect("it takes no more than a minute")
}

/// The homes of a host and of one agent. Dropping it ends every command that was started for the agent, also if the
/// test failed.
pub(crate) struct World {
    _dir: tempfile::TempDir,
    /// Home of the host.
    host: PathBuf,
    home: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let (dir, home) = (self.host.clone(), self.home().to_owned());
        // Runs on its own thread: the runtime of the test cannot be waited for here, and its clock may be paused.
        let swept = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(host(&dir).sweep(&home, &[]));
        });
        if swept.join().is_err() {
            assert!(std::thread::panicking(), "commands could not be ended");
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::below(&[])
    }

    /// Creates a world whose host has its home in nested directories below a temporary one.
    pub(crate) fn below(parts: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut host = dir.path().to_owned();
        host.extend(parts);
        let home = host.join("agents/scout");
        std::fs::create_dir_all(&home).unwrap();
        Self {
            _dir: dir,
            host,
            home,
        }
    }

    /// Path of a file outside the agent's home.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.host.join(name)
    }

    /// Creates a world and starts a host in it.
    pub(crate) fn with_host() -> (Self, Commands) {
        let world = Self::new();
        let host = world.host();
        (world, host)
    }

    /// Starts another host with the same home.
    pub(crate) fn host(&self) -> Commands {
        host(&self.host)
    }

    /// Path of the agent's home.
    pub(crate) fn path(&self) -> &Path {
        &self.home
    }

    fn home(&self) -> &str {
        self.home.to_str().unwrap()
    }

    /// Folder of the claim directories of the agent's commands.
    pub(crate) fn tasks(&self) -> PathBuf {
        self.host.join("state/tasks/scout")
    }

    /// Folder in which an earlier build kept the claim directories.
    pub(crate) fn earlier_tasks(&self) -> PathBuf {
        self.home.join(".holon/state/tasks")
    }

    pub(crate) fn key(&self, name: &str) -> CommandKey {
        CommandKey::of_call(self.home(), &CallId::from_stored(format!("call_{name}")))
    }

    pub(crate) fn claim_dir(&self, name: &str) -> PathBuf {
        self.tasks().join(self.key(name).name)
    }

    pub(crate) fn output_file(&self, name: &str) -> PathBuf {
        let name = format!("{}.log", self.key(name).name);
        self.path().join("task-output").join(name)
    }

    /// An order that waits until its command ends.
    pub(crate) fn order(&self, name: &str, cmd: &str) -> CommandOrder {
        CommandOrder {
            key: self.key(name),
            context: CommandContext {
                agent_id: AgentId::parse("scout").unwrap(),
                agent_home: self.home().to_owned(),
                workspace: WorkspaceEntry::agent_home(self.home()),
            },
            command: ExecCommand {
                cmd: cmd.to_owned(),
                workdir: None,
                shell: None,
                login: false,
                tty: false,
                accepts_input: false,
                duplicate_policy: DuplicatePolicy::ReuseRunning,
                yield_time_ms: NEVER_MS,
                max_output_tokens: None,
            },
            when_late: LatePolicy::Continue,
        }
    }

    /// An order with a yield time of zero whose command accepts input.
    pub(crate) fn yielding(&self, name: &str, cmd: &str) -> CommandOrder {
        let mut order = self.order(name, cmd);
        order.command.accepts_input = true;
        order.command.yield_time_ms = 0;
        order
    }

    /// Starts a command that keeps running.
    pub(crate) async fn begin(&self, host: &Commands, name: &str, cmd: &str) -> RunningCommand {
        expect_running(host, self.yielding(name, cmd)).await
    }

    pub(crate) async fn input(&self, host: &Commands, name: &str, number: u64, text: &str) {
        let input = input(name, number, text);
        let written = soon(host.input(&self.key(name), &input)).await.unwrap();
        assert_eq!(written, text.len() as u64);
    }

    pub(crate) async fn watch(&self, host: &Commands, name: &str) -> CommandOutput {
        ended_report(soon(host.watch(&self.key(name))).await)
    }

    pub(crate) async fn stop(&self, host: &Commands, name: &str) -> TaskReport {
        soon(host.stop(&self.key(name), 0)).await
    }

    pub(crate) async fn printed(
        &self,
        host: &Commands,
        name: &str,
        query: &TaskOutput,
    ) -> TaskStreams {
        let key = self.key(name);
        soon(host.printed(&key, query, 64 << 10)).await.unwrap()
    }

    /// Reads a command's stderr until it equals `text`.
    pub(crate) async fn wait_for_stderr(&self, host: &Commands, name: &str, text: &str) {
        let query = TaskOutput {
            stderr_after_byte: Some(0),
            ..everything()
        };
        let read = async {
            while self.printed(host, name, &query).await.stderr.unwrap().head != text {
                tokio::task::yield_now().await;
            }
        };
        soon(read).await;
    }

    /// The socket of a command's shim, and the path to which a test moves it to make the shim unreachable.
    pub(crate) fn sockets(&self, name: &str) -> (PathBuf, PathBuf) {
        let dir = self.claim_dir(name);
        (dir.join("shim.sock"), dir.join("away"))
    }

    /// Kills the shim of a command. The shim is the holder of the lock.
    pub(crate) fn kill_shim(&self, name: &str) {
        let lock = File::open(self.claim_dir(name).join("spec.lock")).unwrap();
        let request = Flock::from(FlockType::ReadLock);
        let holder = fcntl_getlk(&lock, &request)
            .unwrap()
            .and_then(|held| held.pid);
        let shim = pidfd_open(holder.unwrap(), PidfdFlags::empty()).unwrap();
        pidfd_send_signal(&shim, Signal::KILL).unwrap();
    }

    /// Follows a command's output from an offset until it contains `text`, and returns the offset after what was
    /// read.
    pub(crate) async fn wait_for_output(
        &self,
        host: &Commands,
        name: &str,
        from: u64,
        text: &str,
    ) -> u64 {
        let follow = async {
            let (mut offset, mut output_text) = (from, String::new());
            while !output_text.contains(text) {
                let printed = self.printed(host, name, &after(offset)).await.output;
                assert_eq!(printed.at, offset);
                offset = printed.next_offset;
                output_text += &printed.head;
                tokio::task::yield_now().await;
            }
            offset
        };
        soon(follow).await
    }
}

pub(crate) async fn run(
    host: &Commands,
    order: CommandOrder,
) -> Result<CommandRun, CommandFailure> {
    soon(host.run(order, CancellationToken::new())).await
}

/// Runs a command and expects its end.
pub(crate) async fn expect_end(host: &Commands, order: CommandOrder) -> CommandOutput {
    match run(host, order).await {
        Ok(CommandRun::Ended(output)) => output,
        other => panic!("it has not ended: {other:?}"),
    }
}

/// Runs a command and expects that it keeps running.
pub(crate) async fn expect_running(host: &Commands, order: CommandOrder) -> RunningCommand {
    match run(host, order).await {
        Ok(CommandRun::Running(running)) => running,
        other => panic!("it does not run: {other:?}"),
    }
}

pub(crate) fn ended_report(report: TaskReport) -> CommandOutput {
    match report {
        TaskReport::Ended(output) => output,
        TaskReport::Lost { reason, .. } | TaskReport::NotStarted { reason } => {
            panic!("it is lost: {reason}")
        }
    }
}

pub(crate) fn input(name: &str, number: u64, text: &str) -> TaskInput {
    TaskInput {
        task_id: TaskId::from_stored(format!("task_{name}")),
        number,
        input: text.to_owned(),
        close_input: false,
        by_operator: false,
    }
}

/// A query for both ends of both streams.
pub(crate) fn everything() -> TaskOutput {
    TaskOutput {
        task_id: TaskId::from_stored("task_any"),
        wait_ms: None,
        after_byte: None,
        stderr_after_byte: None,
        tail_lines: None,
        max_output_tokens: None,
    }
}

/// A query for the output after an offset.
pub(crate) fn after(offset: u64) -> TaskOutput {
    TaskOutput {
        after_byte: Some(offset),
        ..everything()
    }
}
