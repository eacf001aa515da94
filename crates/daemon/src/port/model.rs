//! Models through the router of providers.

use async_trait::async_trait;
use holon_domain::limits::{MAX_OUTPUT_TOKENS, UNKNOWN_WINDOW_TOKENS, WINDOW_PERCENT};
use holon_domain::model::{ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_engine::ports::ModelClient;
use holon_llm::Router;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Every provider of this build.
#[derive(Debug)]
pub(crate) struct Models(Arc<Router>);

impl Models {
    /// Relative scripts are looked up under `script_base`.
    pub(crate) fn new(script_base: PathBuf) -> Self {
        Self(Arc::new(Router::new(script_base)))
    }
}

#[async_trait]
impl ModelClient for Models {
    async fn call(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        self.0.call(&request, &cancel).await
    }

    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        let (router, model) = (Arc::clone(&self.0), model.clone());
        // Reads a file, so it happens off the async threads.
        let checked = tokio::task::spawn_blocking(move || router.check(&model)).await;
        checked.unwrap_or_else(|stopped| {
            Err(ModelFailure::new(
                ModelFailureKind::ModelUnavailable,
                format!("the model could not be checked: {stopped}"),
            ))
        })
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        ModelPolicy {
            context_window_tokens: UNKNOWN_WINDOW_TOKENS,
            effective_context_window_percent: WINDOW_PERCENT,
            max_output_tokens: MAX_OUTPUT_TOKENS,
            source: PolicySource::UnknownFallback,
        }
    }
}
