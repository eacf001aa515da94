//! Opaque data that some servers want back unchanged with the calls they made: reasoning, and signatures beside single
//! calls.
//!
//! DeepSeek and Moonshot take `reasoning_content` back on every message with calls; OpenRouter takes
//! `reasoning_details`; Gemini's compatible endpoint puts `extra_content` on a call and refuses the call without it.
//! Data is returned only if it was received, only to the model it came from, and only beside calls.

use super::message::{Call, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Parts of a received message that must be returned unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seal {
    /// The member in which the readable reasoning is returned; its text is in the block and not stored twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_in: Option<TextMember>,
    /// Pieces of reasoning that OpenRouter sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Vec<Value>>,
    /// The `extra_content` of each call, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extra_content: Vec<Value>,
}

/// Members that take readable reasoning back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TextMember {
    /// Used by DeepSeek and servers that follow it.
    ReasoningContent,
}

impl Seal {
    /// Collects what must be returned of a message; `None` if there is nothing.
    pub(super) fn of(message: &Map<String, Value>, calls: &[Value]) -> Option<Self> {
        let extra: Vec<Value> = calls
            .iter()
            .map(|call| call.get("extra_content").cloned().unwrap_or_default())
            .collect();
        let seal = Self {
            text_in: message
                .get("reasoning_content")
                .filter(|words| words.is_string())
                .map(|_| TextMember::ReasoningContent),
            reasoning_details: message
                .get("reasoning_details")
                .and_then(Value::as_array)
                .filter(|details| !details.is_empty())
                .cloned(),
            extra_content: if extra.iter().any(Value::is_object) {
                extra
            } else {
                Vec::new()
            },
        };
        (seal != Self::default()).then_some(seal)
    }

    /// Encodes the seal for storage.
    pub(super) fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Parses a stored seal. Returns `None` for data of another codec, which occurs if the provider's transport was
    /// changed.
    pub(super) fn parse(data: &str) -> Option<Self> {
        let seal: Self = serde_json::from_str(data).ok()?;
        (seal != Self::default()).then_some(seal)
    }

    /// Puts the stored data back on a message and its calls.
    pub(super) fn restore<'a>(
        self,
        text: &'a str,
        message: &mut Message<'a>,
        calls: &mut [Call<'a>],
    ) {
        match self.text_in {
            Some(TextMember::ReasoningContent) => message.reasoning_content = Some(text),
            None => {}
        }
        if let Some(details) = self.reasoning_details {
            message.reasoning_details = Some(details);
        }
        for (call, extra) in calls.iter_mut().zip(self.extra_content) {
            call.extra_content = Some(extra).filter(Value::is_object);
        }
    }
}
