//! Operator requests about one task: start it, stop it, or write to it.

use super::ControlHandle;
use crate::error::Error;
use crate::request::{TaskInputOrder, TaskStopped, WrittenInput};
use crate::shell::task_key;
use crate::tool_outcome::check_takes_input;
use holon_core::input::TaskCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::agent::Visibility;
use holon_domain::intent::TaskInput;
use holon_domain::task::{NewCommandTask, TaskStatusSnapshot};
use holon_domain::{AgentId, TaskId};

impl ControlHandle {
    /// Starts a command as a task, without a turn. The commit makes the start durable; the command runs soon after it.
    ///
    /// # Errors
    /// When there is no such agent, it is stopped or has too many tasks, the command is refused, or storage fails.
    pub async fn start_task(
        &self,
        agent_id: &AgentId,
        mut new: NewCommandTask,
    ) -> Result<TaskStatusSnapshot, Error> {
        self.shell.conceal(agent_id, &mut new).await;
        let command = TaskCommand::Start(Box::new(new));
        match self.submit(agent_id, Input::Task(command)).await? {
            Reply::Task(task) => Ok(*task),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Asks a task to end. The second request kills it with everything it started. A task that is over stays as it is.
    ///
    /// # Errors
    /// When there is no such agent or task, the agent is being removed, or storage fails.
    pub async fn stop_task(
        &self,
        agent_id: &AgentId,
        task_id: TaskId,
    ) -> Result<TaskStopped, Error> {
        let command = TaskCommand::Stop { task_id };
        match self.submit(agent_id, Input::Task(command)).await? {
            Reply::TaskStop {
                task,
                stop_requested,
                force_stop_requested,
            } => Ok(TaskStopped {
                task: *task,
                stop_requested,
                force_stop_requested,
            }),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Writes to a task's input. The commit numbers the input first, and the supervisor takes a number once, so a
    /// repeated request with the same key writes nothing twice.
    ///
    /// # Errors
    /// When there is no such agent or task, the task takes no input, or storage fails.
    pub async fn write_to_task(
        &self,
        agent_id: &AgentId,
        order: TaskInputOrder,
    ) -> Result<WrittenInput, Error> {
        let TaskInputOrder {
            task_id,
            input,
            close_input,
        } = order;
        let (id, wanted) = (agent_id.clone(), task_id.clone());
        let read = self.readers.read(move |reader| match reader.agent(&id)? {
            Some((no, agent)) if agent.identity.visibility == Visibility::Public => {
                let task = reader.task(no, &wanted)?;
                Ok(Some((agent.settings.agent_home, task)))
            }
            Some(_) | None => Ok(None),
        });
        let found = self.shell.read_or_put_aside(agent_id, read).await?;
        let (agent_home, task) = found.ok_or_else(|| Error::AgentNotFound {
            agent_id: agent_id.clone(),
        })?;
        let task = task.ok_or(Rejection::NoSuchTask)?;
        let refuse = |reason: &str| Error::TaskInput {
            reason: reason.to_owned(),
        };
        check_takes_input(&task).map_err(refuse)?;
        let key = task_key(&agent_home, &task).ok_or_else(|| refuse("the task is no command"))?;
        let command = TaskCommand::Input {
            task_id: task_id.clone(),
        };
        let number = match self.submit(agent_id, Input::Task(command)).await? {
            Reply::TaskInput { number } => number,
            other => return Err(unexpected_reply(&other)),
        };
        let piece = TaskInput {
            task_id,
            number,
            input,
            close_input,
            by_operator: true,
        };
        let written = self.shell.ports.command.input(&key, &piece).await;
        match written {
            Ok(bytes_written) => Ok(WrittenInput {
                task: task.status_snapshot(),
                bytes_written,
                not_closed: None,
            }),
            Err(refusal) if refusal.taken > 0 => Ok(WrittenInput {
                task: task.status_snapshot(),
                bytes_written: refusal.taken,
                not_closed: Some(refusal.reason),
            }),
            Err(refusal) => Err(refuse(&refusal.reason)),
        }
    }
}

fn unexpected_reply(reply: &Reply) -> Error {
    Error::Internal {
        message: format!("a command about a task was answered by {reply:?}"),
    }
}
