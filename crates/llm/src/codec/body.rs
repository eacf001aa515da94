//! The body of a request: its members as values, and its tools as text.
//!
//! The tools are most of a short request and the same in every request, so a codec renders them once per set and
//! transport. Everything else is built anew for each request.

use holon_domain::provider::Transport;
use holon_domain::tool::OfferedTool;
use holon_domain::tool_set::ToolSet;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Name of the member that holds the tools.
const TOOLS: &str = "tools";

/// A request body in any protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    /// All members. Null stands in the place of rendered tools.
    members: Map<String, Value>,
    /// The rendered tools; absent if the request offers none.
    tools: Option<Arc<str>>,
}

/// The value of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member<'a> {
    Value(&'a Value),
    /// The tools as JSON text.
    Tools(&'a str),
}

impl Body {
    /// Creates a body with these members and no tools.
    pub(crate) const fn new(members: Map<String, Value>) -> Self {
        Self {
            members,
            tools: None,
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

    /// Iterates over all members in the order in which they are written.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, Member<'_>)> {
        self.members.iter().map(|(name, value)| {
            let member = match &self.tools {
                Some(tools) if name == TOOLS => Member::Tools(tools),
                Some(_) | None => Member::Value(value),
            };
            (name.as_str(), member)
        })
    }

    /// Returns a member; null in place of rendered tools.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// Returns a copy without this member, which is not copied before.
    pub(crate) fn without(&self, name: &str) -> Self {
        let rest = self.members.iter().filter(|(member, _)| *member != name);
        Self {
            members: rest
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            tools: self.tools.clone(),
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

    /// Returns the members to change them. Rendered tools do not change with theirs.
    pub(crate) const fn members_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.members
    }
}

impl Member<'_> {
    /// Writes the member as JSON.
    pub(crate) fn write(&self, json: &mut Vec<u8>) {
        match self {
            // Neither a value nor a buffer can fail to be written.
            Self::Value(value) => drop(serde_json::to_writer(json, value)),
            Self::Tools(text) => json.extend_from_slice(text.as_bytes()),
        }
    }
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
    fn a_body_without_tools_keeps_the_member_it_has() {
        let empty = json!({"model": "m", "tools": []});
        let none = ToolSet::default();
        let body = Body::new(members(&empty));
        let body = body.with_tools(&none, Transport::OpenaiCodexResponses, |_| Value::Null);
        assert_eq!(text(&body), empty.to_string());
    }
}
