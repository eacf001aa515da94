//! The command line. What each word means is said here once and shown by `--help`.

mod config;
mod work;

pub(crate) use config::{
    AgentModelCommand, ConfigCommand, CredentialsCommand, InitArgs, ModelsCommand, ProviderArgs,
    ProvidersCommand,
};
pub(crate) use work::{TimerArgs, TimerCommand, UpdateArgs, WaitCommand, WakeArgs, WorkCommand};

use crate::exit;
use crate::output::Format;
use clap::{Parser, Subcommand};
use holon_domain::limits::LIST_PAGE_MAX;
use std::path::PathBuf;

/// Keeps LLM agents at work: they run commands, rest, wake, survive crashes, and tell you what came of it.
#[derive(Debug, Parser)]
#[command(name = "holon", version, after_help = exit::HELP)]
pub(crate) struct Args {
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Directory that holds everything of the host [default: HOLON_HOME, or ~/.holon].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Who reads the answer.
    pub(crate) const fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Text
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find a model on this machine, test it and set it up.
    Init(InitArgs),
    /// Run a host in the foreground until it is told to go down.
    Serve(ServeArgs),
    /// Ask one question and wait for the answer, through the host if one is running.
    Run(RunArgs),
    /// Put a message into an agent's queue and return when it is on disk.
    Prompt(PromptArgs),
    /// Show where an agent stands, and what would wake it.
    Status(AgentArg),
    /// Show what an agent has told its operator.
    Tail(TailArgs),
    /// Show what was said and done.
    Transcript(TranscriptArgs),
    /// Say why an agent rests or runs, what will wake it and when, and what was decided last.
    Explain {
        /// Which agent [default: the host's default agent].
        agent: Option<String>,
    },
    /// Look at what an agent is to reach, and change it.
    Work {
        #[command(subcommand)]
        command: WorkCommand,
    },
    /// Look at what an agent waits for, and end a wait.
    Wait {
        #[command(subcommand)]
        command: WaitCommand,
    },
    /// Set timers that wake an agent, look at them and cancel them.
    Timer {
        #[command(subcommand)]
        command: TimerCommand,
    },
    /// Ask an agent to look, although no message has come.
    Wake(WakeArgs),
    /// Make, list, start and stop agents, and choose their models.
    #[command(visible_alias = "agents")]
    Agent {
        #[command(subcommand)]
        command: Option<AgentCommand>,
    },
    /// Look at settings, providers, credentials and models, and change them.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Watch an agent at work and see it survive a crash; needs no key and no host.
    Demo(DemoArgs),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// Which agent.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArg {
    /// Which agent [default: the host's default agent].
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
}

/// Options of `serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Loopback address to listen on [default: HOLON_HTTP_ADDR, or 127.0.0.1:7878].
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "port")]
    pub(crate) listen: Option<String>,
    /// Port on 127.0.0.1 to listen on; 0 takes any free one.
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Model that agents ask unless they have their own, as provider/model.
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
}

/// Where an agent works.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkspaceArgs {
    /// The project to work in [default: the agent's own home].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace_root: Option<PathBuf>,
    /// The directory inside the project [default: its root].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Options of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What to do; - reads it from standard input.
    pub(crate) text: String,
    /// Which agent answers [default: a temporary one, removed afterwards].
    #[arg(long, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Make that agent if there is none.
    #[arg(long, requires = "agent")]
    pub(crate) create_agent: bool,
    /// Model to ask, as provider/model; a named agent keeps it.
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
    /// The most model rounds. A run that would need more fails, and what its temporary agent still has running is
    /// stopped.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// End with the answer, also while commands the agent started still run; those are stopped. Without it a run with a
    /// temporary agent goes on until they have ended and the agent was told.
    #[arg(long, conflicts_with = "agent")]
    pub(crate) no_wait_for_tasks: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
}

/// Options of `prompt`.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// What to say; - reads it from standard input.
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of `tail`.
#[derive(Debug, clap::Args)]
pub(crate) struct TailArgs {
    /// How many, newest last.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
    pub(crate) limit: u64,
    /// Go on showing what comes until interrupted.
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// Options of `transcript`.
#[derive(Debug, clap::Args)]
pub(crate) struct TranscriptArgs {
    /// How many entries, newest last.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=LIST_PAGE_MAX))]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) agent: AgentArg,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Make an agent; the same again is harmless.
    Create {
        /// Its name.
        id: String,
        /// Model it asks, as provider/model [default: the host's].
        #[arg(long, value_name = "REF")]
        model: Option<String>,
        #[command(flatten)]
        workspace: WorkspaceArgs,
    },
    /// Show every agent.
    List,
    /// Let a stopped agent run again.
    Start {
        /// Which [default: the host's default agent].
        id: Option<String>,
    },
    /// Stop an agent: its turn is aborted, its commands and tasks end, its queue is kept, new messages are refused.
    Stop {
        /// Which [default: the host's default agent].
        id: Option<String>,
    },
    /// Show or choose the model an agent asks.
    Model {
        #[command(subcommand)]
        command: AgentModelCommand,
    },
    /// Show where an agent stands.
    Status {
        /// Which [default: the host's default agent].
        id: Option<String>,
    },
}

/// Options of `demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the directory it plays in, and say where it is.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Do not pause between steps.
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
