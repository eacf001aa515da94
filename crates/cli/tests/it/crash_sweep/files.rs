//! One agent that changes files and reads what a task printed: a patch, the output of a task, and another patch.
//!
//! A patch is not performed again after a crash: its journal proves what came of it, or the model is told that nobody
//! knows. Either way all of its files are there or none, and nothing it staged is left.

use super::drive::Scenario;
use super::host::Host;
use super::judge;
use super::told::{Told, gather, id, until_settled};
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::Error;
use holon_testkit::World;
use holon_testkit::checker::Acknowledged;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const AGENT: &str = "writer";
/// Files of each patch, so that one can be cut off between two of them.
const FILES: usize = 5;

/// What the client does, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Prompt,
    Gather,
    Done,
}

/// How far the client got, and what it was told.
#[derive(Debug)]
pub(super) struct Files {
    script: PathBuf,
    next: Step,
    acknowledged: Vec<Acknowledged>,
    told: Told,
}

impl Scenario for Files {
    // A new home and a new agent, as everywhere.
    const BEFORE: u64 = 28;

    fn new(world: &World) -> Self {
        let script = world.path().join("writer.json");
        let call = |tool: &str, input: Value| json!({ "tool": tool, "input": input });
        let begins = call(
            "ExecCommand",
            json!({ "cmd": "echo begun >> ../../../marks; sleep 0.2; echo printed", "yield_time_ms": 0 }),
        );
        let reads = call(
            "TaskOutput",
            json!({ "task_id": "{{task_id}}", "block": true, "timeout_ms": 60_000 }),
        );
        let patches = |name: &str| call("ApplyPatch", json!({ "patch": patch(name) }));
        let rounds = json!([
            { "calls": [begins] },
            { "calls": [patches("one"), reads, patches("two")] },
            { "text": "Said." },
        ]);
        let text = json!({ "rounds": rounds, "on_end": "repeat_last" }).to_string();
        std::fs::write(&script, text).expect("a script");
        Self {
            script,
            next: Step::Create,
            acknowledged: Vec::new(),
            told: Told::default(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.told.story, what);
        judge::marks(world, &["begun"], what);
        let workspace = world.home().join("agents").join(AGENT);
        let patched: Vec<&str> = self.results("ApplyPatch").collect();
        let printed: Vec<&str> = self.results("TaskOutput").collect();
        let counts = (patched.len(), printed.len());
        assert_eq!(counts, (2, 1), "{what}");
        for (name, result) in ["one", "two"].into_iter().zip(patched) {
            let there = files(&workspace.join(name));
            let whole = match result {
                "success" => there == FILES,
                "not_started" => there == 0,
                "outcome_unknown" => there == 0 || there == FILES,
                other => panic!("{what}: patch {name} came to {other}"),
            };
            assert!(
                whole,
                "{what}: {name} was told as {result}, {there} files are there"
            );
        }
        assert!(matches!(printed[0], "success" | "not_started"), "{what}");
    }
}

impl Files {
    /// One step. When it is cut off nobody knows whether it was carried out, and it is made again.
    async fn take(&mut self, host: &Host) -> Result<Step, Error> {
        let client = &host.client;
        Ok(match self.next {
            Step::Create => {
                let request = CreateAgentRequest {
                    model: Some(format!("scripted/{}", self.script.display())),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(AGENT), &request).await?;
                Step::Prompt
            }
            Step::Prompt => {
                let status = client.status(Some(&id(AGENT))).await?;
                // A prompt whose answer was lost may be there: asked again, the script would have no second patch.
                if status.agent.total_message_count == 0 {
                    let request = PromptRequest {
                        text: "please".to_owned(),
                        priority: None,
                        max_turns: None,
                    };
                    let admitted = client.prompt(&id(AGENT), &request).await?;
                    self.acknowledged.push(Acknowledged {
                        message_id: admitted.message_id.to_string(),
                        owed: true,
                    });
                }
                Step::Gather
            }
            Step::Gather => {
                until_settled(host, AGENT, 0).await?;
                self.told = gather(client, AGENT).await?;
                self.told.story.acknowledged = self.acknowledged.clone();
                Step::Done
            }
            Step::Done => Step::Done,
        })
    }

    /// What the calls of a tool came to, in order: success, or the kind of the error.
    fn results<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.told.transcript.iter();
        let all = all.filter_map(|entry| entry.data["results"].as_array());
        all.flatten()
            .filter(move |result| result["tool_name"] == tool)
            .map(|result| {
                result["error"]["kind"]
                    .as_str()
                    .unwrap_or_else(|| result["status"].as_str().unwrap_or("nothing"))
            })
    }
}

/// A patch that adds a directory of files.
fn patch(name: &str) -> String {
    (0..FILES)
        .map(|n| format!("--- /dev/null\n+++ b/{name}/{n}\n@@ -0,0 +1 @@\n+{name}\n"))
        .collect()
}

/// How many whole files a patch has left; anything else there is staged and was forgotten.
fn files(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names.iter().all(|name| name.len() == 1),
        "staged files are left: {names:?}"
    );
    names.len()
}
