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
    /// Start a command as a task of an agent, without asking its model.
    Start(StartArgs),
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

/// Options of `task start`.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// Description for lists [default: the command].
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// Directory inside the agent's workspace [default: its current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) workdir: Option<String>,
    /// Program of the shell [default: the user's].
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) shell: Option<String>,
    /// Run a real login shell.
    #[arg(long)]
    pub(crate) login: bool,
    /// Run the command on a terminal; it then takes input.
    #[arg(long)]
    pub(crate) tty: bool,
    /// Let the command take input while it runs: holon task input.
    #[arg(long)]
    pub(crate) accepts_input: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
    /// The command. One word is a text for the shell; several are quoted for it as they are.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) cmd: Vec<String>,
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
