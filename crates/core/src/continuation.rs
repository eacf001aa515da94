//! Classifies a trigger against the closure that the agent had before it.
//!
//! Only the operator overrides a wait. Content that does not match the wait is delivered to the model and leaves the
//! wait open. Only a signal without content is treated as a sign of life.

use holon_domain::closure::{ClosureDecision, ClosureOutcome, WaitingReason};
use holon_domain::continuation::{ContinuationClass, ContinuationResolution, TriggerKind};
use holon_domain::message::{MessageEnvelope, MessageKind, ResumeReason};
use holon_domain::{limits, text};

/// The properties of a message that decide its continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    pub kind: TriggerKind,
    /// True if the message has content for a model to read.
    pub contentful: bool,
    /// The wait that the message ended when it was admitted, if any.
    pub resumes: Option<ResumeReason>,
    /// True for a message that is only recorded and never begins a turn.
    pub observational: bool,
}

impl Trigger {
    /// Reads the trigger of a message.
    #[must_use]
    pub fn of(message: &MessageEnvelope) -> Self {
        let observational = match message.kind {
            MessageKind::TaskStatus
            | MessageKind::Control
            | MessageKind::BriefAck
            | MessageKind::BriefResult => true,
            MessageKind::OperatorPrompt
            | MessageKind::ChannelEvent
            | MessageKind::WebhookEvent
            | MessageKind::CallbackEvent
            | MessageKind::TimerTick
            | MessageKind::SystemTick
            | MessageKind::TaskResult
            | MessageKind::InternalFollowup => false,
        };
        Self {
            kind: message.trigger_kind,
            contentful: message.body.is_contentful(),
            resumes: message.resumes,
            observational,
        }
    }
}

/// Classifies a trigger against the closure before it.
#[must_use]
pub fn resolve(prior: &ClosureDecision, trigger: Trigger) -> ContinuationResolution {
    let class = classify(prior, trigger);
    // Admission already closed the wait, and the prior closure still showed it.
    let ended = match trigger.resumes {
        Some(ResumeReason::Wait { reason }) if !trigger.observational => Some(reason),
        Some(ResumeReason::Wait { .. } | ResumeReason::Rest) | None => None,
    };
    let outcome = ended.map_or(prior.outcome, |_| ClosureOutcome::Waiting);
    ContinuationResolution {
        trigger_kind: trigger.kind,
        class,
        model_visible: class != ContinuationClass::LivenessOnly,
        prior_closure_outcome: outcome,
        prior_waiting_reason: ended.or(prior.waiting_reason),
        matched_waiting_reason: class == ContinuationClass::ResumeExpectedWait,
        evidence: evidence(prior, trigger),
    }
}

/// Describes the prior closure and the message in a few words each.
fn evidence(prior: &ClosureDecision, trigger: Trigger) -> Vec<String> {
    let stood = prior.evidence.iter().map(|fact| format!("before: {fact}"));
    let flags = [
        (
            trigger.resumes == Some(ResumeReason::Rest),
            "ends the rest the agent asked for",
        ),
        (ended_wait(trigger), "ends a wait the agent declared"),
        (trigger.observational, "only observes"),
        (!trigger.contentful, "has nothing to read"),
    ];
    let is = flags.into_iter().filter(|(holds, _)| *holds);
    let is = is.map(|(_, what)| format!("the message {what}"));
    let facts = stood.chain(is).take(limits::CONTINUATION_EVIDENCE);
    let cut = |fact: String| text::preview(&fact, limits::EVENT_PREVIEW_BYTES);
    facts.map(cut).collect()
}

const fn ended_wait(trigger: Trigger) -> bool {
    matches!(trigger.resumes, Some(ResumeReason::Wait { .. }))
}

fn classify(prior: &ClosureDecision, trigger: Trigger) -> ContinuationClass {
    if trigger.observational {
        return ContinuationClass::LivenessOnly;
    }
    if let Some(ResumeReason::Wait { .. }) = trigger.resumes {
        return ContinuationClass::ResumeExpectedWait;
    }
    let awaited = match prior.outcome {
        ClosureOutcome::Waiting => prior.waiting_reason,
        ClosureOutcome::Completed | ClosureOutcome::Continuable | ClosureOutcome::Failed => None,
    };
    match (awaited, expected_reason(trigger)) {
        (Some(awaited), Some(expected)) if awaited == expected => {
            ContinuationClass::ResumeExpectedWait
        }
        (Some(_), _) if trigger.kind == TriggerKind::OperatorInput => {
            ContinuationClass::ResumeOverride
        }
        (Some(_) | None, Some(_) | None) if begins_turn(trigger) => {
            ContinuationClass::LocalContinuation
        }
        (Some(_) | None, Some(_) | None) => ContinuationClass::LivenessOnly,
    }
}

/// Returns the waiting reason that this trigger answers without a declared wait. An operator's words answer any
/// question; a timer's tick and the end of a rest answer a wait for a time. The end of a task or an external event is
/// expected only by a wait that names it.
const fn expected_reason(trigger: Trigger) -> Option<WaitingReason> {
    match (trigger.kind, trigger.resumes) {
        (TriggerKind::OperatorInput, _) => Some(WaitingReason::AwaitingOperatorInput),
        (TriggerKind::TimerFire, _) | (TriggerKind::SystemTick, Some(ResumeReason::Rest)) => {
            Some(WaitingReason::AwaitingTimer)
        }
        (
            TriggerKind::TaskResult
            | TriggerKind::ExternalEvent
            | TriggerKind::SystemTick
            | TriggerKind::InternalFollowup,
            _,
        ) => None,
    }
}

/// Returns true if the trigger begins a turn even if no wait names it.
const fn begins_turn(trigger: Trigger) -> bool {
    match trigger.kind {
        TriggerKind::OperatorInput | TriggerKind::TimerFire | TriggerKind::TaskResult => true,
        TriggerKind::ExternalEvent | TriggerKind::SystemTick | TriggerKind::InternalFollowup => {
            trigger.contentful
        }
    }
}
