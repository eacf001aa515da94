//! Settings of the web tools: bounds of a fetch, rules about hosts, and the providers that search.

use crate::error::{Error, Place};
use crate::key::{self, KeyPath, Value};
use crate::layer::{Found, Layers, decide};
use crate::provider::Explicit;
use crate::source::{Source, Sourced};
use crate::url;
use holon_domain::limits::{
    WEB_FETCH_MS, WEB_PAGE_BYTES, WEB_PAGE_CHARS, WEB_REDIRECTS, WEB_SEARCH_ATTEMPTS,
    WEB_SEARCH_BYTES, WEB_SEARCH_COMMAND_BYTES, WEB_SEARCH_MS, WEB_SEARCH_RESULTS,
};
use holon_domain::web::{ResultMapping, SearchMode, SearchProvider, SearchProviderKind};

/// Name of the provider setting that leaves the choice to the list.
const AUTO: &str = "auto";
/// Family of the keys of one provider.
const FAMILY: &str = "web.providers.<name>.";

/// Everything that is set about the web tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSettings {
    pub fetch: FetchSettings,
    pub search: SearchSettings,
}

/// Bounds of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSettings {
    pub enabled: Sourced<bool>,
    pub max_chars: Sourced<u32>,
    pub max_response_bytes: Sourced<u32>,
    pub timeout_seconds: Sourced<u32>,
    pub max_redirects: Sourced<u32>,
    /// Empty if every host is allowed.
    pub allowed_hosts: Sourced<Vec<String>>,
    pub denied_hosts: Sourced<Vec<String>>,
    /// Hosts whose addresses need not be public.
    pub private_hosts: Sourced<Vec<String>>,
}

/// Providers of searches, and how they are asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchSettings {
    pub enabled: Sourced<bool>,
    /// Name of a provider, or `auto`.
    pub provider: Sourced<String>,
    pub mode: Sourced<SearchMode>,
    /// Names as they are set; empty for all providers.
    pub names: Sourced<Vec<String>>,
    pub max_results: Sourced<u32>,
    pub max_provider_attempts: Sourced<u32>,
    /// Providers in the order in which they are asked.
    pub providers: Vec<SearchProvider>,
    /// Providers that are not asked, because something they need is not set yet.
    pub incomplete: Vec<IncompleteProvider>,
}

/// A search provider whose keys are being set one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteProvider {
    pub name: String,
    /// What is missing, with the key to set.
    pub problem: String,
}

/// The settings of the web tools, and what was set about single providers.
///
/// # Errors
/// When something set cannot be used; the error names where it stands.
pub(crate) fn resolve(layers: Layers<'_>) -> Result<(WebSettings, Vec<Explicit>), Error> {
    let (search, explicit) = search(layers)?;
    let fetch = FetchSettings {
        enabled: flag(layers, "web.fetch.enabled")?,
        max_chars: number(layers, "web.fetch.max_chars", WEB_PAGE_CHARS)?,
        max_response_bytes: number(layers, "web.fetch.max_response_bytes", WEB_PAGE_BYTES)?,
        timeout_seconds: {
            let builtin = u32::try_from(WEB_FETCH_MS / 1_000).unwrap_or(u32::MAX);
            number(layers, "web.fetch.timeout_seconds", builtin)?
        },
        max_redirects: {
            let builtin = u32::try_from(WEB_REDIRECTS).unwrap_or(u32::MAX);
            number(layers, "web.fetch.max_redirects", builtin)?
        },
        allowed_hosts: hosts(layers, "web.fetch.allowed_hosts")?,
        denied_hosts: hosts(layers, "web.fetch.denied_hosts")?,
        private_hosts: hosts(layers, "web.fetch.private_hosts")?,
    };
    Ok((WebSettings { fetch, search }, explicit))
}

fn flag(layers: Layers<'_>, name: &str) -> Result<Sourced<bool>, Error> {
    let found = layers.find(name)?;
    decide(found.as_ref(), true, Found::flag)
}

fn number(layers: Layers<'_>, name: &str, builtin: u32) -> Result<Sourced<u32>, Error> {
    let found = layers.find(name)?;
    decide(found.as_ref(), builtin, Found::number)
}

fn list(layers: Layers<'_>, name: &str) -> Result<Sourced<Vec<String>>, Error> {
    let found = layers.find(name)?;
    decide(found.as_ref(), Vec::new(), Found::list)
}

/// A list of hosts. A whole address is refused, because it would stand for nothing.
fn hosts(layers: Layers<'_>, name: &str) -> Result<Sourced<Vec<String>>, Error> {
    let hosts = list(layers, name)?;
    let is_host = |text: &String| !text.contains(['/', '@', '*', ' ', '?', '#']);
    match (layers.find(name)?, hosts.value.iter().find(|text| !is_host(text))) {
        (Some(found), Some(wrong)) => Err(found.refuse(format!(
            "{wrong:?} is not a host; write a name or an IP address, with a port if only that one is meant"
        ))),
        (Some(_) | None, _) => Ok(hosts),
    }
}

fn search(layers: Layers<'_>) -> Result<(SearchSettings, Vec<Explicit>), Error> {
    let names = layers
        .file
        .map(|file| file.names_under(&["web", "providers"]))
        .unwrap_or_default();
    let (mut known, mut incomplete, mut explicit) = (Vec::new(), Vec::new(), Vec::new());
    for (name, place) in names {
        match provider(layers, name, &place, &mut explicit)? {
            Ok(provider) => known.push(provider),
            Err(problem) => incomplete.push(IncompleteProvider {
                name: name.to_owned(),
                problem: problem.to_owned(),
            }),
        }
    }
    let provider = {
        let found = layers.find("web.search.provider")?;
        decide(found.as_ref(), AUTO.to_owned(), |found| {
            found.judge_text(|text| Ok::<_, String>(text.to_owned()))
        })?
    };
    let names = list(layers, "web.search.providers")?;
    for (setting, wanted) in [
        ("web.search.provider", std::slice::from_ref(&provider.value)),
        ("web.search.providers", names.value.as_slice()),
    ] {
        let is_known = |name: &&String| *name == AUTO || known.iter().any(|one| one.name == **name);
        if let (Some(wrong), Some(found)) = (
            wanted.iter().find(|name| !is_known(name)),
            layers.find(setting)?,
        ) {
            let unfinished = incomplete.iter().find(|one| one.name == *wrong);
            return Err(found.refuse(match unfinished {
                Some(one) => format!("search provider {wrong:?} is incomplete: {}", one.problem),
                None => format!(
                    "there is no search provider {wrong:?}; set web.providers.{wrong}.kind first"
                ),
            }));
        }
    }
    let mode = {
        let found = layers.find("web.search.mode")?;
        decide(found.as_ref(), SearchMode::Fallback, |found| {
            found.judge_text(|text| {
                let mut modes = SearchMode::ALL.into_iter();
                modes.find(|mode| mode.as_str() == text).ok_or("is no mode")
            })
        })?
    };
    let settings = SearchSettings {
        enabled: flag(layers, "web.search.enabled")?,
        mode,
        max_results: number(layers, "web.search.max_results", WEB_SEARCH_RESULTS)?,
        max_provider_attempts: number(
            layers,
            "web.search.max_provider_attempts",
            WEB_SEARCH_ATTEMPTS,
        )?,
        providers: ordered(&known, &provider.value, &names.value),
        incomplete,
        provider,
        names,
    };
    Ok((settings, explicit))
}

/// Puts the providers in the order in which they are asked: the named one, then those of the list, or all of them.
fn ordered(known: &[SearchProvider], first: &str, names: &[String]) -> Vec<SearchProvider> {
    let all: Vec<String> = known.iter().map(|one| one.name.clone()).collect();
    let listed = if names.is_empty() { &all } else { names };
    let mut ordered: Vec<SearchProvider> = Vec::new();
    for name in std::iter::once(first).chain(listed.iter().map(String::as_str)) {
        let is_taken = ordered.iter().any(|one| one.name == name);
        if let Some(found) = known.iter().find(|one| one.name == name && !is_taken) {
            ordered.push(found.clone());
        }
    }
    ordered
}

/// Reads one provider. The inner error says what it lacks: its keys are set one after the other, so that is no mistake.
fn provider(
    layers: Layers<'_>,
    name: &str,
    place: &Place,
    explicit: &mut Vec<Explicit>,
) -> Result<Result<SearchProvider, &'static str>, Error> {
    let refuse = |problem: &str| Error::Value {
        place: place.clone(),
        problem: problem.to_owned(),
    };
    let mut found = |field: &str| -> Result<Option<Found>, Error> {
        let key = key::named(&format!("{FAMILY}{field}"));
        let table = KeyPath::of(&["web", "providers", name]);
        let path = field
            .split('.')
            .fold(table, |path, segment| path.join(segment));
        let found = layers.find_at(key, &path)?;
        explicit.extend(found.as_ref().map(|found| Explicit {
            path,
            source: found.source(),
            value: found.value.clone(),
        }));
        Ok(found)
    };
    let text = |found: Option<Found>| found.map(|found| found.value.to_string());
    let Some(kind) = text(found("kind")?) else {
        return Ok(Err("a search provider needs `kind`"));
    };
    let kind = SearchProviderKind::ALL
        .into_iter()
        .find(|one| one.as_str() == kind)
        .ok_or_else(|| refuse("its kind is not known"))?;
    let (base_url, in_the_clear) = match found("base_url")? {
        Some(found) => {
            let judged = found.judge_text(url::judge)?.value;
            (judged.text, judged.in_the_clear)
        }
        None => (kind.usual_base_url().unwrap_or_default().to_owned(), None),
    };
    let argv = match found("command.argv")? {
        Some(found) => found.list()?.value,
        None => Vec::new(),
    };
    let credential_profile = text(found("credential_profile")?);
    match kind {
        SearchProviderKind::Command if argv.is_empty() => {
            return Ok(Err("a provider of the kind `command` needs `command.argv`"));
        }
        SearchProviderKind::Searxng if base_url.is_empty() => {
            return Ok(Err("a provider of the kind `searxng` needs `base_url`"));
        }
        _ if in_the_clear.is_some() && credential_profile.is_some() => {
            return Err(refuse(
                "its key would be sent in the clear; use an https:// address, or leave `credential_profile` out",
            ));
        }
        _ if kind.needs_key()
            && credential_profile.is_none()
            && Some(base_url.as_str()) == kind.usual_base_url() =>
        {
            return Ok(Err(
                "this provider needs `credential_profile`, the profile with its key",
            ));
        }
        _ => {}
    }
    let usual = ResultMapping::default();
    let mut part = |field: &str, usual: String| -> Result<String, Error> {
        Ok(text(found(&format!("output.mapping.{field}"))?).unwrap_or(usual))
    };
    let mapping = ResultMapping {
        title: part("title", usual.title)?,
        url: part("url", usual.url)?,
        snippet: part("snippet", usual.snippet)?,
        published_at: part("published_at", usual.published_at)?,
    };
    let large = |found: Option<Found>, usual: u64| match found {
        Some(found) => found.large_number().map(|number| number.value),
        None => Ok(usual),
    };
    let usual_bytes = match kind {
        SearchProviderKind::Command => WEB_SEARCH_COMMAND_BYTES,
        _ => WEB_SEARCH_BYTES,
    };
    let max_output_bytes = large(found("limits.max_output_bytes")?, usual_bytes as u64)?;
    Ok(Ok(SearchProvider {
        name: name.to_owned(),
        kind,
        base_url,
        credential_profile,
        argv,
        mapping,
        timeout_ms: large(found("limits.timeout_ms")?, WEB_SEARCH_MS)?,
        max_output_bytes: usize::try_from(max_output_bytes).unwrap_or(usize::MAX),
    }))
}

impl WebSettings {
    /// The value of a key that stands for itself; `None` for keys of other tables.
    pub(crate) fn shown(&self, name: &str) -> Option<(String, Source)> {
        let (fetch, search) = (&self.fetch, &self.search);
        let list = |items: &Sourced<Vec<String>>| {
            (Value::List(items.value.clone()).to_string(), items.source)
        };
        Some(match name {
            "web.fetch.enabled" => shown(&fetch.enabled),
            "web.fetch.max_chars" => shown(&fetch.max_chars),
            "web.fetch.max_response_bytes" => shown(&fetch.max_response_bytes),
            "web.fetch.timeout_seconds" => shown(&fetch.timeout_seconds),
            "web.fetch.max_redirects" => shown(&fetch.max_redirects),
            "web.fetch.allowed_hosts" => list(&fetch.allowed_hosts),
            "web.fetch.denied_hosts" => list(&fetch.denied_hosts),
            "web.fetch.private_hosts" => list(&fetch.private_hosts),
            "web.search.enabled" => shown(&search.enabled),
            "web.search.provider" => shown(&search.provider),
            "web.search.mode" => (search.mode.value.as_str().to_owned(), search.mode.source),
            "web.search.providers" => list(&search.names),
            "web.search.max_results" => shown(&search.max_results),
            "web.search.max_provider_attempts" => shown(&search.max_provider_attempts),
            _ => return None,
        })
    }
}

fn shown<T: std::fmt::Display>(sourced: &Sourced<T>) -> (String, Source) {
    (sourced.value.to_string(), sourced.source)
}
