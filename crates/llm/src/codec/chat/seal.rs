//! What some servers want back unread with the calls they made: reasoning, and signatures beside single calls.
//!
//! The contracts: DeepSeek and Moonshot take `reasoning_content` back on every message with calls; OpenRouter takes
//! `reasoning_details`; Gemini's compatible endpoint puts `extra_content` on a call and refuses the call without it.
//! Only what came is returned, only to the model it came from, and only beside calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a message held that must go back as it came.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seal {
    /// The member in which the readable reasoning goes back; its words stand in the block and are not kept twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text_in: Option<TextMember>,
    /// OpenRouter's pieces of reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Vec<Value>>,
    /// What stood on each call, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extra_content: Vec<Value>,
}

/// Members that take readable reasoning back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TextMember {
    /// DeepSeek's, and that of those who follow it.
    ReasoningContent,
}

impl Seal {
    /// What of a message must go back, if anything.
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

    /// The seal as it is stored.
    pub(super) fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// A stored seal; nothing if it is none of this codec's, as when the provider spoke another protocol before.
    pub(super) fn read(data: &str) -> Option<Self> {
        let seal: Self = serde_json::from_str(data).ok()?;
        (seal != Self::default()).then_some(seal)
    }

    /// Puts everything back where it was.
    pub(super) fn restore(self, text: &str, message: &mut Map<String, Value>, calls: &mut [Value]) {
        match self.text_in {
            Some(TextMember::ReasoningContent) => {
                message.insert(
                    "reasoning_content".to_owned(),
                    Value::String(text.to_owned()),
                );
            }
            None => {}
        }
        if let Some(details) = self.reasoning_details {
            message.insert("reasoning_details".to_owned(), Value::Array(details));
        }
        for (call, extra) in calls.iter_mut().zip(self.extra_content) {
            if extra.is_object() {
                call["extra_content"] = extra;
            }
        }
    }
}
