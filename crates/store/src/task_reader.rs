//! Reads of tasks and of the children that tasks stand for. Reading changes nothing.

use crate::error::Error;
use crate::reader::Reader;
use crate::row::AgentNo;
use crate::{children, tasks};
use holon_domain::agent::AgentRecord;
use holon_domain::delegation::ChildFacts;
use holon_domain::task::TaskRecord;
use holon_domain::{AgentId, TaskId, limits};

impl Reader<'_> {
    /// Lists an agent's unfinished tasks in the order they began, at most twice as many as may begin.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn active_tasks(&self, no: AgentNo) -> Result<Vec<TaskRecord>, Error> {
        tasks::active(self.conn(), no, self.unreadable())
    }

    /// Reads what an agent is shown of a child; `None` if it has no such child, or the child's rows cannot be read.
    ///
    /// # Errors
    /// When the database fails.
    pub fn child(
        &self,
        parent: AgentNo,
        child: &AgentId,
    ) -> Result<Option<Box<ChildFacts>>, Error> {
        children::facts(self.conn(), parent, child)
    }

    /// Lists the unfinished tasks of an agent that stand for children, with what it is shown of each, oldest first.
    ///
    /// # Errors
    /// When the database fails or a row of the agent cannot be read.
    pub fn children_at_work(
        &self,
        no: AgentNo,
        agent: &AgentRecord,
    ) -> Result<Vec<(TaskRecord, Box<ChildFacts>)>, Error> {
        let mut found = Vec::new();
        if agent.active_tasks == 0 {
            return Ok(found);
        }
        for task in self.active_tasks(no)? {
            if let Some(own) = task.child()
                && let Some(seen) = self.child(no, &own.child_agent_id)?
            {
                found.push((task, seen));
            }
        }
        Ok(found)
    }

    /// Returns true if a supervised child that has not ended was put aside.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_child_aside(&self, id: &AgentId) -> Result<bool, Error> {
        Ok(self.aside(id)?.is_some() && children::is_live_child(self.conn(), id)?)
    }

    /// Reads one task. The oldest finished tasks are removed at some time.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn task(&self, no: AgentNo, id: &TaskId) -> Result<Option<TaskRecord>, Error> {
        tasks::one(self.conn(), no, id)
    }

    /// Reads one task as [`Reader::task`] does, with what the rows of its child add to its views.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn task_with_child(&self, no: AgentNo, id: &TaskId) -> Result<Option<TaskRecord>, Error> {
        let mut task = self.task(no, id)?;
        if let Some(task) = &mut task
            && let Some(child) = task.child()
            && let Some(facts) = self.child(no, &child.child_agent_id)?
        {
            task.note_child(&facts);
        }
        Ok(task)
    }

    /// Lists the `limit` tasks that began last, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn tasks(&self, no: AgentNo, limit: usize) -> Result<Vec<TaskRecord>, Error> {
        tasks::newest(self.conn(), no, limit, self.unreadable())
    }

    /// Lists the tasks shown to an agent, newest first: those that began last, and every unfinished one.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn tasks_to_tell(&self, no: AgentNo) -> Result<Vec<TaskRecord>, Error> {
        let mut tasks = self.tasks(no, limits::TASKS_PER_AGENT)?;
        // Fewer than requested means that there are no others.
        if tasks.len() == limits::TASKS_PER_AGENT {
            let active = self.active_tasks(no)?.into_iter().rev();
            let older = active.filter(|task| !tasks.iter().any(|newer| newer.id == task.id));
            let older: Vec<TaskRecord> = older.collect();
            tasks.extend(older);
        }
        Ok(tasks)
    }
}
