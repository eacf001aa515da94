//! Detects the protocol of a request from its path and body.

use serde_json::Value;

/// A wire protocol of model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// OpenAI's Responses, answered with one JSON document.
    Responses,
    /// Responses in the variant of the Codex backend, answered with a stream of events.
    Codex,
    /// Anthropic's Messages, answered with one JSON document.
    Messages,
    /// Chat Completions, answered with one JSON document.
    Chat,
}

impl Protocol {
    pub const ALL: [Self; 4] = [Self::Responses, Self::Codex, Self::Messages, Self::Chat];

    /// Name of the protocol as a `transport` in the settings.
    #[must_use]
    pub const fn transport(self) -> &'static str {
        match self {
            Self::Responses => "openai_responses",
            Self::Codex => "openai_codex_responses",
            Self::Messages => "anthropic_messages",
            Self::Chat => "openai_chat_completions",
        }
    }

    /// Path of requests, relative to the provider's address.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Responses | Self::Codex => "/responses",
            Self::Messages => "/v1/messages",
            Self::Chat => "/chat/completions",
        }
    }
}

/// The resource that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Answer(Protocol),
    Models,
}

impl Wanted {
    /// Detects it from the end of the path, so that a provider's address may contain a path.
    pub(super) fn of(path: &str, body: &Value) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/models") {
            Some(Self::Models)
        } else if path.ends_with("/responses") {
            let streamed = body["stream"] == true;
            Some(Self::Answer(if streamed {
                Protocol::Codex
            } else {
                Protocol::Responses
            }))
        } else if path.ends_with("/v1/messages") {
            Some(Self::Answer(Protocol::Messages))
        } else if path.ends_with("/chat/completions") {
            Some(Self::Answer(Protocol::Chat))
        } else {
            None
        }
    }
}
