//! What the server is given: the engine's two handles, and the two ports of the host that the engine knows nothing of.
//!
//! A route that reads is given [`Reads`] and [`Setup`]; only a route that acts gets [`Acts`] and [`Manage`].

use async_trait::async_trait;
use holon_api::{ModelsResponse, ReloadResponse};
use holon_engine::{Acts, Reads};
use std::sync::Arc;

/// Looks at what the host is set up with.
#[async_trait]
pub trait Setup: Send + Sync + 'static {
    /// The models it knows, and which of them can be asked here and now. Touches no network.
    async fn models(&self) -> ModelsResponse;
}

/// Changes what the host is set up with.
#[async_trait]
pub trait Manage: Send + Sync + 'static {
    /// Reads settings and credentials again, for turns to come.
    ///
    /// # Errors
    /// Why they cannot be used, in words for the operator; the host keeps the settings it has.
    async fn reload(&self) -> Result<ReloadResponse, String>;
}

/// Everything the routes of one host call.
#[derive(Clone)]
pub struct Doors {
    /// Looks at agents and cannot reach the writer.
    pub reads: Reads,
    /// Acts on agents.
    pub acts: Acts,
    /// Looks at the host's setup.
    pub setup: Arc<dyn Setup>,
    /// Changes the host's setup.
    pub manage: Arc<dyn Manage>,
}

impl std::fmt::Debug for Doors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Doors")
    }
}
