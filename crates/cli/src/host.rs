//! Finds the host of a command and the selected agent.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings;
use crate::target::{RemoteHost, Target};
use holon_client::Client;
use holon_config::{Flags, Source, Sourced};
use holon_daemon::HomeOwner;
use holon_domain::AgentId;
use std::path::{Path, PathBuf};

/// The host that a command talks to, and the agent that the command line or the environment names.
#[derive(Debug)]
pub(crate) struct Host {
    client: Client,
    place: Place,
    agent: Option<AgentId>,
}

/// The place of a host, for the words about one that cannot be reached.
#[derive(Debug)]
enum Place {
    Home {
        home: PathBuf,
    },
    /// A host at a URL.
    Remote {
        url: String,
    },
}

impl Host {
    /// Creates the client of the host; nothing is connected yet.
    pub(crate) fn find(
        target: Target,
        agent: Option<String>,
        output: &Output,
    ) -> Result<Self, Failure> {
        match target {
            Target::Home(home) => Self::of_home(home, agent, output),
            Target::Remote(remote) => Self::remote(remote, agent),
        }
    }

    /// An invalid settings file is reported and ignored, because a running host does not depend on it.
    fn of_home(
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
        Ok(Self {
            client: client(&settings.home.value),
            place: Place::Home {
                home: settings.home.value,
            },
            agent: named_agent(settings.default_agent),
        })
    }

    fn remote(remote: RemoteHost, agent: Option<String>) -> Result<Self, Failure> {
        Ok(Self {
            client: remote.client,
            place: Place::Remote { url: remote.url },
            agent: named_agent(settings::agent_without_home(agent)?),
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

    /// Converts an unreachable host to a failure that says how to start one, or that the host at the URL is not there.
    pub(crate) fn check_answer<T>(
        &self,
        answer: Result<T, holon_client::Error>,
    ) -> Result<T, Failure> {
        answer.map_err(|error| match (&self.place, error) {
            (Place::Home { home }, holon_client::Error::Unreachable { .. }) => {
                unreachable_home(home)
            }
            (Place::Home { home }, error @ holon_client::Error::Interrupted { .. }) => {
                explain_silence(home, error.into())
            }
            (Place::Remote { url }, error) => remote_failure(url, error),
            (Place::Home { .. }, other) => other.into(),
        })
    }
}

/// Returns the agent that was named; the host may have another default than this build.
fn named_agent(agent: Sourced<AgentId>) -> Option<AgentId> {
    match agent.source {
        Source::Builtin => None,
        Source::Flag | Source::Environment | Source::File | Source::Credentials => {
            Some(agent.value)
        }
    }
}

/// Refuses a home that this user may not look into. Whether a host runs there cannot be told then.
pub(crate) fn check_access(home: &Path) -> Result<(), Failure> {
    if !holon_daemon::is_home_denied(home) {
        return Ok(());
    }
    let place = home.display();
    let message =
        format!("this user may not look into {place}, so it is not known if a host runs there");
    Err(Failure::new(Exit::Failed, "home_unusable", message)
        .hint("repeat this as the user who owns it, or name another home with --home"))
}

fn unreachable_home(home: &Path) -> Failure {
    if let Err(denied) = check_access(home) {
        return denied;
    }
    let place = home.display();
    let (message, hint) = match holon_daemon::home_owner(home) {
        None => (
            format!("no host is running on {place}"),
            "start it with: holon daemon start".to_owned(),
        ),
        Some(HomeOwner {
            pid, leaving: true, ..
        }) => (
            format!("holon (pid {pid}) on {place} is going down"),
            "try again in a few seconds; start a host with: holon daemon start".to_owned(),
        ),
        Some(HomeOwner {
            pid,
            is_host: false,
            ..
        }) => (
            format!("no host is running on {place}: process {pid} uses it for a single run"),
            "wait until that run has ended, then start a host with: holon daemon start".to_owned(),
        ),
        Some(HomeOwner { pid, .. }) => (
            format!(
                "holon (pid {pid}) runs on {place}, but its socket {} cannot be reached",
                holon_daemon::socket_path(home).display()
            ),
            "try again in a few seconds: a host creates its socket again; if that does not help, \
             remove what is in its place, or end the process and start a host with: holon daemon start"
                .to_owned(),
        ),
    };
    Failure::new(Exit::Unreachable, "unreachable", message).hint(hint)
}

/// Adds why a host on this machine did not answer, if its process is stopped by a signal.
pub(crate) fn explain_silence(home: &Path, mut failure: Failure) -> Failure {
    let Some(pid) = suspended_pid(holon_daemon::owner_pid(home)) else {
        return failure;
    };
    let message = &mut failure.body.error;
    *message = format!("{message}; the process of the host (pid {pid}) is stopped by a signal");
    failure.hint(format!(
        "let it go on with: kill -CONT {pid}; it may carry out the request then"
    ))
}

/// Returns the process if it is stopped by a signal or a debugger.
pub(crate) fn suspended_pid(pid: Option<u32>) -> Option<u32> {
    pid.filter(|pid| is_suspended(*pid))
}

/// Returns true if a process is stopped by a signal or a debugger. False where the system does not tell.
fn is_suspended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    is_suspended_state(&stat)
}

/// Reads the state of a process from its line of the system: the word behind the name, which may hold parentheses.
fn is_suspended_state(stat: &str) -> bool {
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_some_and(|state| state.starts_with(['T', 't']))
}

/// Returns the failure of a request to the host at a URL. Its words name the URL and the token file, where the words
/// for a host on this machine name its home.
pub(crate) fn remote_failure(url: &str, error: holon_client::Error) -> Failure {
    use holon_client::Error;
    match error {
        Error::Unreachable { reason, .. } => Failure::new(
            Exit::Unreachable,
            "unreachable",
            format!("no host can be reached at {url}: {reason}"),
        )
        .hint("check the URL, and on that machine: holon daemon status"),
        Error::Api { status: 401, .. } => Failure::from(error).hint(
            "--token-file does not hold a token of that host; it takes the one that it was started with, \
             which is its run/control.token unless it has a --token-file of its own, or one of holon token create that was not revoked",
        ),
        other => other.into(),
    }
}

/// Creates a client for the host that serves this home.
pub(crate) fn client(home: &Path) -> Client {
    Client::unix(holon_daemon::socket_path(home))
}

#[cfg(test)]
mod tests {
    use super::is_suspended_state;

    #[test]
    fn the_state_of_a_process_is_read_behind_its_name() {
        for (stat, is_suspended) in [
            ("12 (holon) T 1 12", true),
            ("12 (a) T) S 1 12", false),
            ("12 (holon) t 1", true),
            ("12 (holon) R 1", false),
            ("", false),
        ] {
            assert_eq!(is_suspended_state(stat), is_suspended, "{stat}");
        }
    }
}
