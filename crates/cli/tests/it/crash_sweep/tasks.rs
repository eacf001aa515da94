//! One agent and all command tools: one command that is waited for, a batch, three tasks, input to a pipe and to a
//! terminal, and a stop.
//!
//! The id of a task is known only once it runs, so the second half of the script is written then.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use crate::support::until;
use holon_api::{CreateAgentRequest, PromptRequest};
use holon_client::{Client, Error};
use holon_domain::event::Event;
use holon_domain::summary::AgentSummary;
use holon_domain::task::TaskStatus;
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use serde_json::{Value, json};
use std::path::PathBuf;

const AGENT: &str = "runner";
/// Marks that the commands leave, each once.
const MARKS: [&str; 8] = [
    "direct",
    "endless",
    "first",
    "pipe",
    "pipe-word",
    "second",
    "tty",
    "tty-word",
];

/// Steps of the client in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Begin,
    Learn,
    Talk,
    Gather,
    Done,
}

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Tasks {
    script: PathBuf,
    next: Step,
    acknowledged: Vec<AcknowledgedMessage>,
    record: AgentRecord,
}

impl Scenario for Tasks {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        let scenario = Self {
            script: world.path().join("runner.json"),
            next: Step::Create,
            acknowledged: Vec::new(),
            record: AgentRecord::default(),
        };
        scenario.write(0, &begin());
        scenario
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.record.story, what);
        judge::marks(world, &MARKS, what);
        let results = self.record.transcript.iter();
        let results = results.filter_map(|entry| entry.data["results"].as_array());
        for result in results.flatten() {
            assert_eq!(result["status"], "success", "{what}: {result:#}");
        }
        self.judge_tasks(what);
    }
}

impl Tasks {
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
                Step::Begin
            }
            Step::Begin => {
                self.prompt(client).await?;
                Step::Learn
            }
            Step::Learn => {
                let status = until_settled(host, AGENT, 3).await?;
                // A stop before this moment would leave it without a mark.
                until("the endless one runs", || self.has_begun("endless"));
                self.write(status.token_usage.total_model_rounds, &talk(&status));
                Step::Talk
            }
            Step::Talk => {
                self.prompt(client).await?;
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

    fn has_begun(&self, name: &str) -> bool {
        let marks = std::fs::read_to_string(self.script.with_file_name("marks"));
        marks.is_ok_and(|marks| marks.lines().any(|mark| mark == name))
    }

    async fn prompt(&mut self, client: &Client) -> Result<(), Error> {
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
        Ok(())
    }

    /// Writes the calls of the next round; all later rounds give the same answer.
    fn write(&self, before: u64, calls: &[Value]) {
        let mut rounds: Vec<Value> = (0..before).map(|_| json!({ "text": "Said." })).collect();
        rounds.push(json!({ "calls": calls }));
        rounds.push(json!({ "text": "Said." }));
        let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
        std::fs::write(&self.script, script.to_string()).expect("a script");
    }

    /// Asserts that each task has one beginning and one end, and that one message reports each task that was not
    /// stopped.
    fn judge_tasks(&self, what: &str) {
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        for event in &self.record.events {
            match event {
                Event::TaskCreated(task) => begun.push(task.task_id.to_string()),
                Event::TaskStatusUpdated(task) if task.status.is_terminal() => {
                    ended.push((task.task_id.to_string(), task.status));
                }
                _ => {}
            }
        }
        let messages = self
            .record
            .transcript
            .iter()
            .map(|entry| &entry.data["message"]);
        let results = messages.filter(|message| message["kind"] == "task_result");
        let told: Vec<&str> = results
            .filter_map(|message| message["task_id"].as_str())
            .collect();
        let [pipe, tty, endless] = begun.as_slice() else {
            panic!("{what}: {begun:?}");
        };
        // Sorted by their beginning, because the three may end in any order.
        ended.sort_by_key(|(task, _)| begun.iter().position(|other| other == task));
        let expected = [
            (pipe.clone(), TaskStatus::Completed),
            (tty.clone(), TaskStatus::Completed),
            (endless.clone(), TaskStatus::Cancelled),
        ];
        assert_eq!(ended, expected, "{what}");
        let mut told: Vec<&str> = told;
        told.sort_unstable();
        let mut both = [pipe.as_str(), tty.as_str()];
        both.sort_unstable();
        assert_eq!(told, both, "{what}");
    }
}

fn mark(name: &str) -> String {
    format!("echo {name} >> ../../../marks")
}

/// Builds the calls of the first half, which start everything.
fn begin() -> Vec<Value> {
    let call = |tool: &str, input: Value| json!({ "tool": tool, "input": input });
    let listens = |name: &str| {
        format!(
            "{}; read word; echo {name}-$word >> ../../../marks",
            mark(name)
        )
    };
    vec![
        call(
            "ExecCommand",
            json!({ "cmd": mark("direct"), "yield_time_ms": 600_000 }),
        ),
        call(
            "ExecCommand",
            json!({ "cmd": listens("pipe"), "yield_time_ms": 0, "accepts_input": true }),
        ),
        call(
            "ExecCommandBatch",
            json!({ "items": [{ "cmd": mark("first") }, { "cmd": mark("second") }] }),
        ),
        call(
            "ExecCommand",
            json!({ "cmd": listens("tty"), "yield_time_ms": 0, "tty": true }),
        ),
        call(
            "ExecCommand",
            json!({ "cmd": format!("{}; exec sleep 100", mark("endless")), "yield_time_ms": 1 }),
        ),
    ]
}

/// Builds the calls of the second half: two inputs and one stop.
fn talk(status: &AgentSummary) -> Vec<Value> {
    let task = |name: &str| {
        let begins = format!("echo {name} ");
        let mut tasks = status.active_tasks.iter();
        let found = tasks.find(|task| {
            task.summary
                .as_ref()
                .is_some_and(|words| words.starts_with(&begins))
        });
        found
            .map(|task| task.id.to_string())
            .unwrap_or_else(|| panic!("no {name}: {status:#?}"))
    };
    let input = |name: &str| json!({ "tool": "TaskInput", "input": { "task_id": task(name), "input": "word\n" } });
    let stop = json!({ "tool": "TaskStop", "input": { "task_id": task("endless") } });
    vec![input("pipe"), stop, input("tty")]
}
