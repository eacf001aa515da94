//! Commands of tool calls: starts or finds them, waits for them and reports their results.
//!
//! A shutdown of the host ends no command. The shim keeps it running, and the next boot finds it.

use super::Shell;
use crate::ports::{CommandContext, CommandKey, CommandOrder, CommandRun, LatePolicy};
use crate::tool_outcome::ToolRunOutcome;
use crate::tool_run::ToolRun;
use holon_domain::AgentId;
use holon_domain::command::CommandFailure;
use holon_domain::intent::{BatchItem, DuplicatePolicy, ExecCommand, ExecCommandBatch};
use holon_domain::task::{CommandTaskSpec, TaskRecord, TaskStatus, cmd_digest};
use holon_tools::exec_command;
use holon_tools::exec_command_batch::ItemOutcome;
use tokio_util::sync::CancellationToken;

impl Shell {
    pub(super) async fn exec_command(
        &self,
        run: &ToolRun,
        context: CommandContext,
        mut command: ExecCommand,
        cancel: CancellationToken,
    ) -> Option<ToolRunOutcome> {
        command.max_output_tokens = Some(self.conduct.tool_output.allow(command.max_output_tokens));
        let key = CommandKey::of_call(&context.agent_home, &run.call.id);
        if let Some(task) = self
            .find_running_task(&run.agent_id, &key, &command, &context)
            .await
        {
            let now = self.ports.clock.now();
            return Some(ToolRunOutcome::result(exec_command::already_running(
                &command, &task, now,
            )));
        }
        let order = CommandOrder {
            key: key.clone(),
            context,
            command: self.expand_command(&run.agent_id, &command).await,
            when_late: LatePolicy::Continue,
        };
        let answer = self.run_command(order, cancel).await?;
        Some(ToolRunOutcome::of_command(run, &command, answer))
    }

    pub(super) async fn exec_batch(
        &self,
        run: &ToolRun,
        context: CommandContext,
        mut batch: ExecCommandBatch,
        cancel: CancellationToken,
    ) -> Option<ToolRunOutcome> {
        let key = CommandKey::of_call(&context.agent_home, &run.call.id);
        let mut outcomes: Vec<ItemOutcome> = Vec::with_capacity(batch.items.len());
        for (index, item) in batch.items.iter_mut().enumerate() {
            if let BatchItem::Command(command) = item {
                let allowed = self.conduct.tool_output.allow(command.max_output_tokens);
                command.max_output_tokens = Some(allowed);
            }
            if batch.stop_on_error && outcomes.iter().any(ItemOutcome::failed) {
                outcomes.push(ItemOutcome::Skipped);
                continue;
            }
            let item = match item {
                BatchItem::Command(command) => command,
                BatchItem::Rejected(rejected) => {
                    outcomes.push(ItemOutcome::Rejected(rejected.error.clone()));
                    continue;
                }
            };
            let order = CommandOrder {
                key: key.item(index + 1),
                context: context.clone(),
                command: self.expand_command(&run.agent_id, item).await,
                when_late: LatePolicy::Stop,
            };
            outcomes.push(match self.run_command(order, cancel.clone()).await? {
                Ok(CommandRun::Ended(output)) => ItemOutcome::Ran(output),
                // A late command of a batch is stopped, so it never continues as a task.
                Ok(CommandRun::Running(_)) => return None,
                Err(failure) => ItemOutcome::NotRun(failure),
            });
        }
        Some(ToolRunOutcome::of_batch(run, &batch, &outcomes))
    }

    /// Runs a command while its call waits for it. `None` if the call was cancelled or the host goes down.
    pub(super) async fn run_command(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Option<Result<CommandRun, CommandFailure>> {
        if cancel.is_cancelled() || self.draining.is_cancelled() {
            return None;
        }
        let run = tokio::select! {
            run = self.ports.command.run(order, cancel) => run,
            () = self.draining.cancelled() => return None,
        };
        match run {
            Err(CommandFailure::Cancelled) => None,
            other => Some(other),
        }
    }

    /// Finds a task that runs the same command and is proven alive, unless the call asks for a second one or has begun
    /// its own.
    async fn find_running_task(
        &self,
        agent_id: &AgentId,
        key: &CommandKey,
        command: &ExecCommand,
        context: &CommandContext,
    ) -> Option<TaskRecord> {
        match command.duplicate_policy {
            DuplicatePolicy::StartNew => return None,
            DuplicatePolicy::ReuseRunning => {}
        }
        let digest = cmd_digest(command, &context.workspace);
        let same = |task: &TaskRecord| {
            let is_same = |spec: &CommandTaskSpec| spec.cmd_digest == digest;
            task.status == TaskStatus::Running && task.command().is_some_and(is_same)
        };
        let tasks = self.active_tasks(agent_id).await;
        let same: Vec<TaskRecord> = tasks.into_iter().filter(same).collect();
        if same.is_empty() || self.ports.command.was_begun(key).await {
            return None;
        }
        for task in same {
            let key = task_key(&context.agent_home, &task)?;
            if self.ports.command.is_alive(&key).await {
                return Some(task);
            }
        }
        None
    }
}

/// Key by which a task's command is found.
pub(crate) fn task_key(agent_home: &str, task: &TaskRecord) -> Option<CommandKey> {
    let spec = task.command()?;
    Some(CommandKey::of_call(agent_home, &spec.call_id))
}
