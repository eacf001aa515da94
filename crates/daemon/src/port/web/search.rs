//! Asks search providers one after the other: services over HTTP, or a program.

use super::Web;
use crate::port::{shell_words, wall_clock};
use holon_config::{SearchSettings, credentials};
use holon_domain::command::{CommandEnd, CommandOutput};
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::web::{
    ProviderAttempt, SearchAnswer, SearchMode, SearchProvider, SearchProviderKind, SearchResult,
    WebSearch,
};
use holon_process::CommandSpec;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Most bytes of an answer or a complaint that an error shows.
const SHOWN_BYTES: usize = 300;

/// Reason for which a provider gave no results.
struct Failure {
    kind: ToolErrorKind,
    message: String,
}

impl Failure {
    fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        let message = text::preview(&message.into(), SHOWN_BYTES * 2);
        Self { kind, message }
    }
}

/// Asks the providers that a call and the settings name.
pub(super) async fn search(
    web: &Web,
    settings: &SearchSettings,
    asked: WebSearch,
) -> Result<SearchAnswer, ToolError> {
    let providers = chosen(settings, asked.provider.as_deref())?;
    let most = asked
        .max_results
        .unwrap_or(u32::MAX)
        .min(settings.max_results.value);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut attempts = Vec::new();
    let mut results: Vec<SearchResult> = Vec::new();
    let mut last_failure = None;
    let mut winner = None;
    for provider in providers {
        let found = ask(web, provider, &asked.query, most).await;
        let (result_count, error) = match &found {
            Ok(found) => (found.len() as u64, None),
            Err(failure) => (0, Some(failure.message.clone())),
        };
        attempts.push(ProviderAttempt {
            provider: provider.name.clone(),
            kind: provider.kind,
            result_count,
            error,
        });
        match found {
            Ok(found) => {
                if !found.is_empty() {
                    winner.get_or_insert_with(|| provider.name.clone());
                }
                let is_new = |one: &SearchResult| results.iter().all(|other| other.url != one.url);
                let new: Vec<SearchResult> = found.into_iter().filter(is_new).collect();
                results.extend(new);
            }
            Err(failure) => last_failure = Some(failure),
        }
        if settings.mode.value == SearchMode::Fallback && winner.is_some() {
            break;
        }
    }
    // An empty list is an answer; it is a failure only if nobody answered.
    if let Some(failure) = last_failure
        && attempts.iter().all(|attempt| attempt.error.is_some())
    {
        return Err(ToolError::new(failure.kind, failure.message)
            .details(json!({ "provider_attempts": attempts }))
            .hint("try again later, or tell the operator which provider failed")
            .retryable());
    }
    results.truncate(most);
    Ok(SearchAnswer {
        query: asked.query,
        provider: asked
            .provider
            .unwrap_or_else(|| settings.provider.value.clone()),
        mode: settings.mode.value,
        provider_attempts: attempts,
        winning_provider: winner,
        results,
        fetched_at: wall_clock(),
    })
}

/// Returns the providers to ask, in order.
fn chosen<'a>(
    settings: &'a SearchSettings,
    named: Option<&str>,
) -> Result<Vec<&'a SearchProvider>, ToolError> {
    let unavailable = |message: String| ToolError::new(ToolErrorKind::ProviderUnavailable, message);
    if !settings.enabled.value {
        let message = "the settings switch WebSearch off (web.search.enabled)";
        return Err(unavailable(message.to_owned()));
    }
    let names = || {
        let names: Vec<&str> = settings
            .providers
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        names.join(", ")
    };
    let providers: Vec<&SearchProvider> = match named {
        Some(name) => settings
            .providers
            .iter()
            .filter(|one| one.name == name)
            .collect(),
        None => settings.providers.iter().collect(),
    };
    match named {
        _ if settings.providers.is_empty() => {
            let message = "no search provider is configured (web.providers.<name>.kind)";
            Err(unavailable(message.to_owned()))
        }
        Some(name) if providers.is_empty() => {
            let message = format!("there is no search provider {name:?}");
            Err(unavailable(message).hint(format!("the providers are {}", names())))
        }
        Some(_) | None => {
            let most = match settings.mode.value {
                SearchMode::Single => 1,
                SearchMode::Fallback | SearchMode::Aggregate => {
                    settings.max_provider_attempts.value as usize
                }
            };
            Ok(providers.into_iter().take(most).collect())
        }
    }
}

async fn ask(
    web: &Web,
    provider: &SearchProvider,
    query: &str,
    most: usize,
) -> Result<Vec<SearchResult>, Failure> {
    let body = match provider.kind {
        SearchProviderKind::Command => run(provider, query, most).await?,
        SearchProviderKind::Searxng
        | SearchProviderKind::Brave
        | SearchProviderKind::Tavily
        | SearchProviderKind::Exa
        | SearchProviderKind::Perplexity
        | SearchProviderKind::Firecrawl => fetch(web, provider, query, most).await?,
    };
    holon_web::parse_results(provider, &body, most)
        .map_err(|reason| Failure::new(ToolErrorKind::ParseFailed, reason))
}

async fn fetch(
    web: &Web,
    provider: &SearchProvider,
    query: &str,
    most: usize,
) -> Result<Vec<u8>, Failure> {
    let key = match &provider.credential_profile {
        Some(profile) => Some(secret(web, profile.clone()).await?),
        None => None,
    };
    let key = key.as_ref().map(|key| key.expose_secret());
    let request = holon_web::search_request(provider, query, most, key);
    let request = request.ok_or_else(|| {
        let message = format!("{} is no address", provider.base_url);
        Failure::new(ToolErrorKind::InvalidUrl, message)
    })?;
    let answer = web.client.send(&request).await;
    let answer =
        answer.map_err(|error| Failure::new(ToolErrorKind::NetworkFailed, error.to_string()))?;
    let shown = || {
        let body = String::from_utf8_lossy(&answer.body);
        let body = text::preview(body.trim(), SHOWN_BYTES);
        // A service may repeat the key that it refuses.
        match key {
            Some(key) if !key.is_empty() => body.replace(key, "…"),
            Some(_) | None => body,
        }
    };
    match (answer.status, answer.cut) {
        (429, _) => {
            let message = format!("it refuses more requests for now: {}", shown());
            Err(Failure::new(ToolErrorKind::RateLimited, message))
        }
        (200..=299, None) => Ok(answer.body),
        (200..=299, Some(holon_web::Cut::Bytes)) => {
            let message = format!(
                "its answer has more than {} bytes",
                provider.max_output_bytes
            );
            Err(Failure::new(ToolErrorKind::ResponseTooLarge, message))
        }
        (200..=299, Some(_)) => {
            let message = "its answer broke off";
            Err(Failure::new(ToolErrorKind::NetworkFailed, message))
        }
        (status, _) => {
            let message = format!("it answered {status}: {}", shown());
            Err(Failure::new(ToolErrorKind::ProviderUnavailable, message))
        }
    }
}

/// Reads a key from the credential store. It reads a file, so it runs off the async threads.
async fn secret(web: &Web, profile: String) -> Result<SecretString, Failure> {
    let (home, shown) = (web.home.clone(), profile.clone());
    let read = move || credentials::stored_secret(&home, &profile);
    let problem = match tokio::task::spawn_blocking(read).await {
        Ok(Ok(Some(secret))) => return Ok(secret),
        Ok(Ok(None)) => format!("the credential store has no secret {shown}"),
        Ok(Err(error)) => error.to_string(),
        Err(stopped) => format!("the credential store was not read: {stopped}"),
    };
    Err(Failure::new(ToolErrorKind::ProviderUnavailable, problem))
}

/// Runs a search program with the query on its standard input.
async fn run(provider: &SearchProvider, query: &str, most: usize) -> Result<Vec<u8>, Failure> {
    let failed = |message: String| Failure::new(ToolErrorKind::ProviderUnavailable, message);
    let spec = CommandSpec {
        cmd: shell_words(&provider.argv),
        shell: None,
        login: false,
        // A fixed directory, so that relative names do not depend on how the host was started.
        cwd: "/".into(),
        env: vec![
            ("HOLON_SEARCH_QUERY".to_owned(), query.to_owned()),
            ("HOLON_SEARCH_MAX_RESULTS".to_owned(), most.to_string()),
        ],
        remove_env: holon_config::SECRET_VARIABLES
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        timeout_ms: provider.timeout_ms,
        capture_bytes: provider.max_output_bytes,
    };
    let input = format!("{query}\n");
    let ran = holon_process::run_with_input(spec, input.as_bytes(), CancellationToken::new()).await;
    let output = ran.map_err(|failure| failed(failure.to_string()))?;
    let complaint = || text::preview(output.stderr.head.trim(), SHOWN_BYTES);
    match output.end {
        CommandEnd::Exited { status: 0 } => printed(provider, &output),
        CommandEnd::Exited { status } => Err(failed(format!(
            "it ended with exit status {status}: {}",
            complaint()
        ))),
        CommandEnd::Signalled { signal } => Err(failed(format!(
            "it was ended by signal {signal}: {}",
            complaint()
        ))),
        CommandEnd::TimedOut => Err(failed(format!(
            "it did not end within {} ms",
            provider.timeout_ms
        ))),
    }
}

fn printed(provider: &SearchProvider, output: &CommandOutput) -> Result<Vec<u8>, Failure> {
    let stream = &output.stdout;
    if stream.dropped_bytes > 0 {
        let message = format!("it printed more than {} bytes", provider.max_output_bytes);
        return Err(Failure::new(ToolErrorKind::ResponseTooLarge, message));
    }
    Ok(stream.head.clone().into_bytes())
}
