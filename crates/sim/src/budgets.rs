//! A budget of the simulated host. Operators raise it, and what is spent and reserved together never exceeds it.
//!
//! The simulated provider never reports more than its request was estimated to take, so the bound has no slack.

use crate::plan::Fault;
use crate::store::refused_by_store;
use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World};
use holon_core::Input;
use holon_domain::budget::{Budget, BudgetKey, BudgetPeriod, BudgetScope};

/// Limit with which a run begins. A few calls reach it.
const FIRST_LIMIT: u64 = 12_000;
/// Most by which an operator raises the limit at once.
const RAISE: u64 = 20_000;
/// Limit after which no call is refused any more.
const NO_LIMIT: u64 = 1 << 50;

impl World {
    /// Sets the first budget, before there is any agent.
    pub(crate) fn begin_budget(&mut self) -> Verdict<()> {
        if self.plan.has(Fault::Budget) {
            self.budget_limit = FIRST_LIMIT;
            self.store_budget()?;
        }
        Ok(())
    }

    /// Lets an operator raise the budget now and then.
    pub(crate) fn raise_budget(&mut self) -> Verdict<()> {
        if !self.plan.has(Fault::Budget) || !self.budget_dice.percent(4) {
            return Ok(());
        }
        self.budget_limit += 1 + self.budget_dice.below(RAISE);
        self.change_budget()
    }

    /// Lifts the budget, so that all work can settle.
    pub(crate) fn lift_budget(&mut self) -> Verdict<()> {
        if !self.plan.has(Fault::Budget) {
            return Ok(());
        }
        self.budget_limit = NO_LIMIT;
        self.change_budget()
    }

    fn change_budget(&mut self) -> Verdict<()> {
        let limit = self.budget_limit;
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
        let budget = self.budget();
        let set = self.commit(move |ledger| ledger.set_budget(&budget, ""))?;
        set.map_err(|error| refused_by_store(&error))?;
        self.show_budget();
        Ok(())
    }

    /// Tells the kernel of a new process about the budget.
    pub(crate) fn show_budget(&self) {
        if self.plan.has(Fault::Budget) {
            self.kernel.conditions().set_budgets(vec![self.budget()]);
        }
    }

    fn budget(&self) -> Budget {
        Budget {
            key: BudgetKey {
                scope: BudgetScope::Host,
                period: BudgetPeriod::Total,
            },
            limit_tokens: Some(self.budget_limit),
            limit_micro_usd: None,
            set_at: self.now,
        }
    }

    /// Checks that what is spent and what open calls have reserved keep the limit.
    pub(crate) fn check_budget(&self) -> Verdict<()> {
        for standing in self.read(|reader| reader.budgets(""))? {
            let meter = standing.meter;
            let limit = standing.budget.limit_tokens.unwrap_or(u64::MAX);
            ensure(
                meter.spent_tokens + meter.reserved_tokens <= limit,
                "what is spent and reserved keeps the limit of its budget",
                || format!("{meter:?} of {limit}"),
            )?;
        }
        Ok(())
    }
}
