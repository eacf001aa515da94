//! Providers: those this build knows merged with those of the settings, each with how to prove who is calling.
//!
//! Owns addresses, protocols and where credentials come from; the credentials themselves are in `credential`.
//! No file of a workspace is read here: a program that could change an address there would be sent the key.

mod builtin;
mod merge;

pub(crate) use builtin::{Builtin, all as builtin_all};
pub(crate) use merge::{Explicit, merge};

use holon_domain::provider::{AuthKind, AuthSource, ProviderSpec};
use std::collections::BTreeMap;

/// The provider that plays answers from a file; it is no entry here because it has no address.
pub const SCRIPTED: &str = "scripted";

/// Providers tried first when no model is chosen; the others follow by name.
pub(crate) const PREFERRED: &[&str] = &["openai-codex", "openai", "anthropic"];

/// Seconds for which a provider keeps the beginning of a request, unless a setting says otherwise. Anthropic documents
/// five minutes after the last use, `OpenAI` five to ten, and local servers unload a model after about as long.
pub(crate) const CACHE_LIFE_SECS: u32 = 300;

/// Every provider there is, by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Providers(BTreeMap<String, ProviderEntry>);

/// A provider, and how to prove who is calling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    pub spec: ProviderSpec,
    pub auth: AuthSpec,
    pub source: ProviderSource,
    /// True if its address can only mean this machine.
    pub loopback: bool,
    /// Seconds for which the provider keeps the beginning of a request in its cache.
    pub cache_life_secs: u32,
    /// Seconds for which it does so if a request asks for the longest life. 0 if it offers no other.
    pub long_cache_life_secs: u32,
    /// Why the address that a variable gives cannot be used. The provider is then never asked; all others are.
    pub address_problem: Option<String>,
    /// The transport that the settings name, if requests to this provider cannot use it. The provider is then never
    /// asked; all others are.
    pub unsupported_transport: Option<UnsupportedTransport>,
}

/// A transport that cannot be used with a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedTransport {
    /// The transport as the settings spell it.
    pub transport: String,
    /// The refusal in one clause that begins with the provider.
    pub problem: String,
    pub next_step: String,
}

impl ProviderEntry {
    /// Returns true if the provider is never asked, because of its address or its transport.
    pub(crate) const fn is_unusable(&self) -> bool {
        self.address_problem.is_some() || self.unsupported_transport.is_some()
    }

    /// Returns the transport as the settings spell it, also if it cannot be used.
    #[must_use]
    pub fn transport(&self) -> &str {
        match &self.unsupported_transport {
            Some(found) => &found.transport,
            None => self.spec.transport.as_str(),
        }
    }
}

/// The source of a provider's credential. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSpec {
    pub source: AuthSource,
    /// Kind of the credential, unless an environment variable supplies another.
    pub kind: AuthKind,
    /// Variables to look at, in this order.
    pub env: Vec<KeyVariable>,
    pub profile: Option<String>,
    /// The program whose login is used.
    pub external: Option<String>,
    /// Program and arguments of the command that prints it.
    pub command: Vec<String>,
}

/// A variable that holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyVariable {
    pub name: String,
    pub kind: AuthKind,
}

/// The origin of a provider's definition: this build, the settings, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderSource {
    BuiltIn,
    /// This build, changed by the settings.
    Changed,
    Config,
}

impl ProviderSource {
    /// One word for people and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built_in",
            Self::Changed => "built_in_changed",
            Self::Config => "config",
        }
    }
}

impl AuthSpec {
    /// The provider asks for nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            source: AuthSource::None,
            kind: AuthKind::None,
            env: Vec::new(),
            profile: None,
            external: None,
            command: Vec::new(),
        }
    }
}

impl Providers {
    /// The provider of this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&ProviderEntry> {
        self.0.get(id)
    }

    /// Every provider, by id.
    pub fn iter(&self) -> impl Iterator<Item = &ProviderEntry> {
        self.0.values()
    }

    /// The specifications of all providers, ordered by id.
    #[must_use]
    pub fn specs(&self) -> Vec<ProviderSpec> {
        self.iter().map(|entry| entry.spec.clone()).collect()
    }

    /// Every provider, in the order in which one is used if no model is chosen.
    pub fn by_preference(&self) -> impl Iterator<Item = &ProviderEntry> {
        let first = PREFERRED.iter().filter_map(|id| self.get(id));
        let rest = self
            .iter()
            .filter(|entry| !PREFERRED.contains(&entry.spec.id.as_str()));
        first.chain(rest)
    }

    /// The error text for an unknown provider id, with the closest known one.
    #[must_use]
    pub fn unknown(&self, id: &str) -> String {
        let advice = match holon_domain::text::nearest(id, self.0.keys().map(String::as_str)) {
            Some(name) => format!("did you mean {name}?"),
            None => "run `holon config providers list --all` to see them all, or add it with `holon config providers set`".to_owned(),
        };
        format!("there is no provider {id:?}; {advice}")
    }
}

/// The variable that changes a provider's address.
#[must_use]
pub fn base_url_variable(id: &str) -> String {
    format!(
        "HOLON_{}_BASE_URL",
        id.to_ascii_uppercase().replace('-', "_")
    )
}
