//! Command line of usage.

use clap::Args;

/// Options of `holon usage`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// List by agent, which is the default; with an ID, show only what this agent used.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) agent: Option<String>,
    /// List by work item; with an ID, show only what was used for this item.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) item: Option<String>,
    /// List by day; with a DAY such as 2026-11-17, show only what was used on this day.
    #[arg(long, value_name = "DAY", num_args = 0..=1, default_missing_value = "")]
    pub(crate) day: Option<String>,
    /// Show a line for each model
    #[arg(long)]
    pub(crate) model: bool,
}
