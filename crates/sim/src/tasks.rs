//! The oracle's record of tasks: compares rows, calls, events and messages about them.
//!
//! Written from the contract: a row begins as a promoted command, as one whose call was cancelled, or queued by an
//! operator; it moves forward only and ends once. One message reports its end in the same commit: a result, or a status if the agent stopped it
//! itself. The result of a task that was stopped with its agent is held for the agent's next turn.

use crate::command::Command;
use crate::coverage::Coverage;
use crate::envelope::{bool_field, text_field};
use crate::keys::key_of;
use crate::task_rules::{Beginning, check_beginning, check_end, check_transition, count_end};
use crate::tool_world::ToolWorld;
use crate::violation::{Verdict, ensure};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::block::ToolCall;
use holon_domain::event::Event;
use holon_domain::message::{MessageEnvelope, MessageKind, Origin};
use holon_domain::task::{TaskKind, TaskRecord, TaskStatus};
use holon_domain::tool::{ToolEnvelope, ToolErrorKind};
use holon_domain::{CallId, MessageId, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Task id in messages of earlier builds; it has no row.
pub(crate) const OUTSIDE: &str = "task_sim";

/// The oracle's record of an agent's tasks.
#[derive(Debug, Default)]
pub(crate) struct TaskBook {
    rows: BTreeMap<TaskId, TaskRecord>,
    /// Tasks that stand for children.
    children: BTreeMap<TaskId, TaskRecord>,
    /// Task ids in the order they were first seen.
    order: Vec<TaskId>,
    /// Authority of the turn in which each task began.
    begun_with: BTreeMap<TaskId, AuthorityClass>,
    /// Number of recorded ends of each task.
    ends: BTreeMap<TaskId, u32>,
    /// Tasks that their agent stopped itself.
    asked: BTreeSet<TaskId>,
    /// Tasks of which a call was told that they are killed.
    forced: BTreeSet<TaskId>,
    /// Tasks that were stopped with their agent, whose results are held.
    owed: BTreeSet<TaskId>,
    /// Message that reported the end of each task.
    told: BTreeMap<TaskId, MessageId>,
    fresh: FreshSightings,
}

/// The stored tasks of an agent, with the state of the agent that they are compared under.
pub(crate) struct TaskObservation {
    pub(crate) rows: Vec<TaskRecord>,
    /// Authority of the messages whose turns began tasks.
    pub(crate) authorities: BTreeMap<MessageId, AuthorityClass>,
    pub(crate) lifecycle: Lifecycle,
}

/// Events and messages seen since the last comparison of rows.
#[derive(Debug, Default)]
struct FreshSightings {
    /// Tasks that events call queued when they were created.
    started: Vec<TaskId>,
    promoted: Vec<TaskId>,
    /// Tasks of children that were not made after all, as their calls were told.
    refused: Vec<TaskId>,
    stopped: Vec<TaskId>,
    results: Vec<(TaskId, MessageId)>,
    statuses: Vec<TaskId>,
}

impl FreshSightings {
    fn beginning(&self, id: &TaskId, coverage: &mut Coverage) -> Beginning {
        if self.started.contains(id) {
            coverage.count("task:started_by_operator");
            Beginning::Queued
        } else if self.promoted.contains(id) {
            coverage.count("task:promoted");
            Beginning::Promoted
        } else {
            coverage.count("task:taken_over");
            Beginning::TakenOver
        }
    }
}

impl TaskBook {
    /// Returns the rows in the order of their ids.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &TaskRecord> {
        self.rows.values()
    }

    /// Returns the rows of tasks that stand for children.
    pub(crate) fn children(&self) -> impl Iterator<Item = &TaskRecord> {
        self.children.values()
    }

    fn find(&self, id: &TaskId) -> Option<&TaskRecord> {
        self.rows.get(id).or_else(|| self.children.get(id))
    }

    /// Returns the rows of active tasks.
    pub(crate) fn active(&self) -> impl Iterator<Item = &TaskRecord> {
        self.rows().filter(|row| !row.status.is_terminal())
    }

    /// Returns the ids: active tasks first, and within each group the newest first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &TaskId> {
        let is_over = |id: &&TaskId| {
            self.rows
                .get(*id)
                .is_some_and(|row| row.status.is_terminal())
        };
        let active = self.order.iter().rev().filter(move |id| !is_over(id));
        active.chain(self.order.iter().rev().filter(is_over))
    }

    /// Returns true if a running task represents the command of a call.
    pub(crate) fn runs(&self, call: &CallId) -> bool {
        let row = self.rows.get(&TaskId::of_call(call));
        row.is_some_and(|row| row.status == TaskStatus::Running)
    }

    /// Returns true if an active task represents the commands of a call.
    pub(crate) fn follows(&self, call: &CallId) -> bool {
        let row = self.rows.get(&TaskId::of_call(call));
        row.is_some_and(|row| !row.status.is_terminal())
    }

    /// Returns true if a task was stopped with its agent.
    pub(crate) fn is_owed(&self, id: &TaskId) -> bool {
        self.owed.contains(id)
    }

    /// Returns true if a call was told that the task is killed.
    pub(crate) fn is_forced(&self, id: &TaskId) -> bool {
        self.forced.contains(id)
    }

    /// Returns true if a message reports the end of one of these tasks.
    pub(crate) fn is_reported_by(&self, id: &MessageId) -> bool {
        self.told.values().any(|told| told == id)
    }

    /// Returns true if a message reports the end of a task that stands for a child.
    pub(crate) fn is_childs_report(&self, id: &MessageId) -> bool {
        let mut told = self.told.iter();
        told.any(|(task, told)| told == id && self.children.contains_key(task))
    }

    /// Records a queued message.
    pub(crate) fn record_message(&mut self, envelope: &MessageEnvelope) -> Verdict<()> {
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

    /// Records the result of a call.
    pub(crate) fn record_result(
        &mut self,
        call: &ToolCall,
        envelope: &ToolEnvelope,
    ) -> Verdict<()> {
        let named = call.input.get("task_id").and_then(|id| id.as_str());
        let about_task = matches!(
            call.name.as_str(),
            "TaskStatus" | "TaskStop" | "TaskInput" | "TaskOutput"
        );
        if let (true, Some(named)) = (about_task, named) {
            self.judge_named(&TaskId::from_stored(named), call, envelope)?;
        }
        if call.name == "SpawnAgent" && envelope.error().is_some() {
            self.fresh.refused.push(TaskId::of_call(&call.id));
        }
        if text_field(envelope, "disposition") == Some("promoted_to_task") {
            self.fresh.promoted.push(TaskId::of_call(&call.id));
        }
        Ok(())
    }

    /// Checks that a call about a task finds only tasks of its own agent.
    fn judge_named(
        &mut self,
        id: &TaskId,
        call: &ToolCall,
        envelope: &ToolEnvelope,
    ) -> Verdict<()> {
        let kind = envelope.error().map(|error| error.kind);
        let known = self.find(id).is_some();
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
            if bool_field(envelope, "force_stop_requested") {
                self.forced.insert(id.clone());
            }
        }
        Ok(())
    }

    /// Records an event and checks it against the task's state.
    pub(crate) fn record_event(&mut self, event: &Event) -> Verdict<()> {
        match event {
            Event::TaskStatusUpdated(moved) if moved.status.is_terminal() => {
                let times = self.ends.entry(moved.task_id.clone()).or_default();
                *times += 1;
                ensure(*times == 1, "a task comes to one end", || {
                    format!("{} came to {times}", moved.task_id)
                })
            }
            Event::TaskCreated(created) if created.status == TaskStatus::Queued => {
                self.fresh.started.push(created.task_id.clone());
                Ok(())
            }
            // A watched task was not stopped by its agent.
            Event::TaskStatusUpdated(moved)
                if matches!(moved.previous, TaskStatus::Queued | TaskStatus::Running)
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

    /// Compares the rows with the last observation and with the simulated world.
    pub(crate) fn compare(
        &mut self,
        found: TaskObservation,
        tool_world: &ToolWorld,
        home: &str,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let TaskObservation {
            rows,
            authorities,
            lifecycle,
        } = found;
        let fresh = std::mem::take(&mut self.fresh);
        let goes = lifecycle == Lifecycle::Deleting;
        let before = self.rows.len() + self.children.len();
        ensure(rows.len() >= before, "no row of a task is lost", || {
            format!("{} of {before}", rows.len())
        })?;
        for row in rows {
            if row.kind == TaskKind::ChildAgentTask {
                self.compare_child(&row, &authorities, &fresh, goes, coverage)?;
                continue;
            }
            match self.rows.get(&row.id) {
                None => {
                    check_beginning(&row, fresh.beginning(&row.id, coverage))?;
                    self.order.push(row.id.clone());
                    let message = row.parent_message_id.as_ref();
                    let authority = message.and_then(|message| authorities.get(message));
                    self.begun_with
                        .extend(authority.map(|authority| (row.id.clone(), *authority)));
                }
                Some(before) => check_transition(before, &row)?,
            }
            let before = self.rows.insert(row.id.clone(), row.clone());
            let was_over = before.as_ref().is_some_and(|row| row.status.is_terminal());
            let results = fresh.results.iter().filter(|(id, _)| *id == row.id).count();
            if row.status.is_terminal() && !was_over {
                self.judge_end(before.as_ref(), &row, results, goes)?;
                self.judge_status(&row, &fresh, goes)?;
                check_end(&row, tool_world, home)?;
                count_end(&row, tool_world, home, coverage);
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

    /// Compares the row of a task that stands for a child: it begins running and ends once. An end of the child itself is
    /// told in the commit of the end, and so is a stop with its agent, whose result is held; a stop of the task alone is
    /// not.
    fn compare_child(
        &mut self,
        row: &TaskRecord,
        authorities: &BTreeMap<MessageId, AuthorityClass>,
        fresh: &FreshSightings,
        goes: bool,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let before = self.children.insert(row.id.clone(), row.clone());
        if before.is_none() {
            coverage.count("child:made");
            let message = row.parent_message_id.as_ref();
            let authority = message.and_then(|message| authorities.get(message));
            self.begun_with
                .extend(authority.map(|authority| (row.id.clone(), *authority)));
        }
        let was_over = before.as_ref().is_some_and(TaskRecord::is_over);
        ensure(
            !was_over || before.as_ref() == Some(row),
            "a task that is over never changes",
            || format!("{before:?} became {row:?}"),
        )?;
        let results = fresh.results.iter().filter(|(id, _)| *id == row.id).count();
        let ends_now = row.is_over() && !was_over;
        if ends_now {
            coverage.count(format!("child:{:?}", row.status));
        }
        let told = match row.status {
            _ if !ends_now || goes => results == 0,
            TaskStatus::Completed => results == 1,
            // One that was not made is told by its call.
            TaskStatus::Failed => results == usize::from(!fresh.refused.contains(&row.id)),
            // Held if it was stopped with its agent.
            TaskStatus::Cancelled => results <= 1,
            TaskStatus::Queued
            | TaskStatus::Running
            | TaskStatus::Cancelling
            | TaskStatus::Interrupted => false,
        };
        ensure(
            told,
            "the end of a child is told in the commit that ends its task",
            || {
                format!(
                    "{} is {:?} and was told {results} times",
                    row.id, row.status
                )
            },
        )
    }

    fn judge_end(
        &self,
        before: Option<&TaskRecord>,
        row: &TaskRecord,
        results: usize,
        goes: bool,
    ) -> Verdict<()> {
        let from = before.map(|before| before.status);
        let (fits, told) = match (from, row.status) {
            // The command may have ended before the stop reached it.
            (
                Some(TaskStatus::Cancelling),
                TaskStatus::Cancelled
                | TaskStatus::Interrupted
                | TaskStatus::Completed
                | TaskStatus::Failed,
            ) => (true, usize::from(self.owed.contains(&row.id) && !goes)),
            (
                Some(TaskStatus::Queued | TaskStatus::Running),
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

    /// Checks that the end of a task that its agent or an operator stopped leaves a status in the same commit, and no
    /// other end does.
    fn judge_status(&self, row: &TaskRecord, fresh: &FreshSightings, goes: bool) -> Verdict<()> {
        let left = fresh.statuses.iter().filter(|id| **id == row.id).count();
        // A stop of a task that is being stopped is recorded by its row alone.
        let by_operator = row.stop.is_some_and(|order| order.by_operator);
        let is_asked = self.asked.contains(&row.id) || by_operator;
        let is_asked = is_asked && !self.owed.contains(&row.id);
        ensure(
            left == usize::from(is_asked && !goes),
            "the end of a task that was stopped on its own leaves a status, and no other end does",
            || format!("{}: {left}, asked for: {is_asked}", row.id),
        )
    }

    fn judge_fresh(&self, fresh: &FreshSightings) -> Verdict<()> {
        for id in &fresh.promoted {
            let known = self.rows.contains_key(id);
            ensure(known, "a promoted command has its row at once", || {
                id.to_string()
            })?;
        }
        for (id, _) in &fresh.results {
            let known = self.find(id).is_some();
            ensure(known, "what is told to have ended has a row", || {
                id.to_string()
            })?;
        }
        for id in &fresh.statuses {
            let over = self.find(id).is_some_and(|row| row.status.is_terminal());
            ensure(over, "a status is left of a task that is over", || {
                id.to_string()
            })?;
        }
        for id in &fresh.stopped {
            let status = self.find(id).map(|row| row.status);
            let is_child = self.children.contains_key(id);
            ensure(
                status == Some(TaskStatus::Cancelling)
                    || is_child && status == Some(TaskStatus::Cancelled),
                "a task that is said to be stopped is being stopped",
                || format!("{id} is {status:?}"),
            )?;
        }
        Ok(())
    }

    /// Counts the states of tasks that a starting host finds.
    pub(crate) fn count_restart(
        &self,
        tool_world: &ToolWorld,
        home: &str,
        coverage: &mut Coverage,
    ) {
        for row in self.active() {
            let command = tool_world.commands.get(&key_of(home, row));
            let runs = command.is_some_and(Command::runs);
            coverage.count(match row.status {
                TaskStatus::Queued => "restart:queued_task",
                TaskStatus::Cancelling => "restart:cancelling_task",
                _ if runs => "restart:running_task",
                _ => "restart:unreported_end",
            });
        }
    }

    /// Checks that every task has ended or has a running command once nothing is left to do.
    pub(crate) fn at_rest(&self, tool_world: &ToolWorld, home: &str) -> Verdict<()> {
        for row in self.active() {
            let command = tool_world.commands.get(&key_of(home, row));
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
    bool_field(envelope, "stop_requested")
}
