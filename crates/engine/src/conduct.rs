//! How a host behaves: what it keeps, how much it shows a model, whose work it takes up.

use holon_domain::tool::ToolOutputBudget;
use holon_domain::{AgentId, limits};
use holon_store::DueScope;

/// How a host behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conduct {
    /// Disk the audit events may take.
    pub event_budget_bytes: u64,
    /// How much of a tool's output a model reads.
    pub tool_output: ToolOutputBudget,
    /// How long a suspended turn asks again by itself while its provider names no end of the trouble.
    pub provider_patience_ms: u64,
    /// Whose work it takes up.
    pub scope: Scope,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            event_budget_bytes: limits::EVENT_BUDGET_BYTES,
            tool_output: ToolOutputBudget::default(),
            provider_patience_ms: limits::PROVIDER_PATIENCE_MS,
            scope: Scope::All,
        }
    }
}

/// Whose work a host takes up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every agent's.
    All,
    /// That of one run only: its agent, or a temporary one. Everybody else's rows are left as they are, so that a
    /// process that ends with its answer begins nothing it would have to break off.
    Run(Option<AgentId>),
}

impl Scope {
    /// Whether an agent is in it.
    #[must_use]
    pub fn covers(&self, agent_id: &AgentId) -> bool {
        match self {
            Self::All => true,
            Self::Run(Some(named)) if named == agent_id => true,
            Self::Run(_) => agent_id.as_str().starts_with(AgentId::TEMPORARY_PREFIX),
        }
    }

    /// The same as a filter of the due-queue.
    pub(crate) fn due_scope(&self) -> DueScope {
        match self {
            Self::All => DueScope::All,
            Self::Run(named) => DueScope::Run(named.clone()),
        }
    }
}
