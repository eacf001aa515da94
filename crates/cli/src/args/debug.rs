//! Arguments of `holon debug`.

use super::AgentName;
use clap::Subcommand;

/// Subcommands of `holon debug`.
#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Show the prompt of an agent's last turn: its parts, what was cut or summed up and why, and how much a cache served.
    Prompt {
        #[command(flatten)]
        agent: AgentName,
        /// Number of the turn, as the transcript shows it [default: the last answered one].
        #[arg(long, value_name = "N")]
        turn: Option<u64>,
        /// Print the texts of the parts as well.
        #[arg(long)]
        full: bool,
    },
    /// Show where the time of an agent's last turns went: in the queue, in requests to models, in tools.
    Latency {
        #[command(flatten)]
        agent: AgentName,
        /// Number of turns to show, from the newest backwards.
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000))]
        limit: u64,
        /// Events to read for them at most.
        #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
        events_limit: u64,
    },
}
