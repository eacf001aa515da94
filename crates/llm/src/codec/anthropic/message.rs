//! The messages of a Messages request, as they are written.

use holon_domain::image::ImageFormat;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The speaker of a turn on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
}

/// Consecutive blocks of one role.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) content: Vec<Block<'a>>,
}

/// A block of a turn.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: ImageSource<'a>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// Thinking as it was received.
    #[serde(untagged)]
    Sealed(Value),
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(&'a str),
    WithImage([ResultPart<'a>; 2]),
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResultPart<'a> {
    Text { text: &'a str },
    Image { source: ImageSource<'a> },
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ImageSource<'a> {
    Base64 {
        media_type: ImageFormat,
        data: &'a str,
    },
}
