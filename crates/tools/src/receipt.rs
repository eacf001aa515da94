//! Renders receipts: the text that a model reads of a finished call.
//!
//! Owns the rendering and its bounds. A receipt depends on the stored envelope alone, so the same envelope gives the
//! same text on every later request. Characters that a person does not see are written out, wherever they come from.

mod short;

pub use short::short_receipt;

use crate::lines::FenceKey;
use crate::tool::{
    apply_patch, exec_command, exec_command_batch, memory_get, memory_search, task_input,
    task_list, task_output, use_workspace, view_image, web_fetch, web_search,
};
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, TOOL_ERROR_DETAIL_BYTES, TOOL_OUTPUT_TOKENS};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolOutcome};
use holon_domain::{text, visible};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Renders the text that a model reads of a finished call.
#[must_use]
pub fn receipt(envelope: &ToolEnvelope) -> String {
    let text = match &envelope.outcome {
        ToolOutcome::Success { result } => success(envelope, result),
        ToolOutcome::Error { error } => failure(envelope, error),
    };
    match visible::show_unseen(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

/// Returns true if the result refers to output files: for output it does not show, or for a lost command of which only
/// the files remain.
#[must_use]
pub fn refers_to_files(envelope: &ToolEnvelope) -> bool {
    let ToolOutcome::Success { result } = &envelope.outcome else {
        return false;
    };
    let places = items(result).iter().chain(result.get("task"));
    std::iter::once(result)
        .chain(places)
        .any(refers_to_artifacts)
}

/// Returns true if one command of a batch, counted from 1, refers to output files.
#[must_use]
pub fn item_refers_to_files(envelope: &ToolEnvelope, number: usize) -> bool {
    let ToolOutcome::Success { result } = &envelope.outcome else {
        return false;
    };
    let item = number
        .checked_sub(1)
        .and_then(|place| items(result).get(place));
    item.is_some_and(refers_to_artifacts)
}

fn items(result: &Value) -> &[Value] {
    let items = result.get("items").and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

fn refers_to_artifacts(place: &Value) -> bool {
    let files = place.get("artifacts").and_then(Value::as_array);
    let lost = place.get("error_kind") == Some(&json!(ToolErrorKind::OutcomeUnknown));
    lost || files.is_some_and(|files| !files.is_empty())
}

/// Renders a success. Tools with a text form use it; results of an unknown shape and all other tools are shown as JSON.
fn success(envelope: &ToolEnvelope, result: &Value) -> String {
    let key = FenceKey::of(envelope);
    let text = match envelope.tool_name.as_str() {
        apply_patch::NAME => read(result, apply_patch::text),
        exec_command::NAME => read(result, |result| exec_command::text(result, key)),
        exec_command_batch::NAME => read(result, |result| exec_command_batch::text(result, key)),
        memory_get::NAME => read(result, |result| memory_get::text(result, key)),
        memory_search::NAME => read(result, |result| memory_search::text(result, key)),
        task_input::NAME => read(result, task_input::receipt),
        task_list::NAME => read(result, task_list::text),
        task_output::NAME => read(result, |result| task_output::text(result, key)),
        use_workspace::NAME => use_workspace::split_guidance(result).map(|(rest, guidance)| {
            let result = confirmation(envelope, &rest);
            format!("{result}\n\n{guidance}")
        }),
        view_image::NAME => read(result, view_image::text),
        web_fetch::NAME => read(result, |page| web_fetch::text(page, key)),
        web_search::NAME => read(result, |answer| web_search::text(answer, key)),
        _ => None,
    };
    text.unwrap_or_else(|| confirmation(envelope, result))
}

fn read<T: DeserializeOwned>(result: &Value, text: impl Fn(&T) -> String) -> Option<String> {
    T::deserialize(result).ok().map(|result| text(&result))
}

/// A small result as one line of JSON, with members in a fixed order.
#[derive(Serialize)]
struct Confirmation<'a> {
    tool_name: &'a str,
    status: &'a str,
    summary_text: &'a str,
    result: &'a Value,
}

fn confirmation(envelope: &ToolEnvelope, result: &Value) -> String {
    let limit = TOOL_OUTPUT_TOKENS as usize * 4;
    let result = bounded(result, limit, "the result is larger than a receipt may be");
    line(&Confirmation {
        tool_name: &envelope.tool_name,
        status: "success",
        summary_text: &text::preview(&envelope.summary_text, FAILURE_SUMMARY_BYTES),
        result: &result,
    })
}

/// The one shape in which every tool failure is shown to a model.
#[derive(Serialize)]
struct Failure<'a> {
    ok: bool,
    tool_name: &'a str,
    kind: ToolErrorKind,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

fn failure(envelope: &ToolEnvelope, error: &ToolError) -> String {
    let (error, nearest) = apply_patch::split_nearest(error);
    let (error, last_words) = exec_command::split_lost(&error, FenceKey::of(envelope));
    let lines = nearest.or(last_words);
    let error = &error;
    let field = error
        .details
        .as_ref()
        .and_then(|details| details.get("field"))
        .and_then(Value::as_str);
    let reason = "the details are larger than a receipt may be";
    let receipt = line(&Failure {
        ok: false,
        tool_name: &envelope.tool_name,
        kind: error.kind,
        message: text::preview(&error.message, FAILURE_SUMMARY_BYTES),
        hint: error
            .recovery_hint
            .as_ref()
            .map(|hint| text::preview(hint, FAILURE_SUMMARY_BYTES)),
        field: field.map(crate::input::shown),
        retryable: error.retryable,
        details: error
            .details
            .as_ref()
            .map(|details| bounded(details, TOOL_ERROR_DETAIL_BYTES, reason)),
    });
    match lines {
        Some(lines) => format!("{receipt}\n{lines}"),
        None => receipt,
    }
}

/// Returns `value`, or a summary of it if it is too large: its size, its digest and a preview.
fn bounded(value: &Value, limit: usize, reason: &str) -> Value {
    let whole = value.to_string();
    if whole.len() <= limit {
        return value.clone();
    }
    json!({
        "omitted": true,
        "reason": reason,
        "char_count": whole.chars().count(),
        "sha256": text::sha256_hex(&whole),
        "preview": text::preview(&whole, limit / 2),
    })
}

fn line(receipt: &impl Serialize) -> String {
    // Strings, numbers and JSON values can always be serialized.
    serde_json::to_string(receipt).unwrap_or_default()
}
