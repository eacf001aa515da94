//! Subcommands of `holon memory`.

use super::AgentArg;
use clap::Subcommand;
use holon_domain::limits::{
    MEMORY_CONTENT_CHARS, MEMORY_CONTENT_CHARS_MAX, MEMORY_RESULTS, MEMORY_RESULTS_MAX,
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
    /// Build the index of an agent's memory anew. Nothing is lost: the index is derived.
    Rebuild(AgentArg),
}
