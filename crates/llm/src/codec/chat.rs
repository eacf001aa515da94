//! Encodes requests for Chat Completions as one JSON document. The answer is read in `decode`.
//!
//! Most compatible servers speak this protocol, each with differences of its own. The request uses only what all of
//! them accept; documented exceptions are selected by host in `dialect`. Roles alternate because many chat templates
//! require it.

mod decode;
mod dialect;
mod message;
mod seal;
mod stream;

#[cfg(test)]
mod tests;

pub(crate) use decode::answer;
pub(crate) use stream::Assembler;

use super::dialogue::{self, CallResult, GO_ON, ReplyPart, Step};
use super::responses::strict;
use super::{Body, Item};
use dialect::{Dialect, Ids};
use holon_domain::image::ShownImage;
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use holon_domain::tool::OfferedTool;
use message::{Call, Content, ContentPart, ImageUrl, Message, Role};
use seal::Seal;
use serde_json::{Map, Value, json};

/// Encodes a request as the body of a Chat Completions call.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Body {
    let dialect = Dialect::of(&provider.base_url);
    let mut body = Map::new();
    let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
    put("model", json!(request.model.model()));
    let limit = json!(request.max_output_tokens.max(1));
    put(dialect.limit_field(), limit);
    if let Some(effort) = request.reasoning_effort.or(provider.reasoning_effort) {
        put("reasoning_effort", json!(effort));
    }
    put("stream", Value::Bool(true));
    if dialect.takes_stream_options() {
        put("stream_options", json!({"include_usage": true}));
    }
    Body::new(body)
        .with_conversation("messages", messages(dialect, request))
        .with_tools(&request.tools, provider.transport, tool)
}

fn messages(dialect: Dialect, request: &ModelRequest) -> Vec<Item> {
    let steps = dialogue::steps(request);
    let mut messages = Messages::new(dialect);
    if !dialogue::is_blank(&request.frame.system_prompt) {
        messages.push(Message::new(Role::System, &request.frame.system_prompt));
    }
    for step in &steps {
        match step {
            Step::Assistant(parts) => {
                if !messages.has_user() {
                    messages.user(GO_ON);
                }
                messages.assistant(parts);
            }
            Step::Results(answered) => {
                for answer in answered {
                    messages.result(answer);
                }
                messages.images(answered);
            }
            Step::User(words) => messages.user(words),
            Step::Image(image) => messages.image(image),
        }
    }
    if !messages.has_user() {
        messages.user(GO_ON);
    }
    messages.sent.iter().map(Item::text).collect()
}

/// Messages in an order that the strictest servers accept.
struct Messages<'a> {
    dialect: Dialect,
    ids: Ids,
    sent: Vec<Message<'a>>,
}

impl<'a> Messages<'a> {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            ids: Ids::new(dialect),
            sent: Vec::new(),
        }
    }

    fn push(&mut self, message: Message<'a>) {
        self.sent.push(message);
    }

    fn last_role(&self) -> Option<Role> {
        self.sent.last().map(|message| message.role)
    }

    fn has_user(&self) -> bool {
        !matches!(self.last_role(), None | Some(Role::System))
    }

    fn user(&mut self, words: &'a str) {
        if self.last_role() == Some(Role::Tool) {
            self.separate_from_tools();
        }
        match self.sent.last_mut() {
            Some(last) if last.role == Role::User => last.content.append(words),
            Some(_) | None => self.push(Message::new(Role::User, words)),
        }
    }

    /// Adds an image to the words of the user before it.
    fn image(&mut self, image: &ShownImage) {
        let part = image_part(image);
        match self.sent.last_mut() {
            Some(last) if last.role == Role::User => last.content.attach(part),
            Some(_) | None => self.push(Message {
                content: Content::Parts(vec![part]),
                ..Message::new(Role::User, "")
            }),
        }
    }

    fn separate_from_tools(&mut self) {
        if let Some(filler) = self.dialect.between_tool_and_user() {
            self.push(Message::new(Role::Assistant, filler));
        }
    }

    fn result(&mut self, answer: &'a CallResult<'a>) {
        let id = self.ids.of(&answer.id);
        self.push(Message {
            tool_call_id: Some(id),
            ..Message::new(Role::Tool, answer.marked_content())
        });
    }

    /// Sends the images of results as a message of the user: a result of this protocol holds text only.
    fn images(&mut self, answered: &'a [CallResult<'a>]) {
        let mut parts = Vec::new();
        for answer in answered {
            let Some(image) = answer.image else { continue };
            let words = format!("Image of the result of {}:", answer.name);
            parts.push(ContentPart::Text { text: words.into() });
            parts.push(image_part(image));
        }
        if parts.is_empty() {
            return;
        }
        self.separate_from_tools();
        self.push(Message {
            content: Content::Parts(parts),
            ..Message::new(Role::User, "")
        });
    }

    fn assistant(&mut self, parts: &'a [ReplyPart<'a>]) {
        if self.last_role() != Some(Role::Assistant) {
            self.push(Message {
                content: Content::Absent,
                ..Message::new(Role::Assistant, "")
            });
        }
        let (ids, dialect) = (&mut self.ids, self.dialect);
        let Some(message) = self.sent.last_mut() else {
            return;
        };
        let (mut calls, mut seal) = (Vec::new(), None);
        for piece in parts {
            match piece {
                ReplyPart::Text(words) => message.content.append(words),
                ReplyPart::Sealed { text, data } => {
                    seal = Seal::parse(data).map(|seal| (seal, *text))
                }
                ReplyPart::Call { id, name, input } => {
                    calls.push(Call::new(ids.of(id), name, input));
                }
            }
        }
        // Servers that want reasoning back want it beside the calls it led to, and some refuse it anywhere else.
        if calls.is_empty() {
            return;
        }
        if let Some((seal, text)) = seal {
            seal.restore(text, message, &mut calls);
        }
        dialect.complete(message);
        message.tool_calls = calls;
    }
}

fn image_part(image: &ShownImage) -> ContentPart<'static> {
    let url = image.data_url();
    ContentPart::ImageUrl {
        image_url: ImageUrl { url },
    }
}

fn tool(tool: &OfferedTool) -> Value {
    let parameters = if tool.strict {
        strict::reduce_schema(&tool.parameters)
    } else {
        tool.parameters.clone()
    };
    // The mode is always said: what a server does with a tool that names none differs between servers.
    json!({"type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": tool.strict,
    }})
}
