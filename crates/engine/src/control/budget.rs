//! Budgets of the host: set, raised and cleared by operators.

use super::ControlHandle;
use crate::error::Error;
use crate::shell::engine_error;
use holon_core::Input;
use holon_domain::agent::AgentRecord;
use holon_domain::budget::{Budget, BudgetKey, BudgetScope};
use holon_domain::model::ModelRef;
use holon_domain::usage::{budget_root, day_in};
use holon_store::{BudgetChange, WriteOrder};

impl ControlHandle {
    /// Adds a budget or changes its limits; one that is absent stays as it is. Turns that wait for a budget ask again.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn set_budget(&self, budget: Budget) -> Result<BudgetChange, Error> {
        let day = day_in(self.now(), &self.shell.kernel.conditions().now().zone);
        let set = holon_store::commit(
            self.shell.store.as_ref(),
            WriteOrder::client(0),
            move |ledger| ledger.set_budget(&budget, &day),
        );
        let change = set.await.map_err(engine_error)?;
        self.reload_budgets().await?;
        Ok(change)
    }

    /// Removes a budget. Turns that wait for it ask again. Returns false if there is none of this name.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn clear_budget(&self, key: BudgetKey) -> Result<bool, Error> {
        let removed = holon_store::commit(
            self.shell.store.as_ref(),
            WriteOrder::client(0),
            move |ledger| ledger.remove_budget(&key),
        );
        let removed = removed.await.map_err(engine_error)?;
        self.reload_budgets().await?;
        Ok(removed)
    }

    /// Returns true if the agent or the work item that a budget names exists, so that a misspelt one is noticed. An agent
    /// whose record cannot be read exists too.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn is_known(&self, scope: &BudgetScope) -> Result<bool, Error> {
        let scope = scope.clone();
        let found = self.readers.read(move |reader| match &scope {
            BudgetScope::Host => Ok(true),
            BudgetScope::Agent(id) | BudgetScope::Tree(id) => reader.has_agent(id),
            BudgetScope::Item(id) => reader.is_public_item(id),
        });
        Ok(found.await?)
    }

    /// Returns a model without a known price that calls under a budget may ask. `None` if every price is known.
    ///
    /// # Errors
    /// When the agents cannot be read.
    pub async fn unpriced_model(&self, scope: &BudgetScope) -> Result<Option<ModelRef>, Error> {
        let listed = self.readers.agents().await?;
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
        conditions.set_budgets(found);
        // Decisions that were made with the budgets of before are committed before this, so that none is missed below. The
        // change is stored already, so a full inbox must not refuse the rest.
        let passed =
            holon_store::commit(
                self.shell.store.as_ref(),
                WriteOrder::runtime(0),
                |_| Ok(()),
            );
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

#[cfg(test)]
mod tests {
    use crate::shell::tests::{control, fill_inbox, shell_with_main};
    use holon_domain::budget::{Budget, BudgetKey, BudgetPeriod, BudgetScope};
    use holon_store::{WriteOrder, commit};

    #[tokio::test]
    async fn a_stored_change_of_budgets_is_told_to_agents_although_the_inbox_is_full() {
        let dir = tempfile::tempdir().expect("a directory");
        let (shell, _) = shell_with_main(dir.path()).await;
        let control = control(&shell, dir.path());
        let budget = Budget {
            key: BudgetKey {
                scope: BudgetScope::Host,
                period: BudgetPeriod::Total,
            },
            limit_tokens: Some(1),
            limit_micro_usd: None,
            set_at: control.now(),
        };
        let stored = commit(shell.store.as_ref(), WriteOrder::client(0), move |ledger| {
            ledger.set_budget(&budget, "2026-11-16")
        });
        stored.await.expect("is stored");
        let release = fill_inbox(&shell).await;
        let reloaded = tokio::spawn(async move { control.reload_budgets().await });
        // The new budgets hold before the inbox is asked.
        while shell.kernel.conditions().now().budgets.is_empty() {
            tokio::task::yield_now().await;
        }
        drop(release);
        assert_eq!(reloaded.await.expect("ends"), Ok(()));
    }
}
