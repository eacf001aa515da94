//! Command line of budgets.

use clap::{Args, Subcommand};

/// Subcommands of `holon budget`.
#[derive(Debug, Subcommand)]
pub(crate) enum BudgetCommand {
    /// Set or change a limit in tokens, money or both; turns that wait for it go on.
    Set(SetBudgetArgs),
    /// Show the budgets and how far each is used up.
    Show,
    /// Remove a budget; turns that wait for it go on.
    Clear {
        #[command(flatten)]
        budget: BudgetArgs,
    },
}

/// Options that name a budget.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct BudgetArgs {
    /// Limit the calls of this agent.
    #[arg(long, value_name = "ID", group = "scope")]
    pub(crate) agent: Option<String>,
    /// Limit the calls for this work item.
    #[arg(long, value_name = "ID", group = "scope")]
    pub(crate) item: Option<String>,
    /// Limit the calls of this agent and of all agents that came from it.
    #[arg(long, value_name = "ID", group = "scope")]
    pub(crate) tree: Option<String>,
    /// Limit all calls of the host.
    #[arg(long, group = "scope")]
    pub(crate) host: bool,
    /// Limit each day; the limit ends at midnight in the time zone of the host.
    #[arg(long)]
    pub(crate) day: bool,
}

/// Options of `holon budget set`.
#[derive(Debug, Args)]
pub(crate) struct SetBudgetArgs {
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    /// Most input and output tokens.
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// Most US dollars, such as 2.50; refused while the price of a model is not known.
    #[arg(long, value_name = "X")]
    pub(crate) usd: Option<String>,
}
