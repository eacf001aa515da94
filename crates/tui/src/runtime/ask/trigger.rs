//! Requests about external triggers.

use crate::msg::{Question, Reply};
use holon_api::CreateTriggerRequest;
use holon_client::{Client, Error};
use holon_domain::trigger::DeliveryMode;
use holon_domain::{AgentId, TriggerId};

/// Reads the secret URL of a trigger.
pub(super) async fn reveal(client: &Client, agent: &AgentId, id: String) -> Result<Reply, Error> {
    let named = TriggerId::from_stored(id.clone());
    let shown = client.reveal_trigger(agent, &named).await?;
    let url = shown.trigger_url.clone();
    Ok(Reply::TriggerUrl { id, url })
}

/// Makes, rotates or revokes a trigger.
pub(super) async fn change(
    client: &Client,
    agent: &AgentId,
    question: Question,
) -> Result<String, Error> {
    Ok(match question {
        Question::CreateTrigger { enqueues } => {
            let delivery_mode = if enqueues {
                DeliveryMode::EnqueueMessage
            } else {
                DeliveryMode::WakeHint
            };
            let request = CreateTriggerRequest { delivery_mode };
            let made = client.create_trigger(agent, &request).await?;
            format!("trigger {} is active; Enter shows its URL", made.id)
        }
        Question::RotateTrigger { id } => {
            let id = TriggerId::from_stored(id);
            let new = client.rotate_trigger(agent, &id).await?;
            format!("trigger {} has another URL; the old one is useless", new.id)
        }
        Question::RevokeTrigger { id } => {
            let id = TriggerId::from_stored(id);
            let gone = client.revoke_trigger(agent, &id).await?;
            format!("trigger {} is revoked", gone.id)
        }
        _ => String::new(),
    })
}
