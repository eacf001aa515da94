//! An agent whose answers and notifications are delivered by a program while the host is killed: each arrives at least
//! once, in its order, and under one id.

use super::agent_record::{id, until_settled};
use super::drive::Scenario;
use super::host::Host;
use holon_api::{CreateAgentRequest, CreateDeliveryTargetRequest, PromptRequest, TargetKindName};
use holon_client::Error;
use holon_domain::message::Priority;
use holon_testkit::World;
use serde_json::json;
use std::path::PathBuf;

const PROMPTS: usize = 3;

/// Progress of the client.
#[derive(Debug)]
pub(super) struct Deliveries {
    model: String,
    /// Written by the target, one line for each attempt: id and text.
    received: PathBuf,
    is_prepared: bool,
    prompts: usize,
}

impl Scenario for Deliveries {
    const BEFORE: u64 = 0;

    fn new(world: &World) -> Self {
        let notify = json!({ "tool": "NotifyOperator", "input": { "message": "look" } });
        let script = json!({
            "rounds": [{ "calls": [notify] }, { "text": "Answered." }],
            "on_end": "repeat_last",
        });
        let path = world.write("teller.json", &script.to_string());
        Self {
            model: format!("scripted/{}", path.display()),
            received: world.path().join("received"),
            is_prepared: false,
            prompts: 0,
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        let client = &host.client;
        if !self.is_prepared {
            let request = CreateAgentRequest {
                model: Some(self.model.clone()),
                ..CreateAgentRequest::default()
            };
            client.create_agent(&id("teller"), &request).await?;
            accept_repeated(client.add_delivery_target(&self.target()).await)?;
            self.is_prepared = true;
        }
        while self.prompts < PROMPTS {
            let request = PromptRequest {
                images: Vec::new(),
                text: "tell me".to_owned(),
                priority: Some(Priority::Normal),
                max_turns: None,
                trust: None,
            };
            client.prompt(&id("teller"), &request).await?;
            self.prompts += 1;
        }
        until_settled(host, "teller", 0).await?;
        loop {
            let listed = client.delivery_targets().await?;
            if listed.targets.iter().all(|target| target.pending == 0) {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    fn judge(&self, _world: &World, what: &str) {
        let received = std::fs::read_to_string(&self.received).unwrap_or_default();
        let mut distinct: Vec<(&str, &str)> = Vec::new();
        for line in received.lines() {
            let (id, text) = line.split_once(' ').expect("an id and a text");
            match distinct.last() {
                Some((last, _)) if *last == id => {}
                Some(_) | None => distinct.push((id, text)),
            }
        }
        let ids: std::collections::BTreeSet<&str> = distinct.iter().map(|(id, _)| *id).collect();
        assert_eq!(
            ids.len(),
            distinct.len(),
            "{what}: out of order: {received}"
        );
        let told = |text: &str| distinct.iter().filter(|(_, told)| *told == text).count();
        assert_eq!(told("look"), 1, "{what}: {received}");
        // A prompt that was cut off may have been admitted and is repeated, so there may be more.
        assert!(told("Answered.") >= 1, "{what}: {received}");
    }
}

impl Deliveries {
    fn target(&self) -> CreateDeliveryTargetRequest {
        let script = format!(
            "echo \"$HOLON_DELIVERY_ID $HOLON_DELIVERY_TEXT\" >> '{}'",
            self.received.display()
        );
        CreateDeliveryTargetRequest {
            name: "log".to_owned(),
            kind: TargetKindName::Command,
            url: None,
            command: ["sh", "-c", &script].map(str::to_owned).to_vec(),
            auth: None,
            secret: None,
            turn_results: true,
            agents: Vec::new(),
        }
    }
}

/// Accepts that a request which was cut off had taken effect: its repetition finds the target.
fn accept_repeated<T>(answer: Result<T, Error>) -> Result<(), Error> {
    match answer {
        Err(Error::Api {
            code: Some(code), ..
        }) if code == "delivery_target_exists" => Ok(()),
        other => other.map(drop),
    }
}
