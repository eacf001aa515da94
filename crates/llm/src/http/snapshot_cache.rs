//! Snapshots of what providers have stored, so that a request that only adds to them can be sent in short form.
//!
//! The short form only saves bytes: in doubt the request is sent in full. A provider that lost an answer it claimed to
//! store (an account without retention, a gateway in between) gets no short request again until the process restarts,
//! because each such request fails.

use super::lru_map::LruMap;
use crate::codec::Body;
use crate::codec::responses::{Snapshot, continuation};
use holon_domain::limits::PROVIDER_CONTINUATIONS;
use holon_domain::model::{ModelRef, ModelRequest};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Key of a snapshot: an agent's conversation under one cache key with one model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    agent_id: String,
    prompt_cache_key: String,
    model: ModelRef,
}

impl Scope {
    /// Returns the scope of a request.
    pub(super) fn of(request: &ModelRequest) -> Self {
        Self {
            agent_id: request.frame.cache.agent_id.clone(),
            prompt_cache_key: request.frame.cache.prompt_cache_key.clone(),
            model: request.model.clone(),
        }
    }
}

/// Snapshots of all providers, bounded in number.
#[derive(Debug)]
pub(super) struct SnapshotCache(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    snapshots: LruMap<Scope, Snapshot>,
    /// Ids of providers that lost a stored answer.
    lossy_providers: BTreeSet<String>,
}

impl SnapshotCache {
    /// Creates a cache without snapshots.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Inner {
            snapshots: LruMap::new(PROVIDER_CONTINUATIONS),
            lossy_providers: BTreeSet::new(),
        }))
    }

    /// Returns the short form of a request, if the provider has stored the rest.
    pub(super) fn short_form(&self, scope: &Scope, full: &Body) -> Option<Body> {
        let mut inner = self.inner();
        if inner.lossy_providers.contains(scope.model.provider()) {
            return None;
        }
        continuation(full, inner.snapshots.get(scope)?)
    }

    /// Replaces the snapshot of a scope; `None` removes it.
    pub(super) fn keep(&self, scope: Scope, snapshot: Option<Snapshot>) {
        let mut inner = self.inner();
        if inner.lossy_providers.contains(scope.model.provider()) {
            return;
        }
        match snapshot {
            Some(snapshot) => inner.snapshots.put(scope, snapshot),
            None => inner.snapshots.remove(&scope),
        }
    }

    /// Records that the provider lost a stored answer.
    pub(super) fn mark_lost(&self, scope: &Scope) {
        let mut inner = self.inner();
        inner.snapshots.remove(scope);
        let provider = scope.model.provider();
        if inner.lossy_providers.insert(provider.to_owned()) {
            tracing::debug!(
                target: "holon_llm",
                provider,
                model = %scope.model,
                "a request that went on from a stored response was refused; requests to this provider are sent whole \
                 from now on"
            );
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic cannot leave an entry half-written, so a poisoned lock is safe to use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
