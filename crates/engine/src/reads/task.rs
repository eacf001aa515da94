//! Reads the tasks of an agent and the output of one.

use super::{EntryFilter, ReadHandle, page_size};
use crate::concealment::Texts as _;
use crate::error::Error;
use crate::model_request::shown_children;
use crate::news::wait_for_news;
use crate::shell::task_key;
use holon_core::Rejection;
use holon_core::delegation::{unreadable_child, with_child};
use holon_domain::agent::AgentRecord;
use holon_domain::delegation::ActiveChild;
use holon_domain::intent::TaskOutput;
use holon_domain::task::{TaskListEntry, TaskRecord, TaskStatusSnapshot};
use holon_domain::tool::{ToolOutcome, ToolOutputBudget};
use holon_domain::{AgentId, TaskId};
use holon_store::{AgentNo, Reader};
use holon_tools::task_output;
use serde_json::Value;
use std::time::Duration;

/// Describes the children of an agent whose tasks have not ended, those included of which nothing can be read.
pub(super) fn children(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
    active: &[TaskRecord],
) -> Result<Vec<ActiveChild>, holon_store::Error> {
    let readable = reader.children_at_work(no, agent)?;
    let mut children = shown_children(&readable);
    for task in active {
        let is_shown = readable.iter().any(|(known, _)| known.id == task.id);
        let Some(child) = task.child().filter(|_| !is_shown) else {
            continue;
        };
        let id = &child.child_agent_id;
        // A child that is still being made has no row yet.
        if reader.birth(id)?.is_some() {
            let fault = reader.aside(id)?;
            children.push(unreadable_child(
                &agent.identity,
                task,
                child,
                fault.as_deref(),
            ));
        }
    }
    Ok(children)
}

impl ReadHandle {
    /// Lists the tasks of an agent: the unfinished ones in the order they began, or the newest ones first.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn tasks(
        &self,
        agent_id: &AgentId,
        filter: EntryFilter,
        limit: u64,
    ) -> Result<Vec<TaskListEntry>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            let reader = reader.passing_over();
            let mut tasks = match filter {
                EntryFilter::Active => reader.active_tasks(no)?,
                EntryFilter::All => reader.tasks(no, page_size(limit))?,
            };
            tasks.truncate(page_size(limit));
            Ok(tasks.iter().map(TaskRecord::list_entry).collect())
        })
        .await
    }

    /// Returns one task without its output.
    ///
    /// # Errors
    /// When there is no such agent or task, or storage fails.
    pub async fn task(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
    ) -> Result<TaskStatusSnapshot, Error> {
        let id = task_id.clone();
        let found = self.read_agent(agent_id, move |reader, no, _| {
            let Some(task) = reader.task(no, &id)? else {
                return Ok(None);
            };
            let child = match task.child() {
                Some(child) => reader.child(no, &child.child_agent_id)?,
                None => None,
            };
            Ok(Some((task, child)))
        });
        let (task, child) = found.await?.ok_or(Rejection::NoSuchTask)?;
        Ok(with_child(task, child.as_deref()))
    }

    /// Returns the part of a task's output that the query selects, in the shape that the agent's own tool returns. Waits
    /// first for the end of the task if the query says so.
    ///
    /// # Errors
    /// When there is no such agent or task, or storage fails.
    pub async fn task_output(
        &self,
        agent_id: &AgentId,
        mut query: TaskOutput,
    ) -> Result<Value, Error> {
        let (agent_home, task) = match query.wait_ms {
            Some(wait_ms) => {
                self.wait_for_task(agent_id, &query.task_id, wait_ms)
                    .await?
            }
            None => self.task_row(agent_id, &query.task_id).await?,
        };
        query.max_output_tokens = Some(ToolOutputBudget::default().allow(query.max_output_tokens));
        let max_bytes = task_output::shown_bytes(&query);
        let printed = match task_key(&agent_home, &task) {
            Some(key) => self.command.printed(&key, &query, max_bytes).await,
            // A child has a report in place of output, which is part of its row.
            None if task.child().is_some() => Err("it is no command".to_owned()),
            None => return Err(Rejection::NoSuchTask.into()),
        };
        let printed = printed.as_ref().map_err(String::as_str);
        let envelope = task_output::envelope(&task, &query, printed, self.clock.now());
        match envelope.outcome {
            ToolOutcome::Success { mut result } => {
                // The file holds what the command printed. A reader gets the id of a trigger in place of its token.
                result.conceal(&self.capability_key, &[]);
                let triggers = self
                    .read_agent(agent_id, |reader, no, _| reader.triggers(no))
                    .await?;
                result.conceal_pages(&self.capability_key, &triggers);
                Ok(result)
            }
            ToolOutcome::Error { error } => Err(Error::Internal {
                message: error.to_string(),
            }),
        }
    }

    /// Waits until a task is over or the time is up, and returns its row.
    async fn wait_for_task(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
        wait_ms: u64,
    ) -> Result<(String, TaskRecord), Error> {
        let mut news = self.subscribe_to(agent_id);
        let until = self.clock.elapsed() + Duration::from_millis(wait_ms);
        let late = self.clock.sleep_until(until);
        tokio::pin!(late);
        loop {
            let found = self.task_row(agent_id, task_id).await?;
            if found.1.status.is_terminal() {
                return Ok(found);
            }
            tokio::select! {
                () = &mut late => return self.task_row(agent_id, task_id).await,
                heard = wait_for_news(&mut news) => {
                    if heard.is_err() {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// Reads a task and the home of its agent.
    async fn task_row(
        &self,
        agent_id: &AgentId,
        task_id: &TaskId,
    ) -> Result<(String, TaskRecord), Error> {
        let id = task_id.clone();
        let (agent_home, task) = self
            .read_agent(agent_id, move |reader, no, agent| {
                let task = reader.task_with_child(no, &id)?;
                Ok((agent.settings.agent_home, task))
            })
            .await?;
        Ok((agent_home, task.ok_or(Rejection::NoSuchTask)?))
    }
}
