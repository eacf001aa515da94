//! Command line of tasks.

use super::AgentArg;
use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use holon_domain::limits::LIST_PAGE_MAX;

/// Subcommands of `holon task`.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// List the tasks of an agent that are not over.
    List {
        /// Also list tasks that are over, newest first.
        #[arg(long)]
        all: bool,
        /// Largest number of tasks to list.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
        limit: u64,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Show the command of a task and its state.
    Show {
        /// Id of the task.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        task: String,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Print the output of a task.
    Output(OutputArgs),
    /// Write to the input of a task.
    Input {
        /// Id of the task.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        task: String,
        /// Text to write, as it is; - reads it from standard input.
        #[arg(required_unless_present = "close")]
        text: Option<String>,
        /// End the input after the text.
        #[arg(long)]
        close: bool,
        /// Write the text without a line end [default: one is added to a text of the command line].
        #[arg(long)]
        no_newline: bool,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Ask a task to end; a second time kills it with everything it started.
    Stop {
        /// Id of the task.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        task: String,
        #[command(flatten)]
        agent: AgentArg,
    },
}

/// Options of `task output`.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Id of the task.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) task: String,
    /// Print the last lines only, this many of each stream.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tail: Option<u32>,
    /// Print from this byte of the output on.
    #[arg(long, value_name = "BYTE", conflicts_with = "tail")]
    pub(crate) after: Option<u64>,
    /// Print everything, and what comes until the task is over.
    #[arg(long, short, conflicts_with = "tail")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}
