//! Encodes requests for Chat Completions as one JSON document. The answer is read in `decode`.
//!
//! Most compatible servers speak this protocol, each with differences of its own. The request uses only what all of
//! them accept; documented exceptions are selected by host in `dialect`. Roles alternate because many chat templates
//! require it.

mod decode;
mod dialect;
mod seal;
mod stream;

#[cfg(test)]
mod tests;

pub(crate) use decode::answer;
pub(crate) use stream::Assembler;

use super::Body;
use super::dialogue::{self, CallResult, GO_ON, ReplyPart, Step};
use super::responses::strict;
use dialect::{Dialect, Ids};
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use holon_domain::tool::OfferedTool;
use seal::Seal;
use serde_json::{Map, Value, json};

/// Encodes a request as the body of a Chat Completions call.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    let dialect = Dialect::of(&provider.base_url);
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(request.model.model()));
    put("messages", messages(dialect, request).into());
    let limit = json!(request.max_output_tokens.max(1));
    put(dialect.limit_field(), limit);
    if let Some(effort) = request.reasoning_effort.or(provider.reasoning_effort) {
        put("reasoning_effort", json!(effort));
    }
    put("stream", Value::Bool(true));
    if dialect.takes_stream_options() {
        put("stream_options", json!({"include_usage": true}));
    }
    Body::new(body).with_tools(&request.tools, provider.transport, tool)
}

fn messages(dialect: Dialect, request: &ModelRequest) -> Vec<Value> {
    let mut messages = Messages::new(dialect);
    if !dialogue::is_blank(&request.frame.system_prompt) {
        messages.push(json!({"role": "system", "content": request.frame.system_prompt}));
    }
    for block in dialogue::nonblank_blocks(&request.frame.context_blocks) {
        messages.user(&block.text);
    }
    for step in dialogue::steps(&request.conversation, &request.model) {
        match step {
            Step::Assistant(parts) => {
                if !messages.has_user() {
                    messages.user(GO_ON);
                }
                messages.assistant(&parts);
            }
            Step::Results(answered) => {
                for answer in &answered {
                    messages.result(answer);
                }
                messages.images(&answered);
            }
            Step::User(words) => messages.user(&words),
        }
    }
    if !messages.has_user() {
        messages.user(GO_ON);
    }
    messages.sent
}

/// Messages in an order that the strictest servers accept.
struct Messages {
    dialect: Dialect,
    ids: Ids,
    sent: Vec<Value>,
}

impl Messages {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            ids: Ids::new(dialect),
            sent: Vec::new(),
        }
    }

    fn push(&mut self, message: Value) {
        self.sent.push(message);
    }

    fn last_role(&self) -> Option<&str> {
        self.sent.last()?.get("role")?.as_str()
    }

    fn has_user(&self) -> bool {
        !matches!(self.last_role(), None | Some("system"))
    }

    fn user(&mut self, words: &str) {
        if self.last_role() == Some("tool")
            && let Some(filler) = self.dialect.between_tool_and_user()
        {
            self.push(json!({"role": "assistant", "content": filler}));
        }
        if self.last_role() == Some("user") {
            self.append(words);
        } else {
            self.push(json!({"role": "user", "content": words}));
        }
    }

    fn result(&mut self, answer: &CallResult<'_>) {
        let id = self.ids.of(&answer.id);
        self.push(json!({"role": "tool", "tool_call_id": id, "content": answer.marked_content()}));
    }

    /// Sends the images of results as a message of the user: a result of this protocol holds text only.
    fn images(&mut self, answered: &[CallResult<'_>]) {
        let mut parts = Vec::new();
        for answer in answered {
            let Some(image) = answer.image else { continue };
            let words = format!("Image of the result of {}:", answer.name);
            parts.push(json!({"type": "text", "text": words}));
            parts.push(json!({"type": "image_url", "image_url": {"url": image.data_url()}}));
        }
        if parts.is_empty() {
            return;
        }
        if let Some(filler) = self.dialect.between_tool_and_user() {
            self.push(json!({"role": "assistant", "content": filler}));
        }
        self.push(json!({"role": "user", "content": parts}));
    }

    /// Appends a paragraph to the content of the last message.
    fn append(&mut self, words: &str) {
        if let Some(content) = self
            .sent
            .last_mut()
            .and_then(|last| last.get_mut("content"))
        {
            if let Value::Array(parts) = content {
                parts.push(json!({"type": "text", "text": words}));
                return;
            }
            let joined = match content.as_str() {
                Some(before) => format!("{before}\n\n{words}"),
                None => words.to_owned(),
            };
            *content = Value::String(joined);
        }
    }

    fn assistant(&mut self, parts: &[ReplyPart<'_>]) {
        if self.last_role() != Some("assistant") {
            self.push(json!({"role": "assistant", "content": Value::Null}));
        }
        let (mut calls, mut seal) = (Vec::new(), None);
        for piece in parts {
            match piece {
                ReplyPart::Text(words) => self.append(words),
                ReplyPart::Sealed { text, data } => {
                    seal = Seal::parse(data).map(|seal| (seal, *text))
                }
                ReplyPart::Call { id, name, input } => {
                    let id = self.ids.of(id);
                    calls.push(call(&id, name, input));
                }
            }
        }
        // Servers that want reasoning back want it beside the calls it led to, and some refuse it anywhere else.
        if calls.is_empty() {
            return;
        }
        if let Some(message) = self.sent.last_mut().and_then(Value::as_object_mut) {
            if let Some((seal, text)) = seal {
                seal.restore(text, message, &mut calls);
            }
            self.dialect.complete(message);
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
    }
}

/// Encodes a call. Its arguments are always the text of a JSON object, because many servers parse it and fail on
/// anything else.
fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": dialogue::object(input).to_string()},
    })
}

fn tool(tool: &OfferedTool) -> Value {
    let mut function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    });
    // Some servers do not know this member; leaving it out means the same as `false`.
    if tool.strict {
        function["strict"] = Value::Bool(true);
        function["parameters"] = strict::reduce_schema(&tool.parameters);
    }
    json!({"type": "function", "function": function})
}
