//! An agent that makes the calls a test dictates, through a running host.
//!
//! A script is read again for each round, so a test writes the next call after it has seen the result of the last one.
//! No wait uses a fixed delay: it ends with an event of the agent, or fails after a timeout that only a defect reaches.

use holon_api::{EventEnvelope, PageOrder, PromptRequest, RunRequest};
use holon_client::{Client, EventsQuery};
use holon_domain::event::Event;
use holon_domain::summary::AgentSummary;
use holon_domain::task::TaskStatus;
use holon_domain::transcript::TranscriptEntry;
use holon_domain::{AgentId, MessageId};
use holon_testkit::World;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(100);
/// Name of the script file in a world.
const SCRIPT: &str = "hands.json";
/// Number of reads of a task's output before a test fails; each read is a turn of the agent.
const LOOKS: u32 = 2_000;

/// Handle on one scripted agent.
#[derive(Debug)]
pub(crate) struct Hands<'a> {
    world: &'a World,
    runtime: Runtime,
    client: Client,
    agent: AgentId,
}

/// Creates the model of the scripted agent, without calls so far.
pub(crate) fn model(world: &World) -> String {
    let path = write_script(world, 0, &[]);
    format!("scripted/{}", path.display())
}

/// Writes a script that makes the calls after `before` rounds and then repeats the last result.
fn write_script(world: &World, before: u64, calls: &[Value]) -> std::path::PathBuf {
    let mut rounds: Vec<Value> = (0..before).map(|_| json!({ "text": "-" })).collect();
    if !calls.is_empty() {
        rounds.push(json!({ "calls": calls }));
    }
    rounds.push(json!({ "text": "{{tool_result}}" }));
    let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
    world.write(SCRIPT, &script.to_string())
}

/// Builds a call of a tool.
pub(crate) fn call(tool: &str, input: Value) -> Value {
    Value::from_iter([("tool", Value::from(tool)), ("input", input)])
}

impl<'a> Hands<'a> {
    /// Returns the handle on the default agent of the host that serves this world.
    pub(crate) fn of(world: &'a World) -> Self {
        Self::of_agent(world, "main")
    }

    /// Returns the handle on another agent.
    pub(crate) fn of_agent(world: &'a World, name: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Self {
            world,
            runtime: runtime.expect("a runtime"),
            client: Client::unix(world.home().join("run/holon.sock")),
            agent: AgentId::parse(name).expect("a name"),
        }
    }

    /// Makes the calls in one round and returns their recorded results. The agent must be idle.
    pub(crate) fn calls(&self, calls: &[Value]) -> Vec<Value> {
        let told = self.play(calls).1;
        assert_eq!(told.len(), calls.len(), "{told:#?}");
        told
    }

    /// Makes one call that succeeds, and returns its result.
    pub(crate) fn call(&self, tool: &str, input: Value) -> Value {
        let told = self.calls(&[call(tool, input)]).remove(0);
        assert_eq!(told["status"], "success", "{told:#}");
        told["result"].clone()
    }

    /// Makes one call that fails, and returns its error.
    pub(crate) fn refused(&self, tool: &str, input: Value) -> Value {
        let told = self.calls(&[call(tool, input)]).remove(0);
        assert_eq!(told["status"], "error", "{told:#}");
        told["error"].clone()
    }

    /// Makes one call and returns the text that the model reads.
    pub(crate) fn read(&self, tool: &str, input: Value) -> String {
        self.play(&[call(tool, input)]).0
    }

    /// Starts a command as a task and returns its id.
    pub(crate) fn start(&self, mut input: Value) -> String {
        input["yield_time_ms"] = json!(0);
        task_of(&self.call("ExecCommand", input))
    }

    /// Returns the reports of ended tasks: each message's task and text.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let told = |entry: &TranscriptEntry| {
            let message = &entry.data["message"];
            (message["kind"] == "task_result").then(|| {
                let text = |value: &Value| value.as_str().expect("text").to_owned();
                (text(&message["task_id"]), text(&message["body"]["text"]))
            })
        };
        self.transcript().iter().filter_map(told).collect()
    }

    /// Reads new output of a task until it contains these words; returns it with the next offset.
    pub(crate) fn printed(&self, task: &str, from: u64, words: &str) -> (String, u64) {
        let (mut seen, mut next) = (String::new(), from);
        for _ in 0..LOOKS {
            let look = self.call("TaskOutput", json!({ "task_id": task, "after_byte": next }));
            let part = look["task"]["output_preview"].as_str().expect("text");
            seen.push_str(part);
            next = look["task"]["next_offset"].as_u64().expect("an offset");
            if seen.contains(words) {
                return (seen, next);
            }
        }
        panic!("{words:?} was not printed: {seen:?}");
    }

    /// Writes to a task and asserts that the input was accepted.
    pub(crate) fn type_in(&self, task: &str, input: &str) {
        let taken = self.call("TaskInput", json!({ "task_id": task, "input": input }));
        assert_eq!(taken["accepted_input"], true, "{taken:#}");
    }

    pub(crate) fn status(&self) -> AgentSummary {
        let status = self.client.status(Some(&self.agent));
        let told = self.runtime.block_on(status).expect("a host that answers");
        told.known().expect("words of this build")
    }

    /// Waits until the agent's status satisfies the condition, and returns it.
    pub(crate) fn until(&self, stands: impl Fn(&AgentSummary) -> bool) -> AgentSummary {
        let mut status = self.status();
        let mut news = self
            .client
            .events_stream(self.agent.clone(), Some(status.newest_seq));
        while !stands(&status) {
            let next = async { tokio::time::timeout(PATIENCE, news.next()).await };
            match self.runtime.block_on(next) {
                Ok(event) => drop(event.expect("an event")),
                Err(_) => panic!("nothing happened any more: {status:#?}"),
            }
            status = self.status();
        }
        status
    }

    /// Waits until the agent is idle and has no running task.
    pub(crate) fn until_quiet(&self) {
        self.until(|status| status.active_tasks.is_empty() && is_idle(status));
    }

    /// Waits until the agent is idle, even if tasks still run.
    pub(crate) fn until_idle(&self) {
        self.until(is_idle);
    }

    /// Returns the transcript, oldest entry first.
    pub(crate) fn transcript(&self) -> Vec<TranscriptEntry> {
        let transcript = self.client.transcript(Some(&self.agent), Some(500));
        let told = self.runtime.block_on(transcript).expect("a transcript");
        let known = told.iter().map(|entry| entry.known());
        known
            .collect::<Result<_, _>>()
            .expect("words of this build")
    }

    /// Returns all events of the agent.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let query = EventsQuery {
                after_seq: Some(events.len() as u64),
                order: Some(PageOrder::Asc),
                ..EventsQuery::default()
            };
            let page = self.client.events(&self.agent, query);
            let page = self.runtime.block_on(page).expect("a page").events;
            if page.is_empty() {
                return events;
            }
            events.extend(page.iter().map(EventEnvelope::event));
        }
    }

    /// Returns the end of each task in order: its id and final status.
    pub(crate) fn ends(&self) -> Vec<(String, TaskStatus)> {
        let ended = |event: Event| match event {
            Event::TaskStatusUpdated(moved) if moved.status.is_terminal() => {
                Some((moved.task_id.to_string(), moved.status))
            }
            _ => None,
        };
        self.events().into_iter().filter_map(ended).collect()
    }

    /// Makes the agent perform these calls, without waiting for their results.
    pub(crate) fn prompt(&self, calls: &[Value]) {
        self.be_told(calls);
        let request = PromptRequest {
            images: Vec::new(),
            text: "go".to_owned(),
            priority: None,
            max_turns: None,
            trust: None,
        };
        let prompt = self.client.prompt(&self.agent, &request);
        self.runtime.block_on(prompt).expect("an acknowledgement");
    }

    fn be_told(&self, calls: &[Value]) {
        let before = self.status().token_usage.total_model_rounds;
        write_script(self.world, before, calls);
    }

    /// Runs one turn with these calls and returns the text the model read last, with the recorded results.
    fn play(&self, calls: &[Value]) -> (String, Vec<Value>) {
        self.be_told(calls);
        let request = json!({ "text": "go", "agent_id": self.agent });
        let request: RunRequest = serde_json::from_value(request).expect("a request");
        let run = async { tokio::time::timeout(PATIENCE, self.client.run(&request)).await };
        let ran = self.runtime.block_on(run);
        let ran = ran.expect("an end of the turn").expect("an answer");
        let entries = self.transcript().into_iter();
        let of_turn = entries
            .skip_while(|entry| {
                entry.related_message_id.as_ref() != Some(&MessageId::from_stored(&ran.message_id))
            })
            .flat_map(|entry| {
                entry.data["results"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default()
            });
        (ran.final_text.clone(), of_turn.take(calls.len()).collect())
    }
}

fn is_idle(status: &AgentSummary) -> bool {
    status.agent.pending == 0 && status.agent.current_run_id.is_none()
}

/// Returns the id of the task that a command became.
pub(crate) fn task_of(result: &Value) -> String {
    assert_eq!(result["disposition"], "promoted_to_task", "{result:#}");
    let id = result["task_handle"]["task_id"].as_str();
    id.expect("a task").to_owned()
}
