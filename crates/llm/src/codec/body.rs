//! The body of a request: its small members as values, its tools and its conversation as text.
//!
//! The tools are the same in every request, so a codec renders them once per set and transport. The conversation is most
//! of a long request, so its items are written from borrowed texts, without a tree of values between.

use holon_domain::provider::Transport;
use holon_domain::tool::OfferedTool;
use holon_domain::tool_set::ToolSet;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Name of the member that holds the tools.
const TOOLS: &str = "tools";

/// A request body in any protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    /// All members. Null stands in the place of the tools and of the conversation.
    members: Map<String, Value>,
    /// The rendered tools; absent if the request offers none.
    tools: Option<Arc<str>>,
    /// The member that holds the conversation, and its items.
    conversation: Option<(&'static str, Vec<Item>)>,
}

/// One item of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// The item as JSON text.
    Text(String),
    /// An item with parts that may have to be left out later.
    Value(Value),
}

/// The value of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member<'a> {
    Value(&'a Value),
    /// The tools as JSON text.
    Tools(&'a str),
    Items(&'a [Item]),
}

impl Item {
    pub(crate) fn text(item: &impl Serialize) -> Self {
        // Neither the items of the codecs nor a buffer can fail to be written.
        Self::Text(serde_json::to_string(item).unwrap_or_default())
    }

    /// Writes the item as JSON.
    pub(crate) fn write(&self, json: &mut Vec<u8>) {
        match self {
            Self::Text(text) => json.extend_from_slice(text.as_bytes()),
            Self::Value(value) => write(value, json),
        }
    }
}

impl Body {
    /// Creates a body with these members, no tools and no conversation.
    pub(crate) const fn new(members: Map<String, Value>) -> Self {
        Self {
            members,
            tools: None,
            conversation: None,
        }
    }

    /// Adds the tools, if there are any. `tool` encodes one of them for this transport.
    pub(super) fn with_tools(
        mut self,
        tools: &ToolSet,
        transport: Transport,
        tool: fn(&OfferedTool) -> Value,
    ) -> Self {
        if !tools.is_empty() {
            let list = |tools: &[OfferedTool]| Value::Array(tools.iter().map(tool).collect());
            self.tools = Some(tools.rendered(transport, |tools| list(tools).to_string()));
            self.members.insert(TOOLS.to_owned(), Value::Null);
        }
        self
    }

    /// Adds the conversation as the member of this name, or replaces it.
    pub(super) fn with_conversation(mut self, name: &'static str, items: Vec<Item>) -> Self {
        self.conversation = Some((name, items));
        self.members.insert(name.to_owned(), Value::Null);
        self
    }

    /// Iterates over all members in the order in which they are written.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Member<'_>)> {
        self.members.iter().map(|(name, value)| {
            let member = match (&self.tools, &self.conversation) {
                (Some(tools), _) if name == TOOLS => Member::Tools(tools),
                (_, Some((conversation, items))) if name == conversation => Member::Items(items),
                (Some(_) | None, Some(_) | None) => Member::Value(value),
            };
            (name.as_str(), member)
        })
    }

    /// Returns a member; null in place of the tools and the conversation.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// Returns the items of the conversation.
    pub(crate) fn conversation(&self) -> &[Item] {
        let conversation = self.conversation.as_ref();
        conversation.map_or(&[], |(_, items)| items.as_slice())
    }

    /// Returns a copy without the conversation, which is not copied before.
    pub(crate) fn without_conversation(&self) -> Self {
        let conversation = self.conversation.as_ref().map(|(name, _)| *name);
        let rest = self.members.iter();
        Self {
            members: rest
                .filter(|(name, _)| Some(name.as_str()) != conversation)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            tools: self.tools.clone(),
            conversation: None,
        }
    }

    /// Encodes the body as a JSON document.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut json = vec![b'{'];
        for (name, member) in self.members() {
            if json.len() > 1 {
                json.push(b',');
            }
            // The names are those of a protocol and need no escapes.
            json.push(b'"');
            json.extend_from_slice(name.as_bytes());
            json.extend_from_slice(b"\":");
            member.write(&mut json);
        }
        json.push(b'}');
        json
    }

    /// Returns the members to change them. The tools and the conversation do not change with theirs.
    pub(crate) const fn members_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.members
    }

    /// Iterates over the items of the conversation that can be changed.
    pub(crate) fn items_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let items = self
            .conversation
            .as_mut()
            .map(|(_, items)| items.iter_mut());
        items.into_iter().flatten().filter_map(|item| match item {
            Item::Value(value) => Some(value),
            Item::Text(_) => None,
        })
    }
}

impl Member<'_> {
    /// Writes the member as JSON.
    pub(crate) fn write(&self, json: &mut Vec<u8>) {
        match self {
            Self::Value(value) => write(value, json),
            Self::Tools(text) => json.extend_from_slice(text.as_bytes()),
            Self::Items(items) => {
                json.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        json.push(b',');
                    }
                    item.write(json);
                }
                json.push(b']');
            }
        }
    }
}

fn write(value: &Value, json: &mut Vec<u8>) {
    // Neither a value nor a buffer can fail to be written.
    drop(serde_json::to_writer(json, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::sample;
    use serde_json::json;

    fn members(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    fn text(body: &Body) -> String {
        String::from_utf8(body.to_json()).expect("JSON is UTF-8")
    }

    #[test]
    fn a_body_is_written_as_the_same_document_with_its_tools_in_place() {
        let document = json!({"model": "m", "stream": true, "tools": [{"name": "ReadSensor"}], "top": "a\n\"b\""});
        let mut rest = members(&document);
        rest.remove("tools");
        let tools = ToolSet::new(vec![sample::tool()]);
        let body = Body::new(rest).with_tools(
            &tools,
            Transport::OpenaiChatCompletions,
            |tool| json!({ "name": tool.name }),
        );
        assert_eq!(text(&body), document.to_string());
        let plain = Body::new(members(&document));
        assert_eq!(text(&plain), document.to_string());
        assert_eq!(text(&Body::new(Map::new())), "{}");
    }

    #[test]
    fn a_conversation_is_written_in_its_place_and_can_be_replaced() {
        let document = json!({"input": [{"a": "x\ny"}, {"b": [1]}], "model": "m", "top": 1});
        let mut rest = members(&document);
        rest.remove("input");
        let items = |from: &Value| {
            let mut items = from.as_array().expect("a list").iter();
            let first = items.next().map(Item::text);
            let others = items.map(|item| Item::Value(item.clone()));
            first.into_iter().chain(others).collect::<Vec<_>>()
        };
        let body = Body::new(rest).with_conversation("input", items(&document["input"]));
        assert_eq!(text(&body), document.to_string());
        let bare = body.without_conversation();
        assert_eq!(text(&bare), r#"{"model":"m","top":1}"#);
        let fewer = bare.with_conversation("input", Vec::new());
        assert_eq!(text(&fewer), r#"{"input":[],"model":"m","top":1}"#);
    }

    #[test]
    fn a_body_without_tools_keeps_the_member_it_has() {
        let empty = json!({"model": "m", "tools": []});
        let none = ToolSet::default();
        let body = Body::new(members(&empty));
        let body = body.with_tools(&none, Transport::OpenaiCodexResponses, |_| Value::Null);
        assert_eq!(text(&body), empty.to_string());
    }
}
