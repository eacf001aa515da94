//! Three agents with a few rounds and short commands each, driven over the control plane by a client that records the
//! responses.

use super::agent_record::{gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use holon_api::{CreateAgentRequest, EnqueueRequest, PromptRequest};
use holon_client::{Client, Error};
use holon_domain::message::Priority;
use holon_testkit::World;
use holon_testkit::checker::{AcknowledgedMessage, Story};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Steps of the client in order.
#[derive(Debug, Clone, Copy)]
enum Step {
    Create(&'static str),
    Prompt(&'static str, Priority),
    Enqueue(&'static str),
}

const STEPS: [Step; 8] = [
    Step::Create("builder"),
    Step::Create("planner"),
    Step::Create("sleeper"),
    Step::Prompt("builder", Priority::Normal),
    Step::Prompt("planner", Priority::Normal),
    Step::Prompt("builder", Priority::Interject),
    Step::Enqueue("planner"),
    Step::Prompt("sleeper", Priority::Next),
];

const AGENTS: [&str; 3] = ["builder", "planner", "sleeper"];
/// Marks that the commands leave, each once.
const MARKS: [&str; 4] = ["four", "one", "three", "two"];

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Agents {
    models: BTreeMap<&'static str, String>,
    next: usize,
    stories: BTreeMap<&'static str, Story>,
}

impl Scenario for Agents {
    const BEFORE: u64 = 0;

    fn new(world: &World) -> Self {
        Self {
            models: models(world),
            next: 0,
            stories: AGENTS.map(|agent| (agent, Story::default())).into(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        let client = &host.client;
        while let Some(step) = STEPS.get(self.next) {
            self.take(client, *step).await?;
            self.next += 1;
        }
        for name in AGENTS {
            until_settled(host, name, 0).await?;
        }
        for name in AGENTS {
            let told = gather(client, name).await?.story;
            let story = self.stories.get_mut(name).expect("every agent has a story");
            story.settled = told.settled;
            story.events = told.events;
            story.transcript = told.transcript;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        for (agent, story) in &self.stories {
            judge::story(story, &format!("{what}: {agent}"));
        }
        judge::marks(world, &MARKS, what);
    }
}

impl Agents {
    /// Makes one request. If it is cut off its outcome is unknown, and the client repeats it.
    async fn take(&mut self, client: &Client, step: Step) -> Result<(), Error> {
        let (name, admitted) = match step {
            Step::Create(name) => {
                let request = CreateAgentRequest {
                    model: self.models.get(name).cloned(),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(name), &request).await?;
                return Ok(());
            }
            Step::Prompt(name, priority) => {
                let request = PromptRequest {
                    images: Vec::new(),
                    text: "please".to_owned(),
                    priority: Some(priority),
                    max_turns: None,
                    trust: None,
                };
                (name, client.prompt(&id(name), &request).await?)
            }
            Step::Enqueue(name) => {
                let request = EnqueueRequest {
                    text: Some("something happened".to_owned()),
                    ..EnqueueRequest::default()
                };
                (name, client.enqueue(Some(&id(name)), &request).await?)
            }
        };
        let story = self.stories.get_mut(name).expect("every agent has a story");
        story.acknowledged.push(AcknowledgedMessage {
            message_id: admitted.message_id.to_string(),
            owed: matches!(step, Step::Prompt(..)),
        });
        Ok(())
    }
}

/// Writes the scripts of the agents' models.
fn models(world: &World) -> BTreeMap<&'static str, String> {
    let call = |tool: &str, input: Value| json!({ "tool": tool, "input": input });
    let mark = |name: &str| {
        let cmd = format!("echo {name} >> ../../../marks");
        // These wait however busy the machine is, so that none becomes a task.
        call(
            "ExecCommand",
            json!({ "cmd": cmd, "yield_time_ms": 600_000 }),
        )
    };
    let scripts = [
        (
            "builder",
            json!([
                { "text": "Two at once.", "calls": [mark("one"), mark("two")] },
                { "calls": [mark("three")] },
                { "text": "Built." },
            ]),
        ),
        (
            "planner",
            json!([
                { "calls": [call("Enqueue", json!({ "text": "the second half" }))] },
                { "text": "First half." },
                { "calls": [mark("four")] },
                { "text": "All of it." },
            ]),
        ),
        (
            "sleeper",
            json!([
                { "text": "Later.", "calls": [call("Sleep", json!({ "duration_ms": 50 }))] },
                { "text": "Awake." },
            ]),
        ),
    ];
    let models = scripts.map(|(name, rounds)| {
        let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
        let path = world.write(&format!("{name}.json"), &script.to_string());
        (name, format!("scripted/{}", path.display()))
    });
    BTreeMap::from(models)
}
