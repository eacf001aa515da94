//! Which protocol a request is in, by where it was sent and what it asks for.

use serde_json::Value;

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// OpenAI's Responses, answered in one JSON document.
    Responses,
    /// Responses as the Codex backend speaks them, answered by a stream of events.
    Codex,
    /// Anthropic's Messages, answered in one JSON document.
    Messages,
    /// Chat Completions, answered in one JSON document.
    Chat,
}

impl Protocol {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Responses, Self::Codex, Self::Messages, Self::Chat];

    /// Its name as a `transport` in the settings.
    #[must_use]
    pub const fn transport(self) -> &'static str {
        match self {
            Self::Responses => "openai_responses",
            Self::Codex => "openai_codex_responses",
            Self::Messages => "anthropic_messages",
            Self::Chat => "openai_chat_completions",
        }
    }

    /// Where requests go, after the address of the provider.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Responses | Self::Codex => "/responses",
            Self::Messages => "/v1/messages",
            Self::Chat => "/chat/completions",
        }
    }
}

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// An answer of a model.
    Answer(Protocol),
    /// The list of models.
    Models,
}

impl Wanted {
    /// By the end of the path, so that a provider's address may have a path of its own.
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
