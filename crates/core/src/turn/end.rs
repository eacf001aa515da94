//! The end of a turn: its record, its one outcome, and what the agent does next.
//!
//! Every operator message the turn owes is settled here by one brief, in the commit of the end. A failed turn
//! leaves a failure brief, a log entry and an event. No call leaves a turn without a result.

use super::ending::{Ending, Failure};
use super::finish::{close_unfinished, failing, take_over};
use super::notice;
use crate::assess::{assess, is_failure};
use crate::draft::Draft;
use crate::input::Reply;
use crate::{detached, rest, task, work};
use holon_domain::agent::LastFailure;
use holon_domain::attempt::TokenUsage;
use holon_domain::brief::{ActionCode, ActionRequired, BriefKind, BriefRow, BriefText};
use holon_domain::closure::WaitingReason;
use holon_domain::decision::Fact;
use holon_domain::event::{
    BriefCreated, ClosureDecided, CurrentRunAborted, Event, MessageProcessingAborted, RuntimeError,
    TurnTerminal,
};
use holon_domain::failure::FailureCause;
use holon_domain::log::LogEntry;
use holon_domain::message::MessageKind;
use holon_domain::model::ModelFailureKind;
use holon_domain::queue::{MessageSeq, QueueStatus};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::turn::{OpenTurn, Phase, TerminalKind, TerminalReason, TerminalRecord};
use holon_domain::work_item::WorkItemSchedulingState;
use holon_domain::{BriefId, limits, text};

/// Ends a turn.
pub(crate) fn end(draft: &mut Draft<'_>, turn: &OpenTurn, ending: Ending) {
    if let Some(failure) = &ending.failure {
        record_failure(draft, turn, failure, ending.reason);
    }
    if turn.failed_attempts > 0 {
        draft.clear_attempts();
    }
    settle(draft, turn, &ending);
    close_message(draft, turn, &ending);
    record_terminal(draft, turn, &ending);
    work::turn_ended(draft, turn, ending.reason);
    let completed = ending.kind() == TerminalKind::Completed;
    if let Some(rest) = ending.rest {
        rest::begin_rest(draft, rest.reason, rest.duration_ms, turn.authority);
    }
    if completed && !turn.owes.is_empty() {
        acknowledge_work(draft, turn);
    }
    record_closure(draft);
    draft.note_end_of_turn();
}

/// Tells the operator whose message was answered that work goes on without a word of theirs.
fn acknowledge_work(draft: &mut Draft<'_>, turn: &OpenTurn) {
    let Some(closure) = assess(draft.standing()).closure else {
        return;
    };
    let words = match (closure.work_signal, closure.waiting_reason) {
        (Some(signal), _) if !draft.agent.is_one_run() => {
            let item = draft.work_item(&signal.work_item_id);
            let objective = item.map(|item| item.objective).unwrap_or_default();
            let objective = text::preview(&objective, limits::EVENT_PREVIEW_BYTES);
            format!("work goes on by itself: {objective}")
        }
        (_, Some(WaitingReason::AwaitingTaskResult)) => {
            let waited_for = closure.evidence.join("; ");
            format!("work goes on when a task has ended ({waited_for})")
        }
        (Some(_) | None, Some(_) | None) => return,
    };
    notice::write_progress(draft, turn, &words);
}

fn record_failure(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    failure: &Failure,
    reason: TerminalReason,
) {
    // Counts what was answered before, too: a turn that fails in its last round has paid for all of them.
    let usage = (turn.usage != TokenUsage::default()).then_some(turn.usage);
    let artifact = failure.artifact.clone();
    draft.event(Event::RuntimeError(RuntimeError {
        message_id: turn.message_id.clone(),
        message_kind: turn.message_kind,
        error: artifact.summary.clone(),
        failure_kind: artifact.kind.clone(),
        token_usage: usage,
        provider_attempt_timeline: failure.timeline.clone(),
        run_id: Some(turn.run_id.clone()),
        turn_index: Some(turn.turn_index),
        message_seq: Some(turn.message_seq),
    }));
    draft.agent.last_failure = Some(LastFailure {
        occurred_at: draft.now,
        cause: failure
            .provider
            .map_or(FailureCause::Runtime, FailureCause::Provider),
        failure_artifact: artifact.clone(),
    });
    draft.log(
        turn.turn_index,
        LogEntry::RuntimeFailure {
            message_id: turn.message_id.clone(),
            text: artifact.summary.clone(),
            failure_artifact: artifact,
            reason: Some(reason),
            usage,
            timeline: failure.timeline.clone(),
            task_id: turn.task_id.clone(),
        },
    );
}

/// Writes the one brief, if there is anything to say or anyone to say it to, and settles what is owed.
fn settle(draft: &mut Draft<'_>, turn: &OpenTurn, ending: &Ending) {
    let asks = question(draft, turn, ending);
    let is_silent = ending.failure.is_none() && ending.words().is_none() && asks.is_none();
    if turn.owes.is_empty() && is_silent {
        return;
    }
    let (kind, words, preview) = match (&ending.failure, &ending.last_round) {
        (Some(failure), _) => said(BriefKind::Failure, failure.artifact.summary.clone()),
        (None, Some((entry, first))) if ending.words().is_some() => {
            (BriefKind::Result, BriefText::Round(*entry), first.clone())
        }
        (None, last) => match (turn.delivery, &asks, last) {
            // The report of the work that this turn completed is the outcome.
            (Some(entry), None, _) => {
                let preview = "the work is completed; its report stands in the log".to_owned();
                (BriefKind::Result, BriefText::Round(entry), preview)
            }
            (_, Some(asks), _) => said(BriefKind::Result, ending.waiting_for(asks)),
            (None, None, Some((entry, _))) => {
                (BriefKind::Result, BriefText::Round(*entry), String::new())
            }
            (None, None, None) => said(BriefKind::Result, String::new()),
        },
    };
    let seq = draft.next_brief();
    let settles: Vec<_> = turn.owes.iter().map(|owed| owed.id.clone()).collect();
    let row = BriefRow {
        id: BriefId::mint(draft.entropy),
        kind,
        created_at: draft.now,
        text: words,
        workspace_id: turn.workspace.workspace_id.clone(),
        related_message_id: (settles.first() != Some(&turn.message_id))
            .then(|| turn.message_id.clone()),
        settles: settles.clone(),
        turn_index: turn.turn_index,
        work_item_id: turn.work_item_id.clone(),
        acknowledges: Vec::new(),
        action_required: asks,
        related_task_id: turn.task_id.clone(),
    };
    draft.event(Event::BriefCreated(BriefCreated {
        brief_id: row.id.clone(),
        brief_seq: seq,
        kind,
        turn_index: turn.turn_index,
        settles,
        acknowledges: Vec::new(),
        text_preview: text::preview(&preview, limits::EVENT_PREVIEW_BYTES),
        action_required: row.action_required.as_ref().map(|action| action.code),
        related_task_id: turn.task_id.clone(),
        message_seq: Some(turn.message_seq),
    }));
    draft.fact(Fact::BriefWritten { seq, row });
    let settled = |seq: &MessageSeq| turn.owes.iter().any(|owed| owed.seq == *seq);
    draft.agent.acknowledged.retain(|seq| !settled(seq));
    for owed in &turn.owes {
        draft.fact(Fact::MessageSettled {
            seq: owed.seq,
            brief: seq,
        });
    }
    draft.agent.last_brief_at = Some(draft.now);
}

/// A brief of words of the runtime.
fn said(kind: BriefKind, words: String) -> (BriefKind, BriefText, String) {
    (kind, BriefText::Words(words.clone()), words)
}

/// What the operator is asked for by a turn that ends waiting for them: by its wait, or because the plan of its item needs
/// their input.
fn question(draft: &Draft<'_>, turn: &OpenTurn, ending: &Ending) -> Option<ActionRequired> {
    if ending.failure.is_some() || ending.asks.is_some() {
        return ending.asks.clone();
    }
    let id = turn.work_item_id.as_ref()?;
    let state = match &draft.agent.work.current {
        Some(current) if current.id == *id => current.state,
        Some(_) | None => draft.scheduling_state(&draft.work_item(id)?),
    };
    (state == WorkItemSchedulingState::WaitingOperator).then(|| ActionRequired {
        code: ActionCode::OperatorInput,
        next_step: format!("answer the agent: the plan of work item {id} needs your input"),
    })
}

fn close_message(draft: &mut Draft<'_>, turn: &OpenTurn, ending: &Ending) {
    match destination(turn, ending) {
        QueueStatus::Queued => draft.put_back(turn.message_seq),
        QueueStatus::Held => draft.hold(turn.message_seq),
        to => draft.move_message(turn.message_seq, QueueStatus::Dequeued, to),
    }
    if ending.kind() == TerminalKind::Aborted {
        draft.event(Event::MessageProcessingAborted(MessageProcessingAborted {
            message_id: turn.message_id.clone(),
            message_kind: turn.message_kind,
            run_id: Some(turn.run_id.clone()),
            reason: ending.reason,
            message_seq: Some(turn.message_seq),
        }));
    }
}

/// Where the message of a turn goes with it. The result of a task is owed to the agent until a model has answered it: a
/// turn that is called off before leaves it to another, and where no model could be asked it is kept for the next. One
/// that no model takes is given up, since every turn that held it would fail.
fn destination(turn: &OpenTurn, ending: &Ending) -> QueueStatus {
    let untold = turn.message_kind == MessageKind::TaskResult && turn.rounds == 0;
    match (ending.reason, ending.kind()) {
        (TerminalReason::OperatorAborted | TerminalReason::AgentStopped, _) if untold => {
            QueueStatus::Queued
        }
        (TerminalReason::ProviderFailed, _) if untold && !is_refused(ending) => QueueStatus::Held,
        (_, TerminalKind::Completed) => QueueStatus::Processed,
        (_, TerminalKind::Aborted) if is_refused(ending) && turn.rounds == 0 => {
            QueueStatus::Dropped
        }
        (_, TerminalKind::Aborted) => QueueStatus::Aborted,
    }
}

/// Whether a turn failed because no model takes its request.
fn is_refused(ending: &Ending) -> bool {
    let kind = ending.failure.as_ref().and_then(|failure| failure.provider);
    kind.is_some_and(ModelFailureKind::refuses_request)
}

fn record_terminal(draft: &mut Draft<'_>, turn: &OpenTurn, ending: &Ending) {
    let kind = ending.kind();
    let duration_ms = draft.now.millis_since(turn.started_at);
    draft.event(Event::TurnTerminal(TurnTerminal {
        turn_index: turn.turn_index,
        run_id: turn.run_id.clone(),
        kind,
        reason: ending.reason,
        duration_ms,
        rounds: turn.rounds,
        token_usage: turn.usage,
        message_seq: Some(turn.message_seq),
        last_assistant_message: ending.words().map(str::to_owned),
        task_id: turn.task_id.clone(),
    }));
    if turn.usage.total_tokens > 0 {
        draft.agent.totals.last_turn = Some(turn.usage);
    }
    draft.agent.last_turn = Some(TerminalRecord {
        turn_index: turn.turn_index,
        kind,
        reason: ending.reason,
        completed_at: draft.now,
        duration_ms,
        last_round_entry: ending.last_round.as_ref().map(|(entry, _)| *entry),
        usage: turn.usage,
        rounds: turn.rounds,
    });
    if !is_failure(ending.reason) {
        draft.agent.last_failure = None;
    }
}

fn record_closure(draft: &mut Draft<'_>) {
    let assessment = assess(draft.standing());
    if let Some(closure) = assessment.closure {
        draft.event(Event::ClosureDecided(ClosureDecided {
            outcome: closure.outcome,
            waiting_reason: closure.waiting_reason,
            until: assessment.posture.wakes_at,
        }));
    }
}

/// Calls off the open turn, if there is one: by a stop or a removal. What it waited for is let go.
pub(crate) fn abort(
    draft: &mut Draft<'_>,
    reason: TerminalReason,
    summary: &str,
) -> Option<holon_domain::RunId> {
    let turn = draft.agent.open_turn.take()?;
    release(draft, &turn.phase);
    let running = ToolError::new(
        ToolErrorKind::RunAborted,
        "the run was aborted while this call ran; it may have taken effect in part",
    );
    let unstarted = ToolError::new(
        ToolErrorKind::NotStarted,
        "the run was aborted before this call began",
    );
    take_over(draft, &turn);
    close_unfinished(draft, &turn, failing(running), &unstarted);
    let run_id = turn.run_id.clone();
    draft.event(Event::CurrentRunAborted(CurrentRunAborted {
        run_id: run_id.clone(),
        reason,
    }));
    end(draft, &turn, Ending::called_off(reason, summary));
    Some(run_id)
}

/// Fails a turn that was taken out of the agent already.
pub(crate) fn fail(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    reason: TerminalReason,
    kind: &str,
    summary: &str,
) {
    end(
        draft,
        turn,
        Ending::failed(reason, Failure::runtime(kind, summary)),
    );
}

/// The runtime broke a rule of its own while deciding about this agent: the turn is given up, the agent goes on.
pub(crate) fn give_up(draft: &mut Draft<'_>, message: &str) -> Reply {
    let Some(turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    release(draft, &turn.phase);
    detached::next_generation(draft);
    task::follow_anew(draft, None);
    take_over(draft, &turn);
    let lost = ToolError::new(
        ToolErrorKind::OutcomeUnknown,
        "the runtime failed while this call ran",
    );
    let unstarted = ToolError::new(
        ToolErrorKind::NotStarted,
        "the runtime failed before this call began",
    );
    close_unfinished(draft, &turn, failing(lost), &unstarted);
    let summary = format!("the runtime gave up this turn because of a fault of its own: {message}");
    fail(
        draft,
        &turn,
        TerminalReason::RuntimeFault,
        "runtime_fault",
        &summary,
    );
    Reply::Done
}

/// Lets go of what the turn waited for.
pub(crate) fn release(draft: &mut Draft<'_>, phase: &Phase) {
    match phase {
        Phase::CallingModel { effect } | Phase::RunningTool { effect, .. } => {
            draft.close_effect(*effect)
        }
        Phase::BackingOff { .. } | Phase::Suspended { .. } => {
            if let Some(due) = phase.due() {
                draft.clear_due(due);
            }
        }
        // What was sent cannot be called back; its verdict comes to nothing.
        Phase::Sending { .. } => {}
    }
}
