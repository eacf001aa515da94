//! Routes about the tasks of an agent.

use crate::answer::Answer;
use crate::client::{Client, ReadTimeout, control_path};
use crate::error::Error;
use crate::query::with_query;
use crate::view::{ListedTask, TaskOutput, TaskStop, TaskView, TaskWrite};
use crate::work::{escape_segment, list_path};
use holon_api::{EmptyRequest, ListFilter, StartTaskRequest, TaskInputRequest};
use holon_domain::limits::ANSWER_IDLE_MS;
use holon_domain::{AgentId, TaskId};
use std::time::Duration;

/// The part of a task's output that a request selects.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskOutputQuery {
    /// Offset in the output, as the last response named it.
    pub after_byte: Option<u64>,
    /// Offset in the standard error.
    pub stderr_after_byte: Option<u64>,
    /// Last lines of each stream; not with offsets.
    pub tail_lines: Option<u32>,
    /// Milliseconds to wait for the end of the task first.
    pub wait_ms: Option<u64>,
}

impl Client {
    /// Lists the tasks of an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn tasks(
        &self,
        agent_id: &AgentId,
        filter: ListFilter,
        limit: u64,
    ) -> Result<Vec<Answer<ListedTask>>, Error> {
        self.get(list_path(agent_id, "tasks", &filter, limit)).await
    }

    /// Reads one task without its output.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn task(&self, agent_id: &AgentId, id: &TaskId) -> Result<Answer<TaskView>, Error> {
        self.get(format!("/agents/{agent_id}/tasks/{}", segment(id)))
            .await
    }

    /// Reads a part of a task's output.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn task_output(
        &self,
        agent_id: &AgentId,
        id: &TaskId,
        query: TaskOutputQuery,
    ) -> Result<Answer<TaskOutput>, Error> {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let target = with_query(
            &format!("/agents/{agent_id}/tasks/{}/output", segment(id)),
            [
                ("after_byte", number(query.after_byte)),
                ("stderr_after_byte", number(query.stderr_after_byte)),
                ("tail_lines", number(query.tail_lines.map(u64::from))),
                ("wait_ms", number(query.wait_ms)),
            ],
        );
        let patience = ANSWER_IDLE_MS.saturating_add(query.wait_ms.unwrap_or_default());
        self.get_within(target, ReadTimeout::Idle(Duration::from_millis(patience)))
            .await
    }

    /// Starts a command as a task of an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn start_task(
        &self,
        agent_id: &AgentId,
        request: &StartTaskRequest,
    ) -> Result<Answer<TaskView>, Error> {
        self.post(control_path(agent_id, "tasks"), request).await
    }

    /// Writes to a task's input.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn task_input(
        &self,
        agent_id: &AgentId,
        id: &TaskId,
        request: &TaskInputRequest,
    ) -> Result<Answer<TaskWrite>, Error> {
        let target = format!("tasks/{}/input", segment(id));
        self.post(control_path(agent_id, &target), request).await
    }

    /// Asks a task to end; the second time it is killed.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn stop_task(
        &self,
        agent_id: &AgentId,
        id: &TaskId,
    ) -> Result<Answer<TaskStop>, Error> {
        let target = format!("tasks/{}/stop", segment(id));
        self.post(control_path(agent_id, &target), &EmptyRequest::default())
            .await
    }
}

fn segment(id: &TaskId) -> String {
    escape_segment(id.as_str())
}
