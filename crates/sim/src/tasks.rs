//! The oracle's book of tasks: which there are, what calls, events and messages say of them, and whether that agrees.
//!
//! Written from the contract: a row begins as a promoted command or as one whose call was called off; it moves forward
//! only and ends once; its end is told by one message, in the same commit: a result, or a status where the agent stopped
//! it itself. What was stopped with its agent is held for the agent's next turn.

use crate::command::Command;
use crate::coverage::Coverage;
use crate::envelope::{flag, says};
use crate::keys::key_of;
use crate::task_rules::{Beginning, begins, count_end, is_true, moves};
use crate::tools::Bench;
use crate::violation::{Verdict, ensure};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::block::ToolCall;
use holon_domain::event::Event;
use holon_domain::message::{MessageEnvelope, MessageKind, Origin};
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_domain::tool::{ToolEnvelope, ToolErrorKind};
use holon_domain::{CallId, MessageId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The task that runtimes of old tell of; it has no row.
pub(crate) const OUTSIDE: &str = "task_sim";

/// Everything known of an agent's tasks.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    rows: BTreeMap<TaskId, TaskRecord>,
    /// In the order they were first seen.
    order: Vec<TaskId>,
    /// The authority of the turn each began in.
    begun_with: BTreeMap<TaskId, AuthorityClass>,
    /// How often each was recorded to have ended.
    ends: BTreeMap<TaskId, u32>,
    /// Which their agent stopped itself.
    asked: BTreeSet<TaskId>,
    /// Which a call was told to be killed.
    forced: BTreeSet<TaskId>,
    /// Which were stopped with their agent, and are told later.
    owed: BTreeSet<TaskId>,
    /// The message each end was told by.
    told: BTreeMap<TaskId, MessageId>,
    fresh: Fresh,
}

/// What was seen since the rows were last compared.
#[derive(Debug, Default)]
struct Fresh {
    promoted: Vec<TaskId>,
    stopped: Vec<TaskId>,
    results: Vec<(TaskId, MessageId)>,
    statuses: Vec<TaskId>,
}

impl Fresh {
    fn beginning(&self, id: &TaskId, coverage: &mut Coverage) -> Beginning {
        if self.promoted.contains(id) {
            coverage.count("task:promoted");
            Beginning::Promoted
        } else {
            coverage.count("task:taken_over");
            Beginning::TakenOver
        }
    }
}

impl Ledger {
    /// Rows, in the order of their ids.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &TaskRecord> {
        self.rows.values()
    }

    /// Rows that are not over.
    pub(crate) fn active(&self) -> impl Iterator<Item = &TaskRecord> {
        self.rows().filter(|row| !row.status.is_terminal())
    }

    /// Their ids: first those that are not over, and of each kind the newest first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TaskId> {
        let is_over = |id: &&TaskId| {
            self.rows
                .get(*id)
                .is_some_and(|row| row.status.is_terminal())
        };
        let active = self.order.iter().rev().filter(move |id| !is_over(id));
        active.chain(self.order.iter().rev().filter(is_over))
    }

    /// Whether a row stands for the command of a call that nobody stops.
    pub(crate) fn runs(&self, call: &CallId) -> bool {
        let row = self.rows.get(&TaskId::of_call(call));
        row.is_some_and(|row| row.status == TaskStatus::Running)
    }

    /// Whether a row that is not over stands for the commands of a call.
    pub(crate) fn follows(&self, call: &CallId) -> bool {
        let row = self.rows.get(&TaskId::of_call(call));
        row.is_some_and(|row| !row.status.is_terminal())
    }

    /// Whether it was stopped with its agent.
    pub(crate) fn is_owed(&self, id: &TaskId) -> bool {
        self.owed.contains(id)
    }

    /// Whether somebody was told that it is killed.
    pub(crate) fn is_forced(&self, id: &TaskId) -> bool {
        self.forced.contains(id)
    }

    /// Whether a message tells the end of one of these tasks.
    pub(crate) fn is_told_by(&self, id: &MessageId) -> bool {
        self.told.values().any(|told| told == id)
    }

    /// A message was queued.
    pub(crate) fn hear_message(&mut self, envelope: &MessageEnvelope) -> Verdict<()> {
        let (kind @ (MessageKind::TaskResult | MessageKind::TaskStatus), Origin::Task { task_id }) =
            (envelope.kind, &envelope.origin)
        else {
            return Ok(());
        };
        if task_id.as_str() == OUTSIDE {
            return Ok(());
        }
        let begun_with = self.begun_with.get(task_id).copied();
        let worth = begun_with.map(|class| class.weaker(AuthorityClass::RuntimeInstruction));
        ensure(
            worth.is_none_or(|worth| envelope.authority_class == worth),
            "the end of a task is worth what the turn was that began it, and never the operator's word",
            || {
                let given = envelope.authority_class;
                format!("{task_id} with {given:?}, begun with {begun_with:?}")
            },
        )?;
        if kind == MessageKind::TaskStatus {
            self.fresh.statuses.push(task_id.clone());
            return Ok(());
        }
        let before = self.told.insert(task_id.clone(), envelope.id.clone());
        ensure(before.is_none(), "the end of a task is told once", || {
            format!("{task_id} by {before:?} and {}", envelope.id)
        })?;
        let result = (task_id.clone(), envelope.id.clone());
        self.fresh.results.push(result);
        Ok(())
    }

    /// A call got its result.
    pub(crate) fn hear_result(&mut self, call: &ToolCall, envelope: &ToolEnvelope) -> Verdict<()> {
        let named = call.input.get("task_id").and_then(|id| id.as_str());
        let about_task = matches!(
            call.name.as_str(),
            "TaskStatus" | "TaskStop" | "TaskInput" | "TaskOutput"
        );
        if let (true, Some(named)) = (about_task, named) {
            self.judge_named(&TaskId::from_stored(named), call, envelope)?;
        }
        if says(envelope, "disposition") == Some("promoted_to_task") {
            self.fresh.promoted.push(TaskId::of_call(&call.id));
        }
        Ok(())
    }

    /// A call about a task finds its agent's own, and no other.
    fn judge_named(
        &mut self,
        id: &TaskId,
        call: &ToolCall,
        envelope: &ToolEnvelope,
    ) -> Verdict<()> {
        let kind = envelope.error().map(|error| error.kind);
        let known = self.rows.contains_key(id);
        let found = match kind {
            Some(ToolErrorKind::UnknownTask) => Some(false),
            None => Some(true),
            Some(_) => None,
        };
        ensure(
            found.is_none_or(|found| found == known),
            "a call about a task finds exactly its agent's own",
            || format!("{} of {id}: {kind:?}, row: {known}", call.name),
        )?;
        if call.name == "TaskStop" && asked_to_stop(envelope) {
            self.asked.insert(id.clone());
            self.fresh.stopped.push(id.clone());
            if flag(envelope, "force_stop_requested") {
                self.forced.insert(id.clone());
            }
        }
        Ok(())
    }

    /// An event was recorded.
    pub(crate) fn hear_event(&mut self, event: &Event) -> Verdict<()> {
        match event {
            Event::TaskStatusUpdated(moved) if moved.status.is_terminal() => {
                let times = self.ends.entry(moved.task_id.clone()).or_default();
                *times += 1;
                ensure(*times == 1, "a task comes to one end", || {
                    format!("{} came to {times}", moved.task_id)
                })
            }
            // What is watched has not been stopped by the agent itself.
            Event::TaskStatusUpdated(moved)
                if moved.previous == TaskStatus::Running
                    && moved.status == TaskStatus::Cancelling
                    && moved.reason == "stopped with its agent" =>
            {
                self.owed.insert(moved.task_id.clone());
                Ok(())
            }
            Event::TaskResultReceived(result) => {
                let told = self.told.get(&result.task_id);
                ensure(
                    told == Some(&result.message_id),
                    "a recorded result names the message that tells it",
                    || format!("{} by {told:?}", result.task_id),
                )
            }
            _ => Ok(()),
        }
    }

    /// Compares the rows with those of the last look, and with the world. What is new began in a turn of this authority.
    pub(crate) fn compare(
        &mut self,
        (rows, authority, lifecycle): (Vec<TaskRecord>, AuthorityClass, Lifecycle),
        bench: &Bench,
        home: &str,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let fresh = std::mem::take(&mut self.fresh);
        let goes = lifecycle == Lifecycle::Deleting;
        let gone = rows.len() < self.rows.len();
        ensure(!gone, "no row of a task is lost", || {
            format!("{} of {}", rows.len(), self.rows.len())
        })?;
        for row in rows {
            match self.rows.get(&row.id) {
                None => {
                    begins(&row, fresh.beginning(&row.id, coverage))?;
                    self.order.push(row.id.clone());
                    self.begun_with.insert(row.id.clone(), authority);
                }
                Some(before) => moves(before, &row)?,
            }
            let before = self.rows.insert(row.id.clone(), row.clone());
            let was_over = before.as_ref().is_some_and(|row| row.status.is_terminal());
            let results = fresh.results.iter().filter(|(id, _)| *id == row.id).count();
            if row.status.is_terminal() && !was_over {
                self.judge_end(before.as_ref(), &row, (results, goes))?;
                self.judge_status(&row, &fresh, goes)?;
                is_true(&row, bench, home)?;
                count_end(&row, bench, home, coverage);
            } else {
                ensure(
                    results == 0,
                    "the end of a task is told in the commit of its end",
                    || format!("{} is {:?}", row.id, row.status),
                )?;
            }
        }
        self.judge_fresh(&fresh)
    }

    fn judge_end(
        &self,
        before: Option<&TaskRecord>,
        row: &TaskRecord,
        (results, goes): (usize, bool),
    ) -> Verdict<()> {
        let from = before.map(|before| before.status);
        let (fits, told) = match (from, row.status) {
            // It may have ended by itself before it was asked to.
            (
                Some(TaskStatus::Cancelling),
                TaskStatus::Cancelled
                | TaskStatus::Interrupted
                | TaskStatus::Completed
                | TaskStatus::Failed,
            ) => (true, usize::from(self.owed.contains(&row.id) && !goes)),
            (
                Some(TaskStatus::Running),
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Interrupted,
            ) => (true, 1),
            (Some(_) | None, _) => (false, 0),
        };
        ensure(fits, "a task ends as it was on its way to", || {
            format!("{} from {from:?} to {:?}", row.id, row.status)
        })?;
        ensure(
            results == told,
            "the end of a task is told in the commit of its end, unless it was stopped on purpose",
            || format!("{} from {from:?} was told {results} times", row.id),
        )?;
        let recorded = self.ends.get(&row.id).copied();
        ensure(recorded == Some(1), "the end of a task is recorded", || {
            format!("{} {recorded:?} times", row.id)
        })
    }

    /// The end of a task its agent stopped leaves a status in the same commit, and no other end does.
    fn judge_status(&self, row: &TaskRecord, fresh: &Fresh, goes: bool) -> Verdict<()> {
        let left = fresh.statuses.iter().filter(|id| **id == row.id).count();
        let by_agent = self.asked.contains(&row.id) && !self.owed.contains(&row.id);
        ensure(
            left == usize::from(by_agent && !goes),
            "the end of a task its agent stopped leaves a status, and no other end does",
            || format!("{}: {left}, asked for: {by_agent}", row.id),
        )
    }

    fn judge_fresh(&self, fresh: &Fresh) -> Verdict<()> {
        for id in &fresh.promoted {
            let known = self.rows.contains_key(id);
            ensure(known, "a promoted command has its row at once", || {
                id.to_string()
            })?;
        }
        for (id, _) in &fresh.results {
            let known = self.rows.contains_key(id);
            ensure(known, "what is told to have ended has a row", || {
                id.to_string()
            })?;
        }
        for id in &fresh.statuses {
            let over = self
                .rows
                .get(id)
                .is_some_and(|row| row.status.is_terminal());
            ensure(over, "a status is left of a task that is over", || {
                id.to_string()
            })?;
        }
        for id in &fresh.stopped {
            let status = self.rows.get(id).map(|row| row.status);
            ensure(
                status == Some(TaskStatus::Cancelling),
                "a task that is said to be stopped is being stopped",
                || format!("{id} is {status:?}"),
            )?;
        }
        Ok(())
    }

    /// Counts what a host that starts finds of tasks.
    pub(crate) fn count_restart(&self, bench: &Bench, home: &str, coverage: &mut Coverage) {
        for row in self.active() {
            let command = bench.commands.get(&key_of(home, row));
            let runs = command.is_some_and(Command::runs);
            coverage.count(match row.status {
                TaskStatus::Cancelling => "restart:cancelling_task",
                _ if runs => "restart:running_task",
                _ => "restart:unreported_end",
            });
        }
    }

    /// When nothing is left to do, a task is over or its command runs.
    pub(crate) fn at_rest(&self, bench: &Bench, home: &str) -> Verdict<()> {
        for row in self.active() {
            let command = bench.commands.get(&key_of(home, row));
            let runs = command.is_some_and(Command::runs);
            ensure(
                row.status == TaskStatus::Running && runs,
                "in the end a task is over or its command runs",
                || format!("{} is {:?}, runs: {runs}", row.id, row.status),
            )?;
        }
        Ok(())
    }
}

fn asked_to_stop(envelope: &ToolEnvelope) -> bool {
    flag(envelope, "stop_requested")
}
