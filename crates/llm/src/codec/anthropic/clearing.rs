//! Clearing of old tool results by the server: the request member that asks for it, and the report of its effect.
//!
//! Only counts are logged and recorded, never the content of a result. Results that a turn needs to its end are not
//! cleared; see [`LASTING_RESULTS`].

use super::Messages;
use super::message::{Block, ResultContent};
use holon_domain::provider::{ContextManagement, ContextReduction};
use holon_domain::tool::{LASTING_RESULTS, OfferedTool};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Builds the request member that asks the server to clear old tool results.
pub(super) fn request_member(management: &ContextManagement, tools: &[OfferedTool]) -> Value {
    let mut edit = json!({
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": management.trigger_input_tokens.max(1)},
        "keep": {"type": "tool_uses", "value": management.keep_recent_tool_uses},
    });
    if let Some(least) = management.clear_at_least_input_tokens {
        edit["clear_at_least"] = json!({"type": "input_tokens", "value": least});
    }
    let offered = tools.iter().map(|tool| tool.name.as_str());
    let kept: Vec<&str> = offered.filter(|name| is_lasting(name)).collect();
    if !kept.is_empty() {
        edit["exclude_tools"] = json!(kept);
    }
    json!({"edits": [edit]})
}

fn is_lasting(name: &str) -> bool {
    LASTING_RESULTS.contains(&name)
}

/// Count and size of the tool results that the server may clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClearableResults {
    pub(super) results: usize,
    /// Bytes of their content in sum.
    pub(super) bytes: usize,
}

/// Counts the tool results the server may clear once the request is large enough: all but the most recent ones and
/// those that are kept.
pub(super) fn eligible(
    management: &ContextManagement,
    messages: &Messages<'_>,
) -> ClearableResults {
    let blocks = || messages.0.iter().flat_map(|turn| &turn.content);
    let kept: HashSet<&str> = blocks()
        .filter_map(|block| match block {
            Block::ToolUse { id, name, .. } if is_lasting(name) => Some(*id),
            _ => None,
        })
        .collect();
    let results: Vec<usize> = blocks()
        .filter_map(|block| match block {
            Block::ToolResult {
                tool_use_id,
                content,
                ..
            } if !kept.contains(tool_use_id) => Some(text_bytes(content)),
            _ => None,
        })
        .collect();
    let keep = usize::try_from(management.keep_recent_tool_uses).unwrap_or(usize::MAX);
    let old = results.len().saturating_sub(keep);
    ClearableResults {
        results: old,
        bytes: results.iter().take(old).sum(),
    }
}

const fn text_bytes(content: &ResultContent<'_>) -> usize {
    match content {
        ResultContent::Text(text) => text.len(),
        ResultContent::WithImage(_) => 0,
    }
}

/// Logs how much of a request could be cleared.
pub(super) fn log_eligible(management: &ContextManagement, messages: &Messages<'_>) {
    let eligible = eligible(management, messages);
    tracing::debug!(
        target: "holon_llm",
        trigger_input_tokens = management.trigger_input_tokens,
        eligible_results = eligible.results,
        eligible_bytes = eligible.bytes,
        "old tool results that the server may clear"
    );
}

/// Reads the report about cleared context, and logs it; `None` if the server cleared nothing.
pub(super) fn applied(answer: &Map<String, Value>) -> Option<ContextReduction> {
    let edits = answer
        .get("context_management")?
        .get("applied_edits")?
        .as_array()
        .filter(|edits| !edits.is_empty())?;
    let sum = |member: &str| {
        let counts = edits
            .iter()
            .filter_map(|edit| edit.get(member).and_then(Value::as_u64));
        counts.fold(0, u64::saturating_add)
    };
    let reduction = ContextReduction {
        cleared_tool_uses: sum("cleared_tool_uses"),
        cleared_input_tokens: sum("cleared_input_tokens"),
        compactions: 0,
    };
    tracing::debug!(
        target: "holon_llm",
        applied_edits = edits.len(),
        cleared_tool_uses = reduction.cleared_tool_uses,
        cleared_input_tokens = reduction.cleared_input_tokens,
        "old tool results that the server cleared"
    );
    Some(reduction)
}
