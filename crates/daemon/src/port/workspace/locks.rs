//! One lock for each repository, so that a repository that makes git wait keeps only its own users waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Mutex as AsyncMutex;

/// Locks by the canonical directory of a repository. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct RepositoryLocks {
    /// Locks that a caller holds or waits for. The others are dropped at the next call.
    known: Arc<Mutex<HashMap<String, Weak<AsyncMutex<()>>>>>,
}

impl RepositoryLocks {
    /// Returns the lock of a repository.
    pub(super) fn of(&self, repository: &str) -> Arc<AsyncMutex<()>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = known.get(repository).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        known.insert(repository.to_owned(), Arc::downgrade(&lock));
        lock
    }
}
