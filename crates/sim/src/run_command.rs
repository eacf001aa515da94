//! Runs the commands of calls: starts or finds them, waits for them, or promotes them to tasks; also batches.

use crate::command::{Command, Fate, State};
use crate::plan::Fault;
use crate::store::now;
use crate::tool_run::CallStep;
use crate::violation::Verdict;
use crate::world::World;
use holon_domain::AgentId;
use holon_domain::command::{
    CapturedStream, CommandEnd, CommandFailure, FoundRunning, RunningCommand,
};
use holon_domain::intent::{BatchItem, DuplicatePolicy, ExecCommand, ExecCommandBatch};
use holon_domain::task::{TaskRecord, TaskStatus, cmd_digest};
use holon_engine::ports::{CommandKey, CommandRun};
use holon_engine::tool_outcome::ToolRunOutcome;
use holon_engine::tool_run::ToolRun;
use holon_store::Store;
use holon_tools::exec_command;
use holon_tools::exec_command_batch::ItemOutcome;

impl World {
    /// Starts or finds the command of a call, unless a task already runs an equal one that can be reused.
    pub(crate) fn begin_command(
        &mut self,
        agent_id: &AgentId,
        run: &ToolRun,
        command: &ExecCommand,
    ) -> Verdict<CallStep> {
        if command.duplicate_policy == DuplicatePolicy::ReuseRunning
            && self.tool_world.commands.get(&run.key()).is_none()
            && let Some(task) = self.running_already(agent_id, run, command)?
        {
            self.model.coverage.count("command:reused");
            let envelope = exec_command::already_running(command, &task, self.now);
            return Ok(CallStep::result(envelope));
        }
        self.begin_or_find(&run.key(), command, None)?;
        Ok(CallStep::Waits(Vec::new()))
    }

    fn running_already(
        &mut self,
        agent_id: &AgentId,
        run: &ToolRun,
        command: &ExecCommand,
    ) -> Verdict<Option<TaskRecord>> {
        let read = now(self.store.active_tasks(agent_id))?;
        let tasks = self.check_readable(agent_id, read)?.unwrap_or_default();
        let digest = cmd_digest(command, &run.workspace);
        let is_same = |task: &TaskRecord| {
            let spec = task.command().filter(|spec| spec.cmd_digest == digest);
            let key = spec.map(|spec| CommandKey::of_call(&run.agent_home, &spec.call_id));
            let alive = key.and_then(|key| self.tool_world.commands.get(&key).map(Command::runs));
            task.status == TaskStatus::Running && alive == Some(true)
        };
        Ok(tasks.into_iter().find(is_same))
    }

    pub(crate) fn begin_or_find(
        &mut self,
        key: &CommandKey,
        command: &ExecCommand,
        limit: Option<u64>,
    ) -> Verdict<()> {
        let fate = self.draw(command, limit);
        if self.tool_world.commands.get(key).is_some() {
            self.model.coverage.count("command:found_again");
        }
        self.trace
            .note(|| format!("  begins or finds {}", key.name));
        self.tool_world.commands.begin(key, fate)
    }

    fn draw(&mut self, command: &ExecCommand, limit: Option<u64>) -> Fate {
        let fails = self.plan.has(Fault::Tool) && self.dice.percent(25);
        let long = self.plan.has(Fault::Long) && self.dice.percent(75);
        let runs_for = match self.dice.below(6) {
            _ if !long => Some(self.dice.below(500)),
            0 => Some(self.dice.below(5_000)),
            1 => Some(self.dice.below(60_000)),
            2 => Some(self.dice.below(3_600_000)),
            _ => None,
        };
        let end = match self.dice.below(3) {
            0 if fails => CommandEnd::Signalled { signal: 11 },
            _ => CommandEnd::Exited {
                status: i32::from(fails),
            },
        };
        Fate {
            runs_for,
            end,
            stubborn: self.dice.percent(40),
            starts: !(fails && self.dice.percent(30)),
            limit,
            takes_input: command.accepts_input,
        }
    }

    pub(crate) fn wait_for_command(&mut self, run: &ToolRun, command: &ExecCommand) -> CallStep {
        let clock = self.tool_world.commands.clock();
        let Some(found) = self.tool_world.commands.get(&run.key()) else {
            return CallStep::Nothing;
        };
        let answer = match found.state {
            State::Barred => return CallStep::Nothing,
            State::Over { .. } => match found.output() {
                Some(output) => Ok(CommandRun::Ended(output)),
                None => return CallStep::Nothing,
            },
            State::NotStarted | State::Lost => Err(failure(found)),
            State::Runs => {
                let late = found.began() + command.yield_time_ms;
                if clock < late {
                    let until = found.planned_end().map_or(late, |(at, _)| at.min(late));
                    self.wait(Some(until));
                    return CallStep::Waits(Vec::new());
                }
                Ok(CommandRun::Running(RunningCommand {
                    workdir: run.workspace.cwd.clone(),
                    started_at: self.now,
                    found: FoundRunning::AfterWait,
                    stdout: found.captured(clock),
                    stderr: CapturedStream::default(),
                }))
            }
        };
        CallStep::Done(ToolRunOutcome::of_command(run, command, answer))
    }

    /// Performs one step of a batch of commands.
    pub(crate) fn run_next(
        &mut self,
        run: &ToolRun,
        batch: &ExecCommandBatch,
        mut done: Vec<ItemOutcome>,
    ) -> Verdict<CallStep> {
        let Some(item) = batch.items.get(done.len()) else {
            return Ok(CallStep::Done(ToolRunOutcome::of_batch(run, batch, &done)));
        };
        if batch.stop_on_error && done.iter().any(ItemOutcome::failed) {
            done.push(ItemOutcome::Skipped);
            return Ok(CallStep::Waits(done));
        }
        let item = match item {
            BatchItem::Command(command) => command,
            BatchItem::Rejected(rejected) => {
                done.push(ItemOutcome::Rejected(rejected.error.clone()));
                return Ok(CallStep::Waits(done));
            }
        };
        let key = run.key().item(done.len() + 1);
        let Some(found) = self.tool_world.commands.get(&key) else {
            self.begin_or_find(&key, item, Some(item.yield_time_ms))?;
            return Ok(CallStep::Waits(done));
        };
        match found.state {
            State::Barred => return Ok(CallStep::Nothing),
            State::Over { .. } => done.extend(found.output().map(ItemOutcome::Ran)),
            State::NotStarted | State::Lost => done.push(ItemOutcome::NotRun(failure(found))),
            State::Runs => {
                let until = found.planned_end().map(|(at, _)| at);
                self.wait(until);
            }
        }
        Ok(CallStep::Waits(done))
    }
}

fn failure(command: &Command) -> CommandFailure {
    match command.state {
        State::Lost => CommandFailure::Lost {
            reason: "its shim left no word".to_owned(),
            output_tail: String::new(),
        },
        State::Runs | State::Over { .. } | State::NotStarted | State::Barred => {
            CommandFailure::Spawn {
                reason: "no such shell".to_owned(),
            }
        }
    }
}
