//! The engine's port for the web: fetches pages within the bounds of the settings, and asks search providers.

mod search;
#[cfg(test)]
mod tests;

use super::wall_clock;
use async_trait::async_trait;
use holon_config::{FetchSettings, Settings, WebSettings};
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::web::{FetchedPage, SearchAnswer, WebFetch, WebSearch, WebTools};
use holon_engine::ports::WebHost;
use holon_web::{
    Cut, HostRules, Method, Origin, Request, Response, TextPart, Unreadable, WebClient, WebError,
};
use serde_json::json;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Types that a page may have, the best first.
const ACCEPT: &str = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5";
/// Origin of every text that is read from the web.
const EXTERNAL: &str = "external";

/// The web of the current settings.
#[derive(Debug)]
pub(crate) struct Web {
    home: PathBuf,
    client: WebClient,
    settings: RwLock<Arc<WebSettings>>,
}

impl Web {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            home: settings.home.value.clone(),
            client: WebClient::new(settings.proxies.clone()),
            settings: RwLock::new(Arc::new(settings.web.clone())),
        }
    }

    /// Uses other settings for calls that begin from now on.
    pub(crate) fn swap(&self, settings: &Settings) {
        let mut held = self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(settings.web.clone());
    }

    fn settings(&self) -> Arc<WebSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl WebHost for Web {
    fn tools(&self) -> WebTools {
        let settings = self.settings();
        WebTools {
            fetch: settings.fetch.enabled.value,
            search: settings.search.enabled.value && !settings.search.providers.is_empty(),
        }
    }

    async fn fetch(&self, asked: WebFetch) -> Result<FetchedPage, ToolError> {
        let settings = self.settings();
        let fetch = &settings.fetch;
        if !fetch.enabled.value {
            let message = "the settings switch WebFetch off (web.fetch.enabled)";
            return Err(ToolError::new(ToolErrorKind::WebFetchDisabled, message));
        }
        let request = request_of(fetch, &asked.url);
        let answer = self.client.send(&request).await;
        let answer = answer.map_err(|error| fetch_error(&error, &asked.url))?;
        let most = asked
            .max_chars
            .unwrap_or(u32::MAX)
            .min(fetch.max_chars.value);
        let part = TextPart {
            offset: usize::try_from(asked.offset).unwrap_or(usize::MAX),
            max_chars: usize::try_from(most).unwrap_or(usize::MAX),
        };
        let cut_reason = answer.cut.map(|cut| cut_words(cut, fetch));
        // A page may have megabytes of tags, so it is read off the async threads.
        let work = move || match holon_web::read_page(&answer, asked.extract_mode, part) {
            Ok(page) => Ok(to_result(asked.url, &answer, page, cut_reason)),
            Err(error) => Err(unreadable(&error, &answer)),
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|stopped| {
                let message = format!("the page was not read: {stopped}");
                Err(ToolError::new(ToolErrorKind::ParseFailed, message))
            })
    }

    async fn search(&self, asked: WebSearch) -> Result<SearchAnswer, ToolError> {
        let settings = self.settings();
        search::search(self, &settings.search, asked).await
    }
}

fn request_of(fetch: &FetchSettings, url: &str) -> Request {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Request {
        method: Method::GET,
        url: url.to_owned(),
        origin: Origin::Foreign,
        headers: vec![("accept".to_owned(), ACCEPT.to_owned())],
        body: Vec::new(),
        timeout: Duration::from_secs(fetch.timeout_seconds.value.into()),
        max_bytes: count(fetch.max_response_bytes.value),
        max_redirects: count(fetch.max_redirects.value),
        rules: HostRules {
            only: fetch.allowed_hosts.value.clone(),
            denied: fetch.denied_hosts.value.clone(),
            private: fetch.private_hosts.value.clone(),
        },
    }
}

fn cut_words(cut: Cut, fetch: &FetchSettings) -> String {
    match cut {
        Cut::Bytes => format!(
            "it has more than {} bytes (web.fetch.max_response_bytes)",
            fetch.max_response_bytes.value
        ),
        Cut::Time => format!(
            "it did not end within {} s (web.fetch.timeout_seconds)",
            fetch.timeout_seconds.value
        ),
        Cut::Broken => "the connection broke off, or its compression is damaged".to_owned(),
    }
}

fn to_result(
    url: String,
    answer: &Response,
    page: holon_web::ReadablePage,
    cut_reason: Option<String>,
) -> FetchedPage {
    FetchedPage {
        url,
        final_url: answer.url.clone(),
        status: answer.status,
        content_type: page.content_type,
        bytes_read: answer.body.len() as u64,
        truncated: page.truncated,
        next_offset: page.next_offset,
        cut_reason,
        sha256: text::sha256_hex(&answer.body),
        fetched_at: wall_clock(),
        source: EXTERNAL.to_owned(),
        text: page.text,
    }
}

fn unreadable(error: &Unreadable, answer: &Response) -> ToolError {
    let (kind, hint) = match error {
        Unreadable::ContentType { .. } => (
            ToolErrorKind::UnsupportedContentType,
            "fetch a page in text form; a file can be fetched by a command",
        ),
        Unreadable::Encoding { .. } | Unreadable::Damaged => {
            (ToolErrorKind::ParseFailed, "try another address")
        }
        Unreadable::PastEnd { .. } => (
            ToolErrorKind::InvalidToolInput,
            "use the offset that the last result names, or leave it out to read from the beginning",
        ),
    };
    ToolError::new(kind, error.to_string())
        .details(json!({ "final_url": answer.url, "status": answer.status }))
        .hint(hint)
}

fn fetch_error(error: &WebError, url: &str) -> ToolError {
    let tool_error = |kind| ToolError::new(kind, error.to_string()).details(json!({ "url": url }));
    match error {
        WebError::Address { .. } => tool_error(ToolErrorKind::InvalidUrl)
            .hint("give a whole address, as in https://example.com/page"),
        WebError::Forbidden { .. } => tool_error(ToolErrorKind::NetworkDenied).hint(
            "only public addresses are fetched; an operator can permit a host with web.fetch.private_hosts",
        ),
        WebError::HostDenied { .. } => tool_error(ToolErrorKind::NetworkDenied)
            .hint("do without this host; an operator can change web.fetch.allowed_hosts and web.fetch.denied_hosts"),
        WebError::TooManyRedirects(_) => tool_error(ToolErrorKind::TooManyRedirects),
        WebError::BadRedirect { .. } | WebError::DropsBody { .. } => {
            tool_error(ToolErrorKind::InvalidRedirectLocation)
        }
        WebError::Header { .. } | WebError::TimedOut(_) | WebError::Connection(_) => {
            tool_error(ToolErrorKind::NetworkFailed).retryable()
        }
    }
}
