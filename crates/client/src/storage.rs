//! Routes about storage.

use crate::client::Client;
use crate::error::Error;
use holon_api::{PruneRequest, PruneResponse, StorageResponse};

impl Client {
    /// Returns how much the host stores.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn storage(&self) -> Result<StorageResponse, Error> {
        self.get("/storage".into()).await
    }

    /// Removes old history, or says what would be removed.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn prune_storage(&self, request: &PruneRequest) -> Result<PruneResponse, Error> {
        self.post("/control/storage/prune".into(), request).await
    }
}
