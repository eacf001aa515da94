//! A web in which every fetch waits for the test to answer it.

use super::pending::CallQueue;
use async_trait::async_trait;
use holon_domain::Timestamp;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::web::{FetchedPage, SearchAnswer, WebFetch, WebSearch, WebTools};
use holon_engine::ports::WebHost;
use tokio_util::sync::CancellationToken;

/// A web port whose tools are not offered, so that requests stay short, but can be called.
#[derive(Debug, Default)]
pub struct ScriptedWeb {
    /// Pages that hosts asked for.
    pub fetches: CallQueue<WebFetch, Result<FetchedPage, ToolError>>,
}

#[async_trait]
impl WebHost for ScriptedWeb {
    fn tools(&self) -> WebTools {
        WebTools::default()
    }

    async fn fetch(&self, request: WebFetch) -> Result<FetchedPage, ToolError> {
        let answer = self.fetches.ask(request, &CancellationToken::new()).await;
        answer.unwrap_or_else(|| Err(ToolError::new(ToolErrorKind::NetworkFailed, "dropped")))
    }

    async fn search(&self, _: WebSearch) -> Result<SearchAnswer, ToolError> {
        let message = "no search provider is configured";
        Err(ToolError::new(ToolErrorKind::ProviderUnavailable, message))
    }
}

/// A page with this text.
#[must_use]
pub fn fetched_page(url: &str, text: &str) -> FetchedPage {
    FetchedPage {
        url: url.to_owned(),
        final_url: url.to_owned(),
        status: 200,
        content_type: Some("text/plain".to_owned()),
        bytes_read: text.len() as u64,
        truncated: false,
        next_offset: None,
        cut_reason: None,
        sha256: holon_domain::text::sha256_hex(text),
        fetched_at: Timestamp::from_millis(0),
        source: "external".to_owned(),
        text: text.to_owned(),
    }
}
