//! The providers this build knows, read from `data/providers.toml`.

use super::{AuthSpec, CACHE_LIFE_SECS, KeyVariable, ProviderEntry, ProviderSource};
use crate::url;
use holon_domain::provider::{AuthKind, AuthSource, ProviderSpec, ReasoningEffort, Transport};
use serde::Deserialize;
use std::sync::LazyLock;

const DATA: &str = include_str!("../../data/providers.toml");

/// One row of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Builtin {
    pub(crate) id: String,
    transport: Transport,
    pub(crate) base_url: String,
    #[serde(default)]
    pub(crate) base_url_env: Vec<String>,
    #[serde(default)]
    pub(crate) env: Vec<KeyVariable>,
    #[serde(default)]
    external: Option<String>,
    #[serde(default)]
    reasoning_effort: Option<ReasoningEffort>,
    /// 0 if the provider offers no longer life of its cache than the usual one.
    #[serde(default)]
    long_cache_life_secs: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    provider: Vec<Builtin>,
}

/// Every provider of this build.
pub(crate) fn all() -> &'static [Builtin] {
    #[expect(
        clippy::expect_used,
        reason = "data of this build, read by a test on every run"
    )]
    static TABLE: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
        let table: Table = toml::from_str(DATA).expect("the table of providers is well-formed");
        table.provider
    });
    &TABLE
}

impl Builtin {
    /// The provider before any setting.
    pub(crate) fn entry(&self) -> ProviderEntry {
        ProviderEntry {
            spec: ProviderSpec {
                id: self.id.clone(),
                transport: self.transport,
                base_url: self.base_url.clone(),
                // What a provider keeps is for its user to allow.
                store_responses: false,
                context_management: None,
                reasoning_effort: self.reasoning_effort,
                omit: std::collections::BTreeSet::new(),
            },
            auth: self.auth(),
            source: ProviderSource::BuiltIn,
            loopback: url::judge(&self.base_url).is_ok_and(|url| url.loopback),
            address_problem: None,
            cache_life_secs: CACHE_LIFE_SECS,
            long_cache_life_secs: self.long_cache_life_secs,
            unsupported_transport: None,
        }
    }

    fn auth(&self) -> AuthSpec {
        match (&self.external, self.env.first()) {
            (Some(program), _) => AuthSpec {
                source: AuthSource::ExternalCli,
                kind: AuthKind::SessionToken,
                external: Some(program.clone()),
                ..AuthSpec::none()
            },
            (None, Some(first)) => AuthSpec {
                source: AuthSource::Env,
                kind: first.kind,
                env: self.env.clone(),
                ..AuthSpec::none()
            },
            (None, None) => AuthSpec::none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SECRET_VARIABLES;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_holds_every_provider_once() {
        let ids: BTreeSet<&str> = all().iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), all().len(), "an id is listed twice");
        assert_eq!(ids.len(), 50);
        for id in [
            "openai",
            "anthropic",
            "openai-codex",
            "ollama",
            "lmstudio",
            "llamacpp",
        ] {
            assert!(ids.contains(id), "{id}");
        }
    }

    #[test]
    fn every_address_is_kept_as_it_stands() {
        for row in all() {
            let url = url::judge(&row.base_url).expect(&row.id);
            assert_eq!(url.text, row.base_url, "{}", row.id);
            assert_eq!(
                url.loopback,
                row.base_url.starts_with("http://"),
                "{}",
                row.id
            );
        }
    }

    #[test]
    fn a_provider_elsewhere_has_a_credential_and_its_variables_are_kept_from_commands() {
        for row in all() {
            let entry = row.entry();
            assert!(
                entry.loopback || entry.auth.source != AuthSource::None,
                "{}",
                row.id
            );
            for variable in &row.env {
                assert!(
                    SECRET_VARIABLES.contains(&variable.name.as_str()),
                    "{}",
                    variable.name
                );
            }
        }
    }

    #[test]
    fn compatible_messages_providers_take_a_bearer_token() {
        for row in all() {
            let compatible = row.transport == Transport::AnthropicMessages && row.id != "anthropic";
            for variable in row.env.iter().filter(|_| compatible) {
                assert_eq!(variable.kind, AuthKind::BearerToken, "{}", row.id);
            }
        }
    }

    #[test]
    fn no_two_ids_share_the_variable_of_their_address() {
        let names: BTreeSet<String> = all()
            .iter()
            .map(|row| super::super::base_url_variable(&row.id))
            .collect();
        assert_eq!(names.len(), all().len());
    }
}
