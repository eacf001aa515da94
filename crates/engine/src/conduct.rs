//! Settings of a host's behaviour: retention, output limits, reminders and the agents it serves.

use crate::model_request::{ReminderTerms, ThreadTerms};
use holon_domain::budget::BudgetDefaults;
use holon_domain::tool::ToolOutputBudget;
use holon_domain::trigger::CapabilityKey;
use holon_domain::workspace::ReservedDirs;
use holon_domain::zone::UTC;
use holon_domain::{AgentId, limits};

/// The behaviour of a host, from its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conduct {
    /// Disk space for audit events, in bytes; the oldest are removed beyond it.
    pub event_budget_bytes: u64,
    /// How long history is kept.
    pub history: HistoryTerms,
    /// Share of a tool's output that a model reads.
    pub tool_output: ToolOutputBudget,
    /// Time for which a suspended turn retries on its own while its provider gives no retry time.
    pub provider_patience_ms: u64,
    /// Terms on which an agent in a long turn is reminded of its work item.
    pub reminder: ReminderTerms,
    /// Bounds of agents' threads.
    pub thread: ThreadTerms,
    pub scope: Scope,
    /// Directories of the host that a new agent's workspace may neither contain nor lie in.
    pub reserved: ReservedDirs,
    /// Key from which the tokens of capability URLs are derived. Without one no delivery is accepted.
    pub capability_key: CapabilityKey,
    /// Address under which external systems reach the host, without a slash at its end.
    pub callback_base: String,
    /// Time zone in which the days of usage and budgets begin.
    pub zone: String,
    /// Time zone of the operator's clock.
    pub operator_zone: String,
    /// Most agents that may stand above a new one.
    pub spawn_depth: u32,
    pub budget_defaults: BudgetDefaults,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            event_budget_bytes: limits::EVENT_BUDGET_BYTES,
            history: HistoryTerms::default(),
            tool_output: ToolOutputBudget::default(),
            provider_patience_ms: limits::PROVIDER_PATIENCE_MS,
            reminder: ReminderTerms {
                rounds: limits::STALE_REMINDER_ROUNDS,
                cooldown_rounds: limits::STALE_REMINDER_COOLDOWN_ROUNDS,
                max_tokens: limits::STALE_REMINDER_TOKENS,
            },
            thread: ThreadTerms::default(),
            scope: Scope::All,
            reserved: ReservedDirs::none(),
            capability_key: CapabilityKey::default(),
            callback_base: "http://127.0.0.1:7878".to_owned(),
            zone: UTC.to_owned(),
            operator_zone: UTC.to_owned(),
            spawn_depth: limits::SPAWN_DEPTH,
            budget_defaults: BudgetDefaults::default(),
        }
    }
}

/// Terms on which the oldest turns of agents are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryTerms {
    /// Bytes that the pages of the database may take.
    pub budget_bytes: u64,
    /// Days for which turns are kept; 0 for no limit.
    pub days: u64,
}

impl Default for HistoryTerms {
    fn default() -> Self {
        Self {
            budget_bytes: limits::STORE_BUDGET_BYTES,
            days: limits::HISTORY_DAYS,
        }
    }
}

/// The agents whose work a host performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Only the agent of one run and temporary agents, which no other process serves. The rows of all other agents stay
    /// as they are, so that a process that ends with its answer begins nothing it would have to abort.
    Run(Option<AgentId>),
}
