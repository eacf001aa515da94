//! Renders receipts: the text that a model reads of a finished call.
//!
//! Owns the rendering and its bounds. A receipt depends on the stored envelope alone, so the same envelope gives the
//! same text on every later request. Characters that a person does not see are written out, wherever they come from.
//! A failure is one JSON document on one line, whatever it quotes: a program cannot write a line of its own into it.

mod short;
mod work;

pub use short::short_receipt;

use crate::lines::FenceKey;
use crate::tool::command::{OUTPUT_TAIL, RUN_AGAIN};
use crate::tool::{
    apply_patch, cancel_timer, cancel_wait, complete_work_item, create_timer, create_work_item,
    enqueue, exec_command, exec_command_batch, get_work_item, list_timers, list_work_items,
    memory_get, memory_search, notify_operator, pick_work_item, sleep, spawn_agent, task_input,
    task_list, task_output, task_status, task_stop, update_work_item, use_workspace, view_image,
    wait_for, web_fetch, web_search,
};
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, TOOL_ERROR_DETAIL_BYTES, TOOL_OUTPUT_TOKENS};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolOutcome};
use holon_domain::{text, visible};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Renders the text that a model reads of a finished call.
#[must_use]
pub fn receipt(envelope: &ToolEnvelope) -> String {
    match &envelope.outcome {
        ToolOutcome::Success { result } => success(envelope, result),
        ToolOutcome::Error { error } => failure(envelope, error),
    }
}

/// Writes out the unseen characters of a text.
fn show_in_text(text: String) -> String {
    match visible::show_unseen(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

/// Writes out the unseen characters of a JSON document. The backslash is doubled, so that it stays one.
fn show_in_json(document: String) -> String {
    let spell = |c: char, shown: &mut String| {
        shown.push('\\');
        shown.extend(c.escape_unicode());
    };
    match visible::replace_hidden(&document, visible::is_unseen, spell) {
        Cow::Borrowed(_) => document,
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
            format!("{result}\n\n{}", show_in_text(guidance))
        }),
        view_image::NAME => read(result, view_image::text),
        web_fetch::NAME => read(result, |page| web_fetch::text(page, key)),
        web_search::NAME => read(result, |answer| web_search::text(answer, key)),
        _ => bookkeeping(envelope, result, key),
    };
    text.unwrap_or_else(|| confirmation(envelope, result))
}

/// Renders the result of a tool about work items, waits, timers, tasks or notifications in a line or two.
fn bookkeeping(envelope: &ToolEnvelope, result: &Value, key: FenceKey<'_>) -> Option<String> {
    let summary = envelope.summary_text.as_str();
    match envelope.tool_name.as_str() {
        cancel_timer::NAME
        | create_timer::NAME
        | enqueue::NAME
        | sleep::NAME
        | notify_operator::NAME
        | spawn_agent::NAME
        | task_stop::NAME => Some(show_in_text(work::summarised(summary))),
        cancel_wait::NAME => read(result, work::cancelled),
        complete_work_item::NAME => read(result, |result| work::completed(result, summary)),
        create_work_item::NAME => read(result, work::created),
        get_work_item::NAME => read(result, |result| work::read(result, key)),
        list_timers::NAME => read(result, |result| work::timers(result, summary)),
        list_work_items::NAME => read(result, |result| work::page(result, summary)),
        pick_work_item::NAME => read(result, work::picked),
        task_status::NAME => read(result, |result| work::task(result, summary, key)),
        update_work_item::NAME => read(result, work::updated),
        wait_for::NAME => read(result, work::waiting),
        _ => None,
    }
}

fn read<T: DeserializeOwned>(result: &Value, text: impl Fn(&T) -> String) -> Option<String> {
    T::deserialize(result)
        .ok()
        .map(|result| show_in_text(text(&result)))
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
    /// Shown only if true: beside a hint that says what to correct, `false` reads as advice to give up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

fn failure(envelope: &ToolEnvelope, error: &ToolError) -> String {
    let field = error
        .details
        .as_ref()
        .and_then(|details| details.get("field"))
        .and_then(Value::as_str);
    line(&Failure {
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
        next: next_step(error),
        details: error
            .details
            .as_ref()
            .and_then(|given| details(error, given)),
    })
}

/// Says what an error means for the next call; `None` if its hint says so, if the same call may work later, or if it may
/// have worked.
fn next_step(error: &ToolError) -> Option<&'static str> {
    let is_open = matches!(
        error.kind,
        ToolErrorKind::OutcomeUnknown
            | ToolErrorKind::NotStarted
            | ToolErrorKind::RunAborted
            | ToolErrorKind::CommandTimedOut
            | ToolErrorKind::SleepNotAlone
    );
    let fails_again = !error.retryable && !is_open && error.recovery_hint.is_none();
    fails_again.then_some("the same call fails again: correct it, or choose another way")
}

/// Members of the details that a next attempt depends on, each with a bound of its own. They are shown in full.
const SHOWN_IN_FULL: [&str; 3] = [apply_patch::NEAREST, RUN_AGAIN, OUTPUT_TAIL];

/// Returns the details within their bound, apart from what is always shown in full. What the failure says elsewhere is
/// left out; `None` if nothing remains.
fn details(error: &ToolError, details: &Value) -> Option<Value> {
    let mut rest = details.clone();
    if let Some(members) = rest.as_object_mut() {
        members.remove("tool_name");
        members.remove("field");
        let said = members.get("parse_error").and_then(Value::as_str);
        if said.is_some_and(|said| error.message.contains(said)) {
            members.remove("parse_error");
        }
        if members.is_empty() {
            return None;
        }
    }
    let whole: Map<String, Value> = SHOWN_IN_FULL
        .iter()
        .filter_map(|name| rest.as_object_mut()?.remove_entry(*name))
        .collect();
    let reason = "the details are larger than a receipt may be";
    let mut shown = bounded(&rest, TOOL_ERROR_DETAIL_BYTES, reason);
    if let Some(members) = shown.as_object_mut() {
        members.extend(whole);
    }
    Some(shown)
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
    show_in_json(serde_json::to_string(receipt).unwrap_or_default())
}
