//! The receipt: what a model reads of a finished call.
//!
//! Owns the rendering and its bounds. Does not decide what a call came to: a receipt is a function of the stored
//! envelope and nothing else, so the same envelope reads the same on every later request.

use crate::tool::apply_patch;
use crate::tool::exec_command::{self, Completed};
use holon_domain::file_change::PatchApplied;
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, TOOL_ERROR_DETAIL_BYTES, TOOL_OUTPUT_TOKENS};
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// What a model reads of a finished call.
#[must_use]
pub fn receipt(envelope: &ToolEnvelope) -> String {
    match &envelope.outcome {
        ToolOutcome::Success { result } => success(envelope, result),
        ToolOutcome::Error { error } => failure(&envelope.tool_name, error),
    }
}

fn success(envelope: &ToolEnvelope, result: &Value) -> String {
    if envelope.tool_name == exec_command::NAME
        && let Ok(completed) = Completed::deserialize(result)
    {
        return shell_text(&completed);
    }
    if envelope.tool_name == apply_patch::NAME
        && let Ok(applied) = PatchApplied::deserialize(result)
    {
        return apply_patch::text(&applied);
    }
    confirmation(envelope, result)
}

/// A finished command as a shell would show it, the outcome first so that it survives any later cut.
fn shell_text(completed: &Completed) -> String {
    let mut text = format!("exit {}", completed.exit_status);
    // Writing to a string cannot fail, so the results are of no interest.
    if let Some(signal) = completed.signal {
        write!(text, ", ended by signal {signal}").ok();
    }
    write!(text, " ({} ms)", completed.duration_ms).ok();
    if completed.leftover_processes > 0 {
        write!(
            text,
            "\nprocesses it left running were stopped: {}",
            completed.leftover_processes
        )
        .ok();
    }
    for (name, preview) in [
        ("stdout", &completed.stdout_preview),
        ("stderr", &completed.stderr_preview),
    ] {
        if !preview.is_empty() {
            write!(
                text,
                "\n{name}:\n{}",
                preview.strip_suffix('\n').unwrap_or(preview)
            )
            .ok();
        }
    }
    if completed.stdout_preview.is_empty() && completed.stderr_preview.is_empty() {
        text.push_str("\n(no output)");
    }
    text
}

/// A small result as one line of JSON, in a fixed order.
#[derive(Serialize)]
struct Confirmation<'a> {
    tool_name: &'a str,
    status: &'a str,
    summary_text: &'a str,
    result: &'a Value,
}

fn confirmation(envelope: &ToolEnvelope, result: &Value) -> String {
    let limit = TOOL_OUTPUT_TOKENS as usize * 4;
    let result = bounded(
        result,
        limit,
        "the result is larger than a receipt may be",
        head_of,
    );
    line(&Confirmation {
        tool_name: &envelope.tool_name,
        status: "success",
        summary_text: &text::preview(&envelope.summary_text, FAILURE_SUMMARY_BYTES),
        result: &result,
    })
}

/// The one shape in which every tool failure reaches a model.
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

fn failure(tool_name: &str, error: &ToolError) -> String {
    let (error, lines) = apply_patch::split_nearest(error);
    let error = &error;
    let field = error
        .details
        .as_ref()
        .and_then(|details| details.get("field"))
        .and_then(Value::as_str);
    let reason = "the details are larger than a receipt may be";
    let receipt = line(&Failure {
        ok: false,
        tool_name,
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
            .map(|details| bounded(details, TOOL_ERROR_DETAIL_BYTES, reason, gist_of)),
    });
    match lines {
        Some(lines) => format!("{receipt}\n{lines}"),
        None => receipt,
    }
}

/// `value`, or what stands for it when it is too large: how much it is, its digest, and a glimpse.
fn bounded(
    value: &Value,
    limit: usize,
    reason: &str,
    glimpse: fn(&Value, &str, usize) -> String,
) -> Value {
    let whole = value.to_string();
    if whole.len() <= limit {
        return value.clone();
    }
    json!({
        "omitted": true,
        "reason": reason,
        "char_count": whole.chars().count(),
        "sha256": hex(&Sha256::digest(whole.as_bytes())),
        "preview": glimpse(value, &whole, limit / 2),
    })
}

fn head_of(_: &Value, whole: &str, bytes: usize) -> String {
    text::preview(whole, bytes)
}

/// Of a command's details the last output says most; of others, the beginning.
fn gist_of(details: &Value, whole: &str, bytes: usize) -> String {
    let stream = |name: &str| {
        details
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let streams = [
        ("stdout", stream("stdout_preview")),
        ("stderr", stream("stderr_preview")),
    ];
    let present = streams.iter().filter(|(_, text)| text.is_some()).count();
    if present == 0 {
        return head_of(details, whole, bytes);
    }
    let tail = |(name, text): (&str, &str)| {
        format!("end of {name}:\n{}", text::suffix(text, bytes / present))
    };
    let tails: Vec<String> = streams
        .into_iter()
        .filter_map(|(name, text)| Some(tail((name, text?))))
        .collect();
    tails.join("\n")
}

fn line(receipt: &impl Serialize) -> String {
    // Strings, numbers and JSON values: nothing here can refuse to be written.
    serde_json::to_string(receipt).unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").ok();
        text
    })
}
