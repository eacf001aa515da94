//! Assembles the events of a Messages stream into one message.

use crate::codec::stream::{Budget, Progress, parsed_with_kind};
use crate::codec::{Fault, parse_arguments, reported};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Collects content blocks until the message stops.
#[derive(Debug)]
pub(crate) struct Assembler {
    budget: Budget,
    /// The message as it began; later events add to it.
    message: Map<String, Value>,
    /// Content blocks by their index.
    blocks: BTreeMap<u64, Block>,
}

/// A content block that deltas extend.
#[derive(Debug, Default)]
struct Block {
    members: Map<String, Value>,
    /// Text of `input_json_delta`s: the arguments of a call.
    arguments: String,
}

impl Assembler {
    /// Creates an assembler for a message of at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            budget: Budget::new(most),
            message: Map::new(),
            blocks: BTreeMap::new(),
        }
    }

    pub(crate) fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        text: &mut dyn FnMut(&str),
    ) -> Result<Progress, Fault> {
        let (kind, mut event) = parsed_with_kind(name, data)?;
        match kind.as_str() {
            "error" => return Err(reported::fault(event.get("error").unwrap_or(&event))),
            "message_start" => self.begin(event.get_mut("message").map(Value::take))?,
            "content_block_start" => self.open(&mut event, text)?,
            "content_block_delta" => return self.extend(&event, text),
            "content_block_stop" => {}
            "message_delta" => self.complete(&mut event)?,
            "message_stop" => return Ok(Progress::Done),
            // `ping`, and kinds that this build does not know.
            _ => return Ok(Progress::Idle),
        }
        Ok(Progress::More)
    }

    /// Returns the message. Only for a stream that has reached its stop event.
    pub(crate) fn finish(mut self) -> Value {
        let content = self.blocks.into_values().map(Block::into_value).collect();
        self.message.insert("content".into(), content);
        Value::Object(self.message)
    }

    fn begin(&mut self, message: Option<Value>) -> Result<(), Fault> {
        let Some(Value::Object(message)) = message else {
            return Err(Fault::malformed("the stream begins without a message"));
        };
        if self.message.is_empty() {
            self.budget.take(size(&message))?;
            self.message = message;
        }
        Ok(())
    }

    fn open(&mut self, event: &mut Value, text: &mut dyn FnMut(&str)) -> Result<(), Fault> {
        let index = index(event);
        let Some(Value::Object(members)) = event.get_mut("content_block").map(Value::take) else {
            return Err(Fault::malformed("a content block begins without a type"));
        };
        self.budget.take(size(&members))?;
        if members.get("type").and_then(Value::as_str) == Some("text")
            && let Some(piece) = members.get("text").and_then(Value::as_str)
            && !piece.is_empty()
        {
            text(piece);
        }
        let block = Block {
            members,
            arguments: String::new(),
        };
        match self.blocks.insert(index, block) {
            None => Ok(()),
            Some(_) => Err(Fault::malformed(format!(
                "the content block {index} begins twice"
            ))),
        }
    }

    /// Adds the pieces of a delta to their block. A delta without pieces is no content.
    fn extend(&mut self, event: &Value, text: &mut dyn FnMut(&str)) -> Result<Progress, Fault> {
        let index = index(event);
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(Fault::malformed(format!(
                "a piece of the content block {index} comes before its beginning"
            )));
        };
        let mut progress = Progress::Idle;
        for (member, piece) in delta.as_object().into_iter().flatten() {
            let piece = piece.as_str().filter(|piece| !piece.is_empty());
            let Some(piece) = piece.filter(|_| member != "type") else {
                continue;
            };
            progress = Progress::More;
            self.budget.take(piece.len())?;
            match member.as_str() {
                "partial_json" => block.arguments.push_str(piece),
                "text" => {
                    append(&mut block.members, member, piece);
                    text(piece);
                }
                _ => append(&mut block.members, member, piece),
            }
        }
        Ok(progress)
    }

    /// Adds the reason to stop, the final usage and what the server cleared.
    fn complete(&mut self, event: &mut Value) -> Result<(), Fault> {
        let Value::Object(event) = event.take() else {
            return Ok(());
        };
        self.budget.take(size(&event))?;
        for (member, value) in event {
            match (member.as_str(), value) {
                ("delta", Value::Object(delta)) => self.message.extend(delta),
                ("usage", Value::Object(usage)) => {
                    let counted = self.message.entry("usage").or_insert(Value::Null);
                    match counted {
                        Value::Object(known) => known.extend(usage),
                        other => *other = Value::Object(usage),
                    }
                }
                ("type", _) => {}
                (_, value) => {
                    self.message.insert(member, value);
                }
            }
        }
        Ok(())
    }
}

impl Block {
    fn into_value(mut self) -> Value {
        if !self.arguments.trim().is_empty() {
            let input = parse_arguments(&self.arguments);
            self.members.insert("input".into(), input);
        }
        Value::Object(self.members)
    }
}

fn index(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or(0)
}

fn append(members: &mut Map<String, Value>, member: &str, piece: &str) {
    match members.get_mut(member) {
        Some(Value::String(text)) => text.push_str(piece),
        Some(_) | None => {
            members.insert(member.to_owned(), Value::String(piece.to_owned()));
        }
    }
}

/// Estimates the bytes that an object takes.
fn size(members: &Map<String, Value>) -> usize {
    members
        .iter()
        .map(|(name, value)| name.len() + value.to_string().len())
        .sum()
}
