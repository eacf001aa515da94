//! Calls about external triggers, which the kernel answers in the commit of the round. A result holds the placeholder of
//! the token, never the token.

use crate::draft::Draft;
use crate::rejection::Rejection;
use crate::trigger::{self, TriggerActor};
use holon_domain::block::ToolCall;
use holon_domain::intent::TriggerIntent;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::trigger::TriggerRecord;
use serde_json::{Value, json};

/// Performs a call about an external trigger.
pub(super) fn apply_call(
    draft: &mut Draft<'_>,
    call: &ToolCall,
    intent: &TriggerIntent,
) -> ToolEnvelope {
    let done = match intent {
        TriggerIntent::Create { delivery_mode } => {
            let given = trigger::give(draft, *delivery_mode);
            given.map(|trigger| {
                let summary = format!(
                    "{} is the external trigger of mode {}",
                    trigger.id,
                    delivery_mode.as_str()
                );
                (summary, capability(draft, &trigger))
            })
        }
        TriggerIntent::Cancel {
            external_trigger_id,
        } => {
            let revoked = trigger::revoke(draft, external_trigger_id, TriggerActor::Agent);
            revoked.map(|trigger| {
                let summary = format!("{} is revoked; its URL is useless now", trigger.id);
                (
                    summary,
                    json!({ "external_trigger": trigger.without_key() }),
                )
            })
        }
    };
    match done {
        Ok((summary, result)) => ToolEnvelope::success(&call.name, summary, result),
        Err(rejection) => ToolEnvelope::failure(&call.name, tool_error(&rejection)),
    }
}

/// Describes a capability to its agent.
fn capability(draft: &Draft<'_>, trigger: &TriggerRecord) -> Value {
    let placeholder = trigger.placeholder().unwrap_or_default();
    json!({
        "external_trigger_id": trigger.id,
        "trigger_url": trigger.url(&draft.host.callback_base, &placeholder),
        "target_agent_id": trigger.target_agent_id,
        "delivery_mode": trigger.delivery_mode,
        "status": trigger.status,
    })
}

fn tool_error(rejection: &Rejection) -> ToolError {
    let kind = match rejection {
        Rejection::NoSuchTrigger { .. } => ToolErrorKind::UnknownExternalTrigger,
        Rejection::TriggerModeNotAllowed { .. } | Rejection::TriggerRevokedByOperator { .. } => {
            ToolErrorKind::ExternalTriggerModeNotAllowed
        }
        _ => ToolErrorKind::ToolExecutionFailed,
    };
    let error = ToolError::new(kind, rejection.to_string());
    match rejection.hint() {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
