//! A budget of the simulated host. The seed chooses what it limits, for how long and in which unit; operators raise it.
//!
//! What is spent and reserved together keeps the limit. In some runs the provider now and then reports more than its
//! request was estimated to take; the limit is then exceeded by the errors of open calls at most. An agent has one open
//! call at a time, so the largest error of each agent bounds them.

use crate::plan::{Fault, Plan};
use crate::rng::Rng;
use crate::store::refused_by_store;
use crate::violation::{Verdict, ensure};
use crate::work_calls::WorkNames;
use crate::world::{InputResult, World};
use holon_core::Input;
use holon_domain::attempt::TokenUsage;
use holon_domain::budget::{
    Budget, BudgetKey, BudgetMeter, BudgetPeriod, BudgetScope, BudgetStanding, StoredBudgets,
};
use holon_domain::model::{ModelPrice, ModelReply};
use holon_domain::turn::Phase;
use holon_domain::usage::{CallEstimate, UsageFilter, UsageGrouping, day_in};
use holon_domain::{AgentId, WorkItemId};
use std::collections::BTreeMap;

/// Tokens with which a run begins. A few calls reach them.
const FIRST_LIMIT: u64 = 12_000;
/// Most tokens by which an operator raises the limit at once.
const RAISE: u64 = 20_000;
/// Limit after which no call is refused any more.
const NO_LIMIT: u64 = 1 << 50;
/// Most tokens that a provider reports beyond the estimate of its request.
const OVERSHOOT: u64 = 3_000;
/// Price of every model where money is limited: the same for input and output, so that a budget of money has the length
/// of one of tokens.
const PRICE: ModelPrice = ModelPrice {
    input_per_million: 1_000_000,
    cached_input_per_million: None,
    cache_write_per_million: None,
    output_per_million: 1_000_000,
};
/// Every model that agents of the simulation use.
const MODELS: [&str; 3] = ["sim/model", "sim/second", "sim/other"];

/// Kind of what the budget of a run limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Host,
    /// The first agent and all agents that came from it.
    Tree,
    /// The first agent without those.
    Agent,
    /// The first work item that is seen while no model is asked.
    Item,
}

/// What the limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Tokens,
    Money,
}

/// The budget of a run.
#[derive(Debug)]
pub(crate) struct RunBudget {
    scope: ScopeKind,
    period: BudgetPeriod,
    unit: Unit,
    /// True if the provider may exceed its estimates.
    has_errors: bool,
    /// Absent until there is something to limit.
    key: Option<BudgetKey>,
    limit: u64,
    /// Largest error of the estimates of an agent's calls, in the unit of the budget.
    errors: BTreeMap<AgentId, u64>,
    /// Draws of its own, so that earlier seeds keep their runs.
    dice: Rng,
}

impl RunBudget {
    /// Chooses the budget of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut choice = Rng::new(plan.seed ^ 0x0073_6863);
        let scope = match choice.below(4) {
            0 => ScopeKind::Tree,
            1 => ScopeKind::Agent,
            // Damaged rows hide whether an agent has an open call.
            2 | 3 if plan.has(Fault::Work) && !plan.has(Fault::Damage) => ScopeKind::Item,
            _ => ScopeKind::Host,
        };
        Self {
            scope,
            period: match choice.percent(40) {
                true => BudgetPeriod::Day,
                false => BudgetPeriod::Total,
            },
            unit: match choice.percent(40) {
                true => Unit::Money,
                false => Unit::Tokens,
            },
            has_errors: choice.percent(50),
            key: None,
            limit: 0,
            errors: BTreeMap::new(),
            dice: Rng::new(plan.seed ^ 0x0064_6963),
        }
    }

    /// Names the situations of this budget for the coverage.
    fn situations(&self) -> [&'static str; 3] {
        let scope = match self.scope {
            ScopeKind::Host => "budget:host",
            ScopeKind::Tree => "budget:tree",
            ScopeKind::Agent => "budget:agent",
            ScopeKind::Item => "budget:item",
        };
        let period = match self.period {
            BudgetPeriod::Total => "budget:total",
            BudgetPeriod::Day => "budget:day",
        };
        let unit = match self.unit {
            Unit::Tokens => "budget:tokens",
            Unit::Money => "budget:money",
        };
        [scope, period, unit]
    }

    /// Returns what a meter has of this budget's unit.
    const fn used(&self, meter: &BudgetMeter) -> u64 {
        match self.unit {
            Unit::Tokens => meter.spent_tokens + meter.reserved_tokens,
            Unit::Money => meter.spent_micro_usd + meter.reserved_micro_usd,
        }
    }

    /// Notes by how much an answer exceeds the estimate of its call.
    fn note_error(&mut self, id: &AgentId, estimate: CallEstimate, reported: TokenUsage) {
        let amount = |usage: TokenUsage| match self.unit {
            Unit::Tokens => usage.input_tokens + usage.output_tokens,
            Unit::Money => PRICE.cost_of(usage),
        };
        let error = amount(reported).saturating_sub(amount(estimate.as_usage()));
        let largest = self.errors.entry(id.clone()).or_default();
        *largest = error.max(*largest);
    }
}

/// Returns the prices of a run's models. They are known where money is limited.
pub(crate) fn prices(plan: &Plan) -> BTreeMap<String, ModelPrice> {
    let limits_money = plan.has(Fault::Budget) && RunBudget::of(plan).unit == Unit::Money;
    let models = MODELS.into_iter().filter(|_| limits_money);
    models.map(|model| (model.to_owned(), PRICE)).collect()
}

impl World {
    /// Sets the first budget, before there is any agent. One of a work item comes later.
    pub(crate) fn begin_budget(&mut self) -> Verdict<()> {
        let Ok(first) = AgentId::parse("agent-0") else {
            return Ok(());
        };
        let scope = match self.budget.scope {
            ScopeKind::Host => BudgetScope::Host,
            ScopeKind::Tree => BudgetScope::Tree(first),
            ScopeKind::Agent => BudgetScope::Agent(first),
            ScopeKind::Item => return Ok(()),
        };
        if self.plan.has(Fault::Budget) {
            self.set_first_limit(scope, FIRST_LIMIT)?;
        }
        Ok(())
    }

    fn set_first_limit(&mut self, scope: BudgetScope, limit: u64) -> Verdict<()> {
        for situation in self.budget.situations() {
            self.model.coverage.count(situation);
        }
        let period = self.budget.period;
        self.budget.key = Some(BudgetKey { scope, period });
        self.budget.limit = limit;
        self.store_budget()
    }

    /// Lets an operator raise the budget now and then.
    pub(crate) fn raise_budget(&mut self) -> Verdict<()> {
        if !self.plan.has(Fault::Budget) {
            return Ok(());
        }
        if self.budget.key.is_none() {
            return self.limit_an_item();
        }
        if !self.budget.dice.percent(4) {
            return Ok(());
        }
        self.budget.limit += 1 + self.budget.dice.below(RAISE);
        self.change_budget()
    }

    /// Sets a budget of a work item, if there is one and no call is open: a call from before would be charged to the
    /// item without a reservation.
    fn limit_an_item(&mut self) -> Verdict<()> {
        let asks = self.model.known().any(|(_, known)| {
            let turn = known.record.open_turn.as_ref();
            turn.is_some_and(|turn| matches!(turn.phase, Phase::CallingModel { .. }))
        });
        if asks || !self.doubtful.is_empty() {
            return Ok(());
        }
        let mut items = self.model.known().flat_map(|(_, known)| {
            let names = WorkNames::of(&known.outstanding);
            names.items
        });
        let Some(item) = items.next() else {
            return Ok(());
        };
        drop(items);
        let used = self.used_for(&item)?;
        self.set_first_limit(BudgetScope::Item(item), used + FIRST_LIMIT)
    }

    /// Returns what an item used before it had a budget.
    fn used_for(&self, item: &WorkItemId) -> Verdict<u64> {
        let filter = UsageFilter {
            work_item_id: Some(item.clone()),
            ..UsageFilter::default()
        };
        let (_, sums) = self.read(|reader| reader.usage(&filter, UsageGrouping::Item, None, 1))?;
        Ok(match self.budget.unit {
            Unit::Tokens => sums.total_tokens(),
            Unit::Money => sums.known_cost,
        })
    }

    /// Lifts the budget, so that all work can settle.
    pub(crate) fn lift_budget(&mut self) -> Verdict<()> {
        if !self.plan.has(Fault::Budget) || self.budget.key.is_none() {
            return Ok(());
        }
        self.budget.limit = NO_LIMIT;
        self.change_budget()
    }

    fn change_budget(&mut self) -> Verdict<()> {
        let limit = self.budget.limit;
        self.trace.note(|| format!("the budget is {limit}"));
        self.model.coverage.count("budget:raised");
        self.store_budget()?;
        let crashes = self.crashes;
        for id in self.model.names() {
            if self.crashes != crashes {
                // The next process asked for every turn that waits.
                return Ok(());
            }
            if let InputResult::Unknown(touched) = self.send(&id, &Input::BudgetChanged)? {
                self.recover_doubtful_agents(touched)?;
            }
        }
        Ok(())
    }

    fn store_budget(&mut self) -> Verdict<()> {
        let Some(budget) = self.budget() else {
            return Ok(());
        };
        let day = self.budget_day();
        let set = self.commit(move |ledger| ledger.set_budget(&budget, &day))?;
        set.map_err(|error| refused_by_store(&error))?;
        self.show_budget();
        Ok(())
    }

    /// Tells the kernel of a new process about the budget.
    pub(crate) fn show_budget(&self) {
        if let Some(budget) = self.budget() {
            let meter = BudgetMeter::default();
            self.kernel.conditions().set_budgets(StoredBudgets {
                standings: vec![BudgetStanding { budget, meter }],
                unreadable: Vec::new(),
            });
        }
    }

    /// Returns the budget as it stands; `None` if the run has none.
    fn budget(&self) -> Option<Budget> {
        let limit = |unit: Unit| (self.budget.unit == unit).then_some(self.budget.limit);
        Some(Budget {
            key: self.budget.key.clone()?,
            limit_tokens: limit(Unit::Tokens),
            limit_micro_usd: limit(Unit::Money),
            set_at: self.now,
        })
    }

    fn budget_day(&self) -> String {
        day_in(self.now, &self.kernel.conditions().now().zone)
    }

    /// Lets the provider report more than its request was estimated to take, now and then.
    pub(crate) fn exceed_estimate(&mut self, id: &AgentId, reply: &mut ModelReply) {
        let has_errors = self.plan.has(Fault::Budget) && self.budget.has_errors;
        if !has_errors || !self.budget.dice.percent(15) {
            return;
        }
        let known = self.model.agent(id);
        let turn = known.and_then(|known| known.record.open_turn.as_ref());
        let Some(estimate) = turn.and_then(|turn| turn.call) else {
            return;
        };
        let more = 1 + self.budget.dice.below(OVERSHOOT);
        reply.usage = TokenUsage::new(estimate.total() + more, reply.usage.output_tokens);
        self.budget.note_error(id, estimate, reply.usage);
        self.model.coverage.count("budget:overshot");
    }

    /// Checks that what is spent and what open calls have reserved keep the limit, but for errors of estimates.
    pub(crate) fn check_budget(&self) -> Verdict<()> {
        let errors: u64 = self.budget.errors.values().sum();
        let day = self.budget_day();
        for standing in self.read(|reader| reader.budgets(&day))?.standings {
            let (meter, budget) = (standing.meter, standing.budget);
            let limit = budget.limit_tokens.or(budget.limit_micro_usd);
            let limit = limit.unwrap_or(u64::MAX);
            ensure(
                self.budget.used(&meter) <= limit.saturating_add(errors),
                "what is spent and reserved keeps the limit of its budget",
                || format!("{meter:?} of {limit} and {errors} for {}", budget.key),
            )?;
        }
        Ok(())
    }

    /// Checks that no call has left a reservation behind, when no call is open any more.
    pub(crate) fn check_released(&self) -> Verdict<()> {
        let day = self.budget_day();
        for standing in self.read(|reader| reader.budgets(&day))?.standings {
            let meter = standing.meter;
            ensure(
                meter.reserved_tokens == 0 && meter.reserved_micro_usd == 0,
                "nothing stays reserved after the last call",
                || format!("{meter:?} for {}", standing.budget.key),
            )?;
        }
        Ok(())
    }
}
