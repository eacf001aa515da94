//! Detects the protocol of a request from its path and body.

use serde_json::Value;

/// A wire protocol of model providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    Responses,
    /// Responses in the variant of the Codex backend, which always streams.
    Codex,
    Messages,
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
pub(super) enum RequestKind {
    Answer(Protocol),
    Models,
    /// A description of the server or of a model, at a path of its own software.
    Description,
}

/// Paths at which servers describe themselves: llama.cpp, Ollama (two) and LM Studio.
const DESCRIPTIONS: [&str; 4] = ["/props", "/api/show", "/api/ps", "/api/v0/models"];

impl RequestKind {
    /// Detects it from the end of the path, so that a provider's address may contain a path.
    pub(super) fn of(path: &str, body: &Value) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if DESCRIPTIONS.iter().any(|end| path.ends_with(end)) {
            Some(Self::Description)
        } else if path.ends_with("/models") {
            Some(Self::Models)
        } else if path.ends_with("/responses") {
            // Only requests to the public API say how to shorten them.
            let is_codex = body["stream"] == true && body["truncation"].is_null();
            Some(Self::Answer(if is_codex {
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
