//! Documented differences of single servers, selected by their host.
//!
//! A difference belongs here only if the server refuses requests without it. All other servers get the plain protocol.

use super::message::Message;
use crate::host;
use std::collections::HashMap;

/// Variant of the protocol that a server requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The protocol as all compatible servers accept it.
    Plain,
    /// OpenAI and Azure: newer models refuse `max_tokens`, and all models accept `max_completion_tokens`.
    Openai,
    /// In thinking mode, calls are refused without the reasoning that led to them, even if it is empty.
    Deepseek,
    /// Call ids have nine letters or digits, and a user message may not directly follow a tool message.
    Mistral,
}

impl Dialect {
    /// Selects the dialect by the host of a base URL.
    pub(super) fn of(base_url: &str) -> Self {
        let host = host::host_of(base_url).unwrap_or_default();
        let at = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        if at("api.openai.com") || at("openai.azure.com") {
            Self::Openai
        } else if at("api.deepseek.com") {
            Self::Deepseek
        } else if at("api.mistral.ai") {
            Self::Mistral
        } else {
            Self::Plain
        }
    }

    /// Name of the request member that limits the answer's length.
    pub(super) const fn limit_field(self) -> &'static str {
        match self {
            Self::Openai => "max_completion_tokens",
            Self::Plain | Self::Deepseek | Self::Mistral => "max_tokens",
        }
    }

    /// Returns true unless the server refuses `stream_options`; Mistral counts tokens without being asked.
    pub(super) const fn takes_stream_options(self) -> bool {
        match self {
            Self::Mistral => false,
            Self::Plain | Self::Openai | Self::Deepseek => true,
        }
    }

    /// Assistant text to insert between a tool message and a user message, where the server requires it.
    pub(super) const fn between_tool_and_user(self) -> Option<&'static str> {
        match self {
            Self::Mistral => Some("Noted."),
            Self::Plain | Self::Openai | Self::Deepseek => None,
        }
    }

    /// Adds the members that this dialect requires on a message with calls.
    pub(super) fn complete(self, message: &mut Message<'_>) {
        match self {
            Self::Deepseek => {
                message.reasoning_content.get_or_insert_default();
            }
            Self::Plain | Self::Openai | Self::Mistral => {}
        }
    }
}

/// Maps call ids to the spelling that the dialect accepts.
#[derive(Debug)]
pub(super) struct Ids {
    dialect: Dialect,
    spelled: HashMap<String, String>,
}

impl Ids {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            spelled: HashMap::new(),
        }
    }

    /// Returns the spelling of an id; the same id always gets the same spelling.
    pub(super) fn of(&mut self, id: &str) -> String {
        match self.dialect {
            Dialect::Plain | Dialect::Openai | Dialect::Deepseek => id.to_owned(),
            Dialect::Mistral => {
                // Ids are numbered in the order of the conversation, so a later request spells them alike. The server's
                // own ids are renumbered with the rest: they carry no meaning and must not collide.
                let next = self.spelled.len() + 1;
                self.spelled
                    .entry(id.to_owned())
                    .or_insert_with(|| format!("c{next:08}"))
                    .clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_known_by_the_host_and_by_nothing_else() {
        assert_eq!(Dialect::of("https://api.openai.com/v1"), Dialect::Openai);
        assert_eq!(
            Dialect::of("https://mine.openai.azure.com/openai/v1"),
            Dialect::Openai
        );
        assert_eq!(
            Dialect::of("https://user@API.deepseek.com:443/v1"),
            Dialect::Deepseek
        );
        assert_eq!(Dialect::of("https://api.mistral.ai/v1"), Dialect::Mistral);
        for plain in [
            "http://127.0.0.1:11434/v1",
            "https://proxy.example/api.openai.com/v1",
            "https://notapi.openai.com.example",
            "",
        ] {
            assert_eq!(Dialect::of(plain), Dialect::Plain, "{plain}");
        }
    }

    #[test]
    fn mistral_gets_ids_of_nine_letters_or_digits() {
        let mut ids = Ids::new(Dialect::Mistral);
        let first = ids.of("call_a");
        let second = ids.of("call_b");
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("c00000001", "c00000002")
        );
        assert_eq!(ids.of("call_a"), first);
    }
}
