//! Budgets of the host: set, raised and cleared by operators.

use super::ControlHandle;
use crate::error::Error;
use crate::shell::engine_error;
use holon_core::Input;
use holon_domain::agent::AgentRecord;
use holon_domain::budget::{Budget, BudgetKey, BudgetScope};
use holon_domain::model::ModelRef;
use holon_domain::usage::{budget_root, day_in};
use holon_store::BudgetChange;

impl ControlHandle {
    /// Adds a budget or changes its limits. Turns that wait for a budget ask again.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn set_budget(&self, budget: Budget) -> Result<BudgetChange, Error> {
        let day = day_in(self.now(), &self.shell.kernel.conditions().now().zone);
        let set = holon_store::commit(self.shell.store.as_ref(), 0, move |ledger| {
            ledger.set_budget(&budget, &day)
        });
        let change = set.await.map_err(engine_error)?;
        self.reload_budgets().await?;
        Ok(change)
    }

    /// Removes a budget. Turns that wait for it ask again. Returns false if there is none of this name.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn clear_budget(&self, key: BudgetKey) -> Result<bool, Error> {
        let removed = holon_store::commit(self.shell.store.as_ref(), 0, move |ledger| {
            ledger.remove_budget(&key)
        });
        let removed = removed.await.map_err(engine_error)?;
        self.reload_budgets().await?;
        Ok(removed)
    }

    /// Returns true if the agent or the work item that a budget names exists, so that a misspelt one is noticed.
    ///
    /// # Errors
    /// When the agents or their work items cannot be read.
    pub async fn is_known(&self, scope: &BudgetScope) -> Result<bool, Error> {
        let scope = scope.clone();
        let found = self.readers.read(move |reader| match &scope {
            BudgetScope::Host => Ok(true),
            BudgetScope::Agent(id) | BudgetScope::Tree(id) => Ok(reader.agent(id)?.is_some()),
            BudgetScope::Item(id) => {
                for listed in reader.agents()? {
                    if let Some((no, _)) = reader.agent(&listed.agent_id)?
                        && reader.work_item(no, id)?.is_some()
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        });
        Ok(found.await?)
    }

    /// Returns a model without a known price that calls under a budget may ask. `None` if every price is known.
    ///
    /// # Errors
    /// When the agents cannot be read.
    pub async fn unpriced_model(&self, scope: &BudgetScope) -> Result<Option<ModelRef>, Error> {
        let listed = self.readers.read(|reader| reader.agents()).await?;
        let agents: Vec<AgentRecord> = listed
            .into_iter()
            .filter_map(|listed| listed.record.ok())
            .filter(|agent| may_cover(scope, agent))
            .collect();
        let conditions = self.shell.kernel.conditions().now();
        let models = &conditions.models;
        let chain_of = |own: Option<&ModelRef>, listed: Option<&[ModelRef]>| {
            let first = models.first(own).cloned();
            let rest = models.fallbacks_after(own, listed);
            first.into_iter().chain(rest).collect::<Vec<_>>()
        };
        let mut asked: Vec<ModelRef> = agents
            .iter()
            .flat_map(|agent| {
                let listed = agent.fallback_models.as_deref();
                chain_of(agent.model_override.as_ref(), listed)
            })
            .collect();
        if agents.is_empty() {
            asked = chain_of(None, None);
        }
        Ok(asked
            .into_iter()
            .find(|model| models.price_of(model).is_none()))
    }

    /// Brings the budgets that decisions read in line with the store, and lets turns ask again that wait for one.
    async fn reload_budgets(&self) -> Result<(), Error> {
        let conditions = self.shell.kernel.conditions();
        let day = day_in(self.now(), &conditions.now().zone);
        let found = self
            .readers
            .read(move |reader| reader.budgets(&day))
            .await?;
        conditions.set_budgets(found.into_iter().map(|found| found.budget).collect());
        // Decisions that were made with the budgets of before are committed after this, so that none is missed below.
        let passed = holon_store::commit(self.shell.store.as_ref(), 0, |_| Ok(()));
        passed.await.map_err(engine_error)?;
        let resumed = self
            .shell
            .resume_suspended(&self.readers, &Input::BudgetChanged);
        resumed.await;
        Ok(())
    }
}

/// Returns true if calls of an agent may count for a budget. The agents of an item are not known before its turns.
fn may_cover(scope: &BudgetScope, agent: &AgentRecord) -> bool {
    let identity = &agent.identity;
    match scope {
        BudgetScope::Agent(id) => *id == identity.agent_id,
        BudgetScope::Tree(id) => id == budget_root(identity),
        BudgetScope::Item(_) | BudgetScope::Host => true,
    }
}
