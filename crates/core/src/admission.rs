//! Admission: decides whether a message enters an agent's queue, and normalises its provenance once.
//!
//! Authority is derived from the ingress alone and never raised later. Only runtime-owned ingress may bind a work item
//! or a task through metadata; from any other sender metadata stays data. A stopped agent admits no message.

mod provenance;

pub use provenance::{accepts_kind, accepts_origin, authority_of, kind_fits_origin};

use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::HostConditions;
use crate::rejection::Rejection;
use crate::wait;
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::brief::BriefAttachment;
use holon_domain::event::{Event, MessageAdmitted};
use holon_domain::image::SentImage;
use holon_domain::message::{
    AdmissionContext, Body, Cause, MessageEnvelope, MessageKind, Origin, ResumeReason,
};
use holon_domain::model::{ModelFailure, ModelRef};
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_domain::task::TaskRecoverySpec;
use holon_domain::wait::WaitNote;
use holon_domain::{MessageId, TaskId, WorkItemId, limits};
use serde_json::Value;
use std::collections::BTreeMap;

/// Metadata keys that name the source of a message. They are copied for every ingress.
const SOURCE_REF_KEYS: [&str; 5] = [
    "callback_descriptor_id",
    "waiting_intent_id",
    "timer_id",
    "queued_event_id",
    "task_result_id",
];

/// Provenance that the runtime itself sets on a message it queues without an ingress check.
#[derive(Debug, Clone)]
pub(crate) struct Provenance {
    pub(crate) authority: AuthorityClass,
    pub(crate) cause: Cause,
    /// The wait that this message ends, if any.
    pub(crate) resumes: Option<ResumeReason>,
    /// What the message does to waits, for the model that reads it.
    pub(crate) waits: Vec<WaitNote>,
}

impl Provenance {
    /// Provenance of a message that resumes nothing.
    pub(crate) const fn new(authority: AuthorityClass, cause: Cause) -> Self {
        Self {
            authority,
            cause,
            resumes: None,
            waits: Vec::new(),
        }
    }

    /// Provenance of a message that only the agent itself caused.
    pub(crate) const fn self_caused(authority: AuthorityClass) -> Self {
        Self::new(authority, Cause::Itself)
    }

    /// Returns the same provenance for a message that ends a wait or a rest.
    pub(crate) fn with_resumes(self, resumes: Option<ResumeReason>) -> Self {
        Self { resumes, ..self }
    }

    /// Returns the same provenance for a message that did this to waits.
    pub(crate) fn with_waits(self, waits: Vec<WaitNote>) -> Self {
        let resumes = wait::resumes(&waits).or(self.resumes);
        Self {
            resumes,
            waits,
            ..self
        }
    }
}

/// Refuses a message that no agent would admit, by its provenance and its size. Needs no agent.
///
/// # Errors
/// The rule that the message breaks.
pub fn judge(ingress: &Ingress) -> Result<(), Rejection> {
    provenance::check(ingress)?;
    check_shape(ingress)?;
    check_names(ingress)
}

/// Refuses work for an agent that is stopped or being removed.
///
/// # Errors
/// A rejection that names which of the two states the agent is in.
pub fn judge_lifecycle(agent: &AgentRecord) -> Result<(), Rejection> {
    match agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable => Ok(()),
        Lifecycle::Stopped => Err(Rejection::stopped(agent)),
        Lifecycle::Deleting => Err(Rejection::deleting(agent)),
    }
}

/// Lists the models that may be asked for a piece of work, in order of preference: only the one its caller named, or
/// else the agent's own followed by its fallbacks, which are those that the agent lists or those of the host. Empty if
/// neither the caller, the agent nor the host names a model.
#[must_use]
pub fn models_for(
    host: &HostConditions,
    named: Option<&ModelRef>,
    own: Option<&ModelRef>,
    listed: Option<&[ModelRef]>,
) -> Vec<ModelRef> {
    if let Some(named) = named {
        return vec![named.clone()];
    }
    let Some(first) = host.models.first(own) else {
        return Vec::new();
    };
    let mut models = vec![first.clone()];
    models.extend(host.models.fallbacks_after(own, listed));
    models
}

/// Refuses work that no model could do. `checks` holds the result of checking each of [`models_for`], in that order.
/// One usable model is enough, so the caller may stop after the first success.
///
/// # Errors
/// There is no model, or every model failed its check.
pub fn judge_models(checks: &[Result<(), ModelFailure>]) -> Result<(), Rejection> {
    let mut first_failure = None;
    for check in checks {
        match check {
            Ok(()) => return Ok(()),
            Err(failure) => first_failure = first_failure.or(Some(failure)),
        }
    }
    Err(match first_failure {
        Some(failure) => Rejection::ModelUnavailable {
            reason: failure.message.clone(),
        },
        None => Rejection::NoModel,
    })
}

/// Derives the authority of a message from its ingress and queues it if it may enter.
pub(crate) fn admit(draft: &mut Draft<'_>, ingress: Ingress) -> Result<QueueEntry, Rejection> {
    let cause = Cause::of_ingress(ingress.kind, &ingress.origin);
    let provenance = Provenance::new(authority_of(&ingress), cause);
    admit_as(draft, ingress, provenance)
}

/// Queues a message that a command of the agent sends to its own agent. It has at most the authority of the turn that
/// started the command, and never the operator's own, like a follow-up that the agent queues itself.
pub(crate) fn admit_from_command(
    draft: &mut Draft<'_>,
    task_id: &TaskId,
    ingress: &Ingress,
) -> Result<QueueEntry, Rejection> {
    let ceiling = match (draft.task(task_id), &draft.agent.open_turn) {
        (Some(task), _) => {
            let begun_on = task.recovery.as_ref().map(TaskRecoverySpec::trust);
            begun_on.map_or_else(AuthorityClass::weakest, AuthorityClass::from)
        }
        // A command that is no task yet belongs to the call that the turn waits for.
        (None, Some(turn)) => turn.authority,
        (None, None) => AuthorityClass::weakest(),
    };
    let provenance = Provenance::self_caused(ceiling.weaker(AuthorityClass::RuntimeInstruction));
    admit_as(draft, ingress.clone(), provenance)
}

/// Refuses a message for an agent without a model: it could never be answered.
fn check_model(draft: &Draft<'_>) -> Result<(), Rejection> {
    let own = draft.agent.model_override.as_ref();
    if draft.host.models.first(own).is_none() {
        return Err(Rejection::NoModel);
    }
    Ok(())
}

/// Refuses a message for which the queue has no room. The last part of the queue is reserved for operators.
fn check_room(draft: &Draft<'_>, authority: AuthorityClass) -> Result<(), Rejection> {
    let agent_id = || draft.agent.identity.agent_id.clone();
    let pending = draft.queue.pending;
    match authority {
        AuthorityClass::OperatorInstruction if pending >= limits::QUEUE_ENTRIES => {
            Err(Rejection::QueueFull {
                agent_id: agent_id(),
            })
        }
        AuthorityClass::OperatorInstruction => Ok(()),
        AuthorityClass::RuntimeInstruction
        | AuthorityClass::IntegrationSignal
        | AuthorityClass::ExternalEvidence => {
            if has_room_for_others(draft) {
                return Ok(());
            }
            Err(Rejection::QueueFullForOthers {
                agent_id: agent_id(),
            })
        }
    }
}

/// Returns true if the queue has room for another message that is not an operator's.
pub(crate) fn has_room_for_others(draft: &Draft<'_>) -> bool {
    draft.queue.pending < limits::QUEUE_ENTRIES_OTHERS
}

/// Queues a message with the provenance that the caller names, if it may enter. Waits that the message ends are closed.
pub(crate) fn admit_as(
    draft: &mut Draft<'_>,
    ingress: Ingress,
    provenance: Provenance,
) -> Result<QueueEntry, Rejection> {
    judge_lifecycle(&draft.agent)?;
    judge(&ingress)?;
    check_model(draft)?;
    check_room(draft, provenance.authority)?;
    let (cause, authority) = (provenance.cause, provenance.authority);
    let waits = wait::end_by_message(draft, &ingress, cause, authority);
    Ok(enqueue(draft, ingress, provenance.with_waits(waits)))
}

/// Queues a message of the runtime without any check. The caller sets its provenance.
pub(crate) fn enqueue(
    draft: &mut Draft<'_>,
    ingress: Ingress,
    provenance: Provenance,
) -> QueueEntry {
    let entry = entry(draft, ingress, provenance, QueueStatus::Queued);
    draft.queue_message(entry.clone());
    entry
}

/// Holds a message of the runtime for the next turn instead of queueing it.
pub(crate) fn hold(draft: &mut Draft<'_>, ingress: Ingress, provenance: Provenance) -> QueueEntry {
    let entry = entry(draft, ingress, provenance, QueueStatus::Held);
    draft.hold_message(entry.clone());
    entry
}

fn entry(
    draft: &mut Draft<'_>,
    ingress: Ingress,
    provenance: Provenance,
    status: QueueStatus,
) -> QueueEntry {
    let max_rounds = ingress.max_rounds;
    let envelope = normalise(draft, ingress, provenance);
    let entry = QueueEntry {
        seq: draft.next_message(),
        status,
        max_rounds,
        envelope,
    };
    draft.event(Event::MessageAdmitted(admitted_event(&entry)));
    entry
}

fn check_shape(ingress: &Ingress) -> Result<(), Rejection> {
    if !ingress.body.is_contentful() && ingress.kind == MessageKind::OperatorPrompt {
        return Err(Rejection::EmptyBody);
    }
    check_images(&ingress.images)?;
    if ingress.max_rounds == Some(0) {
        return Err(Rejection::NoRounds);
    }
    let body_bytes = match &ingress.body {
        Body::Text { text } => text.len(),
        Body::Json { value } => value.to_string().len(),
        Body::Brief {
            title,
            text,
            attachments,
        } => {
            let beside: usize = attachments.iter().map(attachment_bytes).sum();
            text.len() + title.as_ref().map_or(0, String::len) + beside
        }
    };
    if body_bytes > limits::MESSAGE_BODY_BYTES {
        return Err(Rejection::TooLarge {
            what: "message body",
            bytes: body_bytes,
            max: limits::MESSAGE_BODY_BYTES,
        });
    }
    let metadata_bytes = ingress
        .metadata
        .as_ref()
        .map_or(0, |value| value.to_string().len());
    if metadata_bytes > limits::MESSAGE_METADATA_BYTES {
        let max = limits::MESSAGE_METADATA_BYTES;
        return Err(Rejection::TooLarge {
            what: "message metadata",
            bytes: metadata_bytes,
            max,
        });
    }
    Ok(())
}

/// Refuses more images than a request shows beside each other, because the model would never see the others.
fn check_images(images: &[SentImage]) -> Result<(), Rejection> {
    let bytes = images.iter().map(|image| image.bytes).sum::<u64>();
    if images.len() > limits::IMAGES_PER_MESSAGE || bytes > limits::IMAGE_REQUEST_BYTES {
        return Err(Rejection::TooManyImages {
            images: images.len(),
        });
    }
    Ok(())
}

/// Refuses ids and names over their limit, because they are copied into rows, events and prompts.
fn check_names(ingress: &Ingress) -> Result<(), Rejection> {
    let links = [
        ("correlation_id", ingress.correlation_id.as_deref()),
        ("causation_id", ingress.causation_id.as_deref()),
    ];
    let links = links
        .into_iter()
        .filter_map(|(what, text)| Some((what, text?, limits::MESSAGE_LINK_CHARACTERS)));
    let names = ingress.origin.names();
    let names = names.map(|(what, text)| (what, text, limits::ORIGIN_NAME_CHARACTERS));
    let too_long = |(_, text, max): &(_, &str, usize)| text.chars().count() > *max;
    match links.chain(names).find(too_long) {
        None => Ok(()),
        Some((what, text, max)) => Err(Rejection::NameTooLong {
            what,
            characters: text.chars().count(),
            max,
        }),
    }
}

fn attachment_bytes(attachment: &BriefAttachment) -> usize {
    let value = attachment
        .value
        .as_ref()
        .map_or(0, |value| value.to_string().len());
    attachment.name.len() + attachment.uri.as_ref().map_or(0, String::len) + value
}

fn normalise(draft: &mut Draft<'_>, ingress: Ingress, provenance: Provenance) -> MessageEnvelope {
    let bound = |key: &str| bound_ref(&ingress, key);
    let work_item_id = bound("work_item_id").map(WorkItemId::from_stored);
    let task_id = match &ingress.origin {
        Origin::Task { task_id } => Some(task_id.clone()),
        Origin::Operator { .. }
        | Origin::Channel { .. }
        | Origin::Webhook { .. }
        | Origin::Callback { .. }
        | Origin::Timer { .. }
        | Origin::System { .. } => bound("task_id").map(TaskId::from_stored),
    };
    let id = MessageId::mint(draft.entropy);
    MessageEnvelope {
        source_refs: source_refs(&ingress, &id),
        id,
        agent_id: draft.agent.identity.agent_id.clone(),
        created_at: draft.now,
        trigger_kind: ingress.kind.trigger(),
        kind: ingress.kind,
        origin: ingress.origin,
        trust: TrustLevel::from(provenance.authority),
        authority_class: provenance.authority,
        priority: ingress.priority,
        cause: Some(provenance.cause),
        resumes: provenance.resumes,
        waits: provenance.waits,
        work_item_id,
        task_id,
        body: ingress.body,
        images: ingress.images,
        metadata: ingress.metadata,
        delivery_surface: ingress.delivery_surface,
        admission_context: ingress.admission_context,
        correlation_id: ingress.correlation_id,
        causation_id: ingress.causation_id,
    }
}

/// Reads a reference from metadata, for runtime-owned ingress only.
fn bound_ref(ingress: &Ingress, key: &str) -> Option<String> {
    let runtime_owned = ingress.delivery_surface.is_runtime_owned()
        && ingress.admission_context == AdmissionContext::RuntimeOwned;
    if !runtime_owned {
        return None;
    }
    metadata_text(ingress.metadata.as_ref(), key)
}

/// Returns what a message goes back to. `id` is its own, which is the reference of a queued event whose sender gave none.
fn source_refs(ingress: &Ingress, id: &MessageId) -> BTreeMap<String, String> {
    let metadata = ingress.metadata.as_ref();
    let mut refs: BTreeMap<String, String> = SOURCE_REF_KEYS
        .iter()
        .filter_map(|key| metadata_text(metadata, key).map(|text| ((*key).to_owned(), text)))
        .collect();
    // Only the runtime queues ticks, so these were written by it.
    if ingress.kind == MessageKind::SystemTick
        && let Some(Value::Object(own)) = metadata.and_then(|metadata| metadata.get("source_refs"))
    {
        let own = own.iter();
        let own = own.filter_map(|(key, id)| Some((key.clone(), id.as_str()?.to_owned())));
        refs.extend(own);
    }
    match ingress.kind {
        MessageKind::TaskResult => {
            if let Origin::Task { task_id } = &ingress.origin {
                refs.insert("task_result_id".into(), task_id.to_string());
            }
        }
        MessageKind::ChannelEvent | MessageKind::WebhookEvent | MessageKind::CallbackEvent => {
            let given = metadata_text(metadata, "delivery_id");
            let event_id = given.unwrap_or_else(|| id.to_string());
            refs.entry("queued_event_id".into()).or_insert(event_id);
        }
        MessageKind::OperatorPrompt
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => {}
    }
    match &ingress.origin {
        Origin::Timer { timer_id } => drop(refs.insert("timer_id".into(), timer_id.to_string())),
        Origin::Task { task_id } => drop(refs.insert("task_id".into(), task_id.to_string())),
        Origin::Callback { descriptor_id, .. } => {
            drop(refs.insert("callback_descriptor_id".into(), descriptor_id.clone()));
        }
        Origin::Operator { .. }
        | Origin::Channel { .. }
        | Origin::Webhook { .. }
        | Origin::System { .. } => {}
    }
    refs
}

fn metadata_text(metadata: Option<&Value>, key: &str) -> Option<String> {
    metadata?.get(key)?.as_str().map(str::to_owned)
}

fn admitted_event(entry: &QueueEntry) -> MessageAdmitted {
    let message = &entry.envelope;
    MessageAdmitted {
        message_id: message.id.clone(),
        message_seq: entry.seq,
        kind: message.kind,
        origin: message.origin.clone(),
        authority_class: message.authority_class,
        priority: message.priority,
        delivery_surface: message.delivery_surface,
        admission_context: message.admission_context,
        trigger_kind: message.trigger_kind,
        work_item_id: message.work_item_id.clone(),
        task_id: message.task_id.clone(),
        source_refs: message.source_refs.clone(),
        correlation_id: message.correlation_id.clone(),
        causation_id: message.causation_id.clone(),
    }
}
