//! The messages of a Chat Completions request, as they are written.

use crate::codec::dialogue;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    pub(super) content: Content<'a>,
    /// The call that a message with a result answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<Vec<Value>>,
}

impl<'a> Message<'a> {
    /// Creates a message of text.
    pub(super) fn new(role: Role, words: impl Into<Cow<'a, str>>) -> Self {
        Self {
            role,
            content: Content::Text(words.into()),
            tool_call_id: None,
            tool_calls: Vec::new(),
            reasoning_content: None,
            reasoning_details: None,
        }
    }
}

/// The content of a message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    /// Null on the wire: an answer that has calls and no text.
    Absent,
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

impl<'a> Content<'a> {
    /// Appends words as a paragraph of their own.
    pub(super) fn append(&mut self, words: &'a str) {
        match self {
            Self::Absent => *self = Self::Text(Cow::Borrowed(words)),
            Self::Text(text) => {
                let text = text.to_mut();
                text.push_str("\n\n");
                text.push_str(words);
            }
            Self::Parts(parts) => parts.push(ContentPart::Text { text: words.into() }),
        }
    }

    /// Appends a part that is no text, so that the content becomes a list.
    pub(super) fn attach(&mut self, image: ContentPart<'a>) {
        let mut parts = match std::mem::replace(self, Self::Absent) {
            Self::Absent => Vec::new(),
            Self::Text(text) => vec![ContentPart::Text { text }],
            Self::Parts(parts) => parts,
        };
        parts.push(image);
        *self = Self::Parts(parts);
    }
}

/// A part of a content with images.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl {
    pub(super) url: String,
}

/// A call of a tool.
#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<Value>,
}

#[derive(Debug, Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    /// Always the text of a JSON object, because many servers parse it and fail on anything else.
    arguments: String,
}

impl<'a> Call<'a> {
    pub(super) fn new(id: String, name: &'a str, input: &Value) -> Self {
        Self {
            id,
            kind: "function",
            function: CalledFunction {
                name,
                arguments: serde_json::to_string(&dialogue::object(input)).unwrap_or_default(),
            },
            extra_content: None,
        }
    }
}
