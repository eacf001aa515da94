//! Models through the router of providers.

use async_trait::async_trait;
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_engine::ports::ModelClient;
use holon_llm::Router;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Every provider of this build.
#[derive(Debug)]
pub(crate) struct Models(Router);

impl Models {
    /// Relative scripts are looked up under `script_base`.
    pub(crate) fn new(script_base: PathBuf) -> Self {
        Self(Router::new(script_base))
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

    fn check(&self, model: &ModelRef) -> Result<(), ModelFailure> {
        self.0.check(model)
    }
}
