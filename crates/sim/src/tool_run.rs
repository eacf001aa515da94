//! Performs calls step by step, with their consequences for the simulated world.
//!
//! This mirrors the shell: a step ends wherever the host could die.

use crate::flight::{Flight, FlightStep, Stage};
use crate::keys::key_of;
use crate::plan::Fault;
use crate::request::Mood;
use crate::store::now;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Stamp};
use holon_domain::consequence::Consequence;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::{HostAction, TaskInput, TaskOutput, WorkQuery};
use holon_domain::task::TaskRecord;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::{AgentId, TaskId};
use holon_engine::tool_outcome::{CallCleanup, ToolRunOutcome, check_takes_input};
use holon_engine::tool_run::ToolRun;
use holon_engine::work_answer;
use holon_store::Store;
use holon_tools::exec_command_batch::ItemOutcome;
use holon_tools::{task_input, task_output};

/// Outcome of one step of a call.
#[derive(Debug)]
pub(crate) enum CallStep {
    /// The call waits for its commands; these items of its batch have ended.
    Waits(Vec<ItemOutcome>),
    /// The call has ended with this outcome.
    Done(ToolRunOutcome),
    /// The call has no outcome, because its turn was cancelled.
    Nothing,
}

impl CallStep {
    /// Ends a call with a result and no other consequence.
    pub(crate) const fn result(envelope: ToolEnvelope) -> Self {
        Self::Done(ToolRunOutcome::result(envelope))
    }
}

impl World {
    /// Returns the call that an agent's open turn runs, if any.
    pub(crate) fn call_in_hand(&mut self, id: &AgentId) -> Verdict<Option<ToolRun>> {
        let read = now(self.store.round_in_hand(id))?;
        let found = self.check_readable(id, read)?.flatten();
        Ok(found.and_then(|(agent, round)| ToolRun::in_hand(agent, round)))
    }

    /// Performs one step of a call.
    pub(crate) fn run_call(
        &mut self,
        record: &EffectRecord,
        run: &ToolRun,
        done: Option<Vec<ItemOutcome>>,
    ) -> Verdict<FlightStep> {
        let may = self
            .model
            .agent(&record.agent_id)
            .is_none_or(|known| known.log().may_run(&run.call.id));
        ensure(may, "a call said not to have started is never run", || {
            run.call.id.to_string()
        })?;
        let came = match &run.action {
            HostAction::ExecCommand(command) => match done {
                None => self.begin_command(&record.agent_id, run, command)?,
                Some(_) => self.wait_for_command(run, command),
            },
            HostAction::ExecCommandBatch(batch) => {
                self.run_next(run, batch, done.unwrap_or_default())?
            }
            HostAction::ApplyPatch(patch) => {
                let text = holon_tools::apply_patch::text_of(&run.call, patch);
                ensure(
                    text.is_ok(),
                    "the call in the log holds the patch that was checked",
                    || format!("{text:?}"),
                )?;
                let fails = self.trouble(Fault::Tool, 25);
                CallStep::Done(self.tool_world.patch(&run.call.id, fails)?)
            }
            HostAction::TaskInput(input) => self.give_input(&record.agent_id, run, input)?,
            HostAction::TaskOutput(query) => self.read_output(&record.agent_id, run, query)?,
            HostAction::WritePlan => {
                let fails = self.trouble(Fault::Tool, 25);
                CallStep::Done(self.tool_world.write_plan(&run.call, self.now, fails))
            }
            HostAction::WorkQuery(query) => self.query_work(&record.agent_id, query)?,
            HostAction::Memory(query) => self.query_memory(&record.agent_id, run, query)?,
            HostAction::UseWorkspace(request) => {
                let fails = self.trouble(Fault::Tool, 25);
                CallStep::Done(crate::workspaces::select(run, request, fails))
            }
            // The simulated model calls none of these; the host has no web and no images.
            HostAction::WebFetch(_) | HostAction::WebSearch(_) | HostAction::ViewImage { .. } => {
                let error =
                    ToolError::new(ToolErrorKind::NetworkFailed, "the web is not simulated");
                CallStep::result(ToolEnvelope::failure(&run.call.name, error))
            }
            HostAction::PrepareChild(spawn) => {
                let fails = self.trouble(Fault::Tool, 25);
                CallStep::Done(crate::workspaces::prepare_child(run, spawn, fails))
            }
            HostAction::LookAtFiles { .. } => CallStep::Done(ToolRunOutcome {
                consequence: Consequence::FilesSeen {
                    fault: self
                        .trouble(Fault::Tool, 25)
                        .then(|| "there is no such file in your home".to_owned()),
                },
                forget: CallCleanup::Nothing,
                referring: Vec::new(),
            }),
        };
        Ok(match came {
            CallStep::Waits(done) => FlightStep::GoesOn(Stage::Waits(done)),
            CallStep::Nothing => FlightStep::Nothing,
            CallStep::Done(outcome) => {
                let ToolRunOutcome {
                    consequence,
                    forget,
                    referring: _,
                } = outcome;
                match &consequence {
                    Consequence::Result(result)
                    | Consequence::SkillUsed { result, .. }
                    | Consequence::Task { result, .. }
                    | Consequence::Workspace { result, .. } => {
                        self.tool_world.offer(&run.call.id, result);
                    }
                    // The kernel writes that result itself.
                    Consequence::PlanWritten(_)
                    | Consequence::ChildPrepared { .. }
                    | Consequence::FilesSeen { .. } => {}
                }
                let input = Input::ToolFinished {
                    stamp: Stamp::of(record),
                    consequence,
                    duration_ms: self.dice.below(1_000),
                };
                FlightStep::GoesOn(Stage::Done(Box::new(input), forget))
            }
        })
    }

    fn give_input(
        &mut self,
        agent_id: &AgentId,
        run: &ToolRun,
        input: &TaskInput,
    ) -> Verdict<CallStep> {
        let Some(task) = self.task(agent_id, &input.task_id)? else {
            return Ok(unknown(run, &input.task_id));
        };
        if let Err(reason) = check_takes_input(&task) {
            return Ok(CallStep::result(task_input::refused(&task, reason)));
        }
        let key = key_of(&run.agent_home, &task);
        let taken = self.tool_world.commands.input(&key, &run.call.id, input)?;
        let envelope = match taken {
            Ok(bytes) => {
                self.model.coverage.count("task:input_taken");
                task_input::accepted(&task, input, bytes)
            }
            Err(reason) => task_input::refused(&task, &reason),
        };
        Ok(CallStep::result(envelope))
    }

    fn read_output(
        &mut self,
        agent_id: &AgentId,
        run: &ToolRun,
        query: &TaskOutput,
    ) -> Verdict<CallStep> {
        let read = now(self.store.task(agent_id, &query.task_id))?;
        let Some(look) = self.check_readable(agent_id, read)? else {
            return Ok(CallStep::Nothing);
        };
        let Some(task) = look.task else {
            return Ok(unknown(run, &query.task_id));
        };
        let waits = query.wait_ms.is_some() && !task.status.is_terminal();
        let interrupted = look.interrupted;
        if waits && !interrupted && self.mood == Mood::Busy && self.dice.percent(60) {
            self.wait(None);
            return Ok(CallStep::Waits(Vec::new()));
        }
        let key = key_of(&run.agent_home, &task);
        let printed = self.tool_world.commands.printed(&key);
        let printed = printed.as_ref().map_err(|reason| *reason);
        let envelope = task_output::envelope(&task, query, printed, self.now);
        Ok(CallStep::result(envelope))
    }

    fn query_work(&mut self, agent_id: &AgentId, query: &WorkQuery) -> Verdict<CallStep> {
        let read = now(self.store.work(agent_id, query))?;
        let Some(look) = self.check_readable(agent_id, read)?.flatten() else {
            return Ok(CallStep::Nothing);
        };
        Ok(CallStep::result(work_answer::envelope(query, &look)))
    }

    /// Reads a task as the host does.
    pub(crate) fn task(&mut self, agent_id: &AgentId, id: &TaskId) -> Verdict<Option<TaskRecord>> {
        let read = now(self.store.task(agent_id, id))?;
        Ok(self
            .check_readable(agent_id, read)?
            .and_then(|look| look.task))
    }

    /// Waits for a known time of the commands' clock. While faults last, other events may happen in between.
    pub(crate) fn wait(&mut self, until: Option<u64>) {
        let left = until.map(|until| until.saturating_sub(self.tool_world.commands.clock()));
        let millis = match left {
            Some(left) if self.mood == Mood::Calm || self.dice.percent(40) => left,
            Some(left) => left.min(self.dice.below(2_000)),
            None => self.dice.below(2_000),
        };
        self.advance(millis);
    }

    /// Advances all clocks and the commands.
    pub(crate) fn advance(&mut self, millis: u64) {
        self.now = self.now.plus_millis(millis);
        self.tool_world.commands.advance(millis);
    }
}

impl Flight {
    /// Returns true if a clean exit waits for this effect to finish.
    pub(crate) fn ends_before_exit(&self) -> bool {
        match &self.record.effect {
            Effect::RunTool { .. } => match self.run.as_ref().map(|run| &run.action) {
                Some(
                    HostAction::ApplyPatch(_)
                    | HostAction::TaskInput(_)
                    | HostAction::WritePlan
                    | HostAction::WorkQuery(_)
                    | HostAction::Memory(_)
                    | HostAction::UseWorkspace(_)
                    | HostAction::ViewImage { .. }
                    | HostAction::PrepareChild(_)
                    | HostAction::LookAtFiles { .. },
                ) => true,
                Some(
                    HostAction::ExecCommand(_)
                    | HostAction::ExecCommandBatch(_)
                    | HostAction::TaskOutput(_)
                    | HostAction::WebFetch(_)
                    | HostAction::WebSearch(_),
                )
                | None => false,
            },
            Effect::Deliver { .. } | Effect::FinishPatch { .. } | Effect::CleanWorktree { .. } => {
                true
            }
            Effect::PrepareHome
            | Effect::CallModel { .. }
            | Effect::StartTask { .. }
            | Effect::WatchTask { .. }
            | Effect::StopTask { .. }
            | Effect::StopBatch { .. }
            | Effect::SubmitDelivery { .. }
            | Effect::RemoveHome => false,
        }
    }
}

fn unknown(run: &ToolRun, id: &TaskId) -> CallStep {
    CallStep::result(holon_tools::task::unknown(&run.call.name, id))
}
