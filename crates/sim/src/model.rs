//! The oracle: expected messages, turns and outcomes in plain maps, compared with the store after every commit. It
//! knows nothing of how decisions are made.

use crate::coverage::Coverage;
use crate::observed_agent::{ObservationContext, ObservedAgent};
use crate::post::{Delivery, Post};
use crate::rules::{Resumption, ResumptionCounts};
use crate::tool_world::ToolWorld;
use crate::trees::Trees;
use crate::violation::{Verdict, ensure, stored};
use holon_core::input::Finding;
use holon_domain::agent::Lifecycle;
use holon_domain::{AgentId, MessageId, TaskId, Timestamp, WorkItemId};
use holon_store::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// The oracle's record of the whole run.
#[derive(Debug, Default)]
pub(crate) struct Model {
    agents: BTreeMap<AgentId, ObservedAgent>,
    post: Post,
    trees: Trees,
    /// Most agents above a new one.
    spawn_depth: u32,
    /// Counts of what happened, so that a run that tests nothing is noticed.
    pub(crate) coverage: Coverage,
    /// Items that the request listed whose answer is handed to the kernel.
    pub(crate) shown: Vec<WorkItemId>,
    /// True in runs whose clock jumps.
    clock_jumps: bool,
    /// Start of the process that runs.
    pub(crate) started_at: Timestamp,
}

impl Model {
    /// Creates the oracle of a run.
    pub(crate) fn new(clock_jumps: bool, started_at: Timestamp, spawn_depth: u32) -> Self {
        Self {
            spawn_depth,
            clock_jumps,
            started_at,
            ..Self::default()
        }
    }

    /// Returns the record of an agent, if it is known.
    #[must_use]
    pub(crate) fn agent(&self, id: &AgentId) -> Option<&ObservedAgent> {
        self.agents.get(id)
    }

    /// Returns the ids of all agents.
    #[must_use]
    pub(crate) fn names(&self) -> Vec<AgentId> {
        self.agents.keys().cloned().collect()
    }

    /// Iterates over all agents.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&AgentId, &ObservedAgent)> {
        self.agents.iter()
    }

    /// Notes that the rows of this agent are being removed.
    pub(crate) fn mark_removing(&mut self, id: &AgentId) {
        if let Some(known) = self.agents.get_mut(id) {
            known.removing = true;
        }
    }

    /// Observes one agent after a commit.
    pub(crate) fn observe(
        &mut self,
        reader: &Reader<'_>,
        id: &AgentId,
        tool_world: &ToolWorld,
        now: Timestamp,
    ) -> Verdict<()> {
        let Some((no, record)) = stored(reader.agent(id))? else {
            return match self.agents.remove(id) {
                Some(known) => ensure(known.removing, "only removed agents are gone", || {
                    format!("{id} was {:?}", known.record.lifecycle)
                }),
                None => Ok(()),
            };
        };
        self.trees.note(&record, now, self.spawn_depth)?;
        let known = self
            .agents
            .entry(id.clone())
            .or_insert_with(|| ObservedAgent::new(record.clone()));
        if known.removing {
            return Ok(());
        }
        let context = ObservationContext {
            tool_world,
            now,
            started_at: self.started_at,
            coverage: &mut self.coverage,
            shown: &self.shown,
            steady_clock: !self.clock_jumps,
        };
        known.observe(reader, no, record, context)?;
        self.post.add(std::mem::take(&mut known.mail));
        Ok(())
    }

    /// Checks that a commit changed only the agents it touched.
    pub(crate) fn check_untouched(
        &self,
        reader: &Reader<'_>,
        touched: &BTreeSet<AgentId>,
    ) -> Verdict<()> {
        for (id, known) in &self.agents {
            if known.removing || touched.contains(id) {
                continue;
            }
            let row = stored(reader.agent(id))?;
            let same = match &row {
                Some((no, record)) => {
                    *record == known.record && stored(reader.outstanding(*no))? == known.outstanding
                }
                None => false,
            };
            ensure(same, "a commit changes only the agents it touched", || {
                format!("{id}: {:?} became {row:?}", known.record)
            })?;
        }
        Ok(())
    }

    /// Compares the verdicts a commit gave to senders with the messages it queued.
    pub(crate) fn check_deliveries(&mut self, delivery: Delivery<'_>) -> Verdict<()> {
        let agents = &self.agents;
        let lifecycle = |id: &AgentId| agents.get(id).map(|known| known.record.lifecycle);
        self.post
            .check_commit(delivery, lifecycle, &mut self.coverage)
    }

    /// Returns the expected result of a recovery of this agent.
    pub(crate) fn before_recovery(
        &mut self,
        id: &AgentId,
        found: Option<&[Finding]>,
    ) -> Option<Resumption> {
        self.agents.get_mut(id)?.resumption(found)
    }

    /// Restores the count of resumptions after a recovery that was not committed.
    pub(crate) fn undo_resumption(&mut self, id: &AgentId, resumes: Option<ResumptionCounts>) {
        if let (Some(known), Some(resumes)) = (self.agents.get_mut(id), resumes) {
            known.resumes = resumes;
        }
    }

    /// Checks a recovery against the expectation.
    pub(crate) fn after_recovery(&self, id: &AgentId, expected: Option<Resumption>) -> Verdict<()> {
        match (self.agents.get(id), expected) {
            (Some(known), Some(expected)) => known.check_resumption(&expected),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }

    /// Checks that an acknowledged message is stored under the id its sender was told.
    pub(crate) fn acknowledged(&self, agent: &AgentId, id: &MessageId, seq: u64) -> Verdict<()> {
        let message = self
            .agents
            .get(agent)
            .and_then(|known| known.messages.get(&seq));
        ensure(
            message.is_some_and(|message| message.id == *id),
            "an acknowledged message is stored",
            || format!("{agent} {seq} {id}"),
        )
    }

    /// Counts the states of commands that a starting host finds.
    pub(crate) fn count_restart(&mut self, tool_world: &ToolWorld) {
        for known in self.agents.values() {
            let home = &known.record.agent_home;
            known
                .tasks
                .count_restart(tool_world, home, &mut self.coverage);
            let batch = known
                .log
                .in_hand()
                .filter(|call| call.name == "ExecCommandBatch");
            if batch.is_some_and(|call| tool_world.began(&call.id)) {
                self.coverage.count("restart:batch_cut");
            }
        }
    }

    /// Lists the tasks that a model of this agent may name: its own, then one of each other agent. Empty while it has
    /// none itself.
    pub(crate) fn tasks_to_name(&self, id: &AgentId) -> Vec<TaskId> {
        let Some(own) = self.agents.get(id) else {
            return Vec::new();
        };
        let others = self.agents.iter().filter(|(other, _)| *other != id);
        let others = others.filter_map(|(_, known)| known.tasks.ids().next());
        if own.tasks.rows().next().is_none() {
            return Vec::new();
        }
        own.tasks.ids().chain(others).cloned().collect()
    }

    /// Checks that nothing is left to do after faults have ended and time has passed.
    pub(crate) fn at_rest(&self, tool_world: &ToolWorld) -> Verdict<()> {
        for (id, known) in &self.agents {
            let has_ended =
                known.record.supervision.is_some() && known.record.archived_at.is_some();
            let runs = known.record.lifecycle == Lifecycle::Runnable || has_ended;
            ensure(runs, "every agent can run in the end", || {
                format!("{id} is {:?}", known.record.lifecycle)
            })?;
            // What a child had not read when it was stopped stays in its queue.
            let idle = known.record.open_turn.is_none() && (has_ended || known.live.is_empty());
            ensure(idle, "nothing is pending in the end", || {
                format!("{id}: {:?} {:?}", known.record.open_turn, known.live)
            })?;
            ensure(
                known.unsettled.is_empty(),
                "every operator message has its outcome in the end",
                || format!("{id}: {:?}", known.unsettled),
            )?;
            known.tasks.at_rest(tool_world, &known.record.agent_home)?;
        }
        self.post.at_rest()
    }
}
