//! The command line. The doc comments of options and subcommands are their help texts.

mod agent;
mod agent_name;
mod budget;
mod config;
mod context;
mod daemon;
mod debug;
mod delivery;
#[cfg(test)]
mod guide_tests;
mod memory;
mod solve;
mod storage;
mod task;
mod template;
mod token;
mod trigger;
mod trust;
mod usage;
mod view;
mod work;
mod workspace;

pub(crate) use agent::{AgentCommand, ControlArg};
pub(crate) use agent_name::AgentName;
pub(crate) use budget::{BudgetArgs, BudgetCommand};
pub(crate) use config::{
    AgentModelCommand, ConfigCommand, CredentialsCommand, InitArgs, ModelsCommand, ProviderArgs,
    ProvidersCommand, SetModelArgs,
};
pub(crate) use context::ContextCommand;
pub(crate) use daemon::{
    DaemonCommand, HostArgs, InstallArgs, LogsArgs, ManagerArg, ManagerArgs, ServeArgs,
    ServiceCommand,
};
pub(crate) use debug::DebugCommand;
pub(crate) use delivery::{
    AddBindingArgs, AddTargetArgs, AuthWord, BindingCommand, DeliveryCommand,
};
pub(crate) use memory::MemoryCommand;
pub(crate) use solve::SolveArgs;
pub(crate) use storage::StorageCommand;
pub(crate) use task::{OutputArgs, StartArgs, TaskCommand};
pub(crate) use template::{SkillsCommand, TemplateCommand};
pub(crate) use token::TokenCommand;
pub(crate) use trigger::{TriggerCommand, WebhookCommand};
pub(crate) use trust::TrustArg;
pub(crate) use usage::UsageArgs;
pub(crate) use view::{EventsArgs, TailArgs, TranscriptArgs, TuiArgs};
pub(crate) use work::{TimerArgs, TimerCommand, UpdateArgs, WaitCommand, WakeArgs, WorkCommand};
pub(crate) use workspace::{UseArgs, WorkspaceCommand, WorktreeCommand};

use crate::exit;
use crate::output::Format;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Run long-lived LLM agents that execute commands, wait, wake up, survive crashes, and report results.
#[derive(Debug, Parser)]
#[command(name = "holon", version, after_help = exit::HELP)]
pub(crate) struct Args {
    /// Print the result as JSON [default: text for people].
    #[arg(long, global = true)]
    json: bool,
    /// Directory of the host's settings and state [default: HOLON_HOME, or ~/.holon].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// URL of a host to use instead of that of a home on this machine, such as http://192.168.1.5:7878.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) connect: Option<String>,
    /// File with a token of the host at --connect; - reads it from standard input.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    pub(crate) const fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Text
        }
    }
}

/// The subcommands of `holon`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find a usable model on this machine, test it, and set it as the default.
    Init(InitArgs),
    /// Run a host in the foreground until it is shut down.
    Serve(ServeArgs),
    /// Start, stop and inspect the host of this home in the background.
    Daemon {
        #[command(subcommand)]
        command: DaemonCommand,
    },
    /// Let the system's service manager run the host of this home.
    Service {
        #[command(subcommand)]
        command: ServiceCommand,
    },
    /// Send one request and wait for the answer, through the running host if there is one.
    Run(RunArgs),
    /// Let an agent work on a GitHub issue or pull request, and write what came of it to a directory.
    Solve(SolveArgs),
    /// Put a message into an agent's queue, and return when it is stored.
    Prompt(PromptArgs),
    /// Show an agent's state and what will wake it.
    Status(AgentArg),
    /// Show what an agent does and what came of it.
    Tail(TailArgs),
    /// Open the console: talk to an agent and watch it. Closing it stops nothing.
    Tui(TuiArgs),
    /// Show an agent's raw events, as they are stored.
    Events(EventsArgs),
    /// Show an agent's messages, model rounds and tool calls.
    Transcript(TranscriptArgs),
    /// Explain why an agent runs or waits, what will wake it, and the last decision of its scheduler.
    Explain {
        #[command(flatten)]
        agent: AgentName,
    },
    /// Start or stop an agent, or abort its run: the older spelling of `holon agent start|stop|abort`.
    #[command(hide = true)]
    Control {
        action: ControlArg,
        #[command(flatten)]
        agent: AgentArg,
    },
    /// Diagnose an agent: show what its model was told, and where the time of its turns went.
    Debug {
        #[command(subcommand)]
        command: DebugCommand,
    },
    /// Show and steer the conversation that an agent's model is shown: its size, its turns, folds and pins.
    Context {
        #[command(subcommand)]
        command: ContextCommand,
    },
    /// List, show, create and change an agent's work items.
    Work {
        #[command(subcommand)]
        command: WorkCommand,
    },
    /// List, show, stop and write to the commands that an agent runs in the background.
    Task {
        #[command(subcommand)]
        command: TaskCommand,
    },
    /// List and cancel an agent's waits.
    Wait {
        #[command(subcommand)]
        command: WaitCommand,
    },
    /// Create, list and cancel timers that wake an agent.
    Timer {
        #[command(subcommand)]
        command: TimerCommand,
    },
    /// Attach, use, list and detach the directories that an agent works in.
    Workspace {
        #[command(subcommand)]
        command: WorkspaceCommand,
    },
    /// List and clean up the git worktrees that the runtime made.
    Worktree {
        #[command(subcommand)]
        command: WorktreeCommand,
    },
    /// Wake an agent without a message, with a reason that it reads.
    Wake(WakeArgs),
    /// Create, list, start and stop agents, and choose their models.
    #[command(visible_alias = "agents")]
    Agent {
        #[command(subcommand)]
        command: Option<AgentCommand>,
    },
    /// List, show and check the templates that agents are made from.
    Template {
        #[command(subcommand)]
        command: TemplateCommand,
    },
    /// Search and read an agent's memory.
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// List, install and remove an agent's skills.
    Skills {
        #[command(subcommand)]
        command: SkillsCommand,
    },
    /// Choose where agents reach you: an address, a topic or a program that gets requests to act and completed work.
    Delivery {
        #[command(subcommand)]
        command: DeliveryCommand,
    },
    /// Show what model calls used: tokens and, where prices are known, money.
    Usage(UsageArgs),
    /// Set, show and clear limits on what model calls may use.
    Budget {
        #[command(subcommand)]
        command: BudgetCommand,
    },
    /// Show how much the host stores, and remove old history.
    Storage {
        #[command(subcommand)]
        command: StorageCommand,
    },
    /// Bind agents to operators on messaging systems.
    Binding {
        #[command(subcommand)]
        command: BindingCommand,
    },
    /// List, show, make, rotate and revoke the secret URLs by which outside systems wake an agent.
    Trigger {
        #[command(subcommand)]
        command: TriggerCommand,
    },
    /// Set, show and remove the webhooks that an agent accepts.
    Webhook {
        #[command(subcommand)]
        command: WebhookCommand,
    },
    /// Make, list and revoke named tokens for programs that call the host.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Show and change settings, providers, credentials and models.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Explain an error code: its cause and its cure. Lists all codes without one.
    ExplainError {
        /// Code of the error, such as agent_stopped; a command with --json and every answer of a host name it as `code`.
        code: Option<String>,
    },
    /// Write the home's store and its agents' files to one file, while the host runs or not. Credentials are left out.
    Backup {
        /// New file for the backup.
        file: PathBuf,
    },
    /// Make this home from a backup; the home must be empty or missing.
    Restore {
        /// File that `holon backup` wrote.
        file: PathBuf,
    },
    /// Check this machine and this home: directory, disk, database, socket, models, git, shell and terminal.
    Doctor {
        /// Send one tiny real request to each model of the fallback chain.
        #[arg(long)]
        probe: bool,
    },
    /// Show an agent at work that survives a crash; needs no API key and no host.
    Demo(DemoArgs),
    /// Print the completion script of a shell.
    Completions {
        /// Name of the shell to print completions for.
        shell: clap_complete::Shell,
    },
    /// Write a manual page for each command into a directory.
    ManPages {
        /// Directory, created if it is missing. `man -M` wants the pages in its subdirectory man1.
        directory: PathBuf,
    },
}

impl Command {
    /// Returns true if a command of this machine starts a host, whose token a file may hold.
    pub(crate) const fn takes_token_file(&self) -> bool {
        matches!(
            self,
            Self::Serve(_)
                | Self::Daemon {
                    command: DaemonCommand::Start(_) | DaemonCommand::Restart(_)
                }
                | Self::Service {
                    command: ServiceCommand::Install(_)
                }
        )
    }

    /// Returns the name of a command that works on this machine only; `None` for one that talks to a host.
    pub(crate) const fn local_name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Init(_) => "init",
            Self::Serve(_) => "serve",
            Self::Daemon { .. } => "daemon",
            Self::Service { .. } => "service",
            Self::Solve(_) => "solve",
            Self::Template { .. } => "template",
            Self::Config { .. } => "config",
            Self::Backup { .. } => "backup",
            Self::Restore { .. } => "restore",
            Self::Doctor { .. } => "doctor",
            Self::ExplainError { .. } => "explain-error",
            Self::Demo(_) => "demo",
            Self::Completions { .. } => "completions",
            Self::ManPages { .. } => "man-pages",
            Self::Run(_)
            | Self::Prompt(_)
            | Self::Status(_)
            | Self::Tail(_)
            | Self::Tui(_)
            | Self::Events(_)
            | Self::Transcript(_)
            | Self::Explain { .. }
            | Self::Control { .. }
            | Self::Debug { .. }
            | Self::Context { .. }
            | Self::Work { .. }
            | Self::Task { .. }
            | Self::Wait { .. }
            | Self::Timer { .. }
            | Self::Workspace { .. }
            | Self::Worktree { .. }
            | Self::Wake(_)
            | Self::Agent { .. }
            | Self::Memory { .. }
            | Self::Skills { .. }
            | Self::Delivery { .. }
            | Self::Usage(_)
            | Self::Budget { .. }
            | Self::Storage { .. }
            | Self::Binding { .. }
            | Self::Trigger { .. }
            | Self::Webhook { .. }
            | Self::Token { .. } => return None,
        })
    }
}

/// Option that selects an agent.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArg {
    /// Id of the agent [default: the host's default agent].
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// Workspace options of a new agent or run.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkspaceArgs {
    /// Directory of the project to work in [default: the agent's own home].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace_root: Option<PathBuf>,
    /// Directory inside the project in which commands start [default: the project's root].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Options of the `run` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Text of the request; - reads it from standard input.
    pub(crate) text: String,
    /// Image to send with the text: png, jpeg, gif or webp, at most 5 MB; up to 8 times.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Id of the agent that answers [default: a temporary agent, removed afterwards].
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Create the agent if it does not exist.
    #[arg(long, requires = "agent")]
    pub(crate) create_agent: bool,
    /// Template of the agent that is created: an id, an absolute path, or a directory on GitHub.
    #[arg(long, value_name = "TEMPLATE", requires = "create_agent")]
    pub(crate) template: Option<String>,
    /// Model to use, as provider/model; a named agent keeps it for later turns.
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
    /// Upper bound on model rounds [default: 500, the limit of a turn]. A run that needs more fails, and the tasks of its temporary agent are cancelled.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// End the run with the answer and cancel tasks that still run. Without this option, a run with a temporary agent
    /// waits until its tasks have ended and the agent has read their results.
    #[arg(long, conflicts_with = "agent")]
    pub(crate) no_wait_for_tasks: bool,
    /// Trust that the text deserves, if it is not your own word [default: trusted-operator].
    #[arg(long, value_name = "TRUST", hide_default_value = true)]
    pub(crate) trust: Option<TrustArg>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
}

/// Options of the `prompt` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// Text of the message; - reads it from standard input.
    pub(crate) text: String,
    /// Image to send with the text: png, jpeg, gif or webp, at most 5 MB; up to 8 times.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Trust that the text deserves, if it is not your own word [default: trusted-operator].
    #[arg(long, value_name = "TRUST", hide_default_value = true)]
    pub(crate) trust: Option<TrustArg>,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of the `demo` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the demo's directory and print its path [default: the directory is removed].
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run without pauses between the steps.
    #[arg(long)]
    pub(crate) fast: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
