//! How settings and variables change the providers of this build and add others.

use super::{
    AuthSpec, Builtin, CACHE_LIFE_SECS, ProviderEntry, ProviderSource, Providers, SCRIPTED,
    UnsupportedTransport, builtin_all,
};
use crate::error::{Error, Place};
use crate::key::{self, KeyPath, Value};
use crate::layer::{Found, Layers};
use crate::provider::base_url_variable;
use crate::source::Source;
use crate::url::{self, BaseUrl};
use holon_domain::provider::{
    AuthSource, ContextManagement, ProviderSpec, ReasoningEffort, RequestOption, Transport,
};
use std::collections::{BTreeMap, BTreeSet};

mod auth;

/// A key of a family that is set, for the list of effective settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explicit {
    pub(crate) path: KeyPath,
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// The providers, and what was set about them.
///
/// # Errors
/// When something set cannot be used; the error names where it stands.
pub(crate) fn merge(layers: Layers<'_>) -> Result<(Providers, Vec<Explicit>), Error> {
    let mut asked = layers
        .file
        .map(|file| file.names_under(&["providers"]))
        .unwrap_or_default();
    let mut providers = BTreeMap::new();
    let mut explicit = Vec::new();
    for builtin in builtin_all() {
        asked.remove(builtin.id.as_str());
        let fields = Fields::gather(layers, &builtin.id, &builtin.base_url_env)?;
        let entry = fields.change(builtin)?;
        explicit.extend(fields.explicit());
        providers.insert(builtin.id.clone(), entry);
    }
    for (id, place) in asked {
        check_id(id, &place)?;
        let fields = Fields::gather(layers, id, &[])?;
        let entry = fields.create(id, &place)?;
        explicit.extend(fields.explicit());
        providers.insert(id.to_owned(), entry);
    }
    Ok((Providers(providers), explicit))
}

/// Provider whose servers speak one transport only.
const CODEX: &str = "openai-codex";

/// Returns true if a provider can be asked over a transport.
fn is_served_over(id: &str, transport: Transport) -> bool {
    id != CODEX || transport == Transport::OpenaiCodexResponses
}

fn check_id(id: &str, place: &Place) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=64).contains(&id.len()) && id.chars().all(plain) && !id.starts_with('-');
    let problem = match id {
        SCRIPTED | "none" => format!("{id:?} is taken by this program; choose another id"),
        _ if !fits => "a provider's id has 1 to 64 lower-case letters, digits and '-', and does not begin with '-'".to_owned(),
        _ => return Ok(()),
    };
    let place = place.clone();
    Err(Error::Value { place, problem })
}

/// The settings of one provider, by the part of the key after its id.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    id: &'a str,
    found: BTreeMap<&'static str, Found>,
}

impl<'a> Fields<'a> {
    fn gather(
        layers: Layers<'_>,
        id: &'a str,
        address_variables: &[String],
    ) -> Result<Self, Error> {
        const FAMILY: &str = "providers.<id>.";
        let mut found = BTreeMap::new();
        for key in key::KEYS {
            let Some(field) = key.name.strip_prefix(FAMILY) else {
                continue;
            };
            if let Some(value) = layers.find_at(key, &path(id, field))? {
                found.insert(field, value);
            }
        }
        let key = key::named("providers.<id>.base_url");
        let own = base_url_variable(id);
        let names = std::iter::once(&own).chain(address_variables);
        // Other programs read these variables too, and take a blank one as not set.
        for name in names.filter(|name| !layers.is_blank(name)) {
            if let Some(value) = layers.variable(name, key)? {
                found.insert("base_url", value);
                break;
            }
        }
        Ok(Self { id, found })
    }

    pub(super) fn get(&self, field: &str) -> Option<&Found> {
        self.found.get(field)
    }

    /// A text that the table of keys has checked to be one of a choice.
    pub(super) fn choice<T>(
        &self,
        field: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let judged = self.get(field).map(|found| {
            found.judge_text(|text| parse(text).ok_or_else(|| format!("{text:?} is not known")))
        });
        Ok(judged.transpose()?.map(|sourced| sourced.value))
    }

    /// The provider of this build, changed.
    fn change(&self, builtin: &Builtin) -> Result<ProviderEntry, Error> {
        let mut entry = builtin.entry();
        if self.found.is_empty() {
            return Ok(entry);
        }
        entry.source = ProviderSource::Changed;
        if let Some(auth) = self.auth()? {
            entry.auth = auth;
        }
        let source = entry.auth.source;
        self.apply(&mut entry, Some(source))?;
        Ok(entry)
    }

    /// A provider of the settings alone.
    fn create(&self, id: &str, place: &Place) -> Result<ProviderEntry, Error> {
        let refuse = |problem: String| Error::Value {
            place: place.clone(),
            problem,
        };
        if self.get("transport").is_none() {
            let problem = format!(
                "a provider of your own needs a transport; add providers.{id}.transport, one of {}",
                key::named("providers.<id>.transport")
                    .kind
                    .wanted()
                    .trim_start_matches("one of ")
            );
            return Err(refuse(problem));
        }
        if self.get("base_url").is_none() {
            let problem =
                format!("a provider of your own needs an address; add providers.{id}.base_url");
            return Err(refuse(problem));
        }
        let mut entry = ProviderEntry {
            spec: ProviderSpec {
                id: id.to_owned(),
                // Replaced by the transport of the settings, if it can be used.
                transport: Transport::OpenaiChatCompletions,
                base_url: NO_ADDRESS.to_owned(),
                store_responses: false,
                context_management: None,
                reasoning_effort: None,
                omit: BTreeSet::new(),
            },
            auth: AuthSpec::none(),
            source: ProviderSource::Config,
            loopback: false,
            address_problem: None,
            cache_life_secs: CACHE_LIFE_SECS,
            long_cache_life_secs: 0,
            unsupported_transport: None,
        };
        let auth = self.auth()?;
        self.apply(&mut entry, auth.as_ref().map(|auth| auth.source))?;
        match auth {
            Some(auth) => entry.auth = auth,
            None if entry.loopback || entry.is_unusable() => {}
            None => {
                return Err(refuse(format!(
                    "a provider that is not on this machine needs a credential; store one with `holon config credentials set {id}` and add providers.{id}.auth.source = \"credential_profile\" and providers.{id}.auth.profile = \"{id}\", or name a variable with source \"env\", or say source \"none\" and kind \"none\""
                )));
            }
        }
        Ok(entry)
    }

    /// Changes what is no credential. `source` is where that comes from, if anybody said so.
    fn apply(&self, entry: &mut ProviderEntry, source: Option<AuthSource>) -> Result<(), Error> {
        if let Some(found) = self.get("transport") {
            let named = found.judge_text(|text| Ok::<_, String>(text.to_owned()))?;
            self.apply_transport(entry, &named.value);
        }
        if let Some(found) = self.get("base_url") {
            match self.address(found, source) {
                Ok(url) => {
                    entry.spec.base_url = url.text;
                    entry.loopback = url.loopback;
                }
                // Other programs set such variables too. One that is of no use here must not stop commands that never
                // ask this provider.
                Err(error) if found.source() == Source::Environment => {
                    entry.address_problem = Some(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(found) = self.get("cache_life_secs") {
            entry.cache_life_secs = found.number()?.value;
        }
        if let Some(found) = self.get("long_cache_life_secs") {
            entry.long_cache_life_secs = found.number()?.value;
        }
        if let Some(effort) = self.choice("reasoning_effort", effort)? {
            entry.spec.reasoning_effort = effort;
        }
        // Nothing is sent over a transport that cannot be used, so nothing has to fit it.
        if entry.unsupported_transport.is_some() {
            return Ok(());
        }
        if let Some(found) = self.get("store_responses") {
            entry.spec.store_responses = found.flag()?.value;
            let fits = entry.spec.transport == Transport::OpenaiResponses;
            if entry.spec.store_responses && !fits {
                return Err(found.refuse(format!("only openai_responses can go on from a stored response, and {} speaks {}; remove the key", self.id, entry.spec.transport)));
            }
        }
        entry.spec.context_management = self.context_management(entry.spec.transport)?;
        if let Some(found) = self.get("omit") {
            entry.spec.omit = omitted(found)?;
        }
        Ok(())
    }

    /// Changes the transport. One that cannot be used is noted with its reason.
    fn apply_transport(&self, entry: &mut ProviderEntry, named: &str) {
        let id = self.id;
        let refusal = match Transport::parse(named) {
            Some(transport) if is_served_over(id, transport) => {
                entry.spec.transport = transport;
                return;
            }
            Some(transport) => (
                format!(
                    "{id} is served over {} only, and not over {transport}",
                    entry.spec.transport
                ),
                format!("run: holon config unset providers.{id}.transport"),
            ),
            None => (
                format!("{id} has the transport {named:?}, which this build does not support"),
                format!(
                    "run: holon config set providers.{id}.transport with {}",
                    key::named("providers.<id>.transport").kind.wanted()
                ),
            ),
        };
        let (problem, next_step) = refusal;
        entry.unsupported_transport = Some(UnsupportedTransport {
            transport: named.to_owned(),
            problem,
            next_step,
        });
    }

    /// Judges the address. `source` is where the credential comes from, if the settings say so.
    fn address(&self, found: &Found, source: Option<AuthSource>) -> Result<BaseUrl, Error> {
        let url = found.judge_text(url::judge)?.value;
        match &url.in_the_clear {
            Some(host) if source != Some(AuthSource::None) => Err(found.refuse(format!("http:// would send the credential to {host} unencrypted; write https://, or say providers.{}.auth.source = \"none\" if it asks for none", self.id))),
            Some(_) | None => Ok(url),
        }
    }

    fn context_management(&self, transport: Transport) -> Result<Option<ContextManagement>, Error> {
        let enabled = self
            .get("context_management.enabled")
            .map(|found| (found, found.flag()));
        let Some((found, flag)) = enabled else {
            return Ok(None);
        };
        if !flag?.value {
            return Ok(None);
        }
        match transport {
            Transport::AnthropicMessages => {}
            Transport::OpenaiResponses => self.refuse_clearing_keys()?,
            Transport::OpenaiCodexResponses | Transport::OpenaiChatCompletions => {
                return Err(found.refuse(format!("only anthropic_messages and openai_responses can reduce old context, and {} speaks {transport}; remove the key", self.id)));
            }
        }
        let number = |field: &str, usual: Option<u32>| match self.get(field) {
            Some(found) => found.number().map(|sourced| Some(sourced.value)),
            None => Ok(usual),
        };
        Ok(Some(ContextManagement {
            trigger_input_tokens: number("context_management.trigger_input_tokens", None)?
                .unwrap_or(TRIGGER_INPUT_TOKENS),
            keep_recent_tool_uses: number("context_management.keep_recent_tool_uses", None)?
                .unwrap_or(KEEP_RECENT_TOOL_USES),
            clear_at_least_input_tokens: number(
                "context_management.clear_at_least_input_tokens",
                None,
            )?,
        }))
    }

    /// Refuses the keys that have no meaning for the compaction of `openai_responses`.
    fn refuse_clearing_keys(&self) -> Result<(), Error> {
        let keys = [
            "context_management.keep_recent_tool_uses",
            "context_management.clear_at_least_input_tokens",
        ];
        match keys.iter().find_map(|key| self.get(key)) {
            Some(found) => Err(found.refuse(format!("only anthropic_messages clears tool results, and {} speaks openai_responses, which compacts; remove the key", self.id))),
            None => Ok(()),
        }
    }

    fn auth(&self) -> Result<Option<AuthSpec>, Error> {
        auth::read(self)
    }

    pub(super) const fn id(&self) -> &str {
        self.id
    }

    fn explicit(&self) -> Vec<Explicit> {
        let row = |(field, found): (&&str, &Found)| Explicit {
            path: path(self.id, field),
            value: found.value.clone(),
            source: found.source(),
        };
        self.found.iter().map(row).collect()
    }
}

/// The address of a provider until the settings give it one. No host has a name that ends so.
const NO_ADDRESS: &str = "https://address.invalid";
/// From how many input tokens on old tool results are dropped, if they are.
const TRIGGER_INPUT_TOKENS: u32 = 100_000;
/// Number of the newest tool uses that context editing keeps.
const KEEP_RECENT_TOOL_USES: u32 = 3;

/// Reads the parts of a request that a provider is never sent.
fn omitted(found: &Found) -> Result<BTreeSet<RequestOption>, Error> {
    let parse = |word: &String| {
        RequestOption::parse(word).ok_or_else(|| {
            let all: Vec<&str> = RequestOption::ALL.iter().map(|one| one.as_str()).collect();
            found.refuse(format!(
                "{word:?} is no part of a request that can be left out; write any of {}",
                all.join(", ")
            ))
        })
    };
    found.list()?.value.iter().map(parse).collect()
}

/// An effort, or that it is left to the provider.
fn effort(text: &str) -> Option<Option<ReasoningEffort>> {
    if text == key::EFFORT_OF_THE_PROVIDER {
        return Some(None);
    }
    ReasoningEffort::parse(text).map(Some)
}

fn path(id: &str, field: &str) -> KeyPath {
    let segments = ["providers", id].into_iter().chain(field.split('.'));
    KeyPath::of(&segments.collect::<Vec<_>>())
}

/// Returns true if a source can give such a credential, and how a source is spelled out.
pub(super) fn fields_of(source: AuthSource) -> &'static str {
    match source {
        AuthSource::Env => "auth.env",
        AuthSource::ExternalCli => "auth.external",
        AuthSource::CredentialProfile => "auth.profile",
        AuthSource::CredentialProcess => "auth.command",
        AuthSource::None => "",
    }
}
