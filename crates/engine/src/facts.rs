//! What the host knows that no row holds, shared by everyone who needs it and exchanged as a whole.

use holon_core::HostFacts;
use holon_domain::model::ModelChain;
use std::sync::{Arc, PoisonError, RwLock};

/// The host's facts as they are now. Cheap to clone; all clones see the same.
#[derive(Debug, Clone)]
pub struct SharedFacts(Arc<RwLock<Arc<HostFacts>>>);

impl SharedFacts {
    /// Facts to begin with.
    #[must_use]
    pub fn new(facts: HostFacts) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(facts))))
    }

    /// The facts as they are now.
    #[must_use]
    pub fn now(&self) -> Arc<HostFacts> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Other models, for turns that begin from now on.
    pub fn set_models(&self, models: ModelChain) {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *facts = Arc::new(HostFacts {
            models,
            ..HostFacts::clone(&facts)
        });
    }
}
