//! Arguments of `holon debug`, and the way in which commands that look at an agent name it.

use clap::Subcommand;

/// The agent that a command is about: `holon explain scout` and `holon explain --agent scout` mean the same.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentName {
    /// Id of the agent [default: the host's default agent].
    #[arg(value_name = "AGENT")]
    name: Option<String>,
    /// The same as an option.
    #[arg(long, value_name = "ID", conflicts_with = "name")]
    agent: Option<String>,
}

impl AgentName {
    pub(crate) fn id(self) -> Option<String> {
        self.name.or(self.agent)
    }
}

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

#[cfg(test)]
mod tests {
    use super::DebugCommand;
    use crate::args::{Args, Command};
    use clap::Parser as _;

    #[test]
    fn an_agent_that_is_looked_at_is_named_in_either_way_and_once() {
        for words in ["explain", "debug prompt", "debug latency"] {
            let parsed = |agent: &[&str]| {
                let words = ["holon"].into_iter().chain(words.split(' '));
                Args::try_parse_from(words.chain(agent.iter().copied()))
            };
            for agent in [&["scout"] as &[&str], &["--agent", "scout"]] {
                let args = parsed(agent).unwrap_or_else(|error| panic!("{words}: {error}"));
                let id = match args.command {
                    Command::Explain { agent }
                    | Command::Debug {
                        command:
                            DebugCommand::Prompt { agent, .. } | DebugCommand::Latency { agent, .. },
                    } => agent.id(),
                    other => panic!("{other:?}"),
                };
                assert_eq!(id.as_deref(), Some("scout"), "{words}");
            }
            let twice = parsed(&["scout", "--agent", "main"]);
            assert!(twice.is_err(), "{words}");
        }
    }
}
