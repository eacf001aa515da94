//! Commands of an operator about an agent's work, and the makeup of missed timers and waits at a start.

use super::complete::complete_item;
use super::{check, create, has_room, open_item, touch, update, write};
use crate::draft::Draft;
use crate::input::{Reply, WorkCommand};
use crate::planted::{Fault, is_planted};
use crate::rejection::Rejection;
use crate::timer::{FirstSlot, TimerMaker};
use crate::{admission, timer, wait};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{Event, TimerCreateRequested, WorkItemEnqueueRequested};
use holon_domain::intent::{BlockerChange, NewTimer, NewWorkItem};
use holon_domain::timer::{DueAction, TimerSchedule};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::work_item::WorkItemProvenance;
use holon_domain::{AgentId, WorkItemId};

/// Returns true if a command gives the agent something new to do.
const fn adds_work(command: &WorkCommand) -> bool {
    match command {
        WorkCommand::Create(_)
        | WorkCommand::CreateTimer(_)
        | WorkCommand::CreateTimerAfter { .. } => true,
        WorkCommand::Update { .. }
        | WorkCommand::Complete { .. }
        | WorkCommand::Resume { .. }
        | WorkCommand::CancelWait { .. }
        | WorkCommand::CancelTimer { .. } => false,
    }
}

/// Performs an operator's command about work. A stopped agent takes up no new work or timer; what it has can be changed
/// and ended, so that an operator can put things right before the next start.
pub(crate) fn command(draft: &mut Draft<'_>, command: &WorkCommand) -> Result<Reply, Rejection> {
    if adds_work(command) || draft.agent.lifecycle != Lifecycle::Stopped {
        admission::judge_lifecycle(&draft.agent)?;
    }
    check::command(command)?;
    let authority = AuthorityClass::OperatorInstruction;
    let agent_id = draft.agent.identity.agent_id.clone();
    match command {
        WorkCommand::Create(new) => create_item(draft, new, authority),
        WorkCommand::Update {
            work_item_id,
            change,
        } => {
            if let Some(BlockerChange::Set { .. }) = &change.blocker {
                return Err(Rejection::InvalidWork {
                    reason: "only the agent names a blocker; send it a message that says what is in the way"
                        .to_owned(),
                });
            }
            let updated = update(draft, work_item_id, change, authority)
                .map_err(|error| to_rejection(&agent_id, error))?;
            Ok(Reply::WorkItem(Box::new(updated.item)))
        }
        WorkCommand::Complete { work_item_id } => {
            let (item, _, _) = complete_item(draft, work_item_id)
                .map_err(|error| to_rejection(&agent_id, error))?;
            Ok(Reply::WorkItem(Box::new(item)))
        }
        WorkCommand::Resume { work_item_id } => {
            let mut item =
                open_item(draft, work_item_id).map_err(|error| to_rejection(&agent_id, error))?;
            touch(draft, &mut item);
            write(draft, item.clone(), "resumed", Vec::new());
            Ok(Reply::WorkItem(Box::new(item)))
        }
        WorkCommand::CancelWait { wait_id } => {
            let ended = wait::cancel(draft, wait_id, "an operator cancelled it");
            let wait = ended.ok_or(Rejection::NoSuchWait { agent_id })?;
            let ended = std::slice::from_ref(&wait);
            wait::report_ended(draft, ended, "Your operator cancelled your wait.");
            Ok(Reply::Wait(Box::new(wait)))
        }
        WorkCommand::CreateTimer(new) => create_timer(draft, new, authority, FirstSlot::ByTime),
        WorkCommand::CreateTimerAfter {
            delay_ms,
            interval_ms,
            missed,
            summary,
        } => {
            let first_at = draft.now.plus_millis(*delay_ms);
            let new = NewTimer {
                schedule: TimerSchedule::starting_at(first_at, *interval_ms),
                missed: *missed,
                summary: summary.clone(),
            };
            create_timer(draft, &new, authority, FirstSlot::ByLength)
        }
        WorkCommand::CancelTimer { timer_id } => {
            let timer =
                timer::cancel(draft, timer_id).ok_or(Rejection::NoSuchTimer { agent_id })?;
            Ok(Reply::Timer(Box::new(timer)))
        }
    }
}

fn create_item(
    draft: &mut Draft<'_>,
    new: &NewWorkItem,
    authority: AuthorityClass,
) -> Result<Reply, Rejection> {
    let agent_id = draft.agent.identity.agent_id.clone();
    has_room(draft).map_err(|error| to_rejection(&agent_id, error))?;
    let provenance = WorkItemProvenance {
        authority,
        turn_index: None,
        message_id: None,
        reply_route: None,
    };
    let id = WorkItemId::mint(draft.entropy);
    draft.event(Event::WorkItemEnqueueRequested(WorkItemEnqueueRequested {
        work_item_id: id.clone(),
        authority_class: authority,
    }));
    let item = create(draft, id, new, None, provenance);
    Ok(Reply::WorkItem(Box::new(item)))
}

fn create_timer(
    draft: &mut Draft<'_>,
    new: &NewTimer,
    authority: AuthorityClass,
    start: FirstSlot,
) -> Result<Reply, Rejection> {
    let agent_id = draft.agent.identity.agent_id.clone();
    let timer = timer::create(draft, new, authority, TimerMaker::Operator, start)
        .map_err(|error| to_rejection(&agent_id, error))?;
    draft.event(Event::TimerCreateRequested(TimerCreateRequested {
        timer_id: timer.id.clone(),
        authority_class: authority,
    }));
    Ok(Reply::Timer(Box::new(timer)))
}

/// Converts the refusal that a call of the agent would get to the refusal of a command.
fn to_rejection(agent_id: &AgentId, error: ToolError) -> Rejection {
    let agent_id = agent_id.clone();
    match error.kind {
        ToolErrorKind::UnknownWorkItem => Rejection::NoSuchWorkItem { agent_id },
        ToolErrorKind::WorkItemCompleted => Rejection::WorkItemCompleted { agent_id },
        ToolErrorKind::InvalidToolInput => Rejection::InvalidWork {
            reason: match error.recovery_hint {
                Some(hint) => format!("{}; {hint}", error.message),
                None => error.message,
            },
        },
        // The hints of other refusals name tools of the agent, which an operator does not have.
        _ => Rejection::InvalidWork {
            reason: error.message,
        },
    }
}

/// Prepares the agent's work after a start, so that missed timers and waits are handled next.
pub(crate) fn handle_agent_start(draft: &mut Draft<'_>) {
    let may_run =
        draft.agent.lifecycle == Lifecycle::Runnable && !is_planted(Fault::ParkedForgotten);
    if may_run && draft.agent.work.deferred > 0 && draft.agent.work.catch_up.is_none() {
        draft.agent.work.catch_up = Some(draft.set_due(draft.now, DueAction::CatchUp));
    }
}

/// Handles one page of the timers and waits whose time came while the agent was stopped.
pub(crate) fn catch_up(draft: &mut Draft<'_>) -> Reply {
    draft.agent.work.catch_up = None;
    if draft.agent.lifecycle != Lifecycle::Runnable {
        return Reply::Unchanged;
    }
    let done = wait::catch_up(draft) + timer::catch_up(draft);
    // An empty page ends the makeup even if the count says otherwise.
    let left = draft.agent.work.deferred.saturating_sub(done);
    draft.agent.work.deferred = if done == 0 { 0 } else { left };
    handle_agent_start(draft);
    Reply::Done
}
