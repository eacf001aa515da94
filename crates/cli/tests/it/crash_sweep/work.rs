//! Two agents: one makes a work item with a plan, starts a task, waits for it and completes the item with a report; the
//! other has timers.
//!
//! The command of the task ends when the client lets it, after the agent has declared its wait.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use holon_api::{CreateAgentRequest, CreateTimerRequest, ListFilter, PromptRequest};
use holon_client::Error;
use holon_domain::event::Event;
use holon_domain::intent::WorkItemFilter;
use holon_domain::wait::WaitStatus;
use holon_testkit::World;
use holon_testkit::checker::AcknowledgedMessage;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const WORKER: &str = "worker";
const KEEPER: &str = "keeper";
const PLAN: &str = "# Plan\n\nBuild, then report.\n";
const REPORT: &str = "It is built.";

/// Steps of the client in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create(&'static str),
    Prompt,
    SetTimer,
    Release,
    Gather,
    Done,
}

/// Progress of the client, and the responses it got.
#[derive(Debug)]
pub(super) struct Work {
    models: BTreeMap<&'static str, String>,
    /// File that lets the command of the task end.
    go: PathBuf,
    next: Step,
    acknowledged: Vec<AcknowledgedMessage>,
    worker: AgentRecord,
    keeper: AgentRecord,
    /// Objective, state and plan path of each item.
    items: Vec<(String, String)>,
    /// Texts of the briefs of the worker.
    briefs: Vec<String>,
}

impl Scenario for Work {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        let script = |name: &str, rounds: Value| {
            let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
            let path = world.write(&format!("{name}.json"), &script.to_string());
            format!("scripted/{}", path.display())
        };
        Self {
            models: BTreeMap::from([
                (WORKER, script(WORKER, rounds())),
                (KEEPER, script(KEEPER, json!([{ "text": "Seen." }]))),
            ]),
            go: world.path().join("go"),
            next: Step::Create(WORKER),
            acknowledged: Vec::new(),
            worker: AgentRecord::default(),
            keeper: AgentRecord::default(),
            items: Vec::new(),
            briefs: Vec::new(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        while self.next != Step::Done {
            self.next = self.take(host).await?;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.worker.story, what);
        judge::story(&self.keeper.story, what);
        judge::marks(world, &["ran"], what);
        self.judge_item(world, what);
        self.judge_wait(what);
        self.judge_timers(what);
    }
}

impl Work {
    /// Makes one step. If it is cut off its outcome is unknown, and the client repeats it.
    async fn take(&mut self, host: &Host) -> Result<Step, Error> {
        let client = &host.client;
        Ok(match self.next {
            Step::Create(name) => {
                let request = CreateAgentRequest {
                    model: self.models.get(name).cloned(),
                    ..CreateAgentRequest::default()
                };
                client.create_agent(&id(name), &request).await?;
                if name == WORKER {
                    Step::Create(KEEPER)
                } else {
                    Step::Prompt
                }
            }
            Step::Prompt => {
                self.prompt(host).await?;
                Step::SetTimer
            }
            Step::SetTimer => {
                let request = CreateTimerRequest {
                    duration_ms: Some(20),
                    summary: Some("look".to_owned()),
                    ..CreateTimerRequest::default()
                };
                client.create_timer(&id(KEEPER), &request).await?;
                Step::Release
            }
            Step::Release => {
                until_settled(host, WORKER, 1).await?;
                std::fs::write(&self.go, "").expect("a file");
                Step::Gather
            }
            Step::Gather => {
                until_settled(host, WORKER, 0).await?;
                until_fired(host).await?;
                until_settled(host, KEEPER, 0).await?;
                self.gather(host).await?;
                Step::Done
            }
            Step::Done => Step::Done,
        })
    }

    async fn prompt(&mut self, host: &Host) -> Result<(), Error> {
        let status = host.client.status(Some(&id(WORKER))).await?;
        // A prompt whose response was lost may be stored; a repeated one would find no item in the script.
        if status.agent.total_message_count == 0 {
            let request = PromptRequest {
                images: Vec::new(),
                text: "please".to_owned(),
                priority: None,
                max_turns: None,
                trust: None,
            };
            let admitted = host.client.prompt(&id(WORKER), &request).await?;
            self.acknowledged.push(AcknowledgedMessage {
                message_id: admitted.message_id.to_string(),
                owed: true,
            });
        }
        Ok(())
    }

    async fn gather(&mut self, host: &Host) -> Result<(), Error> {
        let client = &host.client;
        self.worker = gather(client, WORKER).await?;
        self.worker.story.acknowledged = self.acknowledged.clone();
        self.keeper = gather(client, KEEPER).await?;
        let worker = id(WORKER);
        let page = client
            .work_items(&worker, WorkItemFilter::All, None, 50)
            .await?;
        let items = page.work_items.clone();
        let items = items.into_iter().map(|item| (item.objective, item.state));
        self.items = items.collect();
        let briefs = client.briefs(Some(&worker), Some(500)).await?;
        self.briefs = briefs.iter().map(|brief| brief.text.clone()).collect();
        Ok(())
    }

    /// Asserts that there is one item, completed, with one report and one plan.
    fn judge_item(&self, world: &World, what: &str) {
        let expected = ("Build it".to_owned(), "completed".to_owned());
        assert_eq!(self.items, [expected], "{what}");
        let reports = self.briefs.iter().filter(|text| *text == REPORT);
        assert_eq!(reports.count(), 1, "{what}: {:#?}", self.briefs);
        let plans = plans(&world.home().join("agents").join(WORKER));
        assert_eq!(plans, [PLAN], "{what}");
    }

    /// Asserts that the wait began once and ended once, by its task.
    fn judge_wait(&self, what: &str) {
        let mut waits = Vec::new();
        for event in &self.worker.events {
            match event {
                Event::WaitingIntentCreated(wait) => waits.push((wait.wait_id.clone(), None)),
                Event::WaitingIntentEnded(wait) => {
                    waits.push((wait.wait_id.clone(), Some(wait.status)));
                }
                _ => {}
            }
        }
        let [(began, None), (ended, Some(WaitStatus::Resolved))] = waits.as_slice() else {
            panic!("{what}: {waits:?}");
        };
        assert_eq!(began, ended, "{what}");
    }

    /// Asserts that each timer fired once and its tick was read once. A timer whose response was lost was made again.
    fn judge_timers(&self, what: &str) {
        let (mut made, mut fired) = (Vec::new(), Vec::new());
        for event in &self.keeper.events {
            match event {
                Event::TimerCreated(timer) => made.push(timer.timer_id.to_string()),
                Event::TimerFired(timer) => fired.push(timer.timer_id.to_string()),
                _ => {}
            }
        }
        let messages = self.keeper.transcript.iter();
        let ticks = messages.filter(|entry| entry.data["message"]["kind"] == "timer_tick");
        assert_eq!(ticks.count(), made.len(), "{what}");
        made.sort_unstable();
        fired.sort_unstable();
        assert!(!made.is_empty(), "{what}");
        assert_eq!(made, fired, "{what}");
    }
}

/// Waits until no timer of the keeper is pending.
async fn until_fired(host: &Host) -> Result<(), Error> {
    let keeper = id(KEEPER);
    let mut news = None;
    loop {
        let status = host.client.status(Some(&keeper)).await?;
        let pending = host.client.timers(&keeper, ListFilter::Active, 50).await?;
        if pending.is_empty() {
            return Ok(());
        }
        let stream = || {
            host.client
                .events_stream(keeper.clone(), Some(status.newest_seq))
        };
        let news = news.get_or_insert_with(stream);
        tokio::select! {
            event = news.next() => drop(event),
            () = host.died() => {}
        }
    }
}

/// Texts of all plan files below a home, also of those without an item.
fn plans(home: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(home.join("work-items"));
    let folders = folders.into_iter().flatten().flatten();
    let texts = folders.map(|entry| std::fs::read_to_string(entry.path().join("plan.md")));
    texts.map(Result::unwrap_or_default).collect()
}

/// Rounds of the worker: over two turns, with a wait between them.
fn rounds() -> Value {
    let call = |tool: &str, input: Value| json!({ "tool": tool, "input": input });
    let item = json!({ "work_item_id": "{{work_item_id}}" });
    let cmd = "echo ran >> ../../../marks; until [ -e ../../../go ]; do sleep 0.02; done";
    let wait = json!({ "reason": "the build", "wake_on": [{ "task": "{{task_id}}" }] });
    json!([
        { "calls": [call("CreateWorkItem", json!({ "objective": "Build it", "plan": PLAN }))] },
        { "calls": [
            call("PickWorkItem", item.clone()),
            call("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 0 })),
        ] },
        { "calls": [call("WaitFor", wait)] },
        { "text": REPORT, "calls": [call("CompleteWorkItem", item)] },
        { "text": "Done." },
    ])
}
