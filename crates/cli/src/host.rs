//! Finding the host of a home, and the agent that is meant.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings;
use holon_client::Client;
use holon_config::{Flags, Source};
use holon_domain::AgentId;
use std::path::{Path, PathBuf};

/// The host of a home, and the agent the command line or the environment names.
#[derive(Debug)]
pub(crate) struct Host {
    client: Client,
    home: PathBuf,
    /// How a host for this home is started.
    start: String,
    agent: Option<AgentId>,
}

impl Host {
    /// The host of the home the settings name. Nothing is connected yet. A settings file that cannot be used is told
    /// and left out: the host that runs may be healthy.
    pub(crate) fn find(
        home: Option<PathBuf>,
        agent: Option<String>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let flags = Flags {
            home,
            agent,
            ..Flags::default()
        };
        let (settings, problem) = settings::of_client(&flags)?;
        if let Some(problem) = problem {
            settings::warn_of_file(&problem, output);
        }
        let agent = match settings.default_agent.source {
            // The host may have another default than this build has.
            Source::Builtin => None,
            Source::Flag | Source::Environment | Source::File | Source::Credentials => {
                Some(settings.default_agent.value)
            }
        };
        let start = match settings.home.source {
            Source::Flag => format!("holon serve --home {}", settings.home.value.display()),
            Source::Environment | Source::File | Source::Credentials | Source::Builtin => {
                "holon serve".to_owned()
            }
        };
        Ok(Self {
            client: client(&settings.home.value),
            start,
            home: settings.home.value,
            agent,
        })
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// The agent that was named; none means the host's default.
    pub(crate) const fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }

    /// The agent that is meant, by name.
    pub(crate) async fn agent_id(&self) -> Result<AgentId, Failure> {
        match &self.agent {
            Some(agent) => Ok(agent.clone()),
            None => Ok(self.asked(self.client.root().await)?.default_agent),
        }
    }

    /// What the host answered, or that there is none.
    pub(crate) fn asked<T>(&self, answer: Result<T, holon_client::Error>) -> Result<T, Failure> {
        answer.map_err(|error| match error {
            holon_client::Error::Unreachable { .. } => Failure::new(
                Exit::Unreachable,
                "unreachable",
                format!("no host is running on {}", self.home.display()),
            )
            .hint(format!("start it with: {}", self.start)),
            other => other.into(),
        })
    }
}

/// A client of whatever host serves this home.
pub(crate) fn client(home: &Path) -> Client {
    Client::unix(holon_daemon::socket_path(home))
}
