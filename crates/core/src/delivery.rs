//! Sends between agents: receiving a message of another agent, and deferring sends that one commit has no room for.
//!
//! The kernel hands each send of a decision to its receiver in the same transaction, up to a bound. The remaining sends
//! become `Deliver` effects of the sender, which deliver each of them exactly once in later commits. Sends keep their
//! order inside an effect, not between effects.

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

/// Weight that the sender gives a message: its priority band and the authority of the sender's turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageWorth {
    pub(crate) priority: Priority,
    pub(crate) authority: AuthorityClass,
}

/// Admits a message of another agent. It carries no more authority than the turn that sent it, and never interjects.
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
        images: Vec::new(),
        metadata: None,
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
        at_most: None,
    };
    // A message that an agent sends itself is paced like its other follow-ups.
    let cause = if *from == draft.agent.identity.agent_id {
        Cause::Itself
    } else {
        Cause::Outside
    };
    let authority = worth.authority.weaker(AuthorityClass::RuntimeInstruction);
    let provenance = Provenance::new(authority, cause);
    let entry = admission::admit_as(draft, ingress, provenance)?;
    Ok(Reply::Admitted {
        message_id: entry.envelope.id,
        message_seq: entry.seq,
        log_end: draft.agent.counters.log,
    })
}

/// Opens an effect for sends that the commit has no room for. The kernel passes at most as many as one commit delivers.
pub(crate) fn defer(draft: &mut Draft<'_>, sends: &[(AgentId, AgentSend)]) -> Reply {
    let sends = sends.to_vec();
    detached::open(draft, Effect::Deliver { sends });
    Reply::Done
}

/// Hands deferred sends over. The same commit closes the effect, so each send is delivered exactly once.
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
