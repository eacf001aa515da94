//! Arguments of `holon context`.

use super::AgentArg;
use clap::Subcommand;

/// Subcommands of `holon context`.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Show the size of the conversation, its marks, its turns and the newest fold.
    Show(AgentArg),
    /// Have the next turn replace the oldest turns by a recap.
    Fold(AgentArg),
    /// Keep a turn whole when the conversation is folded.
    Pin(PinArgs),
    /// Let a pinned turn give way to the next fold again.
    Unpin(PinArgs),
    /// Have the next turn begin an empty conversation; history, memory and work items stay.
    Clear(AgentArg),
}

/// A turn of an agent.
#[derive(Debug, clap::Args)]
pub(crate) struct PinArgs {
    /// Number of the turn, as `holon context show` lists it.
    pub(crate) turn: u64,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}
