//! Subcommands of `holon memory`.

use super::AgentArg;
use clap::Subcommand;
use holon_domain::limits::{
    EPISODES_PAGE, EPISODES_PAGE_MAX, MEMORY_CONTENT_CHARS, MEMORY_CONTENT_CHARS_MAX,
    MEMORY_RESULTS, MEMORY_RESULTS_MAX,
};

/// Subcommands of `holon memory`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Search an agent's memory: its curated files, workspace profiles, briefs, episodes and work items.
    Search {
        /// Words, names, paths or ids, in any language. Nothing is an operator.
        #[arg(required = true)]
        query: Vec<String>,
        /// Largest number of results to print.
        #[arg(long, value_name = "N", default_value_t = MEMORY_RESULTS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MEMORY_RESULTS_MAX)))]
        limit: u32,
        /// Search the records of all workspaces, not only of the active one.
        #[arg(long)]
        all_workspaces: bool,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Show the exact text of a search result.
    Get {
        /// Reference from a search result, such as brief:ID.
        source_ref: String,
        /// Largest number of characters to print of the text.
        #[arg(long, value_name = "N", default_value_t = MEMORY_CONTENT_CHARS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MEMORY_CONTENT_CHARS_MAX)))]
        max_chars: u32,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// List an agent's episodes, the newest first: finished chunks of its work with what was done and left.
    Episodes {
        /// Largest number of episodes to print.
        #[arg(long, value_name = "N", default_value_t = EPISODES_PAGE as u64, value_parser = clap::value_parser!(u64).range(1..=EPISODES_PAGE_MAX as u64))]
        limit: u64,
        /// Print only episodes before this position.
        #[arg(long, value_name = "SEQ")]
        before: Option<u64>,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Build the index of an agent's memory anew, and the export of its episodes. Nothing is lost: both are derived.
    Rebuild(AgentArg),
}
