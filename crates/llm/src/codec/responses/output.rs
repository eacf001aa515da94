//! Reads the response object of a Responses provider into blocks, whether it came as a body or from a stream.
//!
//! Invariants: items of unknown types are skipped and never fail the answer; an answer has a stored id only if every
//! part of it was understood, because only then can a later request refer to it.

use super::failure::response_fault;
use super::freeform;
use crate::codec::{DecodedReply, Fault, json, natural_stop_reason, parse_arguments};
use holon_domain::attempt::TokenUsage;
use holon_domain::model::{ModelFailureKind, ModelReply, ReplyBlock, RequestedCall, StopReason};
use holon_domain::provider::ContextReduction;
use holon_domain::tool::OfferedTool;
use serde_json::{Value, json};

/// Decodes a response object. `tools` are those the request offered.
pub(crate) fn answer(tools: &[OfferedTool], response: &Value) -> Result<DecodedReply, Fault> {
    let limit = match response.get("status").and_then(Value::as_str) {
        Some("completed") => None,
        Some("incomplete") => Some(incomplete(response)?),
        Some("failed") => return Err(response_fault(response)),
        Some("cancelled") => {
            return Err(Fault::Reported {
                kind: ModelFailureKind::ServerError,
                message: "the provider cancelled the response".into(),
            });
        }
        Some(other) => {
            return Err(Fault::malformed(format!(
                "the response has the status {other:?}"
            )));
        }
        None if response.get("error").is_some_and(|error| !error.is_null()) => {
            return Err(response_fault(response));
        }
        // Some compatible servers leave the status out of a complete answer.
        None => None,
    };
    let Some(output) = response.get("output").and_then(Value::as_array) else {
        return Err(Fault::malformed("the response has no `output` list"));
    };
    let mut reader = OutputReader::new(tools);
    for item in output {
        reader.item(item)?;
    }
    if limit.is_some_and(StopReason::voids_calls) {
        // A filter stopped the model, so its calls must not be run.
        reader
            .blocks
            .retain(|block| !matches!(block, ReplyBlock::Call(_)));
    }
    let stop_reason = limit.unwrap_or_else(|| reader.stop_reason());
    let compacted = (reader.compactions > 0).then_some(ContextReduction {
        compactions: reader.compactions,
        ..ContextReduction::default()
    });
    let stored_id = stored_id(response).filter(|_| limit.is_none() && reader.skipped == 0);
    Ok(DecodedReply {
        reply: ModelReply {
            blocks: reader.blocks,
            stop_reason,
            usage: usage(response),
            context_management: compacted,
        },
        stored_id,
    })
}

/// Reads the reason why an answer is incomplete.
fn incomplete(response: &Value) -> Result<StopReason, Fault> {
    let reason = response
        .pointer("/incomplete_details/reason")
        .and_then(Value::as_str);
    match reason {
        Some("max_output_tokens" | "max_tokens" | "length") => Ok(StopReason::MaxOutputTokens),
        Some("content_filter") => Ok(StopReason::ContentFilter),
        Some(other) => Err(Fault::Reported {
            kind: ModelFailureKind::InvalidResponse,
            message: format!("the answer is incomplete: {other}"),
        }),
        None => Err(Fault::Reported {
            kind: ModelFailureKind::InvalidResponse,
            message: "the answer is incomplete and the provider does not say why".into(),
        }),
    }
}

/// Collects blocks from the items of a response.
#[derive(Debug)]
struct OutputReader<'a> {
    tools: &'a [OfferedTool],
    blocks: Vec<ReplyBlock>,
    refusals: usize,
    compactions: u64,
    skipped: usize,
}

impl<'a> OutputReader<'a> {
    fn new(tools: &'a [OfferedTool]) -> Self {
        Self {
            tools,
            blocks: Vec::new(),
            refusals: 0,
            compactions: 0,
            skipped: 0,
        }
    }

    fn item(&mut self, item: &Value) -> Result<(), Fault> {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => self.message(item),
            Some("reasoning") => self.reasoning(item),
            Some("compaction") => self.compaction(item),
            Some("function_call") => {
                let input = match item.get("arguments") {
                    Some(Value::String(raw)) => parse_arguments(raw),
                    None | Some(Value::Null) => json!({}),
                    Some(other) => other.clone(),
                };
                let call = call(item, input)?;
                self.blocks.push(ReplyBlock::Call(call));
            }
            Some("custom_tool_call") => {
                let call = call(item, self.text_arguments(item))?;
                self.blocks.push(ReplyBlock::Call(call));
            }
            Some(_) => self.skipped += 1,
            None => return Err(Fault::malformed("an output item has no type")),
        }
        Ok(())
    }

    /// Returns the arguments of a call that came as text. If its tool was not offered as free text, the text is parsed
    /// like that of a function call, so that the tool refuses it and the model can correct itself.
    fn text_arguments(&self, item: &Value) -> Value {
        let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
        let argument = freeform::argument(self.tools, name);
        match (item.get("input"), argument) {
            (Some(Value::String(text)), Some(argument)) => freeform::arguments(argument, text),
            (Some(Value::String(text)), None) => parse_arguments(text),
            (None | Some(Value::Null), Some(argument)) => freeform::arguments(argument, ""),
            (None | Some(Value::Null), None) => json!({}),
            (Some(other), Some(_) | None) => other.clone(),
        }
    }

    fn message(&mut self, item: &Value) {
        let content = item.get("content");
        // Some compatible servers send the content as a bare string.
        if let Some(Value::String(words)) = content {
            self.text(words);
        }
        let parts = content.and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
            match part.get("type").and_then(Value::as_str) {
                Some("output_text" | "text") => self.text(text("text")),
                Some("refusal") => {
                    self.refusals += 1;
                    self.text(text("refusal"));
                }
                Some(_) | None => self.skipped += 1,
            }
        }
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.blocks.push(ReplyBlock::Text { text: text.into() });
        }
    }

    fn reasoning(&mut self, item: &Value) {
        let text = [("summary", "summary_text"), ("content", "reasoning_text")]
            .iter()
            .map(|(member, kind)| words(item, member, kind))
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        let opaque = seal(item);
        if !text.is_empty() || opaque.is_some() {
            self.blocks.push(ReplyBlock::Reasoning { text, opaque });
        }
    }

    /// Keeps the encrypted item that the server made of older ones. It goes back where it stood; the older items stay in
    /// the log and in later requests, so that another model or a server without the item has them.
    fn compaction(&mut self, item: &Value) {
        self.compactions += 1;
        match sealed_item(item, "compaction") {
            Some(sealed) => self.blocks.push(ReplyBlock::Reasoning {
                text: String::new(),
                opaque: Some(sealed.to_string()),
            }),
            None => self.skipped += 1,
        }
    }

    fn stop_reason(&self) -> StopReason {
        match natural_stop_reason(&self.blocks) {
            StopReason::EndTurn if self.refusals > 0 => StopReason::Refusal,
            reason => reason,
        }
    }
}

/// Joins the parts of one type in a list of parts as paragraphs.
fn words(item: &Value, member: &str, kind: &str) -> String {
    let parts = item.get(member).and_then(Value::as_array);
    let words: Vec<&str> = parts
        .into_iter()
        .flatten()
        .filter(|part| part.get("type").and_then(Value::as_str) == Some(kind))
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    words.join("\n\n")
}

/// Returns what must be sent back of a reasoning item. Without encrypted content the provider would have to look the
/// item up, and it may not have stored it; then nothing is sent back.
fn seal(item: &Value) -> Option<String> {
    let mut sealed = sealed_item(item, "reasoning")?;
    let summary = item.get("summary").filter(|summary| summary.is_array());
    sealed["summary"] = summary.cloned().unwrap_or_else(|| json!([]));
    Some(sealed.to_string())
}

/// Returns an item of this type with its id and encrypted content; `None` if it lacks one of them.
fn sealed_item(item: &Value, kind: &str) -> Option<Value> {
    let text = |key: &str| {
        let text = item.get(key).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    let (id, sealed) = (text("id")?, text("encrypted_content")?);
    Some(json!({"type": kind, "id": id, "encrypted_content": sealed}))
}

fn call(item: &Value, input: Value) -> Result<RequestedCall, Fault> {
    let text = |key: &str| {
        let text = item.get(key).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let Some(name) = text("name") else {
        return Err(Fault::malformed("a call has no name"));
    };
    Ok(RequestedCall {
        provider_id: text("call_id"),
        name,
        input,
    })
}

fn usage(response: &Value) -> TokenUsage {
    let count = |path: &str| response.pointer(path).and_then(json::count);
    let (read, written) = (
        count("/usage/input_tokens").unwrap_or(0),
        count("/usage/output_tokens").unwrap_or(0),
    );
    let sums = TokenUsage::new(read, written);
    TokenUsage {
        total_tokens: count("/usage/total_tokens").unwrap_or(sums.total_tokens),
        cache_read_tokens: count("/usage/input_tokens_details/cached_tokens").unwrap_or(0),
        ..sums
    }
}

/// Returns the id under which the provider stores the answer, unless the answer says `store: false`. Some servers leave
/// `store` out; `continuation` checks that the request asked for it.
fn stored_id(response: &Value) -> Option<String> {
    let kept = response.get("store").and_then(Value::as_bool) != Some(false);
    let id = response.get("id").and_then(Value::as_str)?;
    (kept && !id.is_empty()).then(|| id.to_owned())
}
