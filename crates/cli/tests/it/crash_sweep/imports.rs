//! An agent that is cloned while the host is killed: afterwards there is one whole copy and nothing else.

use super::agent_record::id;
use super::drive::Scenario;
use super::host::Host;
use holon_api::{CloneAgentRequest, CreateAgentRequest};
use holon_client::Error;
use holon_domain::agent::Lifecycle;
use holon_testkit::World;

/// Progress of the client.
#[derive(Debug, Default)]
pub(super) struct Imports {
    is_created: bool,
}

impl Scenario for Imports {
    const BEFORE: u64 = 0;

    fn new(_world: &World) -> Self {
        Self::default()
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        let client = &host.client;
        if !self.is_created {
            let request = CreateAgentRequest {
                template: Some("holon-reviewer".to_owned()),
                ..CreateAgentRequest::default()
            };
            accept_repeated(client.create_agent(&id("source"), &request).await)?;
            self.is_created = true;
        }
        let request = CloneAgentRequest {
            name: "copy".to_owned(),
            dry_run: false,
        };
        accept_repeated(client.clone_agent(&id("source"), &request).await)
    }

    fn judge(&self, world: &World, what: &str) {
        let agents = world.home().join("agents");
        // The sweep runs on a runtime, and the record is read on another.
        let record = std::thread::scope(|scope| {
            let read = scope.spawn(|| world.agent_record("copy"));
            read.join().expect("no panic")
        });
        let record = record.unwrap_or_else(|| panic!("{what}: there is no copy"));
        assert_eq!(record.lifecycle, Lifecycle::Stopped, "{what}");
        for file in [
            "AGENTS.md",
            "memory/self.md",
            ".holon/state/template-provenance.json",
        ] {
            let read = |home: &str| std::fs::read(agents.join(home).join(file)).ok();
            assert!(read("source").is_some(), "{what}: {file}");
            assert_eq!(read("copy"), read("source"), "{what}: {file}");
        }
        let entries = std::fs::read_dir(&agents).expect("a directory");
        let mut names: Vec<String> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .collect();
        // The home of the default agent is made when the host is up.
        names.retain(|name| name != "main");
        names.sort_unstable();
        assert_eq!(names, ["copy", "source"], "{what}");
    }
}

/// Accepts that a request which was cut off had taken effect: its repetition finds the agent.
fn accept_repeated<T>(answer: Result<T, Error>) -> Result<(), Error> {
    match answer {
        Err(Error::Api {
            code: Some(code), ..
        }) if code == "agent_conflict" => Ok(()),
        other => other.map(drop),
    }
}
