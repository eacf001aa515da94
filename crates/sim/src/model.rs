//! The oracle: what must be true of every message, turn and outcome, kept in plain maps and compared with what the
//! store holds after every commit. It knows nothing of how decisions are made.

use crate::coverage::Coverage;
use crate::known::Known;
use crate::post::{Delivery, Post};
use crate::rules::{ResumeReason, Resumption};
use crate::tools::Bench;
use crate::violation::{Verdict, ensure, stored};
use holon_core::input::Finding;
use holon_domain::agent::Lifecycle;
use holon_domain::{AgentId, MessageId, TaskId, Timestamp};
use holon_store::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// Everything the oracle knows.
#[derive(Debug, Default)]
pub(crate) struct Model {
    agents: BTreeMap<AgentId, Known>,
    post: Post,
    /// What happened at all, so that a run that proves nothing is noticed.
    pub(crate) coverage: Coverage,
}

impl Model {
    /// An agent, if it is known.
    #[must_use]
    pub(crate) fn agent(&self, id: &AgentId) -> Option<&Known> {
        self.agents.get(id)
    }

    /// Names of all agents.
    #[must_use]
    pub(crate) fn names(&self) -> Vec<AgentId> {
        self.agents.keys().cloned().collect()
    }

    /// The rows of this agent go from now on.
    pub(crate) fn is_going(&mut self, id: &AgentId) {
        if let Some(known) = self.agents.get_mut(id) {
            known.removing = true;
        }
    }

    /// Looks at one agent after a commit.
    pub(crate) fn observe(
        &mut self,
        reader: &Reader<'_>,
        id: &AgentId,
        bench: &Bench,
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
        let known = self
            .agents
            .entry(id.clone())
            .or_insert_with(|| Known::new(record.clone()));
        if known.removing {
            return Ok(());
        }
        known.look(reader, no, record, bench, (now, &mut self.coverage))?;
        self.post.add(std::mem::take(&mut known.mail));
        Ok(())
    }

    /// A commit changes only the agents it touched.
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

    /// Compares what a commit told the senders of messages with what it put into queues.
    pub(crate) fn settle_post(&mut self, delivery: Delivery<'_>) -> Verdict<()> {
        let agents = &self.agents;
        let lifecycle = |id: &AgentId| agents.get(id).map(|known| known.record.lifecycle);
        self.post.settle(delivery, lifecycle, &mut self.coverage)
    }

    /// What a recovery of this agent has to come to.
    pub(crate) fn before_recovery(
        &mut self,
        id: &AgentId,
        found: Option<&[Finding]>,
    ) -> Option<Resumption> {
        self.agents.get_mut(id)?.resumption(found)
    }

    /// A recovery of this agent came to nothing, so its resumption does not count.
    pub(crate) fn not_recovered(&mut self, id: &AgentId, resumes: Option<ResumeReason>) {
        if let (Some(known), Some(resumes)) = (self.agents.get_mut(id), resumes) {
            known.resumes = resumes;
        }
    }

    /// Whether it came to that.
    pub(crate) fn after_recovery(&self, id: &AgentId, expected: Option<Resumption>) -> Verdict<()> {
        match (self.agents.get(id), expected) {
            (Some(known), Some(expected)) => known.check_resumption(&expected),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }

    /// An acknowledged message must be there, under the id its sender was told.
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

    /// Counts what a host that starts finds of commands.
    pub(crate) fn count_restart(&mut self, bench: &Bench) {
        for known in self.agents.values() {
            let home = &known.record.agent_home;
            known.tasks.count_restart(bench, home, &mut self.coverage);
            let batch = known
                .talk
                .in_hand()
                .filter(|call| call.name == "ExecCommandBatch");
            if batch.is_some_and(|call| bench.began(&call.id)) {
                self.coverage.count("restart:batch_cut");
            }
        }
    }

    /// Tasks a model of this agent may name: its own, then one of each other agent. None while it has none itself.
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

    /// When trouble is over and time has passed, nothing may be left to do.
    pub(crate) fn at_rest(&self, bench: &Bench) -> Verdict<()> {
        for (id, known) in &self.agents {
            let runs = known.record.lifecycle == Lifecycle::Runnable;
            ensure(runs, "every agent can run in the end", || {
                format!("{id} is {:?}", known.record.lifecycle)
            })?;
            let idle = known.record.open_turn.is_none() && known.live.is_empty();
            ensure(idle, "nothing is pending in the end", || {
                format!("{id}: {:?} {:?}", known.record.open_turn, known.live)
            })?;
            ensure(
                known.unsettled.is_empty(),
                "every operator message has its outcome in the end",
                || format!("{id}: {:?}", known.unsettled),
            )?;
            known.tasks.at_rest(bench, &known.record.agent_home)?;
        }
        self.post.at_rest()
    }
}
