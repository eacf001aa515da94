//! Performing calls step by step: what each does to the world, and what it is told.
//!
//! As the shell does it, but with the simulated world: a step ends wherever the host could die.

use crate::flight::{Flight, Stage, Step};
use crate::keys::key_of;
use crate::plan::Fault;
use crate::request::Mood;
use crate::violation::{Verdict, ensure, stored};
use crate::world::World;
use holon_core::{Input, Stamp};
use holon_domain::block::ToolCall;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::{HostAction, TaskInput, TaskOutput};
use holon_domain::task::{CommandTaskSpec, TaskRecord};
use holon_domain::tool::ToolEnvelope;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, TaskId};
use holon_engine::ports::CommandKey;
use holon_tools::exec_command_batch::ItemOutcome;
use holon_tools::{task_input, task_output};

/// A call that is being run.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) workspace: &'a WorkspaceEntry,
    /// By what its command is found.
    pub(crate) key: CommandKey,
}

/// How far a call came in one step.
#[derive(Debug)]
pub(crate) enum Came {
    /// It waits for what it began; so many of several commands are over.
    Waits(Vec<ItemOutcome>),
    /// This is its result, and the command that goes on without it.
    To(ToolEnvelope, Option<Box<CommandTaskSpec>>),
    /// Somebody else saw to it that nothing comes of it.
    Nothing,
}

impl World {
    /// Takes a call one step further.
    pub(crate) fn run_call(
        &mut self,
        record: &EffectRecord,
        (errand, action): (&Errand<'_>, &HostAction),
        done: Option<Vec<ItemOutcome>>,
    ) -> Verdict<Step> {
        let may = self
            .model
            .agent(&record.agent_id)
            .is_none_or(|known| known.talk().may_run(&errand.call.id));
        ensure(may, "a call said not to have started is never run", || {
            errand.call.id.to_string()
        })?;
        let came = match action {
            HostAction::ExecCommand(command) => match done {
                None => self.begin_command(&record.agent_id, errand, command)?,
                Some(_) => self.wait_for_command(errand, command),
            },
            HostAction::ExecCommandBatch(batch) => {
                self.run_next(errand, batch, done.unwrap_or_default())?
            }
            HostAction::ApplyPatch(_) => {
                let fails = self.trouble(Fault::Tool, 25);
                Came::To(self.bench.patch(&errand.call.id, fails)?, None)
            }
            HostAction::TaskInput(input) => self.give(&record.agent_id, errand, input)?,
            HostAction::TaskOutput(query) => self.look(&record.agent_id, errand, query)?,
        };
        let stamp = Stamp {
            effect: record.id,
            generation: record.generation,
        };
        Ok(match came {
            Came::Waits(done) => Step::on(record, Stage::Waits(done)),
            Came::Nothing => Step::Nothing,
            Came::To(envelope, goes_on) => {
                self.bench.offer(&errand.call.id, &envelope);
                let input = Input::ToolFinished {
                    stamp,
                    envelope,
                    duration_ms: self.dice.below(1_000),
                    goes_on,
                };
                Step::on(record, Stage::Done(Box::new(input)))
            }
        })
    }

    fn give(
        &mut self,
        agent_id: &AgentId,
        errand: &Errand<'_>,
        input: &TaskInput,
    ) -> Verdict<Came> {
        let Some(task) = self.task(agent_id, &input.task_id)? else {
            return Ok(unknown(errand, &input.task_id));
        };
        let listens = task.command().is_some_and(|spec| spec.accepts_input);
        if task.status.is_terminal() || !listens {
            let envelope = task_input::refused(&task, "it does not listen");
            return Ok(Came::To(envelope, None));
        }
        let key = key_of(&errand.key.agent_home, &task);
        let taken = self.bench.commands.input(&key, &errand.call.id, input)?;
        let envelope = match taken {
            Ok(bytes) => {
                self.model.coverage.count("task:input_taken");
                task_input::accepted(&task, input, bytes)
            }
            Err(reason) => task_input::refused(&task, &reason),
        };
        Ok(Came::To(envelope, None))
    }

    fn look(
        &mut self,
        agent_id: &AgentId,
        errand: &Errand<'_>,
        query: &TaskOutput,
    ) -> Verdict<Came> {
        let Some(task) = self.task(agent_id, &query.task_id)? else {
            return Ok(unknown(errand, &query.task_id));
        };
        let waits = query.wait_ms.is_some() && !task.status.is_terminal();
        let interrupted = self.is_interrupted(agent_id)?;
        if waits && !interrupted && self.mood == Mood::Busy && self.dice.percent(60) {
            self.wait(None);
            return Ok(Came::Waits(Vec::new()));
        }
        let key = key_of(&errand.key.agent_home, &task);
        let printed = self.bench.commands.printed(&key);
        let printed = printed.as_ref().map_err(|reason| *reason);
        let envelope = task_output::envelope(&task, query, printed, self.now);
        Ok(Came::To(envelope, None))
    }

    /// A row of a task, as the host reads it.
    pub(crate) fn task(&self, agent_id: &AgentId, id: &TaskId) -> Verdict<Option<TaskRecord>> {
        let reader = self.db.reader();
        match stored(reader.agent(agent_id))? {
            Some((no, _)) => stored(reader.task(no, id)),
            None => Ok(None),
        }
    }

    fn is_interrupted(&self, agent_id: &AgentId) -> Verdict<bool> {
        let reader = self.db.reader();
        match stored(reader.agent(agent_id))? {
            Some((no, _)) => Ok(!stored(reader.interjections(no, 1))?.is_empty()),
            None => Ok(false),
        }
    }

    /// Somebody waits for something that happens at this time of the world of commands, if it is known. While trouble
    /// lasts, others get a word in between.
    pub(crate) fn wait(&mut self, until: Option<u64>) {
        let left = until.map(|until| until.saturating_sub(self.bench.commands.clock()));
        let millis = match left {
            Some(left) if self.mood == Mood::Calm || self.dice.percent(40) => left,
            Some(left) => left.min(self.dice.below(2_000)),
            None => self.dice.below(2_000),
        };
        self.pass(millis);
    }

    /// Time passes, for clocks and for commands.
    pub(crate) fn pass(&mut self, millis: u64) {
        self.now = self.now.plus_millis(millis);
        self.bench.commands.pass(millis);
    }
}

impl Flight {
    /// Whether a host that goes down in order brings this to its end first.
    pub(crate) const fn ends_before_exit(&self) -> bool {
        match &self.record.effect {
            Effect::RunTool { action, .. } => match action {
                HostAction::ApplyPatch(_) | HostAction::TaskInput(_) => true,
                HostAction::ExecCommand(_)
                | HostAction::ExecCommandBatch(_)
                | HostAction::TaskOutput(_) => false,
            },
            Effect::PrepareHome
            | Effect::CallModel { .. }
            | Effect::WatchTask { .. }
            | Effect::StopTask { .. }
            | Effect::RemoveHome => false,
        }
    }
}

fn unknown(errand: &Errand<'_>, id: &TaskId) -> Came {
    Came::To(holon_tools::task::unknown(&errand.call.name, id), None)
}
