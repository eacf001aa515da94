//! The tools of a request as one shared value, measured and rendered once.
//!
//! All requests of a profile and a kind of model offer the same tools. A set therefore keeps what is expensive to find
//! out about them: the token estimate, the digest, and the text that each transport writes. Invariant: the tools of a
//! set never change.

use crate::provider::Transport;
use crate::text;
use crate::tool::OfferedTool;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Tools on offer. Clones share them.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Vec<OfferedTool>")]
pub struct ToolSet(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    tools: Vec<OfferedTool>,
    estimated_tokens: usize,
    digest: String,
    bytes: u64,
    rendered: Rendered,
}

/// The tools as each transport writes them. A text is absent until the first request over its transport.
#[derive(Debug, Default)]
struct Rendered {
    responses: OnceLock<Arc<str>>,
    codex: OnceLock<Arc<str>>,
    messages: OnceLock<Arc<str>>,
    chat: OnceLock<Arc<str>>,
}

impl ToolSet {
    /// Creates a set of these tools, in this order.
    #[must_use]
    pub fn new(tools: Vec<OfferedTool>) -> Self {
        let mut estimated_tokens = 0;
        let mut parts = String::new();
        for tool in &tools {
            let schema = tool.parameters.to_string();
            let measured = [&tool.name, &tool.description, &schema];
            estimated_tokens += measured
                .map(|part| text::estimate_tokens(part))
                .iter()
                .sum::<usize>();
            let freeform = tool.freeform.as_ref();
            let freeform = freeform.map_or("", |form| form.definition.as_str());
            let strict = if tool.strict { "strict" } else { "" };
            for part in [&tool.name, &tool.description, &schema, freeform, strict] {
                parts.push_str(&part.len().to_string());
                parts.push(':');
                parts.push_str(part);
            }
        }
        Self(Arc::new(Contents {
            estimated_tokens,
            bytes: parts.len() as u64,
            digest: text::sha256_hex(parts),
            rendered: Rendered::default(),
            tools,
        }))
    }

    /// Estimates the tokens of all names, descriptions and schemas.
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        self.0.estimated_tokens
    }

    /// Returns the bytes of all names, descriptions and schemas.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Returns the SHA-256, in hex, of everything that a model is told about the tools.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// Returns the tools as `transport` writes them. Only its first call renders them; `render` must be the same
    /// function for every call with this transport.
    #[must_use]
    pub fn rendered(
        &self,
        transport: Transport,
        render: impl FnOnce(&[OfferedTool]) -> String,
    ) -> Arc<str> {
        let rendered = &self.0.rendered;
        let text = match transport {
            Transport::OpenaiResponses => &rendered.responses,
            Transport::OpenaiCodexResponses => &rendered.codex,
            Transport::AnthropicMessages => &rendered.messages,
            Transport::OpenaiChatCompletions => &rendered.chat,
        };
        Arc::clone(text.get_or_init(|| render(&self.0.tools).into()))
    }

    /// Returns true if both are clones of one set, so that nothing was emitted or measured twice.
    #[must_use]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for ToolSet {
    type Target = [OfferedTool];

    fn deref(&self) -> &[OfferedTool] {
        &self.0.tools
    }
}

impl PartialEq for ToolSet {
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) || self.0.tools == other.0.tools
    }
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl From<Vec<OfferedTool>> for ToolSet {
    fn from(tools: Vec<OfferedTool>) -> Self {
        Self::new(tools)
    }
}

impl FromIterator<OfferedTool> for ToolSet {
    fn from_iter<I: IntoIterator<Item = OfferedTool>>(tools: I) -> Self {
        Self::new(tools.into_iter().collect())
    }
}

impl Serialize for ToolSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.tools.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> OfferedTool {
        OfferedTool {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({ "type": "object" }),
            strict: false,
            freeform: None,
        }
    }

    #[test]
    fn a_set_is_rendered_once_for_each_transport_also_by_its_clones() {
        let set = ToolSet::new(vec![tool("Sleep", "Rests.")]);
        let render = |words: &str| {
            let words = words.to_owned();
            move |tools: &[OfferedTool]| format!("{words} {}", tools.len())
        };
        let chat = Transport::OpenaiChatCompletions;
        assert_eq!(&*set.rendered(chat, render("chat")), "chat 1");
        assert_eq!(&*set.rendered(chat, render("again")), "chat 1");
        for transport in Transport::ALL.iter().filter(|other| **other != chat) {
            let name = transport.as_str();
            assert_eq!(
                &*set.rendered(*transport, render(name)),
                format!("{name} 1")
            );
        }
    }

    #[test]
    fn the_digest_tells_sets_apart_and_the_estimate_counts_every_part() {
        let of = |name: &str, description: &str| ToolSet::new(vec![tool(name, description)]);
        let set = of("Sleep", "Rests.");
        assert_eq!(set.digest(), of("Sleep", "Rests.").digest());
        assert_ne!(set.digest(), of("SleepR", "ests.").digest());
        assert_ne!(set.digest(), ToolSet::default().digest());
        assert_eq!(ToolSet::default().estimated_tokens(), 0);
        // Two for the name, two for the description, five for `{"type":"object"}`.
        assert_eq!(set.estimated_tokens(), 9);
    }

    #[test]
    fn a_set_is_stored_as_the_list_of_its_tools() {
        let set = ToolSet::new(vec![tool("Sleep", "Rests.")]);
        let stored = serde_json::to_value(&set).expect("serialises");
        assert_eq!(stored, json!([set[0]]));
        let read: ToolSet = serde_json::from_value(stored).expect("reads");
        assert_eq!(read, set);
        assert!(!read.is_shared_with(&set));
    }
}
