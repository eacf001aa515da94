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

    /// Reads a scope from its stored name and key; `None` if they name none.
    #[must_use]
    pub fn from_stored(kind: &str, key: &str) -> Option<Self> {
        let agent = || AgentId::parse_stored(key).ok();
        match kind {
            "agent" => agent().map(Self::Agent),
            "tree" => agent().map(Self::Tree),
            "item" if !key.is_empty() => Some(Self::Item(WorkItemId::from_stored(key))),
            "host" if key.is_empty() => Some(Self::Host),
            _ => None,
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

    /// Reads a period from its stored name.
    #[must_use]
    pub fn from_stored(name: &str) -> Option<Self> {
        [Self::Total, Self::Day]
            .into_iter()
            .find(|period| period.as_str() == name)
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

/// What the store says about the use of a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetReading {
    /// There is no such budget.
    Absent,
    Metered(BudgetMeter),
    /// The row of the budget cannot be read; this names it and its fault.
    Unreadable(String),
}

/// A stored budget that cannot be read. No call that it may cover is made until an operator sets or clears it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableBudget {
    /// Names the row and its fault.
    pub row: String,
    /// Budgets that the row may stand for; the one of the host if nothing of its name can be read. Never empty.
    pub keys: Vec<BudgetKey>,
    /// Budget under whose name the row is stored. Only a change of that one reaches the row. Absent if the name cannot be
    /// read; then a change of any of `keys` does.
    pub stored_as: Option<BudgetKey>,
}

impl UnreadableBudget {
    /// Returns the budget that the row may stand for and that covers these calls.
    #[must_use]
    pub fn covering(
        &self,
        agent: &AgentId,
        root: &AgentId,
        item: Option<&WorkItemId>,
    ) -> Option<&BudgetKey> {
        self.keys
            .iter()
            .find(|key| key.scope.covers(agent, root, item))
    }

    /// Returns the commands after which the row no longer stands in the way of the budget `key`.
    #[must_use]
    pub fn mend(&self, key: &BudgetKey) -> String {
        let options = key.options();
        match &self.stored_as {
            // The row names another budget than its record, so it has to go first.
            Some(stored_as) if stored_as != key => format!(
                "holon budget clear {}, then holon budget set {options} --tokens N if there is to be a limit",
                stored_as.options()
            ),
            Some(_) | None => {
                format!("holon budget set {options} --tokens N or holon budget clear {options}")
            }
        }
    }
}

/// The budgets of a host as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredBudgets {
    pub standings: Vec<BudgetStanding>,
    pub unreadable: Vec<UnreadableBudget>,
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
