//! Commands of an operator about one task. They change the same rows as the agent's own calls.

use super::{StopActor, StopOutcome, start, status_event, stop};
use crate::draft::Draft;
use crate::input::{Reply, TaskCommand};
use crate::rejection::Rejection;
use holon_domain::TaskId;
use holon_domain::agent::Lifecycle;

/// Performs an operator's command about a task. A stopped agent takes those about its tasks too, because they may still
/// be ending; it starts none.
pub(crate) fn handle(draft: &mut Draft<'_>, command: &TaskCommand) -> Result<Reply, Rejection> {
    if draft.agent.lifecycle == Lifecycle::Deleting {
        return Err(Rejection::deleting(&draft.agent));
    }
    match command {
        TaskCommand::Start(new) => start::queue(draft, new),
        TaskCommand::Stop { task_id } => stop_task(draft, task_id),
        TaskCommand::Input { task_id } => number_input(draft, task_id),
    }
}

fn stop_task(draft: &mut Draft<'_>, id: &TaskId) -> Result<Reply, Rejection> {
    let outcome = stop(draft, id, StopActor::Operator).ok_or(Rejection::NoSuchTask)?;
    let task = draft.task(id).ok_or(Rejection::NoSuchTask)?;
    Ok(Reply::TaskStop {
        task: Box::new(task.status_snapshot()),
        stop_requested: outcome != StopOutcome::Over,
        force_stop_requested: outcome == StopOutcome::Forced,
    })
}

/// Gives an operator's input its number. The shell writes it afterwards; a repeated write with the number changes
/// nothing.
fn number_input(draft: &mut Draft<'_>, id: &TaskId) -> Result<Reply, Rejection> {
    let mut task = draft.task(id).ok_or(Rejection::NoSuchTask)?;
    if task.is_over() {
        return Err(Rejection::TaskOver);
    }
    task.operator_inputs += 1;
    let number = task.operator_inputs;
    draft.event(status_event(
        &task,
        task.status,
        "an operator wrote to its input",
    ));
    draft.change_task(task);
    Ok(Reply::TaskInput { number })
}
