//! Ends a turn: writes its record and its one outcome, and lets the agent continue.
//!
//! One brief settles every operator message that the turn owes, in the commit of the end. A failed turn leaves a
//! failure brief, a log entry and an event. No call is left without a result.

use super::call_results::{close_unfinished, error_result, take_over};
use super::ending::{Ending, Failure};
use super::notice;
use crate::assess::{assess, is_failure};
use crate::draft::Draft;
use crate::input::Reply;
use crate::memory::TurnOutcome;
use crate::{delegation, detached, memory, outbox, rest, skill, task, timer, usage, wait, work};
use holon_domain::agent::LastFailure;
use holon_domain::attempt::TokenUsage;
use holon_domain::brief::{
    ActionCode, ActionRequired, BriefKind, BriefRow, BriefText, NO_ANSWER_YET,
};
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
use holon_domain::turn::{LogSeq, OpenTurn, Phase, TerminalKind, TerminalReason, TerminalRecord};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemSchedulingState;
use holon_domain::{BriefId, limits, text};

/// Ends an open turn.
pub(crate) fn end(draft: &mut Draft<'_>, turn: &OpenTurn, mut ending: Ending) {
    let completed = ending.kind() == TerminalKind::Completed;
    let standing = wait::handle_turn_end(draft, turn, completed);
    if completed && !standing.is_empty() {
        let notes = ending.note.take().into_iter();
        let notes: Vec<String> = notes.chain(standing.iter().map(standing_note)).collect();
        ending.note = Some(notes.join("; "));
    }
    if let Some(failure) = &ending.failure {
        record_failure(draft, turn, failure, ending.reason);
    }
    if turn.failed_attempts > 0 {
        draft.clear_attempts();
    }
    record_outcomes(draft, turn, &ending);
    close_message(draft, turn, &ending);
    record_terminal(draft, turn, &ending);
    work::handle_turn_end(draft, turn, ending.reason);
    skill::handle_turn_end(draft, ending.kind());
    timer::note_turn_tokens(&mut draft.agent, turn);
    let outcome = TurnOutcome {
        words: match &ending.failure {
            Some(failure) => Some(format!("the turn failed: {}", failure.artifact.summary)),
            None => last_words(turn, &ending),
        },
        failed: ending.failure.is_some(),
        rests: ending.rest.is_some(),
    };
    if let Some(rest) = ending.rest {
        rest::begin_rest(draft, rest.reason, rest.duration_ms, turn.authority);
    }
    if completed && !turn.owes.is_empty() {
        acknowledge_work(draft, turn);
    }
    memory::handle_turn_end(draft, turn, &outcome);
    record_closure(draft, turn);
    draft.note_end_of_turn();
}

/// Tells the operator that a question stays open although they wrote.
fn standing_note(wait: &WaitRecord) -> String {
    let asked = text::preview(wait.asks_for(), limits::WAIT_NOTE_BYTES);
    let waiting = match wait.work_item_id {
        Some(_) => "its work",
        None => "it",
    };
    format!("{waiting} still waits for your answer to: {asked}")
}

/// Tells the operator whose message was answered that the agent continues to work without a further message.
fn acknowledge_work(draft: &mut Draft<'_>, turn: &OpenTurn) {
    let Some(closure) = assess(draft.assessment_facts()).closure else {
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
    // Includes the rounds answered before: a turn that fails in its last round has used tokens for all of them.
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

/// Writes the brief of the turn, if it has content or a recipient, and settles the owed messages.
fn record_outcomes(draft: &mut Draft<'_>, turn: &OpenTurn, ending: &Ending) {
    let asks = requested_action(draft, turn, ending);
    let is_silent = ending.failure.is_none() && ending.words().is_none() && asks.is_none();
    if turn.owes.is_empty() && is_silent {
        return;
    }
    let supervised = draft.agent.supervision.is_some();
    let (kind, words, preview) = brief_content(turn, ending, asks.as_ref(), supervised);
    let seq = draft.next_brief();
    let settles: Vec<_> = turn.owes.iter().map(|owed| owed.id.clone()).collect();
    let row = BriefRow {
        id: BriefId::mint(draft.entropy),
        kind,
        created_at: draft.now,
        text: words,
        note: outcome_note(turn, ending),
        workspace_id: turn.workspace.workspace_id.clone(),
        related_message_id: (settles.first() != Some(&turn.message_id))
            .then(|| turn.message_id.clone()),
        settles: settles.clone(),
        turn_index: turn.turn_index,
        work_item_id: turn.work_item_id.clone(),
        acknowledges: Vec::new(),
        action_required: asks,
        related_task_id: turn.task_id.clone(),
        spending: turn.brief_spending(),
        attachments: turn.attachments.clone(),
    };
    draft.event(Event::BriefCreated(BriefCreated {
        brief_id: row.id.clone(),
        brief_seq: seq,
        kind,
        turn_index: turn.turn_index,
        settles,
        acknowledges: Vec::new(),
        text_preview: text::preview(&preview, limits::EVENT_PREVIEW_BYTES),
        text: None,
        action_required: row.action_required.as_ref().map(|action| action.code),
        related_task_id: turn.task_id.clone(),
        attachments: row.attachments.clone(),
        message_seq: Some(turn.message_seq),
    }));
    // The report of completed work was delivered when it was written, and is not delivered twice. A question that stands
    // beside it has not been asked yet.
    let is_report = turn
        .delivery
        .is_some_and(|entry| row.text == words_of_round(turn, entry));
    if !is_report || row.action_required.is_some() {
        outbox::deliver_brief(draft, turn, seq, &row, false);
    }
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

/// Returns the remark about the outcome of a turn: what the operator cannot see from its words.
fn outcome_note(turn: &OpenTurn, ending: &Ending) -> Option<String> {
    let shortened = turn.input_shortened.then(|| {
        format!(
            "your message was shortened to fit the window of {}, so this answer knows a part of it only; send less at \
             once, put the text into a file and name it, or choose a model with a larger window",
            turn.model_ref()
        )
    });
    match (ending.note.clone(), shortened) {
        (Some(note), Some(shortened)) => Some(format!("{note}; {shortened}")),
        (note, shortened) => note.or(shortened),
    }
}

/// Returns the kind of a turn's brief, its text and a preview of it.
fn brief_content(
    turn: &OpenTurn,
    ending: &Ending,
    asks: Option<&ActionRequired>,
    supervised: bool,
) -> (BriefKind, BriefText, String) {
    match (&ending.failure, &ending.last_round) {
        // The parent of a child reads this brief, and has to know what it can do.
        (Some(failure), _) if supervised => {
            let model = turn.model_ref();
            let words = delegation::failure_words(&failure.artifact, Some(&model));
            runtime_brief(BriefKind::Failure, words)
        }
        (Some(failure), _) => runtime_brief(BriefKind::Failure, failure.artifact.summary.clone()),
        (None, Some((entry, first))) if ending.words().is_some() => (
            BriefKind::Result,
            words_of_round(turn, *entry),
            first.clone(),
        ),
        (None, last) => match (turn.delivery, asks, last) {
            // The completion report of this turn is its outcome.
            (Some(entry), None, _) => {
                let preview = "the work is completed; its report stands in the log".to_owned();
                (BriefKind::Result, words_of_round(turn, entry), preview)
            }
            (_, Some(asks), _) => runtime_brief(BriefKind::Result, ending.waiting_for(asks)),
            (None, None, _) if ending.rest_reason().is_some() => {
                let reason = ending.rest_reason().unwrap_or_default();
                runtime_brief(BriefKind::Result, format!("{NO_ANSWER_YET}{reason}"))
            }
            (None, None, Some((entry, _))) => (
                BriefKind::Result,
                words_of_round(turn, *entry),
                String::new(),
            ),
            (None, None, None) => runtime_brief(BriefKind::Result, String::new()),
        },
    }
}

/// Returns where the text of a round is found: in a delivery summary if it became the report of an item.
fn words_of_round(turn: &OpenTurn, entry: LogSeq) -> BriefText {
    let summary = turn.delivery_summary_id.clone();
    match summary.filter(|_| turn.delivery == Some(entry)) {
        Some(summary) => BriefText::Report(summary),
        None => BriefText::Round(entry),
    }
}

/// Builds a brief with text of the runtime.
fn runtime_brief(kind: BriefKind, words: String) -> (BriefKind, BriefText, String) {
    (kind, BriefText::Words(words.clone()), words)
}

/// Returns the action requested of the operator by a turn that ends waiting for them: by its wait, or because the plan
/// of its item needs input.
fn requested_action(draft: &Draft<'_>, turn: &OpenTurn, ending: &Ending) -> Option<ActionRequired> {
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
            turn_index: Some(turn.turn_index),
        }));
    }
}

/// Returns the final queue status of the turn's message. The result of a task is owed to the agent until a model has
/// answered it: an agent that is stopped keeps it in its queue, and if the operator aborted the run or no model could be
/// asked it is held for the next turn. Queued, it would open the aborted run again at once.
/// A result that no model accepts is dropped, since every turn with it would fail.
fn destination(turn: &OpenTurn, ending: &Ending) -> QueueStatus {
    let untold = turn.message_kind == MessageKind::TaskResult && turn.rounds == 0;
    match (ending.reason, ending.kind()) {
        (TerminalReason::AgentStopped, _) if untold => QueueStatus::Queued,
        (TerminalReason::OperatorAborted, _) if untold => QueueStatus::Held,
        (TerminalReason::ProviderFailed, _) if untold && !is_refused(ending) => QueueStatus::Held,
        (_, TerminalKind::Completed) => QueueStatus::Processed,
        (_, TerminalKind::Aborted) if is_refused(ending) && turn.rounds == 0 => {
            QueueStatus::Dropped
        }
        (_, TerminalKind::Aborted) => QueueStatus::Aborted,
    }
}

/// Returns true if a turn failed because no model accepts its request.
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
        last_assistant_message: last_words(turn, ending),
        task_id: turn.task_id.clone(),
    }));
    if turn.usage.total_tokens > 0 {
        draft.agent.totals.last_turn = Some(turn.usage);
    }
    let before = draft.agent.last_turn.as_ref();
    let rested = before.map(|last| turn.started_at.millis_since(last.completed_at));
    let [newest, _] = draft.agent.thread.rested_ms;
    draft.agent.thread.rested_ms = [rested.unwrap_or_default(), newest];
    draft.agent.last_turn = Some(TerminalRecord {
        turn_index: turn.turn_index,
        kind,
        reason: ending.reason,
        completed_at: draft.now,
        duration_ms,
        last_round_entry: ending.last_round.as_ref().map(|(entry, _)| *entry),
        usage: turn.usage,
        rounds: turn.rounds,
        last_assistant_message: last_words(turn, ending),
    });
    if !is_failure(ending.reason) {
        draft.agent.last_failure = None;
    }
}

/// Returns the beginning of the turn's last text. Turns of earlier builds did not keep it, but their last round may.
fn last_words(turn: &OpenTurn, ending: &Ending) -> Option<String> {
    let of_round = ending.words().map(str::to_owned);
    of_round.or_else(|| turn.last_words.clone())
}

fn record_closure(draft: &mut Draft<'_>, turn: &OpenTurn) {
    draft.need_expected_wake();
    let assessment = assess(draft.assessment_facts());
    if let Some(closure) = assessment.closure {
        draft.event(Event::ClosureDecided(ClosureDecided {
            outcome: closure.outcome,
            waiting_reason: closure.waiting_reason,
            until: assessment.posture.wakes_at,
            run_id: Some(turn.run_id.clone()),
            turn_index: Some(turn.turn_index),
            message_seq: Some(turn.message_seq),
        }));
    }
}

/// Cancels the open turn, if there is one, for a stop or a removal, and releases what it waited for.
pub(crate) fn abort(
    draft: &mut Draft<'_>,
    reason: TerminalReason,
    summary: &str,
) -> Option<holon_domain::RunId> {
    let mut turn = draft.agent.open_turn.take()?;
    usage::charge_lost(draft, &mut turn);
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
    close_unfinished(draft, &turn, error_result(running), &unstarted);
    let run_id = turn.run_id.clone();
    draft.event(Event::CurrentRunAborted(CurrentRunAborted {
        run_id: run_id.clone(),
        reason,
        turn_index: Some(turn.turn_index),
        message_seq: Some(turn.message_seq),
    }));
    end(draft, &turn, Ending::called_off(reason, summary));
    Some(run_id)
}

/// Fails a turn that was already taken out of the agent.
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

/// Handles a decision that broke an invariant: the turn is given up, and the agent continues.
pub(crate) fn give_up(draft: &mut Draft<'_>, message: &str) -> Reply {
    let Some(mut turn) = draft.agent.open_turn.take() else {
        return Reply::Unchanged;
    };
    usage::charge_lost(draft, &mut turn);
    release(draft, &turn.phase);
    detached::next_generation(draft);
    task::supervise_again(draft, None);
    take_over(draft, &turn);
    let lost = ToolError::new(
        ToolErrorKind::OutcomeUnknown,
        "the runtime failed while this call ran",
    );
    let unstarted = ToolError::new(
        ToolErrorKind::NotStarted,
        "the runtime failed before this call began",
    );
    close_unfinished(draft, &turn, error_result(lost), &unstarted);
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

/// Releases what the turn waited for.
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
        // A send cannot be cancelled; its verdict will be ignored.
        Phase::Sending { .. } => {}
    }
}
