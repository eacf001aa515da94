//! Facts of the host that no row holds, such as its models. All parts of the engine share one copy.

use holon_core::HostConditions;
use holon_domain::budget::StoredBudgets;
use holon_domain::delivery::DeliveryTarget;
use holon_domain::model::ModelChain;
use std::sync::{Arc, PoisonError, RwLock};

/// The host's current facts. Cheap to clone; all clones share one value, which is replaced as a whole.
#[derive(Debug, Clone)]
pub struct SharedConditions(Arc<RwLock<Arc<HostConditions>>>);

impl SharedConditions {
    /// Creates the shared value with these facts.
    #[must_use]
    pub fn new(facts: HostConditions) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(facts))))
    }

    /// Returns a snapshot of the current facts.
    #[must_use]
    pub fn now(&self) -> Arc<HostConditions> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the delivery targets of the host.
    pub fn set_delivery_targets(&self, targets: Vec<DeliveryTarget>) {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *facts = Arc::new(HostConditions {
            delivery_targets: targets.into(),
            ..HostConditions::clone(&facts)
        });
    }

    /// Replaces the budgets of the host.
    pub fn set_budgets(&self, stored: StoredBudgets) {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let budgets = stored.standings.into_iter().map(|found| found.budget);
        *facts = Arc::new(HostConditions {
            budgets: budgets.collect(),
            unreadable_budgets: stored.unreadable.into(),
            ..HostConditions::clone(&facts)
        });
    }

    /// Replaces the models for turns that begin from now on.
    pub fn set_models(&self, models: ModelChain) {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *facts = Arc::new(HostConditions {
            models,
            ..HostConditions::clone(&facts)
        });
    }
}
