//! Watches refused credentials, so that a suspended turn goes on once its provider has another one.
//!
//! The watch polls, because a login file may be replaced by a rename, by a link or on a network file system. Only
//! providers that a suspended turn may wait for are looked at, and no command is run for it.

use super::model::ProviderBinding;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Time between two looks at the watched credentials.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The providers whose credential is watched. They outlive the settings, because turns stay suspended over a reload.
#[derive(Debug, Default)]
pub(crate) struct CredentialWatch {
    watched: Mutex<BTreeSet<String>>,
    added: Notify,
}

impl CredentialWatch {
    /// Starts to watch the credential of a provider.
    pub(crate) fn add(&self, provider: &str) {
        self.lock().insert(provider.to_owned());
        self.added.notify_one();
    }

    /// Waits until a watched provider has a usable credential that differs from the refused one. The provider is not
    /// watched any more.
    pub(crate) async fn next_renewed(
        &self,
        current: impl Fn() -> Arc<ProviderBinding> + Send,
    ) -> String {
        loop {
            let watched: Vec<String> = self.lock().iter().cloned().collect();
            if watched.is_empty() {
                self.added.notified().await;
                continue;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            for provider in watched {
                if current().has_renewed_credential(&provider).await {
                    self.lock().remove(&provider);
                    return provider;
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
