//! What providers that store responses know already, so that a request that only adds to it can be sent short.
//!
//! Never more than a saving: when in doubt the request is sent whole. A provider that once did not know what it had
//! said it keeps (an account without retention, a gateway in between) is not asked in short again while the process
//! lives, for each such question is a request that fails.

use super::recent::Recent;
use crate::codec::responses::{Snapshot, continuation};
use holon_domain::limits::PROVIDER_CONTINUATIONS;
use holon_domain::model::{ModelRef, ModelRequest};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whose snapshot: an agent's conversation under one cache key with one model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    agent_id: String,
    prompt_cache_key: String,
    model: ModelRef,
}

impl Scope {
    /// That of a request.
    pub(super) fn of(request: &ModelRequest) -> Self {
        Self {
            agent_id: request.frame.cache.agent_id.clone(),
            prompt_cache_key: request.frame.cache.prompt_cache_key.clone(),
            model: request.model.clone(),
        }
    }
}

/// What all providers know.
#[derive(Debug)]
pub(super) struct Known(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    snapshots: Recent<Scope, Snapshot>,
    /// Providers that turned out not to know.
    forgetful: BTreeSet<String>,
}

impl Known {
    /// Nobody knows anything yet.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Inner {
            snapshots: Recent::new(PROVIDER_CONTINUATIONS),
            forgetful: BTreeSet::new(),
        }))
    }

    /// The short form of a request, if its provider knows the rest.
    pub(super) fn short(&self, scope: &Scope, full: &Value) -> Option<Value> {
        let mut inner = self.inner();
        if inner.forgetful.contains(scope.model.provider()) {
            return None;
        }
        continuation(full, inner.snapshots.get(scope)?)
    }

    /// Keeps what a provider knows now, or that it knows nothing that could be used.
    pub(super) fn keep(&self, scope: Scope, snapshot: Option<Snapshot>) {
        let mut inner = self.inner();
        if inner.forgetful.contains(scope.model.provider()) {
            return;
        }
        match snapshot {
            Some(snapshot) => inner.snapshots.put(scope, snapshot),
            None => inner.snapshots.remove(&scope),
        }
    }

    /// The provider did not know what it said it keeps.
    pub(super) fn lost(&self, scope: &Scope) {
        let mut inner = self.inner();
        inner.snapshots.remove(scope);
        let provider = scope.model.provider();
        if inner.forgetful.insert(provider.to_owned()) {
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
        // A panic cannot leave an entry half-written, so a poisoned lock is as good as any.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
