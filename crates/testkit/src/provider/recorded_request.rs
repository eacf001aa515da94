//! A request as the server received it, with accessors for tests.

use super::protocol::Protocol;
use serde_json::Value;

/// A request that the server has received.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// Number of the request on this server, counted from 0.
    pub index: usize,
    /// Number of its connection, counted from 0.
    pub connection: usize,
    pub method: String,
    /// Path with its query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// Protocol of a model request; absent for other requests.
    pub protocol: Option<Protocol>,
    /// Parsed body; null if there is none or it is not JSON.
    pub body: Value,
    pub raw: Vec<u8>,
}

impl RecordedRequest {
    /// Returns the first header of this name (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }

    /// Model named in the request.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Requested output limit, if there is one.
    #[must_use]
    pub fn max_output_tokens(&self) -> Option<u64> {
        ["max_output_tokens", "max_tokens", "max_completion_tokens"]
            .iter()
            .find_map(|name| self.body[*name].as_u64())
    }

    /// Returns true if the path, the headers or the body contain this text.
    #[must_use]
    pub fn contains(&self, words: &str) -> bool {
        self.path.contains(words)
            || self.headers.iter().any(|(_, value)| value.contains(words))
            || String::from_utf8_lossy(&self.raw).contains(words)
            || mentions(&self.body, words)
    }

    /// Names of the offered tools.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let offered = self.body["tools"].as_array().into_iter().flatten();
        offered
            .filter_map(|tool| {
                tool["name"]
                    .as_str()
                    .or_else(|| tool["function"]["name"].as_str())
            })
            .collect()
    }

    /// Tool results in the request, oldest first.
    #[must_use]
    pub fn tool_outputs(&self) -> Vec<String> {
        match self.protocol {
            Some(Protocol::Responses | Protocol::Codex) => items(&self.body["input"])
                .filter(|item| {
                    let kind = item["type"].as_str().unwrap_or_default();
                    matches!(kind, "function_call_output" | "custom_tool_call_output")
                })
                .map(|item| text(&item["output"]))
                .collect(),
            Some(Protocol::Messages) => items(&self.body["messages"])
                .flat_map(|message| items(&message["content"]))
                .filter(|block| block["type"] == "tool_result")
                .map(|block| text(&block["content"]))
                .collect(),
            Some(Protocol::Chat) => items(&self.body["messages"])
                .filter(|message| message["role"] == "tool")
                .map(|message| text(&message["content"]))
                .collect(),
            None => Vec::new(),
        }
    }
}

/// Iterates over an array; empty for any other value.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The content of a text, or of the text blocks of an array.
fn text(value: &Value) -> String {
    match value.as_str() {
        Some(words) => words.to_owned(),
        None => items(value)
            .filter_map(|block| block["text"].as_str())
            .collect(),
    }
}

/// Returns true if a string in the value contains the text, independent of JSON escapes.
fn mentions(value: &Value, words: &str) -> bool {
    match value {
        Value::String(text) => text.contains(words),
        Value::Array(list) => list.iter().any(|item| mentions(item, words)),
        Value::Object(map) => map
            .iter()
            .any(|(name, item)| name.contains(words) || mentions(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
