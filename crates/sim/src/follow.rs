//! Starts, watches and stops the commands of tasks, step by step.

use crate::command::{Command, State};
use crate::flight::{Flight, FlightStep, Stage};
use crate::keys::{home_of, key_of, keys_of};
use crate::request::Mood;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Stamp};
use holon_domain::command::CommandOutput;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::event::BatchItemEnd;
use holon_domain::task::{StartedCommand, TaskRecord, TaskReport};
use holon_domain::{CallId, TaskId};
use holon_engine::ports::CommandKey;
use holon_engine::tool_outcome::{
    CallCleanup, commands_of_ended_task, commands_of_stopped_batch, item_end,
};

/// Strength of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopStrength {
    /// The command is asked to end and has a grace period.
    Asked,
    /// The command is killed at once.
    Forced,
}

impl World {
    /// Starts the command of a queued task, or finds the one that an earlier process started.
    pub(crate) fn start_queued(
        &mut self,
        record: &EffectRecord,
        id: &TaskId,
    ) -> Verdict<FlightStep> {
        let Some((task, key)) = self.followed(record, id)? else {
            return Ok(FlightStep::Nothing);
        };
        let queued = task.command().filter(|spec| spec.starts_in.is_some());
        let Some(spec) = queued.cloned() else {
            return Ok(FlightStep::Nothing);
        };
        self.begin_or_find(&key, &spec.order(), None)?;
        let Some(command) = self.tool_world.commands.get(&key) else {
            return Ok(FlightStep::Nothing);
        };
        let report = match command.state {
            State::Barred => return Ok(FlightStep::Nothing),
            State::Runs => {
                let started = Input::TaskStarted {
                    stamp: Stamp::of(record),
                    task_id: id.clone(),
                    started: Box::new(StartedCommand {
                        workdir: spec.workdir,
                        started_at: self.now,
                        output_path: None,
                        stderr_path: None,
                    }),
                };
                let done = Stage::Done(Box::new(started), CallCleanup::Nothing);
                return Ok(FlightStep::GoesOn(done));
            }
            State::NotStarted => Some(TaskReport::NotStarted {
                reason: "no such shell".to_owned(),
            }),
            State::Over { .. } | State::Lost => self.tool_world.commands.report(&key),
        };
        Ok(report.map_or(FlightStep::Nothing, |report| {
            ended(record, &task, &key, report)
        }))
    }

    /// Reports the end of a task's command, or waits for it.
    pub(crate) fn watch(&mut self, record: &EffectRecord, id: &TaskId) -> Verdict<FlightStep> {
        let Some((task, key)) = self.followed(record, id)? else {
            return Ok(FlightStep::Nothing);
        };
        if let Some(report) = self.tool_world.commands.report(&key) {
            return Ok(ended(record, &task, &key, report));
        }
        let end = self
            .tool_world
            .commands
            .get(&key)
            .and_then(Command::planned_end);
        // Mostly other events go first, so that a task runs while they happen.
        let patient = self.mood == Mood::Calm || self.dice.percent(25);
        self.wait(end.map(|(at, _)| at).filter(|_| patient));
        Ok(FlightStep::GoesOn(Stage::Begun))
    }

    /// Stops the commands of a task. A command that ignores the request is killed after the grace period.
    pub(crate) fn stop(
        &mut self,
        record: &EffectRecord,
        id: &TaskId,
        how: StopStrength,
    ) -> Verdict<FlightStep> {
        let Some((task, key)) = self.followed(record, id)? else {
            return Ok(FlightStep::Nothing);
        };
        let known = self.model.agent(&record.agent_id);
        let forced = known.is_some_and(|known| known.tasks.is_forced(id));
        // The process may still perform an effect that was replaced.
        let current = task.effect == Some(record.id);
        ensure(
            !(forced && current) || how == StopStrength::Forced,
            "a task that was to be killed is not asked more gently later",
            || id.to_string(),
        )?;
        let keys = keys_of(&task, &key);
        let begun = keys.iter().rfind(|key| self.was_begun(key));
        for key in &keys {
            self.trace
                .note(|| format!("  {how:?} to end: {}", key.name));
            self.tool_world.commands.bar(key);
            match how {
                StopStrength::Asked => self.tool_world.commands.ask_to_end(key),
                StopStrength::Forced => self.tool_world.commands.kill(key),
            }
        }
        let reports: Option<Vec<TaskReport>> = keys
            .iter()
            .map(|key| self.tool_world.commands.report(key))
            .collect();
        if reports.is_none() {
            return Ok(FlightStep::GoesOn(Stage::AskedToEnd));
        }
        let told = begun.or_else(|| keys.first());
        let cut_short = keys.iter().any(|key| !self.was_begun(key));
        let report = told.and_then(|key| self.tool_world.commands.report(key));
        let report = report.map(|report| match report {
            TaskReport::Ended(output) if cut_short => TaskReport::Ended(CommandOutput {
                stopped: true,
                ..output
            }),
            TaskReport::Ended(_) | TaskReport::NotStarted { .. } | TaskReport::Lost { .. } => {
                report
            }
        });
        Ok(report.map_or(FlightStep::Nothing, |report| {
            ended(record, &task, &key, report)
        }))
    }

    /// Kills the commands of a batch whose turn was cancelled.
    pub(crate) fn stop_batch(
        &mut self,
        record: &EffectRecord,
        call: &CallId,
        items: u32,
    ) -> FlightStep {
        let keys = CommandKey::of_call(&home_of(&record.agent_id), call).items(items);
        let mut ends = Vec::with_capacity(keys.len());
        for key in &keys {
            self.trace.note(|| format!("  to end: {}", key.name));
            self.tool_world.commands.bar(key);
            self.tool_world.commands.kill(key);
            let report = self.tool_world.commands.report(key);
            let begun = self.was_begun(key);
            ends.push(report.map_or(BatchItemEnd::Unknown, |report| item_end(begun, &report)));
        }
        self.model.coverage.count("batch:stopped");
        let input = Input::BatchStopped {
            stamp: Stamp::of(record),
            items: ends,
        };
        let forget = CallCleanup::Commands(commands_of_stopped_batch(keys));
        FlightStep::GoesOn(Stage::Done(Box::new(input), forget))
    }

    fn was_begun(&self, key: &CommandKey) -> bool {
        let state = self
            .tool_world
            .commands
            .get(key)
            .map(|command| command.state);
        state.is_some_and(|state| state != State::Barred)
    }

    /// Returns an active task and the key of its command.
    fn followed(
        &mut self,
        record: &EffectRecord,
        id: &TaskId,
    ) -> Verdict<Option<(TaskRecord, CommandKey)>> {
        let task = self.task(&record.agent_id, id)?;
        let home = home_of(&record.agent_id);
        let open = task.filter(|task| !task.status.is_terminal());
        Ok(open.map(|task| {
            let key = key_of(&home, &task);
            (task, key)
        }))
    }

    /// Returns true if this effect has no outcome by itself, because it watches a command that never ends.
    pub(crate) fn is_idle(&mut self, flight: &Flight) -> Verdict<bool> {
        let (Effect::WatchTask { task_id }, Stage::Begun) = (&flight.record.effect, &flight.stage)
        else {
            return Ok(false);
        };
        let Some((_, key)) = self.followed(&flight.record, task_id)? else {
            return Ok(false);
        };
        let endless = |command: &Command| command.runs() && command.planned_end().is_none();
        Ok(self.tool_world.commands.get(&key).is_some_and(endless))
    }
}

fn ended(
    record: &EffectRecord,
    task: &TaskRecord,
    key: &CommandKey,
    report: TaskReport,
) -> FlightStep {
    let input = Input::TaskEnded {
        stamp: Stamp::of(record),
        task_id: task.id.clone(),
        report: Box::new(report),
    };
    let forget = task.command().map_or(CallCleanup::Nothing, |spec| {
        CallCleanup::Commands(commands_of_ended_task(key, spec))
    });
    FlightStep::GoesOn(Stage::Done(Box::new(input), forget))
}
