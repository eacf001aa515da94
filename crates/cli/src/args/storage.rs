//! Command line of storage.

use clap::Subcommand;
use holon_domain::limits::HISTORY_DAYS_MAX;

/// Subcommands of `holon storage`.
#[derive(Debug, Subcommand)]
pub(crate) enum StorageCommand {
    /// Show how much the host stores, by kind and by agent.
    Report,
    /// Remove turns that ended long ago, with their messages, events and output files.
    ///
    /// The newest turns of each agent stay, as does everything that open work needs. Briefs keep their words.
    Prune {
        /// Remove what is older than this many days.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(0..=HISTORY_DAYS_MAX))]
        older_than: u64,
        /// Say what would be removed, and remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
}
