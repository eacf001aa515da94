//! Clearing of old tool results by the server: the request member that asks for it, and log lines about its effect.
//!
//! Only counts are logged, never the content of a result.

use super::{Messages, Role};
use holon_domain::provider::ContextManagement;
use serde_json::{Map, Value, json};

/// Builds the request member that asks the server to clear old tool results.
pub(super) fn request_member(management: &ContextManagement) -> Value {
    let mut edit = json!({
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": management.trigger_input_tokens.max(1)},
        "keep": {"type": "tool_uses", "value": management.keep_recent_tool_uses},
    });
    if let Some(least) = management.clear_at_least_input_tokens {
        edit["clear_at_least"] = json!({"type": "input_tokens", "value": least});
    }
    json!({"edits": [edit]})
}

/// Count and size of the tool results that the server may clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClearableResults {
    pub(super) results: usize,
    /// Bytes of their content in sum.
    pub(super) bytes: usize,
}

/// Counts the tool results the server may clear once the request is large enough: all but the most recent ones.
pub(super) fn eligible(management: &ContextManagement, messages: &Messages) -> ClearableResults {
    let users = messages.0.iter().filter(|(role, _)| *role == Role::User);
    let results: Vec<usize> = users
        .flat_map(|(_, blocks)| blocks)
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"))
        .map(|block| {
            block
                .get("content")
                .and_then(Value::as_str)
                .map_or(0, str::len)
        })
        .collect();
    let keep = usize::try_from(management.keep_recent_tool_uses).unwrap_or(usize::MAX);
    let old = results.len().saturating_sub(keep);
    ClearableResults {
        results: old,
        bytes: results.iter().take(old).sum(),
    }
}

/// Logs how much of a request could be cleared.
pub(super) fn log_eligible(management: &ContextManagement, messages: &Messages) {
    let eligible = eligible(management, messages);
    tracing::debug!(
        target: "holon_llm",
        trigger_input_tokens = management.trigger_input_tokens,
        eligible_results = eligible.results,
        eligible_bytes = eligible.bytes,
        "old tool results that the server may clear"
    );
}

/// Counts that an answer reports about cleared context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClearedContext {
    pub(super) edits: usize,
    /// Cleared tool uses, summed over all edits.
    pub(super) tool_uses: u64,
    /// Cleared input tokens, summed over all edits.
    pub(super) input_tokens: u64,
}

/// Reads the report about cleared context; `None` if the answer has none.
pub(super) fn applied(answer: &Map<String, Value>) -> Option<ClearedContext> {
    let edits = answer
        .get("context_management")?
        .get("applied_edits")?
        .as_array()?;
    let sum = |member: &str| {
        let counts = edits
            .iter()
            .filter_map(|edit| edit.get(member).and_then(Value::as_u64));
        counts.fold(0, u64::saturating_add)
    };
    Some(ClearedContext {
        edits: edits.len(),
        tool_uses: sum("cleared_tool_uses"),
        input_tokens: sum("cleared_input_tokens"),
    })
}

/// Logs what the server cleared, if the answer reports it.
pub(super) fn log_applied(answer: &Map<String, Value>) {
    if let Some(applied) = applied(answer) {
        tracing::debug!(
            target: "holon_llm",
            applied_edits = applied.edits,
            cleared_tool_uses = applied.tool_uses,
            cleared_input_tokens = applied.input_tokens,
            "old tool results that the server cleared"
        );
    }
}
