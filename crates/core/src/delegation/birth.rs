//! Makes an agent by the order of another one, and admits the messages of its parent.

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::{HostConditions, NewAgent, Reply};
use crate::lifecycle::{GivenNumbers, begin_life, new_view};
use crate::rejection::Rejection;
use crate::step::{Step, StepError};
use crate::{delegation, work};
use holon_domain::authority::AuthorityClass;
use holon_domain::delegation::{ParentMessage, SpawnOrder};
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::{Entropy, Timestamp};
use serde_json::json;

/// Makes an agent by the order of its parent: its row, its first event, the effect that checks its home, and its first
/// message, which waits until the home is ready.
///
/// # Errors
/// The first message is refused. Nothing is made.
pub fn create(
    order: &SpawnOrder,
    host: &HostConditions,
    given: GivenNumbers,
    now: Timestamp,
    entropy: &mut dyn Entropy,
) -> Result<Step, StepError> {
    let new = NewAgent {
        identity: order.identity.clone(),
        agent_home: order.agent_home.clone(),
        workspace: order.workspace.clone(),
        model: order.model.clone(),
        run: None,
    };
    let mut view = new_view(new, given, now);
    let settings = &mut view.agent.settings;
    settings.attached = order.attached.clone();
    settings.worktree_session = order.worktree_session.clone();
    settings.supervision = order.supervision.clone();
    settings.set_model(order.model.clone(), order.model_options.clone());
    settings.thread_tokens = order.thread_tokens;
    let mut draft = Draft::new(view, host, now, entropy);
    begin_life(&mut draft);
    if let Some(first) = &order.first_message {
        admit(&mut draft, first).map_err(StepError::Rejected)?;
    }
    delegation::attach(&mut draft, false);
    let (decision, sends) = draft.finish().map_err(StepError::NeedsMore)?;
    Ok(Step {
        decision,
        sends,
        reply: Reply::Done,
    })
}

/// Admits a later message of the supervising parent. For the child its parent is what an operator is for others: the
/// message answers what it waits for, and gives stalled work another chance.
pub(crate) fn accept_followup(
    draft: &mut Draft<'_>,
    message: &ParentMessage,
) -> Result<Reply, Rejection> {
    let supervision = draft.agent.supervision.as_ref();
    let is_supervisor = supervision.is_some_and(|own| {
        own.parent_agent_id == message.from && message.task_id.as_ref() == Some(&own.task_id)
    });
    if !is_supervisor {
        return Err(Rejection::NoSuchTask);
    }
    admission::judge_lifecycle(&draft.agent)?;
    work::wake(draft);
    admit(draft, message)
}

fn admit(draft: &mut Draft<'_>, message: &ParentMessage) -> Result<Reply, Rejection> {
    let ParentMessage {
        from,
        text,
        authority,
        caused_by,
        task_id,
    } = message;
    // The links are for inspection: the task belongs to the parent and binds nothing here.
    let provenance = match task_id {
        Some(task_id) => json!({
            "provenance": "parent_supervised_task",
            "parent_agent_id": from,
            "supervision_task_id": task_id,
        }),
        None => json!({ "provenance": "creator_bootstrap", "parent_agent_id": from }),
    };
    let ingress = Ingress {
        kind: MessageKind::InternalFollowup,
        origin: Origin::System {
            subsystem: format!("agent:{from}"),
        },
        priority: Priority::Next,
        body: Body::text(text.as_str()),
        images: Vec::new(),
        metadata: Some(provenance),
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: task_id.as_ref().map(ToString::to_string),
        causation_id: Some(caused_by.to_string()),
        max_rounds: None,
        at_most: None,
    };
    let authority = authority.weaker(AuthorityClass::RuntimeInstruction);
    let provenance = Provenance::new(authority, Cause::Outside);
    let entry = admission::admit_as(draft, ingress, provenance)?;
    Ok(Reply::Admitted {
        message_id: entry.envelope.id,
        message_seq: entry.seq,
        log_end: draft.agent.counters.log,
    })
}
