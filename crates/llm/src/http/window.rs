//! Asks a server for the context window of a model.
//!
//! The list of models comes first: most gateways and vLLM state the window there. llama.cpp, Ollama and LM Studio have
//! endpoints of their own beside the API; they are asked if the list or the provider's id names one of them, and all of
//! them if the server is on this machine or in a private network. A public server is asked for nothing but its list,
//! unless the list names one of them.

use super::caller::HttpCaller;
use super::description;
use super::exchange::ExchangeError;
use super::provider::Provider;
use super::statements::DescriptionOutcome;
use crate::codec::Body;
use crate::host::Proximity;
use holon_domain::model::{ModelFailureKind, ModelRef};
use holon_domain::provider::StatedWindow;
use reqwest::{Method, Url};
use serde_json::{Map, json};
use std::time::Duration;

/// Software whose own endpoint describes its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    LlamaCpp,
    Ollama,
    LmStudio,
}

impl Server {
    const ALL: [Self; 3] = [Self::LlamaCpp, Self::Ollama, Self::LmStudio];
}

impl HttpCaller {
    /// Returns the context window that the server states for a model. Takes at most the time limit of a description, and
    /// none while `statements` has an answer or a pause runs. `now` is the caller's monotonic clock.
    pub(crate) async fn stated_window(
        &self,
        provider: &Provider,
        model: &ModelRef,
        now: Duration,
    ) -> Option<StatedWindow> {
        let statement = self.statements.about(&provider.list, model)?;
        let mut statement = statement.lock().await;
        if statement.is_due(now) {
            let asked = self.ask_window(provider, model.model());
            let heard = tokio::time::timeout(self.limits.description, asked).await;
            let heard = heard.unwrap_or(DescriptionOutcome::Silence);
            tracing::debug!(%model, ?heard, "the server was asked for the context window");
            statement.record(heard, now);
        }
        statement.window()
    }

    /// Returns true if the server did not answer when it was last asked for the window of a model.
    pub(crate) async fn is_window_unanswered(&self, provider: &Provider, model: &ModelRef) -> bool {
        match self.statements.about(&provider.list, model) {
            Some(statement) => statement.lock().await.is_unsettled(),
            None => false,
        }
    }

    async fn ask_window(&self, provider: &Provider, model: &str) -> DescriptionOutcome {
        let listed = match self.read(provider, &provider.list).await {
            Ok(body) => description::listed(&body, model),
            Err(DescriptionOutcome::Trouble) => return DescriptionOutcome::Trouble,
            Err(_) => description::ListedModel::default(),
        };
        if let Some(exact @ StatedWindow::Exactly(_)) = listed.window {
            return DescriptionOutcome::Stated(exact);
        }
        for server in candidates(provider, listed.owned_by.as_deref()) {
            match self.ask_server(provider, *server, model).await {
                DescriptionOutcome::Nothing => {}
                heard => return heard,
            }
        }
        listed
            .window
            .map_or(DescriptionOutcome::Nothing, DescriptionOutcome::Stated)
    }

    async fn ask_server(
        &self,
        provider: &Provider,
        server: Server,
        model: &str,
    ) -> DescriptionOutcome {
        match server {
            Server::LlamaCpp => {
                let read = |body: &[u8]| description::in_props(body).map(StatedWindow::Exactly);
                self.ask_path(provider, "props", read).await
            }
            Server::LmStudio => {
                let read = |body: &[u8]| description::in_own_list(body, model);
                self.ask_path(provider, "api/v0/models", read).await
            }
            Server::Ollama => self.ask_ollama(provider, model).await,
        }
    }

    /// A loaded model has the window it was loaded with; one that is not loaded gets the window that its parameters set.
    async fn ask_ollama(&self, provider: &Provider, model: &str) -> DescriptionOutcome {
        let Some(url) = provider.beside("api/show") else {
            return DescriptionOutcome::Nothing;
        };
        let body = Body::new(Map::from_iter([("model".to_owned(), json!(model))]));
        let shown = match self.post(provider, &url, &body).await {
            Ok(body) => description::shown(&body),
            Err(heard) => return heard,
        };
        let Some(unloaded) = shown.window() else {
            return DescriptionOutcome::Nothing;
        };
        let read = |body: &[u8]| description::loaded(body, model).map(StatedWindow::Exactly);
        match self.ask_path(provider, "api/ps", read).await {
            loaded @ DescriptionOutcome::Stated(_) => loaded,
            DescriptionOutcome::Nothing
            | DescriptionOutcome::Trouble
            | DescriptionOutcome::Silence => DescriptionOutcome::Stated(unloaded),
        }
    }

    async fn ask_path(
        &self,
        provider: &Provider,
        path: &str,
        read: impl Fn(&[u8]) -> Option<StatedWindow>,
    ) -> DescriptionOutcome {
        let Some(url) = provider.beside(path) else {
            return DescriptionOutcome::Nothing;
        };
        match self.read(provider, &url).await {
            Ok(body) => read(&body).map_or(DescriptionOutcome::Nothing, DescriptionOutcome::Stated),
            Err(heard) => heard,
        }
    }

    async fn read(&self, provider: &Provider, url: &Url) -> Result<Vec<u8>, DescriptionOutcome> {
        let answer = self.fetch(provider, url, Method::GET, None).await;
        answer.map_err(|error| judge(&error))
    }

    async fn post(
        &self,
        provider: &Provider,
        url: &Url,
        body: &Body,
    ) -> Result<Vec<u8>, DescriptionOutcome> {
        let answer = self.fetch(provider, url, Method::POST, Some(body)).await;
        answer.map_err(|error| judge(&error))
    }
}

/// Judges whether the same request may succeed later.
fn judge(error: &ExchangeError) -> DescriptionOutcome {
    match error {
        ExchangeError::ErrorStatus { status, .. }
            if status.is_server_error() || matches!(status.as_u16(), 401 | 403 | 408 | 429) =>
        {
            DescriptionOutcome::Trouble
        }
        ExchangeError::ErrorStatus { .. } | ExchangeError::Faulty { .. } => {
            DescriptionOutcome::Nothing
        }
        ExchangeError::Failed(failure) => match failure.kind {
            ModelFailureKind::Connection
            | ModelFailureKind::Network
            | ModelFailureKind::Auth
            | ModelFailureKind::Timeout => DescriptionOutcome::Trouble,
            ModelFailureKind::RateLimited
            | ModelFailureKind::ServerError
            | ModelFailureKind::Quota
            | ModelFailureKind::InvalidRequest
            | ModelFailureKind::InvalidResponse
            | ModelFailureKind::NotJson
            | ModelFailureKind::UnsupportedTransport
            | ModelFailureKind::ModelUnavailable
            | ModelFailureKind::ContextLengthExceeded => DescriptionOutcome::Nothing,
        },
    }
}

/// Lists the endpoints that may describe the model, by what is known of the server.
fn candidates(provider: &Provider, owned_by: Option<&str>) -> &'static [Server] {
    match (owned_by, provider.spec.id.as_str()) {
        (Some("vllm"), _) => &[],
        (Some("llamacpp"), _) | (_, "llamacpp") => &[Server::LlamaCpp],
        (Some("library"), _) | (_, "ollama") => &[Server::Ollama],
        (_, "lmstudio") => &[Server::LmStudio],
        (_, _) => match Proximity::of(&provider.list) {
            Proximity::Loopback | Proximity::Private => &Server::ALL,
            Proximity::Public => &[],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::provider::{ProviderSpec, Transport};
    use std::collections::BTreeSet;

    #[test]
    fn only_servers_that_may_have_an_endpoint_are_asked_for_it() {
        let all: &[Server] = &Server::ALL;
        for (id, base_url, owned_by, servers) in [
            ("mine", "http://127.0.0.1:1/v1", None, all),
            ("mine", "http://nas.local/v1", Some("openai"), all),
            ("mine", "https://api.example.com/v1", None, &[][..]),
            (
                "mine",
                "https://api.example.com/v1",
                Some("llamacpp"),
                &[Server::LlamaCpp],
            ),
            ("mine", "http://127.0.0.1:1/v1", Some("vllm"), &[]),
            (
                "ollama",
                "https://ollama.example.com/v1",
                None,
                &[Server::Ollama],
            ),
            (
                "lmstudio",
                "http://127.0.0.1:1/v1",
                None,
                &[Server::LmStudio],
            ),
        ] {
            let provider = Provider::new(ProviderSpec {
                id: id.to_owned(),
                transport: Transport::OpenaiChatCompletions,
                base_url: base_url.to_owned(),
                store_responses: false,
                context_management: None,
                reasoning_effort: None,
                omit: BTreeSet::new(),
            });
            let provider = provider.unwrap();
            assert_eq!(candidates(&provider, owned_by), servers, "{id} {base_url}");
        }
    }
}
