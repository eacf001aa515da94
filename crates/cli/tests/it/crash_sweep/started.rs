//! An operator who starts two commands as tasks of an agent, while the host is killed: between the commit and the start,
//! between the start and its record, and at their ends. Each command runs once, and the agent reads each result once.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use super::judge;
use holon_api::{CreateAgentRequest, ListFilter, StartTaskRequest};
use holon_client::{Client, Error};
use holon_domain::event::Event;
use holon_domain::task::TaskStatus;
use holon_testkit::World;
use serde_json::json;

const AGENT: &str = "worker";
/// Marks that the commands leave, each once.
const MARKS: [&str; 2] = ["one", "two"];

/// Progress of the operator.
#[derive(Debug)]
pub(super) struct Started {
    model: String,
    /// Ids of the tasks that the host has acknowledged.
    acknowledged: Vec<String>,
    record: AgentRecord,
}

impl Scenario for Started {
    // The points of creating a home and an agent.
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        let script = json!({ "rounds": [{ "text": "Read." }], "on_end": "repeat_last" });
        let path = world.write("worker.json", &script.to_string());
        Self {
            model: format!("scripted/{}", path.display()),
            acknowledged: Vec::new(),
            record: AgentRecord::default(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        let request = CreateAgentRequest {
            model: Some(self.model.clone()),
            ..CreateAgentRequest::default()
        };
        host.client.create_agent(&id(AGENT), &request).await?;
        for mark in MARKS {
            if !is_there(&host.client, mark).await? {
                let started = host.client.start_task(&id(AGENT), &order(mark)).await?;
                self.acknowledged.push(started.task_id.clone());
            }
        }
        until_settled(host, AGENT, 0).await?;
        self.record = gather(&host.client, AGENT).await?;
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        judge::story(&self.record.story, what);
        judge::marks(world, &MARKS, what);
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        for event in &self.record.events {
            match event {
                Event::TaskCreated(task) => begun.push(task.task_id.to_string()),
                Event::TaskStatusUpdated(task) if task.status.is_terminal() => {
                    assert_eq!(task.status, TaskStatus::Completed, "{what}: {task:?}");
                    ended.push(task.task_id.to_string());
                }
                _ => {}
            }
        }
        ended.sort_by_key(|task| begun.iter().position(|other| other == task));
        assert_eq!((begun.len(), &ended), (MARKS.len(), &begun), "{what}");
        for task in &self.acknowledged {
            assert!(begun.contains(task), "{what}: {task} is lost");
        }
        let messages = self.record.transcript.iter();
        let messages = messages.map(|entry| &entry.data["message"]);
        let results = messages.filter(|message| message["kind"] == "task_result");
        let mut told: Vec<&str> = results
            .filter_map(|message| message["task_id"].as_str())
            .collect();
        told.sort_by_key(|task| begun.iter().position(|other| other == task));
        assert_eq!(told, begun, "{what}: each result is read once");
    }
}

/// Returns true if a start whose answer was lost had taken effect.
async fn is_there(client: &Client, mark: &str) -> Result<bool, Error> {
    let tasks = client.tasks(&id(AGENT), ListFilter::All, 50).await?;
    Ok(tasks
        .iter()
        .any(|task| task.summary.as_deref() == Some(mark)))
}

fn order(mark: &str) -> StartTaskRequest {
    StartTaskRequest {
        cmd: format!("echo {mark} >> ../../../marks"),
        summary: Some(mark.to_owned()),
        ..StartTaskRequest::default()
    }
}
