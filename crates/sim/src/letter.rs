//! Messages between agents: the simulation's own tool, and a unique token in every text by which each message is
//! traced.

use crate::calls::call;
use crate::rng::Rng;
use holon_domain::AgentId;
use holon_domain::authority::AuthorityClass;
use holon_domain::block::ToolCall;
use holon_domain::intent::Intent;
use holon_domain::message::{Body, MessageEnvelope, MessageKind, Origin, Priority};
use holon_domain::model::ReplyBlock;
use holon_domain::send::AgentSend;
use serde_json::json;

/// The tool that messages another agent.
pub(crate) const TOOL: &str = "SimMessage";

/// Prefix of the subsystem of a message from another agent; the agent's name follows.
const FROM_AGENT: &str = "agent:";

/// Generates a call that messages one of these agents, the first of which makes the call, or an agent that does not
/// exist.
pub(crate) fn any(agents: &[AgentId], dice: &mut Rng) -> ReplyBlock {
    let to = match dice.below(10) {
        0 => "absent",
        1 => agents.first().map_or("absent", AgentId::as_str),
        _ => {
            let others = agents.len().saturating_sub(1);
            let found = agents
                .get(1 + dice.index(others))
                .or_else(|| agents.first());
            found.map_or("absent", AgentId::as_str)
        }
    };
    let band = dice.pick(&["interject", "next", "normal", "background"]);
    call(
        TOOL,
        json!({ "to": to, "text": token(dice), "priority": band }),
    )
}

/// Prefix of every token.
const TOKEN: &str = "note ";

/// Returns a text that no other message has.
fn token(dice: &mut Rng) -> String {
    format!("{TOKEN}{:016x}", dice.bits())
}

/// Returns the intent of a call of this tool; `None` for any other call.
pub(crate) fn intent(call: &ToolCall) -> Option<Intent> {
    let (agent_id, text) = addressed(call)?;
    let priority = match call.input.get("priority").and_then(|band| band.as_str()) {
        Some("interject") => Priority::Interject,
        Some("next") => Priority::Next,
        Some("background") => Priority::Background,
        Some(_) | None => Priority::Normal,
    };
    Some(Intent::Message {
        agent_id,
        text,
        priority,
    })
}

/// Returns the receiver and the token of a call of this tool; `None` for any other call.
pub(crate) fn addressed(call: &ToolCall) -> Option<(AgentId, String)> {
    let word = |field: &str| call.input.get(field)?.as_str();
    if call.name != TOOL {
        return None;
    }
    let to = AgentId::parse_stored(word("to")?).ok()?;
    Some((to, word("text")?.to_owned()))
}

/// Builds a message that no call waits for.
pub(crate) fn sent(from: &AgentId, dice: &mut Rng) -> AgentSend {
    let bands = [Priority::Interject, Priority::Normal, Priority::Background];
    let classes = [
        AuthorityClass::OperatorInstruction,
        AuthorityClass::ExternalEvidence,
    ];
    AgentSend::Message {
        // Numbers begin at 1, so no call ever waits for this one.
        send: 0,
        from: from.clone(),
        text: token(dice),
        priority: dice.pick(&bands).unwrap_or_default(),
        authority: dice
            .pick(&classes)
            .unwrap_or(AuthorityClass::ExternalEvidence),
    }
}

/// Returns the token of a message in transit.
pub(crate) fn token_of(sent: &AgentSend) -> Option<&str> {
    match sent {
        AgentSend::Message { text, .. } => Some(text),
        AgentSend::Notification { .. }
        | AgentSend::Spawn { .. }
        | AgentSend::Followup { .. }
        | AgentSend::ChildAttached { .. }
        | AgentSend::ChildEnded { .. }
        | AgentSend::Stop
        | AgentSend::Remove
        | AgentSend::Verdict { .. } => None,
    }
}

/// Returns the sending agent of a message and its token; `None` for a message that no agent sent by a call of this tool.
pub(crate) fn sender(envelope: &MessageEnvelope) -> Option<(&str, &str)> {
    let from = sending_agent(envelope)?;
    match &envelope.body {
        Body::Text { text } if text.starts_with(TOKEN) => Some((from, text)),
        _ => None,
    }
}

/// Returns the agent that sent a message, by a call or as a parent; `None` if no agent did.
pub(crate) fn sending_agent(envelope: &MessageEnvelope) -> Option<&str> {
    match (&envelope.origin, envelope.kind) {
        (Origin::System { subsystem }, MessageKind::InternalFollowup) => {
            subsystem.strip_prefix(FROM_AGENT)
        }
        _ => None,
    }
}
