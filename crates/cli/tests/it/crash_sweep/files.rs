//! One agent that changes files and reads the output of a task: a patch, the output, and another patch.
//!
//! A patch is not performed again after a crash. Its journal proves its outcome, or the model is told that the outcome
//! is unknown. Either way all of its files are there or none, and nothing it staged is left.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use holon_api::{CreateAgentRequest, ListFilter, PromptRequest};
use holon_client::Error;
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const AGENT: &str = "writer";
/// Number of files of each patch, so that one can be cut off between two of them.
const FILES: usize = 5;

/// Goes on until the client has seen it as a task, however long a start after a crash takes.
const COMMAND: &str =
    "echo begun >> ../../../marks; until [ -e ../../../go ]; do sleep 0.02; done; echo printed";

/// Steps of the client in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Prompt,
    LetGo,
    Gather,
    Done,
}

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Files {
    script: PathBuf,
    /// File that lets the command end.
    go: PathBuf,
    next: Step,
    acknowledged: Vec<AcknowledgedMessage>,
    record: AgentRecord,
}

impl Scenario for Files {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        let script = world.path().join("writer.json");
        let call = |tool: &str, input: Value| json!({ "tool": tool, "input": input });
        let begins = call("ExecCommand", json!({ "cmd": COMMAND, "yield_time_ms": 0 }));
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
            go: world.path().join("go"),
            next: Step::Create,
            acknowledged: Vec::new(),
            record: AgentRecord::default(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.record.story, what);
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
    /// Makes one step. If it is cut off its outcome is unknown, and the client repeats it.
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
                // A prompt whose response was lost may be stored; a repeated one would find no second patch in the
                // script.
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
                Step::LetGo
            }
            Step::LetGo => {
                // Each iteration asks the host, which may be killed meanwhile.
                while client
                    .tasks(&id(AGENT), ListFilter::All, 1)
                    .await?
                    .is_empty()
                {}
                std::fs::write(&self.go, "").expect("a file");
                Step::Gather
            }
            Step::Gather => {
                until_settled(host, AGENT, 0).await?;
                self.record = gather(client, AGENT).await?;
                self.record.story.acknowledged = self.acknowledged.clone();
                Step::Done
            }
            Step::Done => Step::Done,
        })
    }

    /// Returns the outcomes of a tool's calls in order: success, or the kind of the error.
    fn results<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.record.transcript.iter();
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

/// Builds a patch that adds a directory of files.
fn patch(name: &str) -> String {
    (0..FILES)
        .map(|n| format!("--- /dev/null\n+++ b/{name}/{n}\n@@ -0,0 +1 @@\n+{name}\n"))
        .collect()
}

/// Counts the complete files of a patch, and fails on any other file, which would be a forgotten staged one.
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
