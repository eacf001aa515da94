//! Command line of agents.

use super::{AgentModelCommand, WorkspaceArgs};
use clap::Subcommand;
use std::path::PathBuf;

/// Actions of `holon control`, the older spelling of three commands of `holon agent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ControlArg {
    Start,
    Stop,
    Abort,
}

/// Subcommands of `holon agent`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Create an agent; repeating the same command has no effect.
    Create {
        /// Id of the new agent.
        id: String,
        /// Model of the agent, as provider/model [default: the host's default model].
        #[arg(long, value_name = "REF")]
        model: Option<String>,
        /// Template of the agent's home: an id, an absolute path, or a directory on GitHub; see `holon template list`.
        #[arg(long, value_name = "TEMPLATE")]
        template: Option<String>,
        /// Text that is added to the agent's AGENTS.md.
        #[arg(long, value_name = "TEXT")]
        seed: Option<String>,
        #[command(flatten)]
        workspace: WorkspaceArgs,
    },
    /// List all agents with their state, without the archived ones.
    List {
        /// List the archived agents instead.
        #[arg(long, conflicts_with = "all")]
        archived: bool,
        /// List every agent: archived ones and private children, too.
        #[arg(long)]
        all: bool,
    },
    /// Show agents with the agents that they made, private children included.
    Tree {
        /// Id of the agent at the top [default: every agent].
        id: Option<String>,
    },
    /// Let a stopped agent run again.
    Start {
        /// Id of the agent [default: the host's default agent].
        id: Option<String>,
    },
    /// Stop an agent: abort its turn, end its commands and tasks, keep its queue, and refuse new messages.
    Stop {
        /// Id of the agent [default: the host's default agent].
        id: Option<String>,
    },
    /// Abort the current run of an agent, which goes on with its queue.
    Abort {
        /// Id of the agent [default: the host's default agent].
        id: Option<String>,
        /// Abort this run only; a run that is over is refused.
        #[arg(long, value_name = "RUN", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        run: Option<String>,
    },
    /// Stop an agent for good: it is no longer listed and takes nothing more, and its history can be read.
    Archive {
        /// Id of the agent.
        id: String,
    },
    /// Remove an agent with its home and its history; its tasks are ended first.
    Delete {
        /// Id of the agent.
        id: String,
        /// Remove it without being asked again.
        #[arg(long)]
        yes: bool,
    },
    /// Show or change the model of an agent.
    Model {
        #[command(subcommand)]
        command: AgentModelCommand,
    },
    /// Show an agent's state and what will wake it.
    Status {
        /// Id of the agent [default: the host's default agent].
        id: Option<String>,
    },
    /// Write an agent to a file, without secrets: its home, work items, timers, workspaces and model.
    Export {
        /// Id of the agent.
        id: String,
        /// File to write, which must not exist [default: AGENT.holon.tar in the current directory].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Show what would be written, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Make a stopped agent from a file that an export wrote.
    Import {
        /// Archive that `holon agent export` wrote.
        file: PathBuf,
        /// Id of the new agent [default: the id of the exported agent].
        #[arg(long = "as", value_name = "NAME")]
        name: Option<String>,
        /// Check the file and show what would be made, and make nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Make a stopped copy of an agent on the same host.
    Clone {
        /// Id of the agent.
        id: String,
        /// Id of the new agent.
        name: String,
        /// Show what would be made, and make nothing.
        #[arg(long)]
        dry_run: bool,
    },
}
