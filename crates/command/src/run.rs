//! Runs a command order: finds the command if it was started before, starts it if not, and waits for it.

use crate::environment::{AgentContext, StdioKind, compose};
use crate::paths::{CommandPaths, StartMark};
use crate::registry::Slot;
use crate::state::{DIRECTORY_LOST, State};
use crate::{Commands, report};
use holon_domain::command::{
    CommandEnd, CommandFailure, CommandOrder, CommandOutput, CommandRun, FoundRunning, LatePolicy,
    RunningCommand,
};
use holon_domain::limits::{COMMAND_OUTPUT_BYTES, COMMAND_STREAM_BYTES};
use holon_domain::workspace::WorkspaceEntry;
use holon_process::{
    Confinement, EndRecord, Error, Leftovers, NICENESS, ShimSpec, ShimmedCommand, VERSION,
    WindowSize,
};
use holon_workspace::{ClaimFolders, ExecutionRoot};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Size of a new terminal. Clients that look at it may change it later.
const WINDOW: WindowSize = WindowSize {
    rows: 24,
    columns: 80,
};

/// Extra time a shim gets to stop a command after its timeout: the grace period, the end of a large process tree, and
/// the drain of its output. After that the host stops the command.
const SHIM_LATE: Duration = Duration::from_secs(10);

impl Commands {
    /// Starts or finds the command, and waits for its end or for the order's yield time.
    pub(crate) async fn run_until_late(
        &self,
        order: &CommandOrder,
        cancel: &CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        let paths = self.paths(&order.key).await;
        let task = match self.begin(order, cancel).await? {
            State::Running(task) => task,
            State::Ended(ended) => return Ok(CommandRun::Ended(full_output(&ended).await)),
            State::StartFailed(failure) => return Err(failure),
            // The command was stopped before it could start.
            State::NeverStarted => return Err(CommandFailure::Cancelled),
            State::Unknown(cause) => {
                return Err(report::lost_failure(&paths, &cause.to_string()).await);
            }
        };
        let left = self.time_left(&task, order.command.yield_time_ms);
        let ended = match order.when_late {
            LatePolicy::Continue => tokio::time::timeout(left, task.ended()).await.ok(),
            LatePolicy::Stop => Some(self.wait_or_stop(&task, &paths, left).await),
        };
        match ended {
            Some(ended) => {
                self.registry.release(&order.key, &task).await;
                match ended {
                    Ok(ended) => Ok(CommandRun::Ended(full_output(&ended).await)),
                    Err(error) => Err(report::lost_failure(&paths, &error.to_string()).await),
                }
            }
            None => Ok(CommandRun::Running(
                self.running_command(order, &paths, &task).await?,
            )),
        }
    }

    /// Finds the order's command, or starts it if it was never started. Returns `NeverStarted` only for a command
    /// that was stopped before it could start.
    async fn begin(
        &self,
        order: &CommandOrder,
        cancel: &CancellationToken,
    ) -> Result<State, CommandFailure> {
        let entry = self.registry.entry(&order.key);
        let mut slot = entry.lock().await;
        if let Some(task) = &*slot {
            return Ok(State::Running(Arc::clone(task)));
        }
        let paths = self.paths(&order.key).await;
        match paths
            .mark()
            .await
            .map_err(|error| claim_dir_failure(&error))?
        {
            StartMark::Barred => return Ok(State::NeverStarted),
            StartMark::Empty if paths.kept_output().await.is_some() => {
                return Err(report::lost_failure(&paths, DIRECTORY_LOST).await);
            }
            StartMark::Empty => return self.start(order, &paths, cancel, &mut slot).await,
            StartMark::Begun => {}
        }
        match self.state(&order.key, &paths, &mut slot).await {
            State::NeverStarted => {
                paths
                    .set_aside()
                    .await
                    .map_err(|error| claim_dir_failure(&error))?;
                let paths = paths.for_new_start();
                self.start(order, &paths, cancel, &mut slot).await
            }
            begun @ (State::Running(_)
            | State::Ended(_)
            | State::StartFailed(_)
            | State::Unknown(_)) => Ok(begun),
        }
    }

    async fn start(
        &self,
        order: &CommandOrder,
        paths: &CommandPaths,
        cancel: &CancellationToken,
        slot: &mut Slot,
    ) -> Result<State, CommandFailure> {
        let made = paths.make_home(cancel).await;
        made.map_err(|error| CommandFailure::Spawn {
            reason: format!("the agent's home cannot be made: {error}"),
        })?;
        holon_fault::hit("command.housed");
        let spec = self.spec(order, paths).await?;
        paths
            .make()
            .await
            .map_err(|error| claim_dir_failure(&error))?;
        holon_fault::hit("command.placed");
        let failure = match self.shims.start(spec).await {
            Ok(task) => {
                holon_fault::hit("command.begun");
                let task = Arc::new(task);
                *slot = Some(Arc::clone(&task));
                return Ok(State::Running(task));
            }
            Err(failure) => failure,
        };
        // The shim may have died after the command started, or a slow shim may have started it after all.
        Ok(match self.state(&order.key, paths, slot).await {
            // A second shim only finds the claim of the first one, which knows the reason.
            State::StartFailed(recorded) => State::StartFailed(recorded),
            State::NeverStarted => State::StartFailed(failure),
            begun @ (State::Running(_) | State::Ended(_) | State::Unknown(_)) => begun,
        })
    }

    async fn spec(
        &self,
        order: &CommandOrder,
        paths: &CommandPaths,
    ) -> Result<ShimSpec, CommandFailure> {
        let (context, command) = (&order.context, &order.command);
        let workdir = command.workdir.as_deref();
        let cwd = resolve_off_thread(&self.claims, &context.workspace, workdir).await?;
        let stdio = if command.tty {
            StdioKind::Terminal
        } else {
            StdioKind::Pipes
        };
        let hidden = self.hidden_env().clone();
        let names: Vec<String> = hidden.iter().cloned().collect();
        let vars = if command.login {
            self.login.inherited(&names).await
        } else {
            self.login.vars(&names).await
        };
        let vars = vars.map_err(|reason| CommandFailure::Spawn {
            reason: format!("its environment could not be made: {reason}"),
        })?;
        let context = AgentContext {
            agent_id: context.agent_id.as_str(),
            agent_home: &context.agent_home,
            cwd: &cwd.to_string_lossy(),
            stdio,
        };
        Ok(ShimSpec {
            version: VERSION,
            task_id: order.key.name.clone(),
            nonce: order.key.call.to_string(),
            cmd: command.cmd.clone(),
            shell: command.shell.clone().or_else(|| self.shell.clone()),
            login: command.login,
            terminal: command.tty.then_some(WINDOW),
            env: compose(&vars, &hidden, &context),
            cwd,
            accepts_input: command.accepts_input,
            output_path: paths.output(),
            stderr_path: (!command.tty).then(|| paths.errors()),
            combined_path: (!command.tty).then(|| paths.combined()),
            output_cap_bytes: COMMAND_OUTPUT_BYTES,
            claim_dir: paths.claim_dir(),
            timeout_ms: match order.when_late {
                LatePolicy::Continue => None,
                LatePolicy::Stop => Some(command.yield_time_ms),
            },
            leftovers: Leftovers::Kill,
            niceness: NICENESS,
            confinement: Confinement::None,
        })
    }

    /// Time a call still waits. It is counted from the command's start, so a restart of the host does not extend it.
    fn time_left(&self, task: &ShimmedCommand, yield_time_ms: u64) -> Duration {
        let until = task.identity().started_at.plus_millis(yield_time_ms);
        let left = until.millis_since((self.now)());
        // A clock that was set back must not extend the wait.
        Duration::from_millis(left.min(yield_time_ms))
    }

    /// Waits for a command that has a timeout. Its shim enforces the timeout, also while no host runs. If the shim fails
    /// to do so, this function stops the command.
    async fn wait_or_stop(
        &self,
        task: &ShimmedCommand,
        paths: &CommandPaths,
        left: Duration,
    ) -> Result<EndRecord, Error> {
        let left = left.saturating_add(SHIM_LATE);
        if let Ok(ended) = tokio::time::timeout(left, task.ended()).await {
            return ended;
        }
        match task.stop(Duration::ZERO).await {
            Ok(ended) if ended.stopped => Ok(EndRecord {
                end: CommandEnd::TimedOut,
                ..ended
            }),
            // The shim had to be killed with its command before it could record the end, whose cause is known.
            Err(Error::Lost) => self.timed_out_record(task, paths).await.ok_or(Error::Lost),
            other => other,
        }
    }

    /// Builds the record of a command that the host killed together with its shim. `None` if its output is not kept.
    async fn timed_out_record(
        &self,
        task: &ShimmedCommand,
        paths: &CommandPaths,
    ) -> Option<EndRecord> {
        let (started_at, ended_at) = (task.identity().started_at, (self.now)());
        Some(EndRecord {
            task_id: task.identity().task_id.clone(),
            end: CommandEnd::TimedOut,
            stopped: true,
            started_at,
            ended_at,
            duration_ms: ended_at.millis_since(started_at),
            output: paths.kept_output().await?,
            leftovers: 0,
            survivors: 0,
        })
    }

    async fn running_command(
        &self,
        order: &CommandOrder,
        paths: &CommandPaths,
        task: &ShimmedCommand,
    ) -> Result<RunningCommand, CommandFailure> {
        let workspace = &order.context.workspace;
        let requested = order.command.workdir.as_deref();
        let workdir = match resolve_off_thread(&self.claims, workspace, requested).await {
            Ok(found) => found,
            // The directory was removed meanwhile; report the path it had.
            Err(_) => Path::new(&workspace.cwd).join(requested.unwrap_or_default()),
        };
        let (stdout, stderr) = match report::output_so_far(task, COMMAND_STREAM_BYTES).await {
            Ok(streams) => streams,
            // The shim holds its lock but does not answer, for example because its disk is full. The command keeps
            // running, and its output is read later.
            Err(Error::Unreachable { .. }) => report::unread_streams(paths, order.command.tty),
            Err(error) => return Err(report::lost_failure(paths, &error.to_string()).await),
        };
        Ok(RunningCommand {
            workdir: workdir.to_string_lossy().into_owned(),
            started_at: task.identity().started_at,
            found: FoundRunning::AfterWait,
            stdout,
            stderr,
        })
    }
}

async fn full_output(ended: &EndRecord) -> CommandOutput {
    report::output(ended, COMMAND_STREAM_BYTES).await
}

async fn resolve_off_thread(
    claims: &ClaimFolders,
    workspace: &WorkspaceEntry,
    workdir: Option<&str>,
) -> Result<PathBuf, CommandFailure> {
    let (claims, workspace) = (claims.clone(), workspace.clone());
    let workdir = workdir.map(str::to_owned);
    let work = move || resolve(&claims, &workspace, workdir.as_deref());
    match tokio::task::spawn_blocking(work).await {
        Ok(resolved) => resolved,
        Err(stopped) => Err(CommandFailure::Spawn {
            reason: format!("the look at its directory ended early: {stopped}"),
        }),
    }
}

fn resolve(
    claims: &ClaimFolders,
    workspace: &WorkspaceEntry,
    workdir: Option<&str>,
) -> Result<PathBuf, CommandFailure> {
    if let Some(target) = claims.linked_target(Path::new(&workspace.execution_root)) {
        return Err(CommandFailure::OutsideRoot {
            workdir: target.display().to_string(),
            execution_root: workspace.execution_root.clone(),
        });
    }
    let root = ExecutionRoot::open(Path::new(&workspace.execution_root)).map_err(|error| {
        CommandFailure::Spawn {
            reason: error.to_string(),
        }
    })?;
    root.resolve_dir(Path::new(&workspace.cwd), workdir)
}

fn claim_dir_failure(error: &io::Error) -> CommandFailure {
    CommandFailure::Spawn {
        reason: format!(
            "its paths on disk cannot be used: {error}; check permissions and free space"
        ),
    }
}
