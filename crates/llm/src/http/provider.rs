//! URLs of a provider: for requests, for its list of models, and of its server.
//!
//! A base URL that could carry a secret (a user, a password, a query) is refused here, so every URL shown later is free
//! of them.

use holon_domain::provider::{ProviderSpec, Transport};
use reqwest::Url;

/// A provider with its resolved URLs.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(super) spec: ProviderSpec,
    /// URL of model requests.
    pub(super) ask: Url,
    /// URL of the model list.
    pub(super) list: Url,
}

impl Provider {
    /// Resolves the URLs of a provider. The error completes the sentence "the base URL of provider X ...".
    pub(crate) fn new(spec: ProviderSpec) -> Result<Self, &'static str> {
        let (ask, list) = match spec.transport {
            Transport::OpenaiResponses | Transport::OpenaiCodexResponses => ("responses", "models"),
            Transport::AnthropicMessages => ("v1/messages", "v1/models?limit=1000"),
            Transport::OpenaiChatCompletions => ("chat/completions", "models"),
        };
        Ok(Self {
            ask: address(&spec.base_url, ask)?,
            list: address(&spec.base_url, list)?,
            spec,
        })
    }

    /// Base URL as the settings write it, without a slash at the end.
    pub(crate) fn base_url(&self) -> &str {
        self.spec.base_url.trim_end_matches('/')
    }

    /// Returns the URL of a path of the server itself, which is beside the versioned path of the API.
    pub(super) fn beside(&self, path: &str) -> Option<Url> {
        let base = self.base_url();
        let root = base.strip_suffix("/v1").unwrap_or(base);
        address(root, path).ok()
    }
}

fn address(base_url: &str, path: &str) -> Result<Url, &'static str> {
    let base = Url::parse(base_url).map_err(|_| "is no URL")?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err("is no http or https URL with a host");
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err("holds a user or a password, and credentials have a place of their own");
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err("holds a query or a fragment");
    }
    let whole = format!("{}/{path}", base_url.trim_end_matches('/'));
    Url::parse(&whole).map_err(|_| "is no URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(transport: Transport, base_url: &str) -> Result<Provider, &'static str> {
        Provider::new(ProviderSpec {
            id: "p".to_owned(),
            transport,
            base_url: base_url.to_owned(),
            store_responses: false,
            context_management: None,
            reasoning_effort: None,
            omit: std::collections::BTreeSet::new(),
        })
    }

    #[test]
    fn each_protocol_has_its_paths_under_the_base() {
        for (transport, ask, list) in [
            (Transport::OpenaiResponses, "/v1/responses", "/v1/models"),
            (
                Transport::OpenaiCodexResponses,
                "/v1/responses",
                "/v1/models",
            ),
            (
                Transport::AnthropicMessages,
                "/v1/v1/messages",
                "/v1/v1/models",
            ),
            (
                Transport::OpenaiChatCompletions,
                "/v1/chat/completions",
                "/v1/models",
            ),
        ] {
            for base in ["https://host/v1", "https://host/v1/"] {
                let provider = provider(transport, base).unwrap();
                assert_eq!(
                    (provider.ask.path(), provider.list.path()),
                    (ask, list),
                    "{transport}"
                );
            }
        }
    }

    #[test]
    fn paths_of_the_server_are_beside_the_version_of_the_api() {
        for base in ["http://host:1", "http://host:1/v1", "http://host:1/v1/"] {
            let provider = provider(Transport::OpenaiChatCompletions, base).unwrap();
            let url = provider.beside("props").unwrap();
            assert_eq!(url.as_str(), "http://host:1/props", "{base}");
        }
    }

    #[test]
    fn an_invalid_base_url_or_one_that_may_hold_a_secret_is_refused() {
        for base in [
            "",
            "host/k",
            "ftp://host/k",
            "http://",
            "https://user:k@host/v1",
            "https://k@host",
            "https://host/v1?key=k",
            "https://host/v1#k",
        ] {
            assert!(
                provider(Transport::OpenaiResponses, base).is_err(),
                "{base}"
            );
        }
    }
}
