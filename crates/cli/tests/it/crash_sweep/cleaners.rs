//! Commands that remove everything in their agent's home: one of an agent that then patches a file there, and one of a
//! temporary agent, which is removed with its claims.
//!
//! A cleaning command never runs twice and is never called "not started". A temporary run that was cut off is not
//! repeated; the next start removes the rest of its agent.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use holon_api::{CreateAgentRequest, PromptRequest, RunRequest};
use holon_client::{Client, Error};
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const AGENT: &str = "cleaner";
/// Prefix of the names of temporary agents.
const TEMPORARY: &str = "tmp_";

/// Steps of the client in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Prompt,
    Gather,
    Run,
    Removed,
    Done,
}

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Cleaners {
    home: PathBuf,
    model: String,
    temporary_model: String,
    next: Step,
    acknowledged: Vec<AcknowledgedMessage>,
    record: AgentRecord,
}

impl Scenario for Cleaners {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        let patch = "--- /dev/null\n+++ b/notes/after\n@@ -0,0 +1 @@\n+after\n";
        let model = world.model(
            "cleaner",
            &json!([
                { "calls": [cleaning(world, "kept")] },
                { "calls": [{ "tool": "ApplyPatch", "input": { "patch": patch } }] },
                { "text": "Clean." },
            ]),
        );
        let rounds = json!([{ "calls": [cleaning(world, "gone")] }, { "text": "Clean." }]);
        Self {
            home: world.home(),
            model,
            temporary_model: world.model("temporary", &rounds),
            next: Step::Create,
            acknowledged: Vec::new(),
            record: AgentRecord::default(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(&host.client, host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.record.story, what);
        let marks = std::fs::read_to_string(world.path().join("marks")).unwrap_or_default();
        let ran = |name: &str| marks.lines().filter(|line| *line == name).count();
        assert_eq!(ran("kept"), 1, "{what}: {marks}");
        assert!(ran("gone") <= 1, "{what}: {marks}");
        let results: Vec<&Value> = self.results().collect();
        assert_eq!(results.len(), 2, "{what}: {results:#?}");
        assert_eq!(results[0]["status"], "success", "{what}: {results:#?}");
        assert_eq!(results[0]["result"]["exit_status"], 0, "{what}");
        let patched = world.home().join("agents/cleaner/notes/after").exists();
        match results[1]["error"]["kind"].as_str() {
            None => assert!(patched, "{what}"),
            Some("not_started") => assert!(!patched, "{what}"),
            Some(other) => panic!("{what}: the patch came to {other}"),
        }
        assert!(!self.has_temporary(), "{what}");
        crate::processes::assert_none_left(world);
    }
}

impl Cleaners {
    async fn take(&mut self, client: &Client, host: &Host) -> Result<Step, Error> {
        Ok(match self.next {
            Step::Create => {
                let request = CreateAgentRequest {
                    model: Some(self.model.clone()),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(AGENT), &request).await?;
                Step::Prompt
            }
            Step::Prompt => {
                let status = client.status(Some(&id(AGENT))).await?;
                // A prompt whose response was lost may be stored.
                if status.agent.total_message_count == 0 {
                    let request = PromptRequest {
                        images: Vec::new(),
                        text: "please".to_owned(),
                        priority: None,
                        max_turns: None,
                        trust: None,
                    };
                    let admitted = client.prompt(&id(AGENT), &request).await?;
                    self.acknowledged.push(AcknowledgedMessage {
                        message_id: admitted.message_id.to_string(),
                        owed: true,
                    });
                }
                Step::Gather
            }
            Step::Gather => {
                until_settled(host, AGENT, 0).await?;
                self.record = gather(client, AGENT).await?;
                self.record.story.acknowledged = self.acknowledged.clone();
                Step::Run
            }
            Step::Run => {
                let request = json!({ "text": "please", "model": self.temporary_model });
                let request: RunRequest = serde_json::from_value(request).expect("a request");
                // Not repeated when it is cut off.
                self.next = Step::Removed;
                // The client would wait for the next host, which starts only after this scenario has seen the death.
                tokio::select! {
                    ran = client.run(&request) => drop(ran?),
                    () = host.died() => drop(client.status(Some(&id(AGENT))).await?),
                }
                Step::Removed
            }
            Step::Removed => {
                // A response does not wait for the removal. Each iteration asks the host, which may be killed
                // meanwhile.
                while self.has_temporary() {
                    client.status(Some(&id(AGENT))).await?;
                }
                Step::Done
            }
            Step::Done => Step::Done,
        })
    }

    /// Returns true if a temporary agent has files left on disk.
    fn has_temporary(&self) -> bool {
        let folders = ["agents", "state/tasks"].map(|folder| self.home.join(folder));
        let mut names = folders.iter().flat_map(|folder| names(folder));
        names.any(|name| name.contains(TEMPORARY))
    }

    /// Returns the results of the agent's calls in order.
    fn results(&self) -> impl Iterator<Item = &Value> {
        let all = self.record.transcript.iter();
        let all = all.filter_map(|entry| entry.data["results"].as_array());
        all.flatten()
    }
}

/// Builds a call that removes its agent's home and leaves a mark.
fn cleaning(world: &World, name: &str) -> Value {
    let marks = world.path().join("marks");
    let cmd = format!(
        "echo words; rm -rf \"$HOLON_AGENT_HOME\"; echo {name} >> {}",
        marks.display()
    );
    json!({ "tool": "ExecCommand", "input": { "cmd": cmd, "yield_time_ms": 600_000 } })
}

fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}
