//! Single fields of a tool result, as the model is shown them.

use holon_domain::tool::{ToolEnvelope, ToolOutcome};

/// Returns a string field of a result.
pub(crate) fn text_field<'a>(envelope: &'a ToolEnvelope, field: &str) -> Option<&'a str> {
    match &envelope.outcome {
        ToolOutcome::Success { result } => result.get(field)?.as_str(),
        ToolOutcome::Error { .. } => None,
    }
}

/// Returns a boolean field of a result; false if it is missing.
pub(crate) fn bool_field(envelope: &ToolEnvelope, field: &str) -> bool {
    match &envelope.outcome {
        ToolOutcome::Success { result } => {
            result.get(field).and_then(serde_json::Value::as_bool) == Some(true)
        }
        ToolOutcome::Error { .. } => false,
    }
}
