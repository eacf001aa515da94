//! How a host behaves: what it keeps, how much it shows a model, whose work it takes up.

use crate::model_request::ReminderTerms;
use holon_domain::tool::ToolOutputBudget;
use holon_domain::workspace::ReservedDirs;
use holon_domain::{AgentId, limits};

/// How a host behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conduct {
    /// Disk the audit events may take.
    pub event_budget_bytes: u64,
    /// How much of a tool's output a model reads.
    pub tool_output: ToolOutputBudget,
    /// How long a suspended turn asks again by itself while its provider names no end of the trouble.
    pub provider_patience_ms: u64,
    /// When an agent in a long turn is reminded of its work item.
    pub reminder: ReminderTerms,
    /// Whose work it takes up.
    pub scope: Scope,
    /// Directories that no workspace of a new agent may hold or lie in.
    pub reserved: ReservedDirs,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            event_budget_bytes: limits::EVENT_BUDGET_BYTES,
            tool_output: ToolOutputBudget::default(),
            provider_patience_ms: limits::PROVIDER_PATIENCE_MS,
            reminder: ReminderTerms {
                rounds: limits::STALE_REMINDER_ROUNDS,
                cooldown_rounds: limits::STALE_REMINDER_COOLDOWN_ROUNDS,
                max_tokens: limits::STALE_REMINDER_TOKENS,
            },
            scope: Scope::All,
            reserved: ReservedDirs::none(),
        }
    }
}

/// Whose work a host takes up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every agent's.
    All,
    /// That of one run only: its agent, and temporary ones, which no process but theirs serves. Everybody else's rows are left as they are, so that a
    /// process that ends with its answer begins nothing it would have to break off.
    Run(Option<AgentId>),
}
