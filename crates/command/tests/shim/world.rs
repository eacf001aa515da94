//! An agent's home, orders for commands in it, and hosts that come and go.

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
use holon_workspace::Claims;
use rustix::process::{
    Flock, FlockType, PidfdFlags, Signal, fcntl_getlk, pidfd_open, pidfd_send_signal,
};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// Longer than any test may take.
pub(crate) const NEVER_MS: u64 = 3_600_000;
/// Long enough for any machine; a test that needs it has failed.
const FOREVER: Duration = Duration::from_secs(60);
/// A variable that cargo sets for every test, in the part of one that commands must not see.
pub(crate) const HIDDEN: &str = "CARGO_PKG_NAME";

/// A host as it comes up, with this home.
fn host(home: &Path) -> Commands {
    let image = Image::open().unwrap();
    let (shell, hidden) = (OsStr::new("/bin/sh"), vec![HIDDEN.to_owned()]);
    let claims = Claims::of_host(home);
    Commands::new(image, Some(shell), hidden, claims, wall_clock)
}

/// Shims stamp their commands by the machine's clock, so these tests read the same one.
#[allow(
    clippy::disallowed_methods,
    reason = "stands in for the daemon's clock adapter"
)]
pub(crate) fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

/// Whether a command is proven to run.
pub(crate) async fn is_alive(host: &Commands, key: &CommandKey) -> bool {
    matches!(host.probe(key).await, CommandProbe::Running(_))
}

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(FOREVER, what).await;
    done.expect("it takes no more than a minute")
}

/// The home of a host and of one agent. Every command that was begun for it ends with it, however the test went.
pub(crate) struct World {
    _dir: tempfile::TempDir,
    /// The home of the host.
    host: PathBuf,
    home: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let (dir, home) = (self.host.clone(), self.home().to_owned());
        // Away from the runtime of the test, which cannot be waited for here and whose clock may stand still.
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

    /// One whose host has its home so deep below a temporary directory.
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

    /// A file that no command which empties its agent's home removes.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.host.join(name)
    }

    /// With a host that comes up in it.
    pub(crate) fn with_host() -> (Self, Commands) {
        let world = Self::new();
        let host = world.host();
        (world, host)
    }

    /// A host as it comes up.
    pub(crate) fn host(&self) -> Commands {
        host(&self.host)
    }

    /// The agent's home.
    pub(crate) fn path(&self) -> &Path {
        &self.home
    }

    fn home(&self) -> &str {
        self.home.to_str().unwrap()
    }

    /// Where the directories of the agent's commands stand.
    pub(crate) fn tasks(&self) -> PathBuf {
        self.host.join("state/tasks/scout")
    }

    /// Where an earlier build kept them.
    pub(crate) fn former_tasks(&self) -> PathBuf {
        self.home.join(".holon/state/tasks")
    }

    pub(crate) fn key(&self, name: &str) -> CommandKey {
        CommandKey::of_call(self.home(), &CallId::from_stored(format!("call_{name}")))
    }

    pub(crate) fn state_dir(&self, name: &str) -> PathBuf {
        self.tasks().join(self.key(name).name)
    }

    pub(crate) fn output_file(&self, name: &str) -> PathBuf {
        let name = format!("{}.log", self.key(name).name);
        self.path().join("task-output").join(name)
    }

    /// A command that is waited for until it ends.
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

    /// A command that is late at once and can be written to.
    pub(crate) fn late(&self, name: &str, cmd: &str) -> CommandOrder {
        let mut order = self.order(name, cmd);
        order.command.accepts_input = true;
        order.command.yield_time_ms = 0;
        order
    }

    /// Begins a command that goes on.
    pub(crate) async fn begin(&self, host: &Commands, name: &str, cmd: &str) -> RunningCommand {
        goes_on(host, self.late(name, cmd)).await
    }

    pub(crate) async fn input(&self, host: &Commands, name: &str, (number, text): (u64, &str)) {
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

    /// Reads a command's complaints until they are `text`.
    pub(crate) async fn until_complained(&self, host: &Commands, name: &str, text: &str) {
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

    /// The socket of a command's shim, and where a test puts it so that nobody reaches the shim.
    pub(crate) fn sockets(&self, name: &str) -> (PathBuf, PathBuf) {
        let dir = self.state_dir(name);
        (dir.join("shim.sock"), dir.join("away"))
    }

    /// Kills the shim of a command, which is found by its lock.
    pub(crate) fn kill_shim(&self, name: &str) {
        let lock = File::open(self.state_dir(name).join("spec.lock")).unwrap();
        let wanted = Flock::from(FlockType::ReadLock);
        let holder = fcntl_getlk(&lock, &wanted)
            .unwrap()
            .and_then(|held| held.pid);
        let shim = pidfd_open(holder.unwrap(), PidfdFlags::empty()).unwrap();
        pidfd_send_signal(&shim, Signal::KILL).unwrap();
    }

    /// Follows a command's output until it holds `text`, and returns the offset behind what was read.
    pub(crate) async fn until_said(
        &self,
        host: &Commands,
        name: &str,
        (from, text): (u64, &str),
    ) -> u64 {
        let follow = async {
            let (mut offset, mut said) = (from, String::new());
            while !said.contains(text) {
                let printed = self.printed(host, name, &after(offset)).await.output;
                assert_eq!(printed.at, offset);
                offset = printed.next_offset;
                said += &printed.head;
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

/// Runs a command that ends.
pub(crate) async fn ends(host: &Commands, order: CommandOrder) -> CommandOutput {
    match run(host, order).await {
        Ok(CommandRun::Ended(output)) => output,
        other => panic!("it has not ended: {other:?}"),
    }
}

/// Runs a command that does not.
pub(crate) async fn goes_on(host: &Commands, order: CommandOrder) -> RunningCommand {
    match run(host, order).await {
        Ok(CommandRun::Running(running)) => running,
        other => panic!("it does not run: {other:?}"),
    }
}

pub(crate) fn ended_report(report: TaskReport) -> CommandOutput {
    match report {
        TaskReport::Ended(output) => output,
        TaskReport::Lost { reason, .. } => panic!("it is lost: {reason}"),
    }
}

pub(crate) fn input(name: &str, number: u64, text: &str) -> TaskInput {
    TaskInput {
        task_id: TaskId::from_stored(format!("task_{name}")),
        number,
        input: text.to_owned(),
        close_input: false,
    }
}

/// Everything.
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

/// What is new since an offset.
pub(crate) fn after(offset: u64) -> TaskOutput {
    TaskOutput {
        after_byte: Some(offset),
        ..everything()
    }
}
