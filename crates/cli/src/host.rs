//! Finds the host of a home and the selected agent.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings;
use holon_client::Client;
use holon_config::{Flags, Source};
use holon_domain::AgentId;
use std::path::{Path, PathBuf};

/// The host of a home, and the agent that the command line or the environment names.
#[derive(Debug)]
pub(crate) struct Host {
    client: Client,
    home: PathBuf,
    /// Command line that starts a host for this home.
    start: String,
    agent: Option<AgentId>,
}

impl Host {
    /// Creates the client of the home's host; nothing is connected yet. An invalid settings file is reported and
    /// ignored, because a running host does not depend on it.
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
        let (settings, problem) = settings::load_client(&flags)?;
        if let Some(problem) = problem {
            settings::warn_about_file(&problem, output);
        }
        let agent = match settings.default_agent.source {
            // The host may have another default than this build.
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

    /// Returns the named agent; `None` means the host's default agent.
    pub(crate) const fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }

    /// Returns the id of the selected agent; asks the host for its default agent if none is named.
    pub(crate) async fn agent_id(&self) -> Result<AgentId, Failure> {
        match &self.agent {
            Some(agent) => Ok(agent.clone()),
            None => Ok(self.check_answer(self.client.root().await)?.default_agent),
        }
    }

    /// Converts an unreachable host to a failure that says how to start one.
    pub(crate) fn check_answer<T>(
        &self,
        answer: Result<T, holon_client::Error>,
    ) -> Result<T, Failure> {
        answer.map_err(|error| match error {
            holon_client::Error::Unreachable { .. } => self.unreachable(),
            other => other.into(),
        })
    }

    fn unreachable(&self) -> Failure {
        let home = self.home.display();
        let (message, hint) = match holon_daemon::owner_pid(&self.home) {
            None => (
                format!("no host is running on {home}"),
                format!("start it with: {}", self.start),
            ),
            Some(pid) => (
                format!(
                    "holon (pid {pid}) runs on {home}, but its socket {} cannot be reached",
                    holon_daemon::socket_path(&self.home).display()
                ),
                format!(
                    "try again in a few seconds: a host creates its socket again; if that does not help, \
                     remove what is in its place, or end the process and start a host with: {}",
                    self.start
                ),
            ),
        };
        Failure::new(Exit::Unreachable, "unreachable", message).hint(hint)
    }
}

/// Creates a client for the host that serves this home.
pub(crate) fn client(home: &Path) -> Client {
    Client::unix(holon_daemon::socket_path(home))
}
