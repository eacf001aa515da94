//! The scenario: three agents with a few rounds each, driven over the control plane by a client that starts the host
//! again whenever it was killed, and gathers what it was told.

use super::host::{Crash, Host};
use holon_api::{CreateAgentRequest, EnqueueRequest, PageOrder, PromptRequest};
use holon_client::{Client, Error, EventsQuery};
use holon_domain::AgentId;
use holon_domain::agent::AgentStatus;
use holon_domain::block::Block;
use holon_domain::message::Priority;
use holon_domain::transcript::{TranscriptEntry, TranscriptKind};
use holon_testkit::World;
use holon_testkit::checker::{Acknowledged, Said, Story};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the agents' models answer. The same files serve every world.
#[derive(Debug)]
pub(super) struct Scripts {
    models: BTreeMap<&'static str, String>,
}

impl Scripts {
    pub(super) fn write(world: &World) -> Self {
        let mark = |name: &str| {
            let cmd = format!("echo {name} >> ../../../marks");
            json!({ "tool": "ExecCommand", "input": { "cmd": cmd } })
        };
        let call = |tool: &str, input: Value| json!({ "tool": tool, "input": input });
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
                    { "calls": [call("Sleep", json!({ "duration_ms": 50 }))] },
                    { "text": "Awake." },
                ]),
            ),
        ];
        let models = scripts.map(|(name, rounds)| {
            let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
            let path = world.write(&format!("{name}.json"), &script.to_string());
            (name, format!("scripted/{}", path.display()))
        });
        Self {
            models: BTreeMap::from(models),
        }
    }
}

/// What the client does, in order.
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

/// How far the client got, and what it was told.
#[derive(Debug, Clone)]
pub(super) struct Drive<'a> {
    scripts: &'a Scripts,
    next: usize,
    /// How often the host was killed.
    pub(super) deaths: u32,
    /// What it knows of each agent.
    pub(super) stories: BTreeMap<&'static str, Story>,
}

impl<'a> Drive<'a> {
    pub(super) fn new(scripts: &'a Scripts) -> Self {
        Self {
            scripts,
            next: 0,
            deaths: 0,
            stories: AGENTS.map(|agent| (agent, Story::default())).into(),
        }
    }

    /// Goes on to the end, with a new host whenever the old one was killed.
    pub(super) async fn finish(&mut self, world: &World, host: Option<Host>) {
        let mut host = host;
        self.deaths += u32::from(host.is_none());
        loop {
            let living = match host.take() {
                Some(living) => living,
                None => Host::start(world, &Crash::Never).expect("a host nobody kills"),
            };
            match self.go_on(&living.client).await {
                Ok(()) => return,
                Err(error) => self.bury(world, living, &error),
            }
        }
    }

    /// Goes on until the host is killed; false when it came to the end alive.
    pub(super) async fn until_death(&mut self, world: &World, host: Option<Host>) -> bool {
        let Some(host) = host else {
            return true;
        };
        match self.go_on(&host.client).await {
            Ok(()) => false,
            Err(error) => {
                self.bury(world, host, &error);
                true
            }
        }
    }

    fn bury(&mut self, world: &World, host: Host, error: &Error) {
        match error {
            Error::Unreachable { .. } | Error::Interrupted { .. } => host.bury(world),
            other => panic!("{other}"),
        }
        self.deaths += 1;
    }

    async fn go_on(&mut self, client: &Client) -> Result<(), Error> {
        while let Some(step) = STEPS.get(self.next) {
            self.take(client, *step).await?;
            self.next += 1;
        }
        for name in AGENTS {
            until_settled(client, name).await?;
        }
        for name in AGENTS {
            let told = gather(client, name).await?;
            let story = self.stories.get_mut(name).expect("every agent has a story");
            story.settled = told.settled;
            story.events = told.events;
            story.transcript = told.transcript;
        }
        Ok(())
    }

    /// One request. When it is cut off nobody knows whether it was carried out, and it is made again.
    async fn take(&mut self, client: &Client, step: Step) -> Result<(), Error> {
        let (name, admitted) = match step {
            Step::Create(name) => {
                let request = CreateAgentRequest {
                    model: self.scripts.models.get(name).cloned(),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(name), &request).await?;
                return Ok(());
            }
            Step::Prompt(name, priority) => {
                let request = PromptRequest {
                    text: "please".to_owned(),
                    priority: Some(priority),
                    max_turns: None,
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
        story.acknowledged.push(Acknowledged {
            message_id: admitted.message_id.to_string(),
            owed: matches!(step, Step::Prompt(..)),
        });
        Ok(())
    }
}

fn id(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

/// Looks until the agent has nothing left to do.
async fn until_settled(client: &Client, name: &str) -> Result<(), Error> {
    loop {
        let agent = client.status(Some(&id(name))).await?.agent;
        let booting = agent.status == AgentStatus::Booting;
        let busy = agent.pending > 0 || agent.current_run_id.is_some();
        if !booting && !busy && agent.sleeping_until.is_none() {
            return Ok(());
        }
    }
}

/// What the control plane tells of an agent.
async fn gather(client: &Client, name: &str) -> Result<Story, Error> {
    let agent = id(name);
    let briefs = client.briefs(Some(&agent), Some(500)).await?;
    let transcript = client.transcript(Some(&agent), Some(500)).await?;
    let query = EventsQuery {
        after_seq: Some(0),
        limit: Some(512),
        order: Some(PageOrder::Asc),
        ..EventsQuery::default()
    };
    let events = client.events(&agent, query).await?;
    let settles = |brief: holon_domain::brief::BriefRecord| {
        brief.settles.iter().map(ToString::to_string).collect()
    };
    Ok(Story {
        acknowledged: Vec::new(),
        settled: briefs.into_iter().map(settles).collect(),
        events: events.events.iter().map(|event| event.event_seq).collect(),
        transcript: transcript.into_iter().flat_map(said).collect(),
    })
}

fn said(entry: TranscriptEntry) -> Vec<Said> {
    match entry.kind {
        TranscriptKind::IncomingMessage => {
            let message_id = entry.related_message_id.expect("a message has an id");
            vec![Said::Message {
                message_id: message_id.to_string(),
            }]
        }
        TranscriptKind::AssistantRound => {
            let blocks: Vec<Block> =
                serde_json::from_value(entry.data["blocks"].clone()).expect("blocks");
            let calls = holon_domain::block::calls_of(&blocks).map(|call| call.id.to_string());
            vec![Said::Round {
                calls: calls.collect(),
            }]
        }
        TranscriptKind::ToolResults => {
            let results = entry.data["results"].as_array().expect("results");
            let call = |result: &Value| Said::Result {
                call: result["tool_call_id"].as_str().expect("an id").to_owned(),
            };
            results.iter().map(call).collect()
        }
        TranscriptKind::RuntimeFailure
        | TranscriptKind::ContinuationPrompt
        | TranscriptKind::SubagentPrompt
        | TranscriptKind::SubagentAssistantRound => vec![Said::Other],
    }
}
