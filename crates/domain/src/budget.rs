//! Budgets: limits on what model calls may use, and how far each is used up.
//!
//! A budget limits an agent, a work item, a tree of agents or the whole host, for ever or for a day. What it counts are
//! the charges of [`usage`](crate::usage), and the reservations of the calls that are open.

use crate::id::{AgentId, WorkItemId};
use crate::time::Timestamp;
use crate::usage::MicroUsd;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a budget limits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "scope", content = "key", rename_all = "snake_case")]
pub enum BudgetScope {
    /// The calls of one agent.
    Agent(AgentId),
    /// The calls of turns about one work item.
    Item(WorkItemId),
    /// The calls of an agent and of all agents that came from it.
    Tree(AgentId),
    /// All calls of the host.
    Host,
}

impl BudgetScope {
    /// Returns the stored name of the kind of scope. It is never renamed.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Item(_) => "item",
            Self::Tree(_) => "tree",
            Self::Host => "host",
        }
    }

    /// Returns the name of what is limited; empty for the host.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Agent(id) | Self::Tree(id) => id.as_str(),
            Self::Item(id) => id.as_str(),
            Self::Host => "",
        }
    }

    /// Returns true if the calls of this agent, root and item count.
    #[must_use]
    pub fn covers(&self, agent: &AgentId, root: &AgentId, item: Option<&WorkItemId>) -> bool {
        match self {
            Self::Agent(id) => id == agent,
            Self::Tree(id) => id == root,
            Self::Item(id) => Some(id) == item,
            Self::Host => true,
        }
    }
}

/// Time over which a budget counts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum BudgetPeriod {
    /// Everything that was ever used.
    #[default]
    Total,
    /// What was used since the last midnight in the zone of the host.
    Day,
}

impl BudgetPeriod {
    /// Returns the stored name. It is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Day => "day",
        }
    }
}

/// What a budget limits and for how long. No two budgets of a host have the same key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BudgetKey {
    #[serde(flatten)]
    pub scope: BudgetScope,
    #[serde(default)]
    pub period: BudgetPeriod,
}

impl BudgetKey {
    /// Returns the options of `holon budget set` that name this budget.
    #[must_use]
    pub fn options(&self) -> String {
        let scope = match &self.scope {
            BudgetScope::Agent(id) => format!("--agent {id}"),
            BudgetScope::Item(id) => format!("--item {id}"),
            BudgetScope::Tree(id) => format!("--tree {id}"),
            BudgetScope::Host => "--host".to_owned(),
        };
        match self.period {
            BudgetPeriod::Total => scope,
            BudgetPeriod::Day => format!("{scope} --day"),
        }
    }
}

impl fmt::Display for BudgetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            BudgetScope::Agent(id) => write!(f, "agent {id}")?,
            BudgetScope::Item(id) => write!(f, "work item {id}")?,
            BudgetScope::Tree(id) => write!(f, "the tree of agent {id}")?,
            BudgetScope::Host => f.write_str("the host")?,
        }
        match self.period {
            BudgetPeriod::Total => Ok(()),
            BudgetPeriod::Day => f.write_str(" for a day"),
        }
    }
}

/// One budget. At least one of its limits is present.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    #[serde(flatten)]
    pub key: BudgetKey,
    /// Most input and output tokens. Absent if tokens are not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_tokens: Option<u64>,
    /// Most money. Absent if it is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_micro_usd: Option<MicroUsd>,
    /// Time at which the limits were last changed.
    pub set_at: Timestamp,
}

/// Limits of the settings, which hold wherever no budget of the same key was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetDefaults {
    /// Tokens of each agent in a day. Absent if there is no limit.
    pub agent_day_tokens: Option<u64>,
    /// Tokens of all agents together in a day. Absent if there is no limit.
    pub host_day_tokens: Option<u64>,
}

/// How far a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BudgetMeter {
    pub spent_tokens: u64,
    /// Money of the calls whose price is known.
    pub spent_micro_usd: MicroUsd,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
    /// Tokens that open calls have reserved.
    pub reserved_tokens: u64,
    /// Money that open calls have reserved whose price is known.
    pub reserved_micro_usd: MicroUsd,
    /// Open calls whose price is not known.
    pub unpriced_reservations: u64,
}

/// A budget with its meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStanding {
    pub budget: Budget,
    pub meter: BudgetMeter,
}

/// What an open model call may use at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub agent_id: AgentId,
    pub root_agent_id: AgentId,
    pub work_item_id: Option<WorkItemId>,
    pub tokens: u64,
    /// Cost of these tokens; `None` if the price is not known, which only calls without a limit on money may have.
    pub micro_usd: Option<MicroUsd>,
}

/// Terms under which a model call is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallTerms {
    /// No budget applies, so the call is made as it is.
    #[default]
    Free,
    /// The call may use what was estimated for it. A larger request is measured and not sent.
    Bound,
    /// The request is measured and not sent, because a guess does not tell whether a budget has room for it.
    Measure,
}
