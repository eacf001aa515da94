//! Single fields of a tool result, as the model is shown them.

use holon_domain::tool::{ToolEnvelope, ToolOutcome};

/// A word of a result.
pub(crate) fn says<'a>(envelope: &'a ToolEnvelope, field: &str) -> Option<&'a str> {
    match &envelope.outcome {
        ToolOutcome::Success { result } => result.get(field)?.as_str(),
        ToolOutcome::Error { .. } => None,
    }
}

/// A flag of a result.
pub(crate) fn flag(envelope: &ToolEnvelope, field: &str) -> bool {
    match &envelope.outcome {
        ToolOutcome::Success { result } => {
            result.get(field).and_then(serde_json::Value::as_bool) == Some(true)
        }
        ToolOutcome::Error { .. } => false,
    }
}
