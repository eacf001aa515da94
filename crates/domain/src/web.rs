//! Web tools: what a call asks for, what came of it, and the providers that search.
//!
//! Everything that a page or a search result says is external: it is shown to a model as evidence and never as an order.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Web tools that a host offers. A tool that is off is not part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WebTools {
    pub fetch: bool,
    /// True if a provider is configured that can be asked.
    pub search: bool,
}

impl WebTools {
    /// Every web tool there is.
    pub const ALL: Self = Self {
        fetch: true,
        search: true,
    };
}

/// A page to fetch. The address is checked where it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebFetch {
    pub url: String,
    /// Most characters of the text. Absent if the host's bound applies, which is also the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<u32>,
    /// Characters of the text before the part that is wanted.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub offset: u32,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub extract_mode: ExtractMode,
}

/// Form in which the text of a page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractMode {
    /// HTML becomes readable text; other text stays as it is.
    #[default]
    Auto,
    /// The same; says that nothing but text is wanted.
    Text,
    /// The page as it was sent, decoded.
    Raw,
}

/// A page that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedPage {
    /// The address as the call names it.
    pub url: String,
    /// The address that answered, behind all redirects.
    pub final_url: String,
    /// Status of the answer. A failure such as 404 is an answer too.
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Bytes of the body that were read, after decompression.
    pub bytes_read: u64,
    /// True if the text is not the whole page.
    pub truncated: bool,
    /// Offset at which the text goes on. Absent if it ends here, and in results of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Reason for which the page was not read to its end. Absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_reason: Option<String>,
    /// SHA-256 of those bytes in hex.
    pub sha256: String,
    pub fetched_at: Timestamp,
    /// Always `external`: nobody who may give orders wrote the text.
    pub source: String,
    pub text: String,
}

/// A question to search providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSearch {
    pub query: String,
    /// Most results. Absent if the host's bound applies, which is also the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_results: Option<u32>,
    /// Name of a configured provider. Absent if the settings choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// Results of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchAnswer {
    pub query: String,
    /// The provider that the call or the settings name; `auto` if they name none.
    pub provider: String,
    pub mode: SearchMode,
    /// Providers that were asked, in order.
    pub provider_attempts: Vec<ProviderAttempt>,
    /// The first provider that had results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_provider: Option<String>,
    pub results: Vec<SearchResult>,
    pub fetched_at: Timestamp,
}

/// One provider that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderAttempt {
    pub provider: String,
    pub kind: SearchProviderKind,
    /// Results that it had.
    pub result_count: u64,
    /// Reason for which it had none. Absent if it answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchResult {
    pub title: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The provider that found it.
    pub source: String,
    /// Date as the provider wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
}

/// Number of providers that one search asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// The first provider alone.
    Single,
    /// One after the other, until one has results.
    Fallback,
    /// All of them; equal addresses are shown once.
    Aggregate,
}

impl SearchMode {
    pub const ALL: [Self; 3] = [Self::Single, Self::Fallback, Self::Aggregate];

    /// Returns the name in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Fallback => "fallback",
            Self::Aggregate => "aggregate",
        }
    }
}

/// Protocol of a search provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchProviderKind {
    Searxng,
    Brave,
    Tavily,
    Exa,
    Perplexity,
    Firecrawl,
    /// A program that gets the query on its standard input and prints results as JSON.
    Command,
}

impl SearchProviderKind {
    pub const ALL: [Self; 7] = [
        Self::Searxng,
        Self::Brave,
        Self::Tavily,
        Self::Exa,
        Self::Perplexity,
        Self::Firecrawl,
        Self::Command,
    ];

    /// Returns the name in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Perplexity => "perplexity",
            Self::Firecrawl => "firecrawl",
            Self::Command => "command",
        }
    }

    /// Returns the address of the public service. `None` for a kind that has none.
    #[must_use]
    pub const fn usual_base_url(self) -> Option<&'static str> {
        match self {
            Self::Searxng | Self::Command => None,
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Perplexity => Some("https://api.perplexity.ai"),
            Self::Firecrawl => Some("https://api.firecrawl.dev"),
        }
    }

    /// Returns true if the public service refuses requests without a key.
    #[must_use]
    pub const fn needs_key(self) -> bool {
        match self {
            Self::Searxng | Self::Command => false,
            Self::Brave | Self::Tavily | Self::Exa | Self::Perplexity | Self::Firecrawl => true,
        }
    }
}

/// A search provider of the settings. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchProvider {
    pub name: String,
    pub kind: SearchProviderKind,
    /// Without a slash at the end; empty for a command.
    pub base_url: String,
    /// Name of the key in the credential store.
    pub credential_profile: Option<String>,
    /// Program and arguments of a command; empty for other kinds.
    pub argv: Vec<String>,
    /// Names of the members that hold the parts of a result.
    pub mapping: ResultMapping,
    pub timeout_ms: u64,
    pub max_output_bytes: usize,
}

/// Names of the members of a result that a command prints. Dots lead into objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultMapping {
    pub title: String,
    pub url: String,
    pub snippet: String,
    pub published_at: String,
}

impl Default for ResultMapping {
    fn default() -> Self {
        Self::new("title", "url", "snippet", "published_at")
    }
}

impl ResultMapping {
    /// Builds a mapping from the names of the fields of a service's answer.
    #[must_use]
    pub fn new(title: &str, url: &str, snippet: &str, published_at: &str) -> Self {
        Self {
            title: title.to_owned(),
            url: url.to_owned(),
            snippet: snippet.to_owned(),
            published_at: published_at.to_owned(),
        }
    }
}
