//! Encodes what both Responses codecs send: instructions, input items, tools.
//!
//! Owns the shape of each item; `dialogue` owns the order of a conversation. Invariant: an item refers to nothing the
//! provider would have to look up (no ids of messages or calls), so a request is complete by itself.

use super::{freeform, strict};
use crate::codec::Item;
use crate::codec::dialogue::{
    CallResult, GO_ON, ReplyPart, Step, is_blank, nonblank_blocks, steps,
};
use holon_domain::image::ShownImage;
use holon_domain::model::{ModelRequest, PromptFrame};
use holon_domain::tool::OfferedTool;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Joins the system blocks to one text; `None` if all are blank.
pub(crate) fn instructions(frame: &PromptFrame) -> Option<String> {
    let blocks: Vec<&str> = nonblank_blocks(&frame.system_blocks)
        .map(|block| block.text.as_str())
        .collect();
    let text = if blocks.is_empty() {
        frame.system_prompt.clone()
    } else {
        blocks.join("\n\n")
    };
    Some(text).filter(|text| !is_blank(text))
}

/// An item of the input.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: Cow<'a, str>,
    },
    /// A call of a tool that takes free text.
    CustomToolCall {
        call_id: &'a str,
        name: &'a str,
        input: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
    CustomToolCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String },
}

/// Builds the input: earlier turns, the context and the conversation, each text a message of its own with the images that
/// belong to it; never empty.
pub(crate) fn input(request: &ModelRequest) -> Vec<Item> {
    let mut items = Vec::new();
    let mut steps = steps(request).into_iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            Step::Assistant(parts) => items.extend(assistant(&parts, &request.tools)),
            Step::Results(answered) => {
                items.extend(answered.iter().map(|one| result(one, &request.tools)));
            }
            Step::User(text) => {
                let mut parts = vec![ContentPart::InputText { text }];
                while let Some(Step::Image(image)) =
                    steps.next_if(|next| matches!(next, Step::Image(_)))
                {
                    parts.push(image_part(image));
                }
                items.push(user(parts));
            }
            Step::Image(image) => items.push(user(vec![image_part(image)])),
        }
    }
    if items.is_empty() {
        let text = Cow::Borrowed(GO_ON);
        items.push(user(vec![ContentPart::InputText { text }]));
    }
    items
}

/// Encodes the model's output for a request that offers these tools.
pub(super) fn assistant(parts: &[ReplyPart<'_>], tools: &[OfferedTool]) -> Vec<Item> {
    // The API refuses reasoning without a following item; an answer that was cut off may end with some.
    let led = parts
        .iter()
        .rposition(|piece| !matches!(piece, ReplyPart::Sealed { data, .. } if !is_compaction(data)))
        .map_or(0, |last| last + 1);
    let pieces = parts.iter().take(led);
    pieces.filter_map(|part| piece(part, tools)).collect()
}

fn piece(part: &ReplyPart<'_>, tools: &[OfferedTool]) -> Option<Item> {
    match part {
        ReplyPart::Text(text) => Some(Item::text(&InputItem::Message {
            role: "assistant",
            // A list of `output_text` would need the id of the item it came in, which is not kept.
            content: Content::Text(Cow::Borrowed(text)),
        })),
        ReplyPart::Sealed { data, .. } => unseal(data).as_ref().map(Item::text),
        ReplyPart::Call { id, name, input } => Some(call(id, name, input, tools)),
    }
}

/// Encodes a call in the form in which this request offers its tool.
fn call(call_id: &str, name: &str, input: &Value, tools: &[OfferedTool]) -> Item {
    Item::text(&match freeform::argument(tools, name) {
        Some(argument) => InputItem::CustomToolCall {
            call_id,
            name,
            input: freeform::text(argument, input),
        },
        None => InputItem::FunctionCall {
            call_id,
            name,
            arguments: arguments(input),
        },
    })
}

/// Returns true for a sealed compaction item, which may also be the last of an answer.
fn is_compaction(data: &str) -> bool {
    data.contains(r#""type":"compaction""#)
}

/// Parses the reasoning or compaction item that `output` sealed. Other data of this lineage was sealed by another protocol and is not
/// sent.
fn unseal(data: &str) -> Option<Value> {
    let item: Value = serde_json::from_str(data).ok()?;
    let has = |member: &str| item.get(member).is_some_and(Value::is_string);
    let kind = item.get("type").and_then(Value::as_str);
    let own = matches!(kind, Some("reasoning" | "compaction"));
    (own && has("id") && has("encrypted_content")).then_some(item)
}

fn result(answered: &CallResult<'_>, tools: &[OfferedTool]) -> Item {
    let text = answered.marked_content();
    let output = match answered.image {
        None => Content::Text(text),
        Some(image) => Content::Parts(vec![ContentPart::InputText { text }, image_part(image)]),
    };
    let call_id = answered.id.as_str();
    Item::text(&match freeform::argument(tools, &answered.name) {
        Some(_) => InputItem::CustomToolCallOutput { call_id, output },
        None => InputItem::FunctionCallOutput { call_id, output },
    })
}

fn image_part(image: &ShownImage) -> ContentPart<'static> {
    ContentPart::InputImage {
        image_url: image.data_url(),
    }
}

fn user(parts: Vec<ContentPart<'_>>) -> Item {
    Item::text(&InputItem::Message {
        role: "user",
        content: Content::Parts(parts),
    })
}

/// Encodes arguments as JSON in a string; text that was not JSON is returned unchanged.
fn arguments(input: &Value) -> Cow<'_, str> {
    match input {
        Value::String(raw) => Cow::Borrowed(raw),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(input.to_string())
        }
    }
}

/// Encodes the offer of a tool.
pub(crate) fn tool(offered: &OfferedTool) -> Value {
    match &offered.freeform {
        Some(form) => freeform::encode_offer(offered, form),
        None => function(offered),
    }
}

fn function(tool: &OfferedTool) -> Value {
    let parameters = if tool.strict {
        strict::reduce_schema(&tool.parameters)
    } else {
        tool.parameters.clone()
    };
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "strict": tool.strict,
        "parameters": parameters,
    })
}
