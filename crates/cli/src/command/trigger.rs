//! `holon trigger` and `holon webhook`: the ways into an agent from outside.

use crate::addressing::hint;
use crate::args::{TriggerCommand, WebhookCommand};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::secret::{self, SecretSource};
use crate::target::Target;
use holon_api::{CreateTriggerRequest, SetWebhookRequest};
use holon_client::Answer;
use holon_client::view::{Trigger, Webhook};
use holon_domain::trigger::DeliveryMode;
use holon_domain::{AgentId, TriggerId};
use secrecy::ExposeSecret as _;

/// Runs one subcommand of `trigger`.
pub(super) async fn run(
    target: Target,
    command: TriggerCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        TriggerCommand::List { agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let all = host.check_answer(host.client().triggers(&agent_id).await)?;
            output.answer(&all, |all| render(&agent_id, all));
        }
        TriggerCommand::Show { trigger, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let id = find(&host, &agent_id, trigger).await?;
            let shown = host.check_answer(host.client().reveal_trigger(&agent_id, &id).await)?;
            output.answer(&shown, |shown| shown.trigger_url.clone());
            output.aside(&format!(
                "keep it secret: a caller that has it needs nothing else; `holon trigger rotate --agent {agent_id} {id}` \
                 replaces it"
            ));
        }
        TriggerCommand::Create { mode, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let request = CreateTriggerRequest {
                delivery_mode: mode.into(),
            };
            let made =
                host.check_answer(host.client().create_trigger(&agent_id, &request).await)?;
            output.answer(&made, line);
            output.aside(&format!(
                "see its URL with: holon trigger show --agent {agent_id} {}",
                made.id
            ));
        }
        TriggerCommand::Rotate { trigger, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, TriggerId::from_stored(trigger));
            let new = host.check_answer(host.client().rotate_trigger(&agent_id, &id).await)?;
            output.answer(&new, line);
        }
        TriggerCommand::Revoke { trigger, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, TriggerId::from_stored(trigger));
            let gone = host.check_answer(host.client().revoke_trigger(&agent_id, &id).await)?;
            output.answer(&gone, line);
        }
    }
    Ok(Exit::Done)
}

/// Returns the trigger that an operator named, or the active one that wakes the agent.
async fn find(
    host: &Host,
    agent_id: &AgentId,
    named: Option<String>,
) -> Result<TriggerId, Failure> {
    if let Some(named) = named {
        return Ok(TriggerId::from_stored(named));
    }
    let all = host.check_answer(host.client().triggers(agent_id).await)?;
    let wakes = |trigger: &&Answer<Trigger>| {
        trigger.status == "active" && trigger.delivery_mode == "wake_hint"
    };
    match all.iter().find(wakes) {
        Some(trigger) => Ok(TriggerId::from_stored(trigger.id.as_str())),
        // Older builds made agents without a trigger. Such an agent gets its default one now.
        None if all.is_empty() => {
            let request = CreateTriggerRequest {
                delivery_mode: DeliveryMode::WakeHint,
            };
            let made = host.client().create_trigger(agent_id, &request).await;
            let made = host.check_answer(made)?;
            Ok(TriggerId::from_stored(made.id.as_str()))
        }
        None => Err(
            Failure::usage("the agent has no active trigger that wakes it").hint(format!(
                "make one with: holon trigger create --agent {agent_id} --mode wake_hint"
            )),
        ),
    }
}

fn line(trigger: &Answer<Trigger>) -> String {
    let last = trigger.last_triggered_at.as_deref();
    let last = last.map_or_else(String::new, |at| format!(", last at {at}"));
    format!(
        "{}  {}  {}  URL number {}, deliveries {}{last}",
        trigger.id,
        trigger.delivery_mode,
        trigger.status,
        trigger.generation,
        trigger.trigger_count
    )
}

fn render(agent_id: &AgentId, triggers: &[Answer<Trigger>]) -> String {
    if triggers.is_empty() {
        return hint(format!(
            "no external triggers; make one with: holon trigger create --agent {agent_id} --mode wake_hint"
        ));
    }
    triggers.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs one subcommand of `webhook`.
pub(super) async fn webhook(
    target: Target,
    command: WebhookCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let shown = match command {
        WebhookCommand::Set {
            agent,
            secret_stdin,
            allow_unsigned,
        } => {
            if !secret_stdin && !allow_unsigned {
                return Err(Failure::usage(
                    "say which webhooks are accepted: --secret-stdin, --allow-unsigned, or both",
                ));
            }
            let secret = if secret_stdin {
                let secret = secret::read(SecretSource::Stdin, "the secret", output)?;
                Some(secret.expose_secret().to_owned())
            } else {
                None
            };
            let request = SetWebhookRequest {
                secret,
                allow_unsigned,
            };
            let host = Host::find(target, Some(agent), output)?;
            let agent_id = host.agent_id().await?;
            host.check_answer(host.client().set_webhook(&agent_id, &request).await)?
        }
        WebhookCommand::Show { agent } => {
            let host = Host::find(target, Some(agent), output)?;
            let agent_id = host.agent_id().await?;
            host.check_answer(host.client().webhook(&agent_id).await)?
        }
        WebhookCommand::Remove { agent } => {
            let host = Host::find(target, Some(agent), output)?;
            let agent_id = host.agent_id().await?;
            host.check_answer(host.client().remove_webhook(&agent_id).await)?
        }
    };
    output.answer(&shown, |shown| describe(shown));
    Ok(Exit::Done)
}

fn describe(webhook: &Webhook) -> String {
    let accepted = match (webhook.has_secret, webhook.allow_unsigned) {
        (true, true) => "signed ones as signals, others as evidence",
        (true, false) => "signed ones only",
        (false, true) => "without a signature, as evidence of unknown origin",
        (false, false) => "none",
    };
    format!("{}\naccepts webhooks: {accepted}", webhook.url)
}
