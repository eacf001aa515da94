//! Arguments of `holon context`.

use super::AgentArg;
use clap::Subcommand;
use holon_domain::limits::{THREAD_TOKENS_LEAST, THREAD_TOKENS_MOST};

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
    /// Set the size above which the oldest turns of this agent are folded, in place of the setting
    /// `context.thread_tokens`; agents that it makes afterwards begin with the same size.
    Limit(LimitArgs),
}

/// A size of the conversation.
#[derive(Debug, clap::Args)]
pub(crate) struct LimitArgs {
    /// Estimated tokens of the conversation. 60 % of the model's window is a bound as well.
    #[arg(required_unless_present = "default", value_parser = clap::value_parser!(u32).range(i64::from(THREAD_TOKENS_LEAST)..=i64::from(THREAD_TOKENS_MOST)))]
    pub(crate) tokens: Option<u32>,
    /// Use the setting of the host again.
    #[arg(long, conflicts_with = "tokens")]
    pub(crate) default: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// A turn of an agent.
#[derive(Debug, clap::Args)]
pub(crate) struct PinArgs {
    /// Number of the turn, as `holon context show` lists it.
    pub(crate) turn: u64,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}
