//! The entry point of the crate: turns one input about one agent into a decision.
//!
//! This file only dispatches; the other modules decide. After an input the agent is run to rest: everything that
//! follows by itself is decided in the same step.

use crate::delivery::MessageWorth;
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::{AgentView, HostConditions, Input, Reply};
use crate::rejection::Rejection;
use crate::{
    admission, clock, context, delegation, delivery, detached, hint, home, invariant, lifecycle,
    outbox, recovery, rest, schedule, skill, task, tick, timer, transport, trigger, turn, wait,
    work, workspace,
};
use holon_domain::agent::HomeState;
use holon_domain::decision::Decision;
use holon_domain::event::{Event, SuspensionEnd, WakeRequested};
use holon_domain::message::Priority;
use holon_domain::needs::Needs;
use holon_domain::send::AgentSend;
use holon_domain::timer::{DueAction, DueId};
use holon_domain::trigger::WakeHint;
use holon_domain::{AgentId, Entropy, Timestamp, limits, text};

/// A decision, its sends, and the reply to the sender of its input.
#[derive(Debug, Clone)]
pub struct Step {
    pub decision: Decision,
    /// Inputs for other agents, in order. The kernel hands them over in the same transaction.
    pub sends: Vec<(AgentId, AgentSend)>,
    /// Reply to the sender of the input, to be delivered after the commit.
    pub reply: Reply,
}

/// The reason for which an input led to no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepError {
    /// A rule forbids the input. Nothing changes.
    Rejected(Rejection),
    /// The view lacks rows that the decision depends on. The caller loads these too and decides again.
    NeedsMore(Box<Needs>),
}

/// Decides one input about one agent.
///
/// # Errors
/// The input is refused, or the view lacks rows. Nothing changes in either case.
pub fn step(
    view: AgentView,
    input: &Input,
    host: &HostConditions,
    now: Timestamp,
    entropy: &mut dyn Entropy,
) -> Result<Step, StepError> {
    let mut draft = Draft::new(view, host, now, entropy);
    let applied = apply(&mut draft, input);
    if applied.is_ok() {
        schedule::run_to_rest(&mut draft);
        delegation::end_if_done(&mut draft);
    }
    // Neither a decision nor a refusal is valid if it was made without a part that it read.
    let (decision, sends) = draft.finish().map_err(StepError::NeedsMore)?;
    let reply = applied.map_err(StepError::Rejected)?;
    Ok(Step {
        decision,
        sends,
        reply,
    })
}

#[expect(clippy::too_many_lines, reason = "one arm for each input")]
fn apply(draft: &mut Draft<'_>, input: &Input) -> Result<Reply, Rejection> {
    lifecycle::judge_archived(&draft.agent, input)?;
    match input {
        Input::Admit(ingress) => admit(draft, ingress),
        Input::FromCommand { task_id, ingress } => {
            let entry = admission::admit_from_command(draft, task_id, ingress)?;
            Ok(Reply::Admitted {
                message_id: entry.envelope.id,
                message_seq: entry.seq,
                log_end: draft.agent.counters.log,
            })
        }
        Input::Configure { workspace, model } => {
            lifecycle::configure(draft, workspace.clone(), model.clone())
        }
        Input::HomePrepared { stamp, result } => Ok(home::handle_prepared(draft, *stamp, result)),
        Input::HomeRemoved { stamp, result } => Ok(home::handle_removed(draft, *stamp, result)),
        Input::RoundAnswered { stamp, answer } => Ok(turn::handle_answer(draft, *stamp, answer)),
        Input::AttemptFailed { stamp, attempt } => Ok(turn::handle_failure(draft, *stamp, attempt)),
        Input::CallMeasured { stamp, estimate } => {
            Ok(turn::handle_measured(draft, *stamp, *estimate))
        }
        Input::ToolFinished {
            stamp,
            consequence,
            duration_ms,
        } => Ok(turn::handle_tool_end(
            draft,
            *stamp,
            consequence,
            *duration_ms,
        )),
        Input::Received(sent) => receive(draft, sent),
        Input::Deliver { stamp, sends } => Ok(delivery::deliver(draft, *stamp, sends)),
        Input::Defer { sends } => Ok(delivery::defer(draft, sends)),
        Input::TaskStarted {
            stamp,
            task_id,
            started,
        } => Ok(task::handle_start(draft, *stamp, task_id, started)),
        Input::TaskEnded {
            stamp,
            task_id,
            report,
        } => Ok(task::handle_end(draft, *stamp, task_id, report)),
        Input::DeliverySubmitted {
            stamp,
            route,
            created_at,
            result,
        } => Ok(outbox::handle_submitted(
            draft,
            *stamp,
            route,
            *created_at,
            result,
        )),
        Input::Lane { route, command } => Ok(outbox::handle_command(draft, route, command)),
        Input::Operator(command) => transport::handle(draft, command),
        Input::OperatorMessage { claim, ingress } => transport::admit(draft, claim, ingress),
        Input::PatchFinished { stamp } => Ok(detached::handle_patch_end(draft, *stamp)),
        Input::BatchStopped { stamp, items } => {
            Ok(detached::handle_batch_end(draft, *stamp, items))
        }
        Input::WorktreeCleaned { stamp, end } => {
            Ok(delegation::handle_worktree_end(draft, *stamp, end))
        }
        Input::HostStops => Ok(lifecycle::handle_host_stop(draft)),
        Input::HistoryRemoval { through } => Ok(turn::handle_history_removal(draft, *through)),
        Input::DueCame {
            id,
            planned_at,
            due,
        } => Ok(handle_due(draft, *id, *planned_at, due)),
        Input::ClockSetBack {
            by_ms,
            since,
            pauses,
            slots,
        } => {
            let step = clock::StepBack {
                by_ms: *by_ms,
                since: *since,
            };
            Ok(clock::handle_set_back(draft, step, pauses, slots))
        }
        Input::Start => lifecycle::start(draft),
        Input::Stop => lifecycle::stop(draft),
        Input::Abort { run_id, then } => lifecycle::abort(draft, run_id.as_ref(), *then),
        Input::Archive => lifecycle::archive(draft),
        Input::Delete => Ok(lifecycle::delete(draft)),
        Input::Recover {
            exit,
            proven,
            found,
        } => {
            let proven = proven.as_deref();
            Ok(recovery::recover(draft, *exit, proven, found))
        }
        Input::TakeUp => Ok(recovery::take_up(draft)),
        Input::GiveUp { message } => Ok(turn::give_up(draft, message)),
        Input::CallerLeft { message_seq } => Ok(turn::handle_caller_left(draft, *message_seq)),
        Input::ModelsChanged => Ok(lifecycle::handle_models_changed(draft)),
        Input::BudgetChanged => Ok(lifecycle::handle_budget_changed(draft)),
        Input::CredentialRenewed { provider } => {
            Ok(lifecycle::handle_credential_renewed(draft, provider))
        }
        Input::WakeHint(hint) => accept_hint(draft, hint),
        Input::Trigger(command) => trigger::handle(draft, command),
        Input::Callback(delivery) => trigger::deliver(draft, delivery),
        Input::Workspace(command) => workspace::handle(draft, command),
        Input::Skill(command) => skill::handle(draft, command),
        Input::Context(command) => context::handle(draft, *command),
        Input::Task(command) => task::handle_command(draft, command),
        Input::Work(command) => work::command(draft, command),
        Input::Continue => Ok(Reply::Unchanged),
    }
}

/// Admits a message. A prompt ends the suspension of a turn, so that its model is asked again at once.
pub(crate) fn admit(draft: &mut Draft<'_>, ingress: &Ingress) -> Result<Reply, Rejection> {
    let entry = admission::admit(draft, ingress.clone())?;
    if entry.envelope.owes_outcome() {
        turn::end_provider_pause(draft, SuspensionEnd::OperatorMessage);
    }
    Ok(Reply::Admitted {
        message_id: entry.envelope.id,
        message_seq: entry.seq,
        log_end: draft.agent.counters.log,
    })
}

/// Stores a wake hint. A stopped agent refuses it.
fn accept_hint(draft: &mut Draft<'_>, hint: &WakeHint) -> Result<Reply, Rejection> {
    admission::judge_lifecycle(&draft.agent)?;
    hint::judge(hint)?;
    let shown = |words: &String| text::preview(words, limits::EVENT_PREVIEW_BYTES);
    // A hint of a capability names its trigger; any other is the request of an operator.
    if hint.external_trigger_id.is_none() {
        draft.event(Event::WakeRequested(WakeRequested {
            reason: hint.reason.as_ref().map(shown),
            source: hint.source.as_ref().map(shown),
            correlation_id: hint.correlation_id.as_ref().map(shown),
            causation_id: hint.causation_id.as_ref().map(shown),
            authority_class: Some(tick::authority_of(std::slice::from_ref(hint))),
        }));
    }
    let coalesced = hint::handle_hint(draft, hint.clone()).coalesced;
    if coalesced {
        draft.event(hint::coalesced(&hint.key, hint));
    }
    Ok(Reply::Woken { coalesced })
}

/// Handles what the decision of another agent sent.
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
        AgentSend::Notification {
            from,
            text,
            authority,
        } => {
            let worth = MessageWorth {
                priority: Priority::Normal,
                authority: *authority,
            };
            delivery::message(draft, from, text, worth)
        }
        // The kernel makes the agent; one that exists cannot be made again.
        AgentSend::Spawn { .. } => Ok(Reply::Unchanged),
        AgentSend::Followup { message, .. } => delegation::accept_followup(draft, message),
        AgentSend::ChildAttached {
            child,
            task_id,
            after_restart,
        } => Ok(delegation::handle_attached(
            draft,
            child,
            task_id,
            *after_restart,
        )),
        AgentSend::ChildEnded { task_id, end } => task::handle_child_end(draft, task_id, end),
        AgentSend::Stop => delegation::retire(draft),
        AgentSend::Remove => Ok(lifecycle::delete(draft)),
        AgentSend::Verdict { send, verdict } => Ok(turn::handle_verdict(draft, *send, verdict)),
    }
}

/// Handles a due entry. An entry that no state waits for is cleared without consequence.
fn handle_due(draft: &mut Draft<'_>, id: DueId, planned_at: Timestamp, due: &DueAction) -> Reply {
    // The rows of the agent are being removed, step by step, and its due entries before its timers and waits.
    if draft.agent.home == HomeState::Removed {
        return Reply::Unchanged;
    }
    match due {
        DueAction::Recheck { work_item_id } => {
            return tick::handle_recheck(draft, id, work_item_id);
        }
        DueAction::WaitOver { wait_id } => return wait::handle_due(draft, id, wait_id, planned_at),
        DueAction::TimerFire { timer_id, .. } => {
            return timer::handle_due(draft, id, timer_id, planned_at);
        }
        DueAction::RestOver { .. }
        | DueAction::ProviderPauseOver { .. }
        | DueAction::PaceOver
        | DueAction::RemovalRetry
        | DueAction::WorkTick
        | DueAction::HintTick
        | DueAction::DeliveryRetry { .. }
        | DueAction::CatchUp => {}
    }
    // The shell read the row before this decision, so the pause may have ended since and cleared its entry.
    if !invariant::awaited_due(&draft.agent).contains(&id) {
        return Reply::Unchanged;
    }
    draft.clear_due(id);
    match due {
        DueAction::RestOver { reason } => {
            rest::handle_rest_end(draft, id, planned_at, reason.as_deref())
        }
        DueAction::PaceOver => rest::handle_pace_end(draft, id),
        DueAction::ProviderPauseOver { .. } => turn::handle_provider_pause_end(draft, id),
        DueAction::RemovalRetry => home::handle_removal_pause_end(draft),
        DueAction::WorkTick => tick::handle_tick_due(draft, id),
        DueAction::HintTick => tick::handle_hint_due(draft, id),
        DueAction::CatchUp => work::catch_up(draft),
        DueAction::DeliveryRetry { route } => outbox::handle_pause_end(draft, id, route),
        DueAction::Recheck { .. } | DueAction::WaitOver { .. } | DueAction::TimerFire { .. } => {
            Reply::Unchanged
        }
    }
}
