//! The agent of a command that looks at one, by its place or by an option.

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

#[cfg(test)]
mod tests {
    use crate::args::{Args, Command, DebugCommand};
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
