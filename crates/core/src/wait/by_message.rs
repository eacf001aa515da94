//! Messages and wake hints that end or interrupt waits.
//!
//! A message from outside ends the waits that name its source. An operator's instruction ends the waits that it answers
//! and interrupts those that asked for any message: they stay active, and the turn that reads the message decides. A call
//! about the item (pick, update, wait, complete) ends the wait. A wait of the agent itself has no item, so only
//! `WaitFor` and `CancelWait` end it. Without such a call the wait stands again when the turn ends, so the runtime never
//! pushes an agent past its own question. A message that came as an operator's with less authority than an instruction
//! leaves every wait for the operator open.
//!
//! A private child's own wait without a question ends with the message of its supervisor: the task of the parent could
//! not end while such a wait is open, and any message was all that it asked for.

use super::{WaitEnd, end_by, wake_matching};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::planted::{Fault, is_planted};
use crate::work;
use holon_domain::agent::AgentRecord;
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{Cause, MessageEnvelope, MessageKind, Origin, ResumeReason};
use holon_domain::trigger::WakeHint;
use holon_domain::turn::OpenTurn;
use holon_domain::wait::{WaitEffect, WaitNote, WaitRecord, WaitStatus, WakeEvent};
use holon_domain::{TriggerId, WaitId, WorkItemId, limits};

/// What a message did to waits.
#[derive(Debug, Default)]
pub(crate) struct WaitChanges {
    /// For the model that reads the message, at most `limits::WAIT_NOTES`.
    pub(crate) notes: Vec<WaitNote>,
    /// All waits that the message interrupts.
    pub(crate) interrupted: Vec<WaitId>,
}

impl WaitChanges {
    fn note(&mut self, wait: &WaitRecord, effect: WaitEffect) {
        if effect == WaitEffect::Interrupted {
            self.interrupted.push(wait.id.clone());
        }
        self.add(WaitNote::of(wait, effect));
    }

    pub(super) fn add(&mut self, note: WaitNote) {
        if self.notes.len() < limits::WAIT_NOTES {
            self.notes.push(note);
        }
    }
}

/// Returns notes about waits that ended.
pub(crate) fn notes_of_ended(ended: &[WaitRecord]) -> Vec<WaitNote> {
    let ended = ended.iter().take(limits::WAIT_NOTES);
    ended
        .map(|wait| WaitNote::of(wait, WaitEffect::Ended))
        .collect()
}

/// Returns what a message resumes that did this to waits: the first one that it ended or interrupted.
pub(crate) fn resumes(notes: &[WaitNote]) -> Option<ResumeReason> {
    let note = notes.iter().find(|note| match note.effect {
        WaitEffect::Ended | WaitEffect::Interrupted => true,
        WaitEffect::LeftOpen | WaitEffect::LacksAuthority => false,
    })?;
    let reason = note.kind.reason();
    Some(ResumeReason::Wait { reason })
}

/// Handles a message about to be admitted: ends or interrupts the waits that it concerns. An operator's prompt also makes
/// stalled work runnable again.
pub(crate) fn end_by_message(
    draft: &mut Draft<'_>,
    ingress: &Ingress,
    cause: Cause,
    authority: AuthorityClass,
) -> Vec<WaitNote> {
    let message = SentMessage {
        kind: ingress.kind,
        origin: &ingress.origin,
        cause,
        authority,
    };
    let Some(sender) = Sender::of(&draft.agent, message) else {
        return Vec::new();
    };
    let changes = end_by_sender(draft, &sender, &ingress.body.render());
    if matches!(sender, Sender::Operator | Sender::LoweredOperator)
        && !is_planted(Fault::StallOutlivesOperator)
    {
        work::wake(draft);
    }
    changes.notes
}

/// Handles a queued message that is taken up now. A wait that was declared while the message was queued has not seen it
/// at its admission.
pub(crate) fn end_by_head(draft: &mut Draft<'_>, message: &MessageEnvelope) -> WaitChanges {
    let sent = SentMessage {
        kind: message.kind,
        origin: &message.origin,
        cause: message.cause(),
        authority: message.authority_class,
    };
    let sender = Sender::of(&draft.agent, sent);
    let changes = match sender {
        Some(sender) if !is_planted(Fault::QueuedEventEndsNoWait) => {
            end_by_sender(draft, &sender, &message.body.render())
        }
        Some(_) | None => WaitChanges::default(),
    };
    WaitChanges {
        notes: WaitNote::since_admission(changes.notes, message),
        interrupted: changes.interrupted,
    }
}

/// Handles an operator's message that joins a running turn. Returns what it did to waits, if that differs from what it
/// did at its admission.
pub(crate) fn join(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    message: &MessageEnvelope,
) -> Option<Vec<WaitNote>> {
    let changes = end_by_head(draft, message);
    let known = std::mem::take(&mut turn.interrupted_waits);
    let new = changes.interrupted.into_iter();
    let new: Vec<WaitId> = new.filter(|id| !known.contains(id)).collect();
    turn.interrupted_waits = known.into_iter().chain(new).collect();
    (changes.notes != message.waits).then_some(changes.notes)
}

fn end_by_sender(draft: &mut Draft<'_>, sender: &Sender<'_>, words: &str) -> WaitChanges {
    let mut changes = WaitChanges::default();
    if draft.agent.work.active_waits == 0 {
        return changes;
    }
    if matches!(sender, Sender::Operator | Sender::Supervisor(_)) {
        end_by_operator(draft, words, &mut changes);
    }
    let outside = match sender {
        Sender::Operator => None,
        Sender::LoweredOperator => {
            leave_open(draft, &mut changes);
            None
        }
        Sender::Supervisor(source) | Sender::Outside(source) => Some((Some(*source), None)),
        Sender::Trigger { id, source } => Some((*source, Some(id))),
    };
    if let Some((source, external_trigger_id)) = outside {
        let wake = WakeEvent::Outside {
            source,
            external_trigger_id,
        };
        let name = source.or_else(|| external_trigger_id.map(TriggerId::as_str));
        let by = format!("an event from {}", name.unwrap_or_default());
        for wait in wake_matching(draft, wake, &by) {
            changes.note(&wait, WaitEffect::Ended);
        }
    }
    changes
}

/// Notes the waits for an operator that a message may not end, because it lacks the authority.
fn leave_open(draft: &Draft<'_>, changes: &mut WaitChanges) {
    for wait in draft.active_waits() {
        if wait.is_for_operator() {
            changes.note(&wait, WaitEffect::LacksAuthority);
        }
    }
}

/// Ends the waits that an operator's message answers, and notes those that it interrupts or leaves open.
fn end_by_operator(draft: &mut Draft<'_>, words: &str, changes: &mut WaitChanges) {
    if is_planted(Fault::OperatorEndsNoWait) {
        return;
    }
    let waits = draft.active_waits();
    let is_supervised = draft.agent.supervision.is_some();
    for (wait, effect) in WaitRecord::effects_of_message(&waits, words) {
        let is_own_rest = wait.work_item_id.is_none() && wait.question.is_none();
        let effect = match effect {
            WaitEffect::Interrupted if is_supervised && is_own_rest => WaitEffect::Ended,
            WaitEffect::Interrupted
            | WaitEffect::Ended
            | WaitEffect::LeftOpen
            | WaitEffect::LacksAuthority => effect,
        };
        if effect == WaitEffect::Ended {
            resolve(draft, wait.clone());
        }
        changes.note(wait, effect);
    }
}

/// Ends a wait that an operator has answered, or who stands where an operator would.
fn resolve(draft: &mut Draft<'_>, mut wait: WaitRecord) {
    wait.trigger_count += 1;
    wait.last_triggered_at = Some(draft.now);
    let by = match draft.agent.supervision {
        Some(_) => "a message of its supervisor",
        None => "a message of an operator",
    };
    end_by(draft, wait, WaitEnd::new(WaitStatus::Resolved, by));
}

/// Handles a call about an item, or a new wait of the agent itself: it ends the wait that a message of this turn
/// interrupted.
pub(crate) fn handle_word(draft: &mut Draft<'_>, turn: &mut OpenTurn, item: Option<&WorkItemId>) {
    if turn.interrupted_waits.is_empty() {
        return;
    }
    let waits = draft.active_waits().into_iter();
    let decided = waits.filter(|wait| {
        wait.work_item_id.as_ref() == item && turn.interrupted_waits.contains(&wait.id)
    });
    for wait in decided.collect::<Vec<_>>() {
        turn.interrupted_waits.retain(|id| *id != wait.id);
        resolve(draft, wait);
    }
}

/// Handles the end of a turn for the waits that its messages interrupted. Returns those that stand again: every one that
/// no call of the turn has ended.
pub(crate) fn handle_turn_end(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    completed: bool,
) -> Vec<WaitRecord> {
    if turn.interrupted_waits.is_empty() {
        return Vec::new();
    }
    let waits = draft.active_waits().into_iter();
    let open = waits.filter(|wait| turn.interrupted_waits.contains(&wait.id));
    let (over, stand): (Vec<_>, Vec<_>) =
        open.partition(|_| completed && is_planted(Fault::QuestionPassedOver));
    for wait in over {
        resolve(draft, wait);
    }
    stand
}

/// Ends the waits that name a wake hint.
pub(crate) fn end_by_hint(draft: &mut Draft<'_>, hint: &WakeHint) -> Vec<WaitRecord> {
    if is_planted(Fault::HintEndsNoWait) {
        return Vec::new();
    }
    let mut ended = Vec::new();
    for (source, external_trigger_id) in hint.deliveries() {
        let wake = WakeEvent::Outside {
            source,
            external_trigger_id,
        };
        let by = format!("a wake hint from {}", source.unwrap_or(&hint.key));
        ended.extend(wake_matching(draft, wake, &by));
    }
    ended
}

/// The part of a message that tells its sender.
#[derive(Clone, Copy)]
struct SentMessage<'a> {
    kind: MessageKind,
    origin: &'a Origin,
    cause: Cause,
    authority: AuthorityClass,
}

/// The sender of a message that may end a wait.
#[derive(Debug, PartialEq, Eq)]
enum Sender<'a> {
    Operator,
    /// The way of an operator, with less authority than an operator's instruction.
    LoweredOperator,
    /// The parent of a private child, who stands where an operator would, by the name that a wait gives it.
    Supervisor(&'a str),
    /// Something outside of the agent, by the name that a wait gives it.
    Outside(&'a str),
    /// A holder of a capability, with the name that it gave itself.
    Trigger {
        id: TriggerId,
        source: Option<&'a str>,
    },
}

impl<'a> Sender<'a> {
    /// Returns the sender of a message; `None` for a message of the runtime or of the agent itself, which ends no wait.
    fn of(agent: &AgentRecord, message: SentMessage<'a>) -> Option<Self> {
        let SentMessage {
            kind,
            origin,
            cause,
            authority,
        } = message;
        match origin {
            Origin::Operator { .. } if kind == MessageKind::OperatorPrompt => {
                Some(match authority {
                    AuthorityClass::OperatorInstruction => Self::Operator,
                    AuthorityClass::RuntimeInstruction
                    | AuthorityClass::IntegrationSignal
                    | AuthorityClass::ExternalEvidence => Self::LoweredOperator,
                })
            }
            Origin::Channel { channel_id, .. } => Some(Self::Outside(channel_id)),
            Origin::Webhook { source, .. } => Some(Self::Outside(source)),
            Origin::Callback {
                descriptor_id,
                source,
            } => Some(Self::Trigger {
                id: TriggerId::from_stored(descriptor_id.as_str()),
                source: source.as_deref(),
            }),
            // A message of another agent. The tick of a wake hint is from outside too, and its hints end the waits.
            Origin::System { subsystem }
                if cause == Cause::Outside && kind != MessageKind::SystemTick =>
            {
                let supervision = agent.supervision.as_ref();
                let is_supervisor = supervision
                    .is_some_and(|own| *subsystem == format!("agent:{}", own.parent_agent_id));
                Some(if is_supervisor {
                    Self::Supervisor(subsystem)
                } else {
                    Self::Outside(subsystem)
                })
            }
            Origin::Operator { .. }
            | Origin::Timer { .. }
            | Origin::System { .. }
            | Origin::Task { .. } => None,
        }
    }
}
