//! Facts about the host that no agent row holds.

use holon_domain::agent::AgentKind;
use holon_domain::budget::{
    Budget, BudgetDefaults, BudgetKey, BudgetPeriod, BudgetScope, UnreadableBudget,
};
use holon_domain::delivery::DeliveryTarget;
use holon_domain::model::ModelChain;
use holon_domain::summary::ExecutionProfile;
use holon_domain::workspace::ReservedDirs;
use holon_domain::zone::UTC;
use holon_domain::{AgentId, Timestamp, WorkItemId, limits};
use std::sync::Arc;

/// Facts about the host that no agent row holds.
#[derive(Debug, Clone)]
pub struct HostConditions {
    /// Default chain of models for agents without a choice of their own.
    pub models: ModelChain,
    /// Total time for which a suspended turn retries by itself while its provider names no end of the outage.
    pub provider_patience_ms: u64,
    /// Start of the host process. No caller waits any more for messages that were admitted before.
    pub started_at: Timestamp,
    /// Directories that a workspace of a new agent may neither contain nor be inside of.
    pub reserved: ReservedDirs,
    /// Abilities of the backend that runs commands. The execution policy reads them.
    pub execution: ExecutionProfile,
    /// Agent for requests without an agent name, by the host's settings. Absent if the stored kind of agents counts.
    pub default_agent: Option<AgentId>,
    /// Delivery targets of the host, by name.
    pub delivery_targets: Arc<[DeliveryTarget]>,
    /// Address under which external systems reach the host, without a slash at its end. Capability URLs begin with it.
    pub callback_base: String,
    /// Budgets of the host.
    pub budgets: Arc<[Budget]>,
    /// Stored budgets that cannot be read. What they cover makes no call.
    pub unreadable_budgets: Arc<[UnreadableBudget]>,
    pub budget_defaults: BudgetDefaults,
    /// Time zone in which the days of the host begin, such as `Europe/Berlin`.
    pub zone: String,
    /// Time zone of the operator's clock.
    pub operator_zone: String,
    /// Most agents that may stand above a new one.
    pub spawn_depth: u32,
}

impl HostConditions {
    /// Returns the kind of an agent under the settings of this host. The stored one is of the settings under which the
    /// agent was created.
    #[must_use]
    pub fn kind_of(&self, agent_id: &AgentId, stored: AgentKind) -> AgentKind {
        match (&self.default_agent, stored) {
            (None, _) | (Some(_), AgentKind::Child) => stored,
            (Some(default), AgentKind::Default | AgentKind::Named) if default == agent_id => {
                AgentKind::Default
            }
            (Some(_), AgentKind::Default | AgentKind::Named) => AgentKind::Named,
        }
    }

    /// Returns the budgets that cover the calls of an agent for a work item: those that were set, and those of the settings
    /// that no other replaces.
    #[must_use]
    pub fn budgets_of(
        &self,
        agent: &AgentId,
        root: &AgentId,
        item: Option<&WorkItemId>,
    ) -> Vec<Budget> {
        let set = self.budgets.iter();
        let mut found: Vec<Budget> = set
            .filter(|budget| budget.key.scope.covers(agent, root, item))
            .cloned()
            .collect();
        let by_settings = [
            (
                BudgetScope::Agent(agent.clone()),
                self.budget_defaults.agent_day_tokens,
            ),
            (BudgetScope::Host, self.budget_defaults.host_day_tokens),
        ];
        for (scope, limit) in by_settings {
            let period = BudgetPeriod::Day;
            let key = BudgetKey { scope, period };
            let is_set = found.iter().any(|budget| budget.key == key);
            if limit.is_some() && !is_set {
                found.push(Budget {
                    key,
                    limit_tokens: limit,
                    limit_micro_usd: None,
                    set_at: self.started_at,
                });
            }
        }
        found
    }

    /// Builds the facts of a host with these models and defaults for everything else.
    #[must_use]
    pub fn new(models: ModelChain) -> Self {
        Self {
            models,
            execution: ExecutionProfile::default(),
            provider_patience_ms: limits::PROVIDER_PATIENCE_MS,
            started_at: Timestamp::from_millis(0),
            reserved: ReservedDirs::none(),
            default_agent: None,
            delivery_targets: Arc::new([]),
            callback_base: "http://127.0.0.1:7878".to_owned(),
            budgets: Arc::new([]),
            unreadable_budgets: Arc::new([]),
            budget_defaults: BudgetDefaults::default(),
            zone: UTC.to_owned(),
            operator_zone: UTC.to_owned(),
            spawn_depth: limits::SPAWN_DEPTH,
        }
    }
}
