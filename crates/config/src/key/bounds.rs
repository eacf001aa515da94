//! The kinds of values that keys share, with their bounds and words.

use super::Kind;
use holon_domain::limits::{self, THREAD_TOKENS_LEAST, THREAD_TOKENS_MOST};
use holon_domain::provider::{AuthKind, AuthSource, ReasoningEffort, Transport};
use holon_domain::web::{SearchMode, SearchProviderKind};

pub(super) const TOKENS: Kind = Kind::Number {
    min: 1,
    max: 100_000_000,
};
pub(super) const THINKING_TOKENS: Kind = Kind::Number {
    min: limits::MIN_THINKING_TOKENS as u64,
    max: 100_000_000,
};
pub(super) const WINDOW: Kind = Kind::Number {
    min: 1_000,
    max: 100_000_000,
};
pub(super) const THREAD_TOKENS: Kind = Kind::Number {
    min: THREAD_TOKENS_LEAST as u64,
    max: THREAD_TOKENS_MOST as u64,
};
pub(super) const PERCENT: Kind = Kind::Number { min: 1, max: 100 };
pub(super) const TOOL_TOKENS: Kind = Kind::Number {
    min: 1,
    max: 64_000,
};
/// A smaller budget would not hold the events retention keeps of even one busy agent.
pub(super) const EVENT_BYTES: Kind = Kind::Number {
    min: 1 << 20,
    max: i64::MAX as u64,
};
/// A smaller budget would not hold the history that retention keeps of even a few agents.
pub(super) const STORE_BYTES: Kind = Kind::Number {
    min: 64 << 20,
    max: i64::MAX as u64,
};
pub(super) const DAYS: Kind = Kind::Number {
    min: 0,
    max: limits::HISTORY_DAYS_MAX,
};
pub(super) const DELEGATION_DEPTH: Kind = Kind::Number {
    min: 0,
    max: limits::SPAWN_DEPTH_MAX as u64,
};
pub(super) const BUDGET_TOKENS: Kind = Kind::Number {
    min: 0,
    max: 1_000_000_000_000_000,
};
/// A day. No answer of a model takes longer.
pub(super) const SECONDS: Kind = Kind::Number {
    min: 1,
    max: 86_400,
};
pub(super) const ROUNDS: Kind = Kind::Number { min: 0, max: 500 };
pub(super) const PATIENCE_SECONDS: Kind = Kind::Number {
    min: 0,
    max: 2_592_000,
};
pub(super) const MILLISECONDS: Kind = Kind::Number {
    min: 1_000,
    max: 86_400_000,
};
pub(super) const COUNT: Kind = Kind::Number {
    min: 0,
    max: 10_000,
};

pub(super) const TRANSPORTS: Kind = Kind::OpenChoice(&[
    Transport::OpenaiResponses.as_str(),
    Transport::AnthropicMessages.as_str(),
    Transport::OpenaiCodexResponses.as_str(),
    Transport::OpenaiChatCompletions.as_str(),
]);
pub(super) const EFFORTS: Kind = Kind::Choice(&[
    ReasoningEffort::Low.as_str(),
    ReasoningEffort::Medium.as_str(),
    ReasoningEffort::High.as_str(),
    ReasoningEffort::Xhigh.as_str(),
    EFFORT_OF_THE_PROVIDER,
]);
/// Says that a request asks for no effort, so that the provider's own default counts. Not `none`, which some models
/// take for an effort of its own.
pub(crate) const EFFORT_OF_THE_PROVIDER: &str = "default";
pub(super) const SOURCES: Kind = Kind::Choice(&[
    AuthSource::Env.as_str(),
    AuthSource::ExternalCli.as_str(),
    AuthSource::CredentialProfile.as_str(),
    AuthSource::CredentialProcess.as_str(),
    AuthSource::None.as_str(),
]);
pub(super) const KINDS: Kind = Kind::Choice(&[
    AuthKind::ApiKey.as_str(),
    AuthKind::BearerToken.as_str(),
    AuthKind::Oauth.as_str(),
    AuthKind::SessionToken.as_str(),
    AuthKind::None.as_str(),
]);
/// Programs whose login can be used.
pub(super) const PROGRAMS: Kind = Kind::Choice(&["codex_cli"]);
pub(super) const SEARCH_MODES: Kind = Kind::Choice(&[
    SearchMode::Single.as_str(),
    SearchMode::Fallback.as_str(),
    SearchMode::Aggregate.as_str(),
]);
pub(super) const SEARCH_KINDS: Kind = Kind::Choice(&[
    SearchProviderKind::Searxng.as_str(),
    SearchProviderKind::Brave.as_str(),
    SearchProviderKind::Tavily.as_str(),
    SearchProviderKind::Exa.as_str(),
    SearchProviderKind::Perplexity.as_str(),
    SearchProviderKind::Firecrawl.as_str(),
    SearchProviderKind::Command.as_str(),
]);
pub(super) const SCREENS: Kind = Kind::Choice(&["auto", "always", "never"]);
