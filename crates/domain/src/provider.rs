//! Providers as everyone speaks of them: wire protocols and what each can do, how a caller proves who it is,
//! and what is known about a model's limits. Addresses and keys of real providers are the business of `config`.

use serde::{Deserialize, Serialize};

/// A set of names with one stored spelling each.
macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stored spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The one that is spelled like this.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

spelled! {
    /// A wire protocol.
    Transport {
        /// OpenAI's Responses, answered in one JSON document.
        OpenaiResponses = "openai_responses",
        /// Anthropic's Messages, answered in one JSON document.
        AnthropicMessages = "anthropic_messages",
        /// Responses as the Codex backend speaks them: streamed, with fields of its own.
        OpenaiCodexResponses = "openai_codex_responses",
        /// Chat Completions, answered in one JSON document; what most compatible servers speak.
        OpenaiChatCompletions = "openai_chat_completions",
    }
}

spelled! {
    /// What the lowering of a prompt may use.
    PromptCapability {
        /// Nothing but the whole request each time.
        FullRequestOnly = "full_request_only",
        /// A key under which the provider finds what it has cached.
        PromptCacheKey = "prompt_cache_key",
        /// Marks at which the provider's cache may end.
        PromptCacheBlocks = "prompt_cache_blocks",
        /// An earlier answer's id and only what is new since.
        IncrementalResponses = "incremental_responses",
        /// The provider drops old tool results by itself.
        ContextManagement = "context_management",
    }
}

spelled! {
    /// How hard a model should think.
    ReasoningEffort {
        /// Little.
        Low = "low",
        /// Somewhat.
        Medium = "medium",
        /// Much.
        High = "high",
        /// As much as it can.
        Xhigh = "xhigh",
    }
}

spelled! {
    /// Where a credential comes from.
    AuthSource {
        /// A variable of the host's environment.
        Env = "env",
        /// The login of another program on this machine.
        ExternalCli = "external_cli",
        /// A profile that was stored with `holon config credentials set`.
        CredentialProfile = "credential_profile",
        /// A command that prints it.
        CredentialProcess = "credential_process",
        /// Nowhere; the provider asks for none.
        None = "none",
    }
}

spelled! {
    /// What a credential is, which decides how it is sent.
    AuthKind {
        /// A key, in the header its protocol keeps for keys.
        ApiKey = "api_key",
        /// A token, as `Authorization: Bearer`.
        BearerToken = "bearer_token",
        /// A token somebody obtained by logging in, as `Authorization: Bearer`.
        Oauth = "oauth",
        /// The session of another program.
        SessionToken = "session_token",
        /// Nothing is sent.
        None = "none",
    }
}

spelled! {
    /// Where a model's figures come from.
    PolicySource {
        /// The table of this build.
        BuiltInCatalog = "built_in_catalog",
        /// The settings.
        ConfigOverride = "config_override",
        /// Nobody knows the model; careful figures are assumed.
        UnknownFallback = "unknown_fallback",
        /// A provider's error taught them.
        Learned = "learned",
    }
}

/// Opt-in clearing of old tool results by Anthropic's servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextManagement {
    /// From how many input tokens on.
    pub trigger_input_tokens: u32,
    /// How many of the newest tool uses stay.
    pub keep_recent_tool_uses: u32,
    /// How many tokens a clearing must free at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_at_least_input_tokens: Option<u32>,
}

/// A provider as a transport needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    /// Its id, the first part of a model reference.
    pub id: String,
    /// How it is spoken to.
    pub transport: Transport,
    /// Where, without a slash at the end.
    pub base_url: String,
    /// Whether the provider may keep responses, so that a later request can go on from one (Responses only).
    pub store_responses: bool,
    /// Clearing of old tool results, if somebody asked for it (Anthropic only).
    pub context_management: Option<ContextManagement>,
    /// How hard its models should think unless an agent says otherwise.
    pub reasoning_effort: Option<ReasoningEffort>,
}

impl ProviderSpec {
    /// What the lowering of a prompt may use with this provider.
    #[must_use]
    pub fn capabilities(&self) -> Vec<PromptCapability> {
        match self.transport {
            Transport::OpenaiResponses if self.store_responses => vec![
                PromptCapability::PromptCacheKey,
                PromptCapability::IncrementalResponses,
            ],
            Transport::OpenaiResponses | Transport::OpenaiCodexResponses => {
                vec![PromptCapability::PromptCacheKey]
            }
            Transport::AnthropicMessages if self.context_management.is_some() => vec![
                PromptCapability::PromptCacheBlocks,
                PromptCapability::ContextManagement,
            ],
            Transport::AnthropicMessages => vec![PromptCapability::PromptCacheBlocks],
            Transport::OpenaiChatCompletions => vec![PromptCapability::FullRequestOnly],
        }
    }

    /// Whether the lowering may use this.
    #[must_use]
    pub fn can(&self, capability: PromptCapability) -> bool {
        self.capabilities().contains(&capability)
    }
}

/// What a provider's error taught about a model. Kept until an answer proves it wrong; the settings win over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearnedLimits {
    /// Tokens of request and answer together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window_tokens: Option<u32>,
    /// Tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

impl LearnedLimits {
    /// Both lessons; where they speak of the same, the later one counts.
    #[must_use]
    pub fn and_then(self, later: Self) -> Self {
        Self {
            context_window_tokens: later.context_window_tokens.or(self.context_window_tokens),
            max_output_tokens: later.max_output_tokens.or(self.max_output_tokens),
        }
    }
}

/// The figures a model is asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPolicy {
    /// Tokens of request and answer together.
    pub context_window_tokens: u32,
    /// How much of it a prompt may take.
    pub effective_context_window_percent: u8,
    /// Tokens one answer may take.
    pub max_output_tokens: u32,
    /// Where the window comes from.
    pub source: PolicySource,
    /// Where the limit of an answer comes from.
    pub output_source: PolicySource,
    /// Whether the model takes tools whose arguments are free text under a grammar, where its protocol has them.
    #[serde(default)]
    pub freeform_tools: bool,
}

impl ModelPolicy {
    /// Estimated tokens a prompt may take.
    #[must_use]
    pub fn prompt_budget_tokens(&self) -> u32 {
        let share = u64::from(self.context_window_tokens)
            * u64::from(self.effective_context_window_percent)
            / 100;
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    /// The figures after a lesson. What the settings say stands; what was assumed is replaced; what a table says is
    /// only narrowed.
    #[must_use]
    pub fn with(mut self, learned: LearnedLimits) -> Self {
        if let Some(window) = learned.context_window_tokens
            && gives_way(self.source, window < self.context_window_tokens)
        {
            self.context_window_tokens = window;
            self.source = PolicySource::Learned;
        }
        if let Some(most) = learned.max_output_tokens
            && most < self.max_output_tokens
            && gives_way(self.output_source, true)
        {
            self.max_output_tokens = most;
            self.output_source = PolicySource::Learned;
        }
        self
    }
}

/// Whether a figure of this source gives way to a lesson, which is narrower or not.
const fn gives_way(source: PolicySource, narrower: bool) -> bool {
    match source {
        PolicySource::ConfigOverride => false,
        PolicySource::BuiltInCatalog => narrower,
        PolicySource::UnknownFallback | PolicySource::Learned => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for transport in Transport::ALL {
            assert_eq!(Transport::parse(transport.as_str()), Some(*transport));
            let stored = serde_json::to_value(transport).expect("serialises");
            assert_eq!(stored, transport.as_str());
        }
        assert_eq!(Transport::parse("smoke_signals"), None);
    }

    #[test]
    fn a_lesson_narrows_known_figures_replaces_assumed_ones_and_leaves_the_settings_alone() {
        let policy = |window, source| ModelPolicy {
            context_window_tokens: window,
            effective_context_window_percent: 90,
            max_output_tokens: 8_192,
            source,
            output_source: source,
            freeform_tools: false,
        };
        let learned = LearnedLimits {
            context_window_tokens: Some(100_000),
            max_output_tokens: Some(4_096),
        };
        let known = policy(200_000, PolicySource::BuiltInCatalog).with(learned);
        assert_eq!(known.context_window_tokens, 100_000);
        assert_eq!(known.max_output_tokens, 4_096);
        assert_eq!(known.prompt_budget_tokens(), 90_000);
        let wider = policy(64_000, PolicySource::BuiltInCatalog).with(learned);
        assert_eq!(wider.context_window_tokens, 64_000);
        let set = policy(200_000, PolicySource::ConfigOverride);
        assert_eq!(set.with(learned), set, "the settings win");
        let assumed = policy(32_000, PolicySource::UnknownFallback).with(learned);
        assert_eq!(
            (assumed.context_window_tokens, assumed.source),
            (100_000, PolicySource::Learned)
        );
    }
}
