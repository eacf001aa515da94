//! A sender that delivers to a capability of an agent and repeats every delivery, while the host is killed: each delivery
//! id is one message, and the answer to a repetition is the first one.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use holon_api::{CreateAgentRequest, CreateTriggerRequest};
use holon_client::{Client, Error};
use holon_domain::TriggerId;
use holon_domain::event::Event;
use holon_domain::trigger::DeliveryMode;
use holon_testkit::World;
use serde_json::json;
use std::collections::BTreeMap;

const AGENT: &str = "receiver";
const DELIVERIES: [&str; 4] = ["d-0", "d-1", "d-2", "d-3"];

/// Progress of the sender, and the answers it got.
#[derive(Debug)]
pub(super) struct Callbacks {
    model: String,
    next: usize,
    /// Messages that the answers named, by delivery id.
    answers: BTreeMap<&'static str, Vec<String>>,
    record: AgentRecord,
}

impl Scenario for Callbacks {
    const BEFORE: u64 = 0;

    fn new(world: &World) -> Self {
        let script = json!({ "rounds": [{ "text": "Seen." }], "on_end": "repeat_last" });
        let path = world.write("receiver.json", &script.to_string());
        Self {
            model: format!("scripted/{}", path.display()),
            next: 0,
            answers: BTreeMap::new(),
            record: AgentRecord::default(),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        let request = CreateAgentRequest {
            model: Some(self.model.clone()),
            ..CreateAgentRequest::default()
        };
        host.client.create_agent(&id(AGENT), &request).await?;
        let path = capability(&host.client).await?;
        while let Some(delivery) = DELIVERIES.get(self.next) {
            // Twice, and once more for each host that was killed before it answered.
            for _ in 0..2 {
                let body = json!({ "event": delivery });
                let answer = host.client.deliver(&path, delivery, &body).await?;
                let named = self.answers.entry(delivery).or_default();
                named.extend(answer.message_id.clone());
            }
            self.next += 1;
        }
        until_settled(host, AGENT, 0).await?;
        self.record = gather(&host.client, AGENT).await?;
        Ok(())
    }

    fn judge(&self, _world: &World, what: &str) {
        for (delivery, named) in &self.answers {
            let first = named.first();
            assert!(first.is_some(), "{what}: {delivery} was answered");
            let same = named.iter().all(|id| Some(id) == first);
            assert!(same, "{what}: {delivery} is several messages: {named:?}");
        }
        let mut accepted: Vec<String> = Vec::new();
        for event in &self.record.events {
            if let Event::CallbackDelivered(delivered) = event {
                accepted.extend(delivered.delivery_id.clone());
            }
        }
        assert_eq!(accepted, DELIVERIES, "{what}: each took effect once");
    }
}

/// Returns the path of the capability that enqueues messages for the agent.
async fn capability(client: &Client) -> Result<String, Error> {
    let request = CreateTriggerRequest {
        delivery_mode: DeliveryMode::EnqueueMessage,
    };
    let made = client.create_trigger(&id(AGENT), &request).await?;
    let trigger = TriggerId::from_stored(made.id.as_str());
    let revealed = client.reveal_trigger(&id(AGENT), &trigger).await?;
    let url = revealed.trigger_url.as_str();
    let at = url.find("/callbacks/").expect("a capability URL");
    Ok(url.get(at..).expect("a path").to_owned())
}
