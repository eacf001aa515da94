//! Clearing of old tool results by the server: how it is asked for, what it could take away, what it says it took.
//!
//! Only counts leave here; no word of a result is told.

use super::{Messages, Role};
use holon_domain::provider::ContextManagement;
use serde_json::{Map, Value, json};

/// The member of a request that asks for it.
pub(super) fn asked(management: &ContextManagement) -> Value {
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

/// How many tool results there are and how much they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Eligible {
    /// How many.
    pub(super) results: usize,
    /// Bytes of what they say.
    pub(super) bytes: usize,
}

/// The tool results the server may clear once the request is large enough: all but the most recent ones.
pub(super) fn eligible(management: &ContextManagement, messages: &Messages) -> Eligible {
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
    Eligible {
        results: old,
        bytes: results.iter().take(old).sum(),
    }
}

/// Tells what could be cleared of a request.
pub(super) fn tell_eligible(management: &ContextManagement, messages: &Messages) {
    let eligible = eligible(management, messages);
    tracing::debug!(
        target: "holon_llm",
        trigger_input_tokens = management.trigger_input_tokens,
        eligible_results = eligible.results,
        eligible_bytes = eligible.bytes,
        "old tool results that the server may clear"
    );
}

/// What an answer says was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Applied {
    /// In how many edits.
    pub(super) edits: usize,
    /// Tool uses, in sum.
    pub(super) tool_uses: u64,
    /// Tokens of input, in sum.
    pub(super) input_tokens: u64,
}

/// What an answer says was cleared; none if it does not speak of it.
pub(super) fn applied(answer: &Map<String, Value>) -> Option<Applied> {
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
    Some(Applied {
        edits: edits.len(),
        tool_uses: sum("cleared_tool_uses"),
        input_tokens: sum("cleared_input_tokens"),
    })
}

/// Tells what was cleared, if the answer speaks of it.
pub(super) fn tell_applied(answer: &Map<String, Value>) {
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
