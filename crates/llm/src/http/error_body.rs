//! Reads the message and codes of a provider's error body, in any shape.
//!
//! Vendors put the message under `error.message`, `message`, `detail`, in an array, as plain text or on an HTML page.
//! The result is one text for people and one lower-case text to search. Nothing is bounded or redacted yet.

use serde_json::Value;

/// Members that hold a code or type of the error.
const CODES: [&str; 5] = ["code", "type", "status", "reason", "error_code"];
/// Members that hold the message.
const SENTENCES: [&str; 5] = ["message", "detail", "error_description", "msg", "error"];

/// Error bodies inside the message of another that are opened at most.
const NESTING: usize = 3;

/// Message and codes of an error body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ErrorBody {
    pub(super) message: String,
    /// Codes and message in lower case.
    words: String,
    /// The object that held the message; null if there was none.
    value: Value,
}

impl ErrorBody {
    /// Parses an error body. A message that is itself an error body, as gateways pass it on, is opened too.
    pub(super) fn read(body: &[u8]) -> Self {
        Self::read_nested(body, NESTING)
    }

    /// Parses an error body with at most `depth` further ones inside its message.
    fn read_nested(body: &[u8], depth: usize) -> Self {
        let json = serde_json::from_slice::<Value>(body).ok();
        let outer = json.and_then(Self::in_json).unwrap_or_else(|| {
            let text = String::from_utf8_lossy(body);
            match message_of_cut(&text) {
                Some(message) => Self::plain(&message),
                None => Self::plain(&in_text(event_data(&text).unwrap_or(&text))),
            }
        });
        match depth.checked_sub(1) {
            Some(depth) => outer.opened(depth),
            None => outer,
        }
    }

    /// Replaces a JSON document inside the message by the message it holds. The words before it stay.
    fn opened(self, depth: usize) -> Self {
        let Some((before, inside)) = embedded(&self.message) else {
            return self;
        };
        let inner = Self::read_nested(inside.as_bytes(), depth);
        if inner.value.is_null() || inner.message.is_empty() {
            return self;
        }
        Self {
            message: format!("{before}{}", inner.message),
            words: format!("{} {}", self.words, inner.words),
            value: inner.value,
        }
    }

    /// Wraps a message that came without a body.
    pub(super) fn plain(message: &str) -> Self {
        Self {
            message: message.trim().to_owned(),
            words: message.to_lowercase(),
            value: Value::Null,
        }
    }

    fn in_json(value: Value) -> Option<Self> {
        let value = innermost(value)?;
        let message = match &value {
            Value::String(text) => text.clone(),
            _ => sentence(&value),
        };
        let codes: Vec<String> = CODES
            .iter()
            .filter_map(|key| value.get(*key))
            .filter_map(plain_value)
            .collect();
        let words = format!("{} {message}", codes.join(" ")).to_lowercase();
        let message = if message.is_empty() {
            codes.join(", ")
        } else {
            message
        };
        Some(Self {
            message,
            words,
            value,
        })
    }

    /// Returns true if any of these lower-case phrases occurs in the codes or the message.
    pub(super) fn mentions(&self, any: &[&str]) -> bool {
        any.iter().any(|phrase| self.words.contains(phrase))
    }

    /// Returns the codes and the message in lower case.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// Returns the request member that the body names as the cause, in lower case: the last step of `param` or of the
    /// `loc` of a list of `detail`.
    pub(super) fn parameter(&self) -> Option<String> {
        let detail = self.value.get("detail").and_then(|detail| detail.get(0));
        let place = detail.unwrap_or(&self.value);
        let named = match place.get("param").or_else(|| place.get("loc"))? {
            Value::String(path) => path.rsplit(['.', '[', ']']).find(|step| !step.is_empty()),
            Value::Array(steps) => steps.iter().rev().find_map(Value::as_str),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        };
        named.map(str::to_ascii_lowercase)
    }

    /// Finds a member beside the message, or in its `details`.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        let details = self.value.get("details").and_then(Value::as_array);
        self.value.get(name).or_else(|| {
            details
                .into_iter()
                .flatten()
                .find_map(|detail| detail.get(name))
        })
    }
}

/// Returns the JSON object inside a message and the words before it.
fn embedded(message: &str) -> Option<(&str, &str)> {
    let (start, end) = (message.find('{')?, message.rfind('}')?);
    let inside = message.get(start..=end)?;
    // Parsed here so that words that merely contain braces stay as they are.
    serde_json::from_str::<serde_json::Map<String, Value>>(inside).ok()?;
    Some((message.get(..start)?, inside))
}

/// Returns the first message in a JSON document that was cut off, as far as it goes. `None` if the text is no such
/// document or breaks off before the message.
fn message_of_cut(text: &str) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let (_, rest) = text.split_once("\"message\"")?;
    let inside = rest.trim_start().strip_prefix(':')?.trim_start();
    let inside = inside.strip_prefix('"')?;
    let mut is_escaped = false;
    let end = inside.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let raw = inside.get(..end.unwrap_or(inside.len()))?;
    // An escape sequence may be cut too, at most `\uXXXX`.
    let whole = (0..6).find_map(|cut| {
        let kept = raw.get(..raw.len().checked_sub(cut)?)?;
        serde_json::from_str::<String>(&format!("\"{kept}\"")).ok()
    })?;
    Some(whole).filter(|message| !message.trim().is_empty())
}

/// Returns the data of the first server-sent event, if the text is a stream of events.
fn event_data(text: &str) -> Option<&str> {
    let is_stream = ["data:", "event:"]
        .iter()
        .any(|field| text.trim_start().starts_with(field));
    let mut lines = text.lines().filter(|_| is_stream);
    lines
        .find_map(|line| line.strip_prefix("data:"))
        .map(str::trim)
}

/// Finds the object or text that holds the message: inside an array, inside `error`.
fn innermost(value: Value) -> Option<Value> {
    match value {
        Value::Array(mut items) if !items.is_empty() => innermost(items.swap_remove(0)),
        Value::Object(mut object) => match object.get("error") {
            Some(Value::Object(_)) => object.remove("error"),
            Some(_) | None => Some(Value::Object(object)),
        },
        Value::String(text) => Some(Value::String(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn sentence(value: &Value) -> String {
    let found = SENTENCES.iter().find_map(|key| match value.get(*key)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Array(items) => items.first().and_then(|item| match item.get("msg")? {
            Value::String(text) => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    });
    // A gateway only reports that an upstream provider failed; the upstream message is beside it.
    let behind = value.pointer("/metadata/raw").and_then(Value::as_str);
    match (found, behind) {
        (Some(found), Some(behind)) => {
            format!("{found}: {}", ErrorBody::read(behind.as_bytes()).message)
        }
        (Some(found), None) => found,
        (None, Some(behind)) => behind.to_owned(),
        (None, None) => String::new(),
    }
}

fn plain_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns true if a body is an HTML page.
pub(super) fn is_html(body: &[u8]) -> bool {
    let start: Vec<u8> = body
        .iter()
        .copied()
        .skip_while(u8::is_ascii_whitespace)
        .take(9)
        .map(|byte| byte.to_ascii_lowercase())
        .collect();
    start.starts_with(b"<!doctype") || start.starts_with(b"<html") || start.starts_with(b"<head")
}

/// Returns the title of an HTML page, or the text itself.
fn in_text(text: &str) -> String {
    if !is_html(text.as_bytes()) {
        return text.to_owned();
    }
    let title = text
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"));
    title.map_or_else(
        || "an HTML page".to_owned(),
        |(title, _)| format!("an HTML page titled {:?}", title.trim()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendors_error_body_gives_its_message() {
        let nested = r#"{"error":{"message":"Provider returned error","code":400,
            "metadata":{"raw":"{\"error\":{\"message\":\"too long\"}}"}}}"#;
        for (body, message) in [
            (r#"{"error":{"message":"no","type":"t","code":"c"}}"#, "no"),
            (
                r#"{"type":"error","error":{"type":"t","message":"no"}}"#,
                "no",
            ),
            (r#"{"error":"no such thing"}"#, "no such thing"),
            (r#"{"detail":"no"}"#, "no"),
            (
                r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
                "field required",
            ),
            (r#"{"object":"error","message":"no","code":404}"#, "no"),
            (
                r#"[{"error":{"code":400,"message":"no","status":"S"}}]"#,
                "no",
            ),
            (r#"{"error":{"code":"only_a_code"}}"#, "only_a_code"),
            (r#""just text""#, "just text"),
            (nested, "Provider returned error: too long"),
            ("plain words\n", "plain words"),
            (
                r#"{"error":{"message":"{\"error\":{\"message\":\"too long\",\"code\":\"c\"}}"}}"#,
                "too long",
            ),
            (
                r#"{"error":{"message":"BadRequestError: - {\"error\":{\"message\":\"no such tool\"}}"}}"#,
                "BadRequestError: - no such tool",
            ),
            (
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"busy\"}}\n\n",
                "busy",
            ),
            (r#"{"message":"use {name} here"}"#, "use {name} here"),
            ("{\"error\":{\"mess", "{\"error\":{\"mess"),
            (
                r#"{"error":{"code":7,"message": "too \"long\" for us and so on\u00e"#,
                "too \"long\" for us and so on",
            ),
            (r#"{"message":"no","padding":"xxxxxxxx"#, "no"),
            (
                r#"{"message":17,"padding":"x"#,
                r#"{"message":17,"padding":"x"#,
            ),
            (
                "<html><head><title> 502 Bad Gateway </title>",
                "an HTML page titled \"502 Bad Gateway\"",
            ),
            ("\n<!DOCTYPE html><p>hello", "an HTML page"),
            ("", ""),
        ] {
            assert_eq!(ErrorBody::read(body.as_bytes()).message, message, "{body}");
        }
    }

    #[test]
    fn codes_are_searched_together_with_the_message() {
        let error_body =
            ErrorBody::read(br#"{"error":{"message":"Nope.","code":"Context_Length","n_ctx":7}}"#);
        assert!(error_body.mentions(&["else", "context_length"]));
        assert!(error_body.mentions(&["nope"]));
        assert!(!error_body.mentions(&["n_ctx"]));
        assert_eq!(error_body.field("n_ctx"), Some(&Value::from(7)));
    }

    #[test]
    fn arbitrary_bytes_are_decoded_without_a_panic() {
        let deep = "[".repeat(100_000);
        for body in [
            deep.as_bytes(),
            b"\xff\xfe\x00",
            b"null",
            b"[]",
            b"17",
            b"{}",
        ] {
            let error_body = ErrorBody::read(body);
            assert!(error_body.message.len() <= 3 * body.len());
        }
    }
}
