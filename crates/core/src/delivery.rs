//! Sends between agents: the message one agent takes from another, and what is kept when a commit has no room.
//!
//! The kernel hands every send of a decision to its receiver in the same transaction. A bounded number only: the rest
//! becomes `Deliver` effects of the sender, which hand them over in later commits, each send exactly once. Sends keep
//! their order inside an effect, not between effects.

use crate::admission::{self, Provenance};
use crate::detached;
use crate::draft::Draft;
use crate::home;
use crate::ingress::Ingress;
use crate::input::{Reply, Stamp};
use crate::rejection::Rejection;
use holon_domain::AgentId;
use holon_domain::authority::AuthorityClass;
use holon_domain::effect::Effect;
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::send::AgentSend;

/// How much weight the sender gives a message: its band, and the authority of the sender's turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageWorth {
    pub(crate) priority: Priority,
    pub(crate) authority: AuthorityClass,
}

/// A message of another agent. It carries no more authority than the turn that sent it, and never jumps the queue.
pub(crate) fn message(
    draft: &mut Draft<'_>,
    from: &AgentId,
    text: &str,
    worth: MessageWorth,
) -> Result<Reply, Rejection> {
    let priority = match worth.priority {
        Priority::Interject => Priority::Next,
        Priority::Next | Priority::Normal | Priority::Background => worth.priority,
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
    // What an agent sends itself is paced like its other follow-ups.
    let cause = if *from == draft.agent.identity.agent_id {
        Cause::Itself
    } else {
        Cause::Outside
    };
    let provenance = Provenance {
        authority: worth.authority.weaker(AuthorityClass::RuntimeInstruction),
        cause,
        resumes: None,
    };
    let entry = admission::admit_as(draft, ingress, provenance)?;
    Ok(Reply::Admitted {
        message_id: entry.envelope.id,
        message_seq: entry.seq,
    })
}

/// Keeps sends the commit has no room for; the kernel gives no more at once than one commit has room for.
pub(crate) fn defer(draft: &mut Draft<'_>, sends: &[(AgentId, AgentSend)]) -> Reply {
    let sends = sends.to_vec();
    detached::open(draft, Effect::Deliver { sends });
    Reply::Done
}

/// Hands kept sends over. Closing the effect and handing over are one commit, so each is delivered once.
pub(crate) fn deliver(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    sends: &[(AgentId, AgentSend)],
) -> Reply {
    if !detached::close(draft, stamp, |agent| &mut agent.deliveries) {
        return Reply::Unchanged;
    }
    for (to, sent) in sends {
        draft.send(to.clone(), sent.clone());
    }
    home::remove_when_free(draft);
    Reply::Done
}
