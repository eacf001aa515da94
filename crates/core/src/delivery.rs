//! Sends between agents: what a receiver makes of one, and what is kept when a commit has no room for them.
//!
//! The kernel hands every send of a decision to its receiver in the same transaction. A bounded number only: the rest
//! becomes `Deliver` effects of the sender, which hand them over in later commits, each send exactly once. Sends keep
//! their order inside an effect, not between effects.

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::{Reply, Stamp};
use crate::rejection::Rejection;
use crate::{home, lifecycle, task, turn};
use holon_domain::authority::AuthorityClass;
use holon_domain::effect::{Effect, EffectId};
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::sent::Sent;
use holon_domain::{AgentId, limits};

/// Takes what another agent's decision sends.
pub(crate) fn receive(draft: &mut Draft<'_>, sent: &Sent) -> Result<Reply, Rejection> {
    match sent {
        Sent::Message {
            from,
            text,
            priority,
            authority,
            ..
        } => message(draft, from, text, (*priority, *authority)),
        Sent::ChildEnded { task_id, end } => task::child_ended(draft, task_id, end),
        Sent::Stop => lifecycle::stop(draft),
        Sent::Verdict { send, verdict } => Ok(turn::verdict(draft, *send, verdict)),
    }
}

/// A message of another agent. It carries no more authority than the turn that sent it, and never jumps the queue.
fn message(
    draft: &mut Draft<'_>,
    from: &AgentId,
    text: &str,
    (priority, authority): (Priority, AuthorityClass),
) -> Result<Reply, Rejection> {
    let priority = match priority {
        Priority::Interject => Priority::Next,
        Priority::Next | Priority::Normal | Priority::Background => priority,
    };
    let ingress = Ingress {
        kind: MessageKind::InternalFollowup,
        origin: Origin::System {
            subsystem: format!("agent:{from}"),
        },
        priority,
        body: Body::text(text),
        metadata: None,
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
    };
    let provenance = Provenance {
        authority: authority.weaker(AuthorityClass::RuntimeInstruction),
        cause: Cause::Outside,
    };
    let entry = admission::admit_as(draft, ingress, provenance)?;
    Ok(Reply::Admitted {
        message_id: entry.envelope.id,
        message_seq: entry.seq,
    })
}

/// Keeps sends the commit has no room for, a bounded number per effect.
pub(crate) fn defer(draft: &mut Draft<'_>, sends: &[(AgentId, Sent)]) -> Reply {
    for part in sends.chunks(limits::SENDS_PER_COMMIT) {
        draft.open_delivery(part.to_vec());
    }
    Reply::Done
}

/// Hands kept sends over. Closing the effect and handing over are one commit, so each is delivered once.
pub(crate) fn deliver(draft: &mut Draft<'_>, stamp: Stamp, sends: &[(AgentId, Sent)]) -> Reply {
    let open = |id: &&EffectId| **id == stamp.effect;
    let awaited = draft.agent.deliveries.iter().find(open).copied();
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    draft.agent.deliveries.retain(|id| *id != stamp.effect);
    for (to, sent) in sends {
        draft.send(to.clone(), sent.clone());
    }
    home::remove_when_free(draft);
    Reply::Done
}

/// A new generation: deliveries are asked for anew, so that somebody performs them.
pub(crate) fn deliver_anew(draft: &mut Draft<'_>) {
    for old in std::mem::take(&mut draft.agent.deliveries) {
        if let Some(Effect::Deliver { sends }) = draft.effect(old) {
            draft.close_effect(old);
            draft.open_delivery(sends);
        }
    }
}
