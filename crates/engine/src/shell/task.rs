//! Tasks: starts, watches and stops them as effects, and reads from or writes to them for calls.

use super::command::task_key;
use super::tool::unreadable_result;
use super::{AFTER_A_FAULT_MS, Shell};
use crate::error::Error;
use crate::news::wait_for_news;
use crate::ports::{CommandContext, CommandKey, CommandOrder, CommandRun, LatePolicy};
use crate::tool_outcome::{ToolRunOutcome, check_takes_input, commands_of_ended_task};
use crate::tool_run::ToolRun;
use holon_core::{Input, Reply, Stamp};
use holon_domain::command::{CapturedStream, CommandFailure, CommandOutput, RunningCommand};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::task::{StartedCommand, TaskRecord, TaskReport};
use holon_domain::{AgentId, CallId, TaskId, limits};
use holon_tools::{task_input, task_output};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

impl Shell {
    /// Starts the command of a queued task, or finds the one that was started before. The next effect watches it.
    pub(super) async fn start_task(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
        stamp: Stamp,
        cancel: CancellationToken,
    ) {
        let Some((task, key)) = self.find_followed(agent_id, task_id).await else {
            return;
        };
        let Some(order) = self.start_order(&task, &key).await else {
            return;
        };
        let report = match self.run_command(order, cancel).await {
            // It was stopped before it could start, or the host goes down.
            None => return,
            Some(Ok(CommandRun::Running(running))) => {
                holon_fault::hit("task.started");
                let started = Input::TaskStarted {
                    stamp,
                    task_id: task_id.clone(),
                    started: Box::new(started_command(running)),
                };
                self.submit_until_committed(agent_id, started).await;
                return;
            }
            Some(Ok(CommandRun::Ended(output))) => TaskReport::Ended(output),
            Some(Err(failure)) => report_of_failure(failure),
        };
        self.end_task(&task, &key, stamp, report).await;
    }

    /// Builds the order that starts a queued command; `None` if the task is not to be started.
    async fn start_order(&self, task: &TaskRecord, key: &CommandKey) -> Option<CommandOrder> {
        let spec = task.command()?;
        let workspace = spec.starts_in.as_deref()?.clone();
        Some(CommandOrder {
            key: key.clone(),
            context: CommandContext {
                agent_id: task.agent_id.clone(),
                agent_home: key.agent_home.clone(),
                workspace,
            },
            command: self.expand_command(&task.agent_id, &spec.order()).await,
            when_late: LatePolicy::Continue,
        })
    }

    /// Watches a task's command until it ends, unless another effect follows it from now on or the host goes down.
    pub(super) async fn watch_task(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
        stamp: Stamp,
        cancel: CancellationToken,
    ) {
        let Some((task, key)) = self.find_followed(agent_id, task_id).await else {
            return;
        };
        let report = tokio::select! {
            report = self.ports.command.watch(&key) => report,
            () = cancel.cancelled() => return,
            () = self.draining.cancelled() => return,
        };
        self.end_task(&task, &key, stamp, report).await;
    }

    /// Stops a task's command and all processes it started.
    pub(super) async fn stop_task(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
        force: bool,
        stamp: Stamp,
        cancel: CancellationToken,
    ) {
        let Some((task, key)) = self.find_followed(agent_id, task_id).await else {
            return;
        };
        let grace_ms = if force { 0 } else { limits::TASK_STOP_GRACE_MS };
        let report = tokio::select! {
            report = self.stop_commands(&task, &key, grace_ms) => report,
            () = cancel.cancelled() => return,
            () = self.draining.cancelled() => return,
        };
        self.end_task(&task, &key, stamp, report).await;
    }

    /// Commits a task's end, then forgets its command.
    async fn end_task(
        &self,
        task: &TaskRecord,
        key: &CommandKey,
        stamp: Stamp,
        mut report: TaskReport,
    ) {
        self.conceal(&task.agent_id, &mut report).await;
        let ended = Input::TaskEnded {
            stamp,
            task_id: task.id.clone(),
            report: Box::new(report),
        };
        holon_fault::hit("task.ended");
        if self.submit_until_committed(&task.agent_id, ended).await != Some(Reply::Done) {
            return;
        }
        holon_fault::hit("task.recorded");
        let Some(spec) = task.command() else {
            return;
        };
        self.forget_commands(commands_of_ended_task(key, spec))
            .await;
    }

    /// Stops the commands of a call: one, or the one of a batch that was running.
    async fn stop_commands(
        &self,
        task: &TaskRecord,
        key: &CommandKey,
        grace_ms: u64,
    ) -> TaskReport {
        let mut report = None;
        let mut cut_short = false;
        let keys = task.command().map(|spec| key.all_of(spec));
        for item in keys.unwrap_or_default() {
            let begun = self.ports.command.was_begun(&item).await;
            let stopped = self.ports.command.stop(&item, grace_ms).await;
            cut_short |= !begun;
            if begun || report.is_none() {
                report = Some(stopped);
            }
        }
        let report = report.unwrap_or_else(|| TaskReport::Lost {
            reason: "nothing of it was begun".to_owned(),
            stdout: Default::default(),
            stderr: Default::default(),
        });
        match report {
            // Some commands of the batch had not begun, so the stop ended the call, no matter how its last command
            // ended.
            TaskReport::Ended(output) if cut_short => TaskReport::Ended(CommandOutput {
                stopped: true,
                ..output
            }),
            TaskReport::Ended(_) | TaskReport::NotStarted { .. } | TaskReport::Lost { .. } => {
                report
            }
        }
    }

    /// Finds an unfinished task and the key of its command. Retries a read that fails.
    async fn find_followed(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
    ) -> Option<(TaskRecord, CommandKey)> {
        let home = self.home_of(agent_id).await?;
        let task = loop {
            match self.task(agent_id, task_id).await {
                Ok(found) => break found?,
                Err(Error::AgentAside { .. }) => return None,
                Err(_) if self.halted.is_cancelled() => return None,
                Err(error) => {
                    tracing::warn!(%agent_id, %task_id, %error, "a task could not be read yet");
                    self.pause(AFTER_A_FAULT_MS).await;
                }
            }
        };
        if task.status.is_terminal() {
            return None;
        }
        let key = task_key(&home, &task)?;
        Some((task, key))
    }

    pub(super) async fn task(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
    ) -> Result<Option<TaskRecord>, Error> {
        let read = self.store.task(agent_id, task_id);
        Ok(self.read_or_put_aside(agent_id, read).await?.task)
    }

    /// Lists an agent's unfinished tasks; empty if they cannot be read.
    pub(super) async fn active_tasks(&self, agent_id: &AgentId) -> Vec<TaskRecord> {
        let read = self.store.active_tasks(agent_id);
        self.read_or_put_aside(agent_id, read)
            .await
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "the tasks of an agent could not be read");
                Vec::new()
            })
    }

    /// Stops commands in an agent's home that no row knows. No effect would ever follow them.
    pub(super) async fn sweep(
        &self,
        home: &str,
        call: Option<&ToolRun>,
        tasks: &[TaskRecord],
        stopping: &[CallId],
    ) {
        let calls = call.map(|run| &run.call.id).into_iter().chain(stopping);
        let calls = calls.map(|call| CommandKey::of_call(home, call));
        let tasks = tasks.iter().filter_map(|task| task_key(home, task));
        let known: Vec<String> = calls
            .chain(tasks)
            .flat_map(|key| {
                let items = (1..=limits::BATCH_COMMANDS).map(|number| key.item(number).name);
                items.chain([key.name.clone()]).collect::<Vec<_>>()
            })
            .collect();
        self.ports.command.sweep(home, &known).await;
    }

    pub(super) async fn task_input(
        &self,
        run: &ToolRun,
        input: &TaskInput,
    ) -> Option<ToolRunOutcome> {
        let task = match self.task(&run.agent_id, &input.task_id).await {
            Ok(Some(task)) => task,
            Ok(None) => return Some(unknown_task(run, &input.task_id)),
            Err(_) => return Some(ToolRunOutcome::result(unreadable_result(&run.call))),
        };
        let refused =
            |reason: &str| Some(ToolRunOutcome::result(task_input::refused(&task, reason)));
        if let Err(reason) = check_takes_input(&task) {
            return refused(reason);
        }
        let key = task_key(&run.agent_home, &task)?;
        let given = self.expand_input(&run.agent_id, input).await;
        match self.ports.command.input(&key, &given).await {
            Ok(bytes) => Some(ToolRunOutcome::result(task_input::accepted(
                &task, input, bytes,
            ))),
            Err(refusal) if refusal.taken > 0 => {
                let told = task_input::not_closed(&task, refusal.taken, &refusal.reason);
                Some(ToolRunOutcome::result(told))
            }
            Err(refusal) => refused(&refusal.reason),
        }
    }

    pub(super) async fn task_output(
        &self,
        run: &ToolRun,
        mut query: TaskOutput,
        cancel: CancellationToken,
    ) -> Option<ToolRunOutcome> {
        let found = self.task(&run.agent_id, &query.task_id).await;
        let (mut task, mut cut_short) = match found {
            Ok(Some(task)) => (task, false),
            Ok(None) => return Some(unknown_task(run, &query.task_id)),
            Err(_) => return Some(ToolRunOutcome::result(unreadable_result(&run.call))),
        };
        if let Some(wait_ms) = query.wait_ms
            && !task.status.is_terminal()
        {
            let waiting = self.wait_for_end(&run.agent_id, &task, wait_ms);
            (task, cut_short) = tokio::select! {
                waited = waiting => waited,
                () = cancel.cancelled() => return None,
                () = self.draining.cancelled() => return None,
            };
        }
        if task.command().is_none() {
            query.max_output_tokens = Some(self.conduct.tool_output.allow(query.max_output_tokens));
            let tell = if cut_short {
                task_output::cut_short
            } else {
                task_output::envelope
            };
            let envelope = tell(
                &task,
                &query,
                Err("it is no command"),
                self.ports.clock.now(),
            );
            return Some(ToolRunOutcome::result(envelope));
        }
        let key = task_key(&run.agent_home, &task)?;
        query.max_output_tokens = Some(self.conduct.tool_output.allow(query.max_output_tokens));
        let max_bytes = task_output::shown_bytes(&query);
        let printed = self.ports.command.printed(&key, &query, max_bytes).await;
        let printed = printed.as_ref().map_err(String::as_str);
        let tell = if cut_short {
            task_output::cut_short
        } else {
            task_output::envelope
        };
        let envelope = tell(&task, &query, printed, self.ports.clock.now());
        Some(ToolRunOutcome::result(envelope))
    }

    /// Waits until a task is over, its time is up, or a message for the turn arrives. Returns the task's row, and true
    /// if a message arrived.
    async fn wait_for_end(
        &self,
        agent_id: &AgentId,
        task: &TaskRecord,
        wait_ms: u64,
    ) -> (TaskRecord, bool) {
        let mut news = self.store.subscribe_to(agent_id);
        let until = self.ports.clock.elapsed() + Duration::from_millis(wait_ms);
        let (mut row, mut waits) = (task.clone(), true);
        let late = self.ports.clock.sleep_until(until);
        tokio::pin!(late);
        loop {
            let mut interrupted = false;
            // One read for both: the task's own end is such a message, and without the new row it would pass for
            // another one.
            if let Ok(look) = self.store.task(agent_id, &task.id).await {
                row = look.task.unwrap_or(row);
                interrupted = look.interrupted;
            }
            if row.status.is_terminal() || interrupted || !waits {
                return (row, interrupted);
            }
            // The row is read once more after the wait, so that a committed end is never reported as running.
            waits = tokio::select! {
                () = &mut late => false,
                heard = wait_for_news(&mut news) => heard.is_ok(),
            };
        }
    }
}

fn started_command(running: RunningCommand) -> StartedCommand {
    StartedCommand {
        workdir: running.workdir,
        started_at: running.started_at,
        output_path: running.stdout.path,
        stderr_path: running.stderr.path,
    }
}

/// Reports on a queued command that does not run.
fn report_of_failure(failure: CommandFailure) -> TaskReport {
    match failure {
        CommandFailure::Lost {
            reason,
            output_tail,
        } => TaskReport::Lost {
            reason,
            stdout: CapturedStream {
                total_bytes: output_tail.len() as u64,
                head: output_tail,
                ..CapturedStream::default()
            },
            stderr: CapturedStream::default(),
        },
        CommandFailure::OutsideRoot { .. }
        | CommandFailure::MissingWorkdir { .. }
        | CommandFailure::WorkdirNoDirectory { .. }
        | CommandFailure::Spawn { .. }
        | CommandFailure::Cancelled => TaskReport::NotStarted {
            reason: failure.to_string(),
        },
    }
}

fn unknown_task(run: &ToolRun, task_id: &TaskId) -> ToolRunOutcome {
    ToolRunOutcome::result(holon_tools::task::unknown(&run.call.name, task_id))
}
