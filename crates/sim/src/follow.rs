//! Watching and stopping the commands of tasks, step by step.

use crate::command::{Command, State};
use crate::flight::{Flight, Stage, Step};
use crate::keys::{home_of, key_of, keys_of};
use crate::request::Mood;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Stamp};
use holon_domain::TaskId;
use holon_domain::command::CommandOutput;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::task::{TaskRecord, TaskReport};
use holon_engine::ports::CommandKey;
use holon_engine::tool_outcome::{CallCleanup, commands_of_ended_task};

/// How a task is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It is asked, and has its time.
    Asked,
    /// At once.
    Forced,
}

impl World {
    /// Looks whether a task's command is over, or waits for it.
    pub(crate) fn watch(&mut self, record: &EffectRecord, id: &TaskId) -> Verdict<Step> {
        let Some((task, key)) = self.followed(record, id)? else {
            return Ok(Step::Nothing);
        };
        if let Some(report) = self.bench.commands.report(&key) {
            return Ok(ended(record, &task, &key, report));
        }
        let end = self.bench.commands.get(&key).and_then(Command::will_end);
        // Mostly others go first: a task is there to be looked after while it runs.
        let patient = self.mood == Mood::Calm || self.dice.percent(25);
        self.wait(end.map(|(at, _)| at).filter(|_| patient));
        Ok(Step::GoesOn(Stage::Begun))
    }

    /// Stops what a task runs: whatever does not end when it is asked to is killed after a while.
    pub(crate) fn stop(&mut self, record: &EffectRecord, id: &TaskId, how: Stop) -> Verdict<Step> {
        let Some((task, key)) = self.followed(record, id)? else {
            return Ok(Step::Nothing);
        };
        let known = self.model.agent(&record.agent_id);
        let forced = known.is_some_and(|known| known.tasks.is_forced(id));
        // An effect that was replaced may still be in hand.
        let current = task.effect == Some(record.id);
        ensure(
            !(forced && current) || how == Stop::Forced,
            "a task that was to be killed is not asked more gently later",
            || id.to_string(),
        )?;
        let keys = keys_of(&task, &key);
        let begun = keys.iter().rfind(|key| self.was_begun(key));
        for key in &keys {
            self.trace
                .note(|| format!("  {how:?} to end: {}", key.name));
            self.bench.commands.bar(key);
            match how {
                Stop::Asked => self.bench.commands.ask_to_end(key),
                Stop::Forced => self.bench.commands.kill(key),
            }
        }
        let reports: Option<Vec<TaskReport>> = keys
            .iter()
            .map(|key| self.bench.commands.report(key))
            .collect();
        if reports.is_none() {
            return Ok(Step::GoesOn(Stage::AskedToEnd));
        }
        let told = begun.or_else(|| keys.first());
        let cut_short = keys.iter().any(|key| !self.was_begun(key));
        let report = told.and_then(|key| self.bench.commands.report(key));
        let report = report.map(|report| match report {
            TaskReport::Ended(output) if cut_short => TaskReport::Ended(CommandOutput {
                stopped: true,
                ..output
            }),
            TaskReport::Ended(_) | TaskReport::Lost { .. } => report,
        });
        Ok(report.map_or(Step::Nothing, |report| ended(record, &task, &key, report)))
    }

    fn was_begun(&self, key: &CommandKey) -> bool {
        let state = self.bench.commands.get(key).map(|command| command.state);
        state.is_some_and(|state| state != State::Barred)
    }

    /// A task that is not over, and by what its command is found.
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

    /// Whether nothing will come of performing this effect, however long: it watches what never ends by itself.
    pub(crate) fn is_idle(&mut self, flight: &Flight) -> Verdict<bool> {
        let (Effect::WatchTask { task_id }, Stage::Begun) = (&flight.record.effect, &flight.stage)
        else {
            return Ok(false);
        };
        let Some((_, key)) = self.followed(&flight.record, task_id)? else {
            return Ok(false);
        };
        let endless = |command: &Command| command.runs() && command.will_end().is_none();
        Ok(self.bench.commands.get(&key).is_some_and(endless))
    }
}

fn ended(record: &EffectRecord, task: &TaskRecord, key: &CommandKey, report: TaskReport) -> Step {
    let input = Input::TaskEnded {
        stamp: Stamp::of(record),
        task_id: task.id.clone(),
        report: Box::new(report),
    };
    let forget = task.command().map_or(CallCleanup::Nothing, |spec| {
        CallCleanup::Commands(commands_of_ended_task(key, spec))
    });
    Step::GoesOn(Stage::Done(Box::new(input), forget))
}
