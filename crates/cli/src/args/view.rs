//! Options of the read-only views: `tail`, `tui`, `events` and `transcript`.

use super::AgentArg;
use holon_domain::limits::{EVENT_PAGE_MAX, LIST_PAGE_MAX};
use holon_presentation::DisplayMode;

/// Options of the `tail` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// Number of rows to show, newest last.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
    pub(crate) limit: u64,
    /// Keep printing new rows until interrupted; continues after a restart of the host.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// How much to show: info (3) for results, failures and waits, verbose (4) for the activity, debug (5) for details
    /// [default: info; with --json, the briefs alone].
    #[arg(long, short, value_name = "MODE")]
    pub(crate) display: Option<DisplayMode>,
    /// Show the first briefs after this position instead of the newest rows.
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["follow", "display"])]
    pub(crate) after: Option<u64>,
    /// Show only briefs before this position instead of rows.
    #[arg(long, value_name = "SEQ", conflicts_with_all = ["follow", "display"])]
    pub(crate) before: Option<u64>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of the `events` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Number of events to show, newest last; with --after, the first ones after that position.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=EVENT_PAGE_MAX))]
    pub(crate) limit: u64,
    /// Show only events after this position; with --follow, all of them.
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// Show only events before this position.
    #[arg(long, value_name = "SEQ", conflicts_with = "follow")]
    pub(crate) before: Option<u64>,
    /// Refuse the position unless it comes from this store; `epoch` of a page or of /state names it.
    #[arg(long, value_name = "ID", value_parser = parse_epoch)]
    pub(crate) epoch: Option<String>,
    /// Keep printing new events until interrupted; continues after a restart of the host.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Show the events of all public agents; positions are then those of the host.
    #[arg(long, conflicts_with = "agent")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Parses the identity of a store, which goes into a query as it is.
fn parse_epoch(text: &str) -> Result<String, String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if text.is_empty() || !text.chars().all(is_part) {
        return Err("it has letters, digits, '-', '_' and '.' only".to_owned());
    }
    Ok(text.to_owned())
}

/// Options of the `transcript` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptArgs {
    /// Number of entries to show, newest last.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
    pub(crate) limit: u64,
    /// Show the first entries after this position.
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// Show only entries before this position.
    #[arg(long, value_name = "SEQ")]
    pub(crate) before: Option<u64>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of the `tui` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct TuiArgs {
    /// Draw on the normal screen, so that the terminal's own scrollback keeps what was there.
    #[arg(long)]
    pub(crate) no_alt_screen: bool,
    /// How much the conversation shows at the start: info (3), verbose (4) or debug (5); /display changes it.
    #[arg(long, short, value_name = "MODE", default_value_t)]
    pub(crate) display: DisplayMode,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}
