//! A request as the server received it, and what tests like to ask of one.

use super::protocol::Protocol;
use serde_json::Value;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Counted from 0, over all requests of this server.
    pub index: usize,
    /// The connection it came on, counted from 0.
    pub connection: usize,
    /// `GET` or `POST`.
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The protocol, if it asks a model.
    pub protocol: Option<Protocol>,
    /// The body; null if it has none or it is no JSON.
    pub body: Value,
    /// The body as it came.
    pub raw: Vec<u8>,
}

impl Recorded {
    /// The first header of this name (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(known, _)| known == name);
        named.next().map(|(_, value)| value.as_str())
    }

    /// The model that is asked.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The longest answer it asks for, if it says so.
    #[must_use]
    pub fn max_output_tokens(&self) -> Option<u64> {
        ["max_output_tokens", "max_tokens", "max_completion_tokens"]
            .iter()
            .find_map(|name| self.body[*name].as_u64())
    }

    /// Whether these words stand anywhere in its path, its headers or its body.
    #[must_use]
    pub fn contains(&self, words: &str) -> bool {
        self.path.contains(words)
            || self.headers.iter().any(|(_, value)| value.contains(words))
            || String::from_utf8_lossy(&self.raw).contains(words)
            || mentions(&self.body, words)
    }

    /// The names of the tools it offers.
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

    /// What tools answered, oldest first, as the request tells it.
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

/// The items of an array; none of anything else.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The words of a text, or of the text blocks of an array.
fn text(value: &Value) -> String {
    match value.as_str() {
        Some(words) => words.to_owned(),
        None => items(value)
            .filter_map(|block| block["text"].as_str())
            .collect(),
    }
}

/// Whether a string in it contains the words, whatever escapes it was written with.
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
