//! Providers: wire protocols and their features, credentials, and the limits of models. Addresses and keys of real
//! providers belong to `config`.

mod learned;

pub use learned::{AskedServer, LearnedLimits, StatedWindow, StoredLimits};

use crate::limits;
use crate::token_ratio::TokenRatio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Declares an enum of names with one stored spelling each.
macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        ///
        /// Each name has one stored spelling, which is never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the stored spelling, which is never renamed.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns the name with this spelling. `None` if there is none.
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
    /// An optional part of a request. A server that refuses it can be asked without it.
    RequestOption {
        /// The request for token counts at the end of a stream (Chat Completions).
        StreamUsage = "stream_usage",
        /// The answer in pieces; without it the answer comes whole.
        Streaming = "streaming",
        PromptCacheKey = "prompt_cache_key",
        /// Reasoning effort, and the reasoning that is asked for and returned in encrypted form.
        Reasoning = "reasoning",
        /// The wish for a longer life of what is cached (Anthropic, Responses). Before the marks that carry it: a refusal
        /// of the life names them too.
        CacheLife = "cache_life",
        /// Cache breakpoints on content blocks (Anthropic).
        CacheMarks = "cache_marks",
        /// The statement that several tools may be called at once, which is the default of most models (Responses).
        ParallelToolCalls = "parallel_tool_calls",
        /// The statement that the model chooses its tools, which is the default (Responses).
        ToolChoice = "tool_choice",
        /// The statement that a request that is too long is refused, which is the default (Responses).
        Truncation = "truncation",
        /// The order to clear or compact old context on the server (Anthropic, Responses). Without it the server sees
        /// the whole request, which the runtime keeps within the window by itself.
        ContextManagement = "context_management",
    }
}

spelled! {
    /// Wire protocol of a provider.
    Transport {
        OpenaiResponses = "openai_responses",
        AnthropicMessages = "anthropic_messages",
        /// The Responses API of the Codex backend: streamed, with extra fields.
        OpenaiCodexResponses = "openai_codex_responses",
        /// The Chat Completions API. Most compatible servers have it.
        OpenaiChatCompletions = "openai_chat_completions",
    }
}

spelled! {
    /// Provider feature that the codec of a prompt may use.
    PromptCapability {
        /// None: every request is sent whole.
        FullRequestOnly = "full_request_only",
        /// A key under which the provider caches the prompt.
        PromptCacheKey = "prompt_cache_key",
        /// Markers at which the provider's cache may end.
        PromptCacheBlocks = "prompt_cache_blocks",
        /// A request continues from the id of an earlier answer and sends only the new items.
        IncrementalResponses = "incremental_responses",
        /// The provider drops old tool results, or compacts old items, by itself.
        ContextManagement = "context_management",
    }
}

spelled! {
    /// Effort that a model should spend on reasoning.
    ReasoningEffort {
        Low = "low",
        Medium = "medium",
        High = "high",
        /// The most that the model can spend.
        Xhigh = "xhigh",
    }
}

spelled! {
    /// Source of a credential.
    AuthSource {
        /// A variable of the host's environment.
        Env = "env",
        /// The login of another program on this machine.
        ExternalCli = "external_cli",
        /// A profile that was stored with `holon config credentials set`.
        CredentialProfile = "credential_profile",
        /// A command that prints the credential.
        CredentialProcess = "credential_process",
        /// The provider needs no credential.
        None = "none",
    }
}

spelled! {
    /// Kind of a credential, which decides how it is sent.
    AuthKind {
        /// A key, sent in the key header of the protocol.
        ApiKey = "api_key",
        /// A token, sent as `Authorization: Bearer`.
        BearerToken = "bearer_token",
        /// A token from an OAuth login, sent as `Authorization: Bearer`.
        Oauth = "oauth",
        /// The session of another program.
        SessionToken = "session_token",
        None = "none",
    }
}

spelled! {
    /// Source of a model's limits.
    PolicySource {
        /// The table of this build.
        BuiltInCatalog = "built_in_catalog",
        ConfigOverride = "config_override",
        /// The model is unknown, so cautious limits are assumed.
        UnknownFallback = "unknown_fallback",
        /// A provider's error or the server's description of itself revealed them.
        Learned = "learned",
    }
}

spelled! {
    /// Source of a learned limit.
    #[derive(Default)]
    LimitSource {
        /// A provider's error named it.
        #[default]
        Refusal = "refusal",
        /// The server's description of itself or of the model named it.
        Server = "server",
        /// An answer took more than the limit that was known before.
        Answer = "answer",
    }
}

/// Opt-in reduction of old context on the provider's servers: clearing of old tool results (Anthropic), or compaction of
/// old items to an encrypted one (Responses). The runtime's own log and recaps stay complete and readable, so a request
/// without it says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextManagement {
    /// Input tokens from which on the servers clear or compact.
    pub trigger_input_tokens: u32,
    /// Newest tool uses that are kept (Anthropic only).
    pub keep_recent_tool_uses: u32,
    /// Fewest tokens that a clearing must free (Anthropic only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear_at_least_input_tokens: Option<u32>,
}

/// What the servers of a provider left out of a request that allowed it, for the record of a round. It holds counts only;
/// the content that was left out is still in the runtime's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ContextReduction {
    /// Tool uses whose results the server did not show to the model (Anthropic only).
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cleared_tool_uses: u64,
    /// Input tokens that this saved, as the server counts them (Anthropic only).
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cleared_input_tokens: u64,
    /// Encrypted items that the server made of older ones in this answer (Responses only).
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub compactions: u64,
}

/// Provider as a transport needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    /// First part of a model reference.
    pub id: String,
    pub transport: Transport,
    /// Base address without a slash at the end.
    pub base_url: String,
    /// True if the provider may store responses, so that a later request can continue from one (Responses only).
    pub store_responses: bool,
    /// Absent unless the settings turn it on (Anthropic and Responses only).
    pub context_management: Option<ContextManagement>,
    /// Default for its models. An agent's own choice overrides it.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Optional parts of a request that are never sent to this provider.
    pub omit: BTreeSet<RequestOption>,
}

impl ProviderSpec {
    /// Returns the features that the codec of a prompt may use with this provider.
    #[must_use]
    pub fn capabilities(&self) -> Vec<PromptCapability> {
        let managed = self
            .context_management
            .map(|_| PromptCapability::ContextManagement);
        let incremental = self
            .store_responses
            .then_some(PromptCapability::IncrementalResponses);
        let features = match self.transport {
            Transport::OpenaiResponses => {
                [Some(PromptCapability::PromptCacheKey), incremental, managed]
            }
            Transport::OpenaiCodexResponses => [Some(PromptCapability::PromptCacheKey), None, None],
            Transport::AnthropicMessages => {
                [Some(PromptCapability::PromptCacheBlocks), managed, None]
            }
            Transport::OpenaiChatCompletions => {
                [Some(PromptCapability::FullRequestOnly), None, None]
            }
        };
        features.into_iter().flatten().collect()
    }

    /// Returns true if the codec may use this feature.
    #[must_use]
    pub fn can(&self, capability: PromptCapability) -> bool {
        self.capabilities().contains(&capability)
    }
}

/// The step by which an operator renews the credential of a provider. It follows from the settings and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRenewal {
    /// Instruction with the command to run, in the imperative and without a full stop.
    pub step: String,
    /// True if the host notices the new credential by itself. Then a suspended turn needs no message of the operator.
    pub is_noticed: bool,
}

/// Limits under which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPolicy {
    /// Tokens of request and answer together.
    pub context_window_tokens: u32,
    /// Share of the window that a prompt may take, in percent.
    pub effective_context_window_percent: u8,
    /// Tokens of one answer.
    pub max_output_tokens: u32,
    /// Source of the context window.
    pub source: PolicySource,
    /// Source of the output limit.
    pub output_source: PolicySource,
    /// True if the model takes tools whose arguments are free text under a grammar. Used where its protocol has them.
    #[serde(default)]
    pub freeform_tools: bool,
    /// True if the model takes images.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub image_input: bool,
    #[serde(default)]
    pub reasoning: ReasoningPolicy,
    /// Tokens that the provider counts for an estimated one.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub token_ratio: TokenRatio,
}

/// The reasoning that a model is asked for when no effort is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReasoningPolicy {
    /// True if the model reasons: its encrypted reasoning is asked for and returned between rounds (Responses).
    pub is_on: bool,
    /// Tokens that the model may think in one answer. Absent if thinking is off (Anthropic).
    pub thinking_tokens: Option<u32>,
}

impl ReasoningPolicy {
    /// A model that is not known to reason.
    pub const NONE: Self = Self {
        is_on: false,
        thinking_tokens: None,
    };

    /// Replaces the thinking of the model by an agent's own choice, if there is one; 0 turns thinking off.
    #[must_use]
    pub fn with_thinking(self, own: Option<u32>) -> Self {
        Self {
            thinking_tokens: match own {
                Some(0) => None,
                Some(tokens) => Some(tokens),
                None => self.thinking_tokens,
            },
            ..self
        }
    }

    /// Returns the tokens of thinking that a request asks for under an output limit. At least as many as the API wants
    /// are left for the answer, so a larger number is cut. `None` if thinking is off, or if there is no room for both.
    #[must_use]
    pub fn thinking_within(self, max_output_tokens: u32) -> Option<u32> {
        let wanted = self.thinking_tokens?.max(limits::MIN_THINKING_TOKENS);
        let room = max_output_tokens.saturating_sub(limits::MIN_THINKING_TOKENS);
        let tokens = wanted.min(room);
        (tokens >= limits::MIN_THINKING_TOKENS).then_some(tokens)
    }
}

impl ModelPolicy {
    /// Returns the tokens that a prompt may take, as the provider counts them.
    #[must_use]
    pub fn prompt_budget_tokens(&self) -> u32 {
        let share = u64::from(self.context_window_tokens)
            * u64::from(self.effective_context_window_percent)
            / 100;
        u32::try_from(share).unwrap_or(u32::MAX)
    }

    /// Converts a budget in tokens of the provider to estimated tokens.
    #[must_use]
    pub fn to_estimated(&self, counted_tokens: u32) -> u32 {
        self.token_ratio.to_estimated(counted_tokens)
    }

    /// Converts estimated tokens to those that the provider counts.
    #[must_use]
    pub fn to_counted(&self, estimated_tokens: u64) -> u64 {
        self.token_ratio.to_counted(estimated_tokens)
    }

    /// Keeps an assumed output limit within its share of the window. A limit from the settings or the table stays.
    #[must_use]
    pub fn within_window(mut self) -> Self {
        if self.output_source == PolicySource::UnknownFallback {
            let share = self.context_window_tokens / limits::UNKNOWN_OUTPUT_SHARE;
            self.max_output_tokens = self.max_output_tokens.min(share.max(1));
        }
        self
    }

    /// Applies learned limits. Values from the settings stay, assumed ones are replaced, and those of the built-in
    /// table are only narrowed.
    #[must_use]
    pub fn with(mut self, learned: LearnedLimits) -> Self {
        // An answer beyond the assumed window shows that the real one is wider, not how wide it is.
        let is_lower_bound = self.source == PolicySource::UnknownFallback
            && learned.source == LimitSource::Answer
            && learned.context_window_tokens > Some(self.context_window_tokens);
        if let Some(window) = learned.context_window_tokens
            && is_lower_bound
        {
            self.context_window_tokens = window;
        } else if let Some(window) = learned.context_window_tokens
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
        self.token_ratio = learned.token_ratio.unwrap_or(self.token_ratio);
        self.within_window()
    }
}

/// Returns true if a learned limit replaces a value of this source.
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
            image_input: false,
            reasoning: ReasoningPolicy::NONE,
            token_ratio: TokenRatio::ONE,
        };
        let learned = LearnedLimits {
            context_window_tokens: Some(100_000),
            max_output_tokens: Some(4_096),
            ..LearnedLimits::default()
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

    #[test]
    fn an_assumed_answer_takes_at_most_a_third_of_the_window_that_is_known_in_the_end() {
        let learned_window = |window| LearnedLimits {
            context_window_tokens: window,
            ..LearnedLimits::default()
        };
        let policy = |output_source| ModelPolicy {
            context_window_tokens: 32_000,
            effective_context_window_percent: 90,
            max_output_tokens: limits::UNKNOWN_MAX_OUTPUT_TOKENS,
            source: PolicySource::UnknownFallback,
            output_source,
            freeform_tools: false,
            image_input: false,
            reasoning: ReasoningPolicy::NONE,
            token_ratio: TokenRatio::ONE,
        };
        for (window, source, wanted) in [
            (None, PolicySource::UnknownFallback, 10_666),
            (Some(6_000), PolicySource::UnknownFallback, 2_000),
            (Some(131_072), PolicySource::UnknownFallback, 16_384),
            (Some(1), PolicySource::UnknownFallback, 1),
            (Some(6_000), PolicySource::ConfigOverride, 16_384),
        ] {
            let policy = policy(source).with(learned_window(window));
            assert_eq!(
                (policy.max_output_tokens, policy.output_source),
                (wanted, source),
                "{window:?}"
            );
        }
    }
}
