//! Renders a receipt in fewer bytes, for a context that is nearly full.
//!
//! The texts inside the result are shortened and the receipt is rendered from them, so that every fence has the code of
//! the text it encloses. Invariants: no line of a program stands outside a fence, however short the receipt is, and a
//! failure stays one JSON document.

use super::receipt;
use crate::lines::{FenceKey, section};
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use serde_json::Value;

/// Shortest bound on the texts of a result. Ids and most paths are shorter.
const LEAST_TEXT_BYTES: usize = 128;

/// Renders the text that a model reads of a finished call in about `bytes`. Long texts lose their middle.
#[must_use]
pub fn short_receipt(envelope: &ToolEnvelope, bytes: usize) -> String {
    let most = bytes + bytes / 4;
    let mut limit = bytes;
    loop {
        let shown = receipt(&with_short_texts(envelope, limit));
        if shown.len() <= most {
            return shown;
        }
        if limit / 2 < LEAST_TEXT_BYTES {
            return match &envelope.outcome {
                ToolOutcome::Success { .. } => enclose_part(FenceKey::of(envelope), &shown, bytes),
                ToolOutcome::Error { .. } => receipt(&without_details(envelope, limit)),
            };
        }
        limit /= 2;
    }
}

/// Shows the beginning and the end of a receipt that has no shorter form. All of it stands in one fence: the cut may
/// have removed the ends of those inside.
fn enclose_part(key: FenceKey<'_>, receipt: &str, bytes: usize) -> String {
    let mut shown = "a part of the result:".to_owned();
    section(&mut shown, key, "receipt", &cut(receipt, bytes));
    shown
}

/// Leaves only what a failure always says.
fn without_details(envelope: &ToolEnvelope, limit: usize) -> ToolEnvelope {
    let mut short = with_short_texts(envelope, limit);
    if let ToolOutcome::Error { error } = &mut short.outcome {
        error.details = None;
    }
    short
}

fn with_short_texts(envelope: &ToolEnvelope, limit: usize) -> ToolEnvelope {
    let mut short = envelope.clone();
    match &mut short.outcome {
        ToolOutcome::Success { result } => shorten(result, limit),
        ToolOutcome::Error { error } => {
            error.message = cut(&error.message, limit);
            error
                .recovery_hint
                .iter_mut()
                .for_each(|hint| *hint = cut(hint, limit));
            error
                .details
                .iter_mut()
                .for_each(|value| shorten(value, limit));
        }
    }
    short
}

fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) => *text = cut(text, limit),
        Value::Array(members) => members.iter_mut().for_each(|member| shorten(member, limit)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| shorten(member, limit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a text to about `limit` bytes: its beginning and its end stay.
fn cut(whole: &str, limit: usize) -> String {
    // The sentence between the parts is not counted: a text barely above the bound is left as it is.
    if whole.len() <= limit + limit / 4 {
        return whole.to_owned();
    }
    let (head, tail) = (
        text::prefix(whole, limit / 2),
        text::suffix(whole, limit / 2),
    );
    let left_out = whole.len() - head.len() - tail.len();
    format!(
        "{head}\n[{} left out by the runtime, because the context is nearly full]\n{tail}",
        text::pluralize(u64::try_from(left_out).unwrap_or(u64::MAX), "byte"),
    )
}
