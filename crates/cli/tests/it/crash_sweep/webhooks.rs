//! A sender of webhooks that repeats every delivery, while the host is killed between receipt and answer: each delivery id
//! is one message, and the answer to a repetition is the first one.

use super::agent_record::{AgentRecord, gather, id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use holon_api::{CreateAgentRequest, SetWebhookRequest};
use holon_client::Error;
use holon_domain::event::Event;
use holon_domain::message::MessageKind;
use holon_testkit::World;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const AGENT: &str = "listener";
const DELIVERIES: [&str; 4] = ["w-0", "w-1", "w-2", "w-3"];

/// Progress of the sender, and the answers it got.
#[derive(Debug)]
pub(super) struct Webhooks {
    model: String,
    next: usize,
    /// Messages that the answers named, by delivery id.
    answers: BTreeMap<&'static str, Vec<String>>,
    record: AgentRecord,
}

impl Scenario for Webhooks {
    const BEFORE: u64 = 0;

    fn new(world: &World) -> Self {
        let script = json!({ "rounds": [{ "text": "Seen." }], "on_end": "repeat_last" });
        let path = world.write("listener.json", &script.to_string());
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
        let terms = SetWebhookRequest {
            secret: None,
            allow_unsigned: true,
        };
        host.client.set_webhook(&id(AGENT), &terms).await?;
        let path = format!("/webhooks/generic/{AGENT}");
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
        let mut answered = BTreeSet::new();
        for (delivery, named) in &self.answers {
            let first = named.first();
            assert!(first.is_some(), "{what}: {delivery} was answered");
            let same = named.iter().all(|id| Some(id) == first);
            assert!(same, "{what}: {delivery} is several messages: {named:?}");
            answered.extend(first.cloned());
        }
        let mut admitted = BTreeSet::new();
        for event in &self.record.events {
            match event {
                Event::MessageAdmitted(message) if message.kind == MessageKind::WebhookEvent => {
                    let is_new = admitted.insert(message.message_id.to_string());
                    assert!(is_new, "{what}: {} twice", message.message_id);
                }
                _ => {}
            }
        }
        assert_eq!(admitted.len(), DELIVERIES.len(), "{what}: one message each");
        assert_eq!(admitted, answered, "{what}: those that were answered");
    }
}
