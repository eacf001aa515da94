//! Opens a turn: takes up a message, names the run and asks for the first round.

use super::ask::ask;
use crate::draft::Draft;
use crate::input::Reply;
use crate::transport::reply_route;
use crate::wait::WaitChanges;
use holon_domain::agent::{AgentRecord, ORDER_BYTES};
use holon_domain::event::{Event, MessageProcessingStarted, TurnStarted};
use holon_domain::log::LogEntry;
use holon_domain::memory::TurnEvidence;
use holon_domain::message::{Cause, DeliverySurface, MessageEnvelope, MessageKind};
use holon_domain::model::ModelRef;
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::timer::LateTick;
use holon_domain::turn::{OpenTurn, OwedOutcome, Patience, Phase, ResumeMark, Speech};
use holon_domain::{RunId, WorkItemId, limits, text};

/// Opens the turn of a message that was just dequeued.
pub(crate) fn open(
    draft: &mut Draft<'_>,
    entry: QueueEntry,
    waits: WaitChanges,
    late_tick: Option<LateTick>,
) {
    note_message(draft, &entry);
    let turn_index = draft.next_turn();
    let run_id = RunId::mint(draft.entropy);
    let (model, fallbacks) = models_of(draft);
    let attended = is_attended(draft, &entry);
    let max_rounds = rounds_allowed(rounds_left(&draft.agent, &entry));
    let QueueEntry { seq, envelope, .. } = entry;
    record_start(draft, seq, &envelope, &run_id, model.as_ref());
    let turn = OpenTurn {
        owes: owed_messages(seq, &envelope),
        reply_route: reply_route(&envelope),
        ticked_item: ticked_item(&draft.agent, envelope.work_item_id.as_ref()),
        run_id,
        turn_index,
        message_seq: seq,
        message_id: envelope.id,
        message_kind: envelope.kind,
        task_id: envelope.task_id,
        authority: envelope.authority_class,
        started_at: draft.now,
        model,
        requested_model: None,
        fallbacks,
        reasoning_effort: draft.agent.reasoning_effort,
        thinking_tokens: draft.agent.thinking_tokens,
        attended,
        workspace: draft.agent.workspace.clone(),
        first_entry: draft.log(turn_index, LogEntry::IncomingMessage { message_seq: seq }),
        rounds: 0,
        max_rounds,
        output_limit_hits: 0,
        invalid_round: None,
        unread_results: false,
        followups: 0,
        usage: Default::default(),
        prompt_ceiling: None,
        refused: None,
        answered_tokens: 0,
        spending: Default::default(),
        call: None,
        call_price: None,
        call_terms: Default::default(),
        measured: None,
        failed_attempts: 0,
        tries: 0,
        offline_ms: 0,
        parks: 0,
        patience: Patience::default(),
        apart: Vec::new(),
        closed_to_joining: false,
        speech: Speech::default(),
        last_words: None,
        input_shortened: false,
        attachments: Vec::new(),
        resume: ResumeMark::default(),
        work_item_id: envelope.work_item_id,
        progress: false,
        bound_progress: false,
        waits: waits.notes,
        interrupted_waits: waits.interrupted,
        completions: Vec::new(),
        delivery_summary_id: None,
        delivery: None,
        evidence: TurnEvidence::default(),
        late_tick,
        notifications: 0,
        correlation_id: envelope.correlation_id,
        // The request below takes its place.
        phase: Phase::CallingModel { effect: 0 },
    };
    ask(draft, turn);
}

/// Returns the item that counts as ticked: the one that the message names, or else the current one.
fn ticked_item(agent: &AgentRecord, named: Option<&WorkItemId>) -> Option<WorkItemId> {
    let current = agent.work.current.as_ref().map(|current| &current.id);
    named.or(current).cloned()
}

/// Returns the first model of the agent and the ones to fall back to.
fn models_of(draft: &Draft<'_>) -> (Option<ModelRef>, Vec<ModelRef>) {
    let own = draft.agent.model_override.as_ref();
    let model = draft.host.models.first(own).cloned();
    let listed = draft.agent.fallback_models.as_deref();
    let mut fallbacks = draft.host.models.fallbacks_after(own, listed);
    fallbacks.truncate(limits::FALLBACKS);
    (model, fallbacks)
}

/// Notes in the agent's row what kind of message begins its turn.
fn note_message(draft: &mut Draft<'_>, entry: &QueueEntry) {
    let envelope = &entry.envelope;
    match envelope.cause() {
        Cause::Itself => draft.agent.self_caused_turns += 1,
        // The tick of a timer that an operator caused neither counts nor is it a sign of the operator.
        Cause::Runtime if envelope.kind == MessageKind::TimerTick => {}
        Cause::Operator | Cause::Outside | Cause::Runtime => draft.agent.self_caused_turns = 0,
    }
    draft.agent.order = None;
    if envelope.is_operator_instruction() {
        draft.agent.operator_seq = Some(entry.seq);
        draft.agent.order = Some(order_words(envelope));
    }
    draft.agent.last_wake_reason = Some(envelope.trigger_kind.as_str().to_owned());
}

/// Returns the words of an operator that stand beside what their turn makes.
pub(super) fn order_words(envelope: &MessageEnvelope) -> String {
    text::cut_middle(envelope.body.render().trim(), ORDER_BYTES)
}

/// Records that the newest turn took up a message.
fn record_start(
    draft: &mut Draft<'_>,
    seq: MessageSeq,
    envelope: &MessageEnvelope,
    run_id: &RunId,
    model: Option<&ModelRef>,
) {
    let turn_index = draft.agent.counters.turns;
    draft.event(Event::MessageProcessingStarted(MessageProcessingStarted {
        message_id: envelope.id.clone(),
        run_id: run_id.clone(),
        queue_wait_ms: draft.now.millis_since(envelope.created_at),
        message_seq: Some(seq),
        turn_index: Some(turn_index),
    }));
    draft.event(Event::TurnStarted(TurnStarted {
        message_id: envelope.id.clone(),
        message_kind: envelope.kind,
        run_id: run_id.clone(),
        turn_index,
        requested_model: ModelRef::spell(model),
        message_seq: Some(seq),
        task_id: envelope.task_id.clone(),
    }));
}

/// Lists the messages that the end of the turn must settle.
fn owed_messages(seq: MessageSeq, envelope: &MessageEnvelope) -> Vec<OwedOutcome> {
    if !envelope.owes_outcome() {
        return Vec::new();
    }
    let id = envelope.id.clone();
    vec![OwedOutcome { seq, id }]
}

/// Returns true if a caller waits for the turn: a one-shot run holds its connection until the end, unless the caller
/// leaves or the host dies. Removes the message from the remembered ones whose caller left.
pub(super) fn is_attended(draft: &mut Draft<'_>, entry: &QueueEntry) -> bool {
    let message = &entry.envelope;
    let left = &mut draft.agent.left_by_caller;
    let was_left = left.iter().position(|seq| *seq == entry.seq);
    if let Some(position) = was_left {
        left.remove(position);
    }
    let holds = message.delivery_surface == DeliverySurface::RunOnce
        && message.created_at >= draft.host.started_at
        && was_left.is_none();
    // The caller of a one-run agent waits for all of its turns.
    holds || draft.agent.is_one_run()
}

/// Handles a caller that stopped waiting: its turn is suspended on provider failures from now on.
pub(crate) fn handle_caller_left(draft: &mut Draft<'_>, seq: MessageSeq) -> Reply {
    if draft.agent.is_one_run() {
        return Reply::Unchanged;
    }
    if let Some(turn) = &mut draft.agent.open_turn
        && turn.owes.iter().any(|owed| owed.seq == seq)
    {
        turn.attended = false;
        return Reply::Done;
    }
    let left = &mut draft.agent.left_by_caller;
    if left.len() >= limits::LEFT_BY_CALLER {
        left.remove(0);
    }
    left.push(seq);
    Reply::Done
}

/// Returns the round limit that the sender of a message set. The result of a task has no sender, so its turn may take
/// the rounds left of the agent's run.
pub(crate) fn rounds_left(agent: &AgentRecord, entry: &QueueEntry) -> Option<u32> {
    match entry.envelope.kind {
        MessageKind::TaskResult => agent.run_rounds_left(),
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => entry.max_rounds,
    }
}

/// Returns the round limit of a turn: what the sender allowed, within the general limit.
pub(super) fn rounds_allowed(wanted: Option<u32>) -> u32 {
    wanted.map_or(limits::ROUNDS_PER_TURN, |max| {
        max.min(limits::ROUNDS_PER_TURN)
    })
}
