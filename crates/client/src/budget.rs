//! Routes about budgets.

use crate::client::Client;
use crate::error::Error;
use holon_api::{
    BudgetName, BudgetView, BudgetsResponse, ClearBudgetRequest, ClearBudgetResponse,
    SetBudgetRequest,
};

impl Client {
    /// Lists the budgets and how far each is used up.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn budgets(&self) -> Result<BudgetsResponse, Error> {
        self.get("/budgets".into()).await
    }

    /// Adds a budget or changes its limits.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn set_budget(&self, request: &SetBudgetRequest) -> Result<BudgetView, Error> {
        self.post("/control/budgets".into(), request).await
    }

    /// Removes a budget.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn clear_budget(&self, budget: BudgetName) -> Result<ClearBudgetResponse, Error> {
        let request = ClearBudgetRequest { budget };
        self.post("/control/budgets/clear".into(), &request).await
    }
}
