//! The one door: an input about one agent becomes a decision.
//!
//! Branches here, computes in the machines. After an input the agent is run to rest: what follows from it by itself
//! is decided in the same step, until something outside is needed.

use crate::delivery::MessageWorth;
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::{AgentView, HostFacts, Input, Reply};
use crate::rejection::Rejection;
use crate::{
    admission, clock, delivery, detached, hint, home, invariant, lifecycle, recovery, rest,
    schedule, task, tick, timer, turn, wait, work,
};
use holon_domain::decision::Decision;
use holon_domain::event::SuspensionEnd;
use holon_domain::needs::Needs;
use holon_domain::send::AgentSend;
use holon_domain::timer::{DueAction, DueId};
use holon_domain::trigger::WakeHint;
use holon_domain::{AgentId, Entropy, Timestamp};

/// A decision, what it sends, and what the sender of its input is told.
#[derive(Debug, Clone)]
pub struct Step {
    /// The facts about this agent.
    pub decision: Decision,
    /// Inputs for other agents, in order. They belong into the same transaction.
    pub sends: Vec<(AgentId, AgentSend)>,
    /// The answer to the sender of the input.
    pub reply: Reply,
}

/// Why an input led to no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undecided {
    /// A rule forbids it. Nothing follows.
    Rejected(Rejection),
    /// The view lacks rows the decision depends on: load these too, and decide again.
    NeedsMore(Box<Needs>),
}

/// Decides what one input means for one agent.
///
/// # Errors
/// When the input is refused, or when the view lacks something; then nothing follows from it.
pub fn step(
    view: AgentView,
    input: &Input,
    host: &HostFacts,
    now: Timestamp,
    entropy: &mut dyn Entropy,
) -> Result<Step, Undecided> {
    let mut draft = Draft::new(view, host, now, entropy);
    let applied = apply(&mut draft, input);
    if applied.is_ok() {
        schedule::run_to_rest(&mut draft);
    }
    // What was decided without a part it read is no decision, and a refusal without one is none either.
    let (decision, sends) = draft.finish().map_err(Undecided::NeedsMore)?;
    let reply = applied.map_err(Undecided::Rejected)?;
    Ok(Step {
        decision,
        sends,
        reply,
    })
}

fn apply(draft: &mut Draft<'_>, input: &Input) -> Result<Reply, Rejection> {
    match input {
        Input::Admit(ingress) => admit(draft, ingress),
        Input::Configure { workspace, model } => {
            lifecycle::configure(draft, workspace.clone(), model.clone())
        }
        Input::HomePrepared { stamp, result } => Ok(home::prepared(draft, *stamp, result)),
        Input::HomeRemoved { stamp, result } => Ok(home::removed(draft, *stamp, result)),
        Input::RoundAnswered { stamp, answer } => Ok(turn::round_answered(draft, *stamp, answer)),
        Input::RoundFailed {
            stamp,
            failure,
            timing,
            joined,
        } => {
            let failed = turn::FailedRound {
                failure,
                timing: *timing,
                joined,
            };
            Ok(turn::round_failed(draft, *stamp, &failed))
        }
        Input::ToolFinished {
            stamp,
            consequence,
            duration_ms,
        } => Ok(turn::tool_finished(
            draft,
            *stamp,
            consequence,
            *duration_ms,
        )),
        Input::Received(sent) => receive(draft, sent),
        Input::Deliver { stamp, sends } => Ok(delivery::deliver(draft, *stamp, sends)),
        Input::Defer { sends } => Ok(delivery::defer(draft, sends)),
        Input::TaskEnded {
            stamp,
            task_id,
            report,
        } => Ok(task::ended(draft, *stamp, task_id, report)),
        Input::PatchFinished { stamp } => Ok(detached::patch_finished(draft, *stamp)),
        Input::DueCame {
            id,
            planned_at,
            due,
        } => Ok(due_came(draft, *id, *planned_at, due)),
        Input::ClockSetBack { by_ms, pauses } => Ok(clock::set_back(draft, *by_ms, pauses)),
        Input::Start => lifecycle::start(draft),
        Input::Stop => lifecycle::stop(draft),
        Input::Delete => Ok(lifecycle::delete(draft)),
        Input::Recover {
            clean_exit,
            proven,
            found,
        } => {
            let proven = proven.as_deref();
            Ok(recovery::recover(draft, *clean_exit, proven, found))
        }
        Input::TakeUp => Ok(recovery::take_up(draft)),
        Input::GiveUp { message } => Ok(turn::give_up(draft, message)),
        Input::CallerLeft { message_seq } => Ok(turn::caller_left(draft, *message_seq)),
        Input::ModelsChanged => Ok(lifecycle::models_changed(draft)),
        Input::WakeHint(hint) => woken(draft, hint),
        Input::Work(command) => work::command(draft, command),
        Input::Continue => Ok(Reply::Unchanged),
    }
}

/// Admits a message. A prompt ends the suspension of a turn, so that its model is asked again at once.
fn admit(draft: &mut Draft<'_>, ingress: &Ingress) -> Result<Reply, Rejection> {
    let entry = admission::admit(draft, ingress.clone())?;
    if entry.envelope.owes_outcome() {
        turn::end_wait(draft, SuspensionEnd::OperatorMessage);
    }
    Ok(Reply::Admitted {
        message_id: entry.envelope.id,
        message_seq: entry.seq,
    })
}

/// Keeps a wake hint. A stopped agent takes none.
fn woken(draft: &mut Draft<'_>, hint: &WakeHint) -> Result<Reply, Rejection> {
    admission::judge_lifecycle(&draft.agent)?;
    hint::judge(hint)?;
    Ok(hint::arrive(draft, hint.clone()))
}

/// Takes what another agent's decision sends.
fn receive(draft: &mut Draft<'_>, sent: &AgentSend) -> Result<Reply, Rejection> {
    match sent {
        AgentSend::Message {
            from,
            text,
            priority,
            authority,
            ..
        } => {
            let worth = MessageWorth {
                priority: *priority,
                authority: *authority,
            };
            delivery::message(draft, from, text, worth)
        }
        AgentSend::ChildEnded { task_id, end } => task::child_ended(draft, task_id, end),
        AgentSend::Stop => lifecycle::stop(draft),
        AgentSend::Verdict { send, verdict } => Ok(turn::verdict(draft, *send, verdict)),
    }
}

/// The time of a due entry has come. An entry no state waits for is cleared without consequence.
fn due_came(draft: &mut Draft<'_>, id: DueId, planned_at: Timestamp, due: &DueAction) -> Reply {
    match due {
        DueAction::Recheck { work_item_id } => return tick::recheck_came(draft, id, work_item_id),
        DueAction::WaitOver { wait_id } => return wait::due_came(draft, id, wait_id, planned_at),
        DueAction::TimerFire { timer_id } => {
            return timer::due_came(draft, id, timer_id, planned_at);
        }
        DueAction::RestOver { .. }
        | DueAction::BackoffOver { .. }
        | DueAction::PaceOver
        | DueAction::RemovalRetry
        | DueAction::WorkTick
        | DueAction::Unpark => {}
    }
    // The row was read before this decision: what ended the pause since then has cleared it already.
    if !invariant::awaited_due(&draft.agent).contains(&id) {
        return Reply::Unchanged;
    }
    draft.clear_due(id);
    match due {
        DueAction::RestOver { reason } => rest::rest_over(draft, id, planned_at, reason.as_deref()),
        DueAction::PaceOver => rest::pace_over(draft, id),
        DueAction::BackoffOver { .. } => turn::pause_over(draft, id),
        DueAction::RemovalRetry => home::removal_pause_over(draft),
        DueAction::WorkTick => tick::pause_over(draft, id),
        DueAction::Unpark => work::unpark(draft),
        DueAction::Recheck { .. } | DueAction::WaitOver { .. } | DueAction::TimerFire { .. } => {
            Reply::Unchanged
        }
    }
}
