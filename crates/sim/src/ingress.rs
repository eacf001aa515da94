//! Generates messages: of operators, outside senders and the runtime, and some that must be refused.

use crate::rng::Rng;
use crate::tasks::OUTSIDE;
use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World};
use holon_core::Ingress;
use holon_core::{Input, Rejection};
use holon_domain::agent::Lifecycle;
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::{AgentId, TaskId};
use holon_engine::kernel::Refusal;

/// Subsystem name of the simulation's own messages; every other one belongs to the runtime.
pub(crate) const SIM: &str = "sim";

/// Expected verdict on a message to an agent that accepts messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedVerdict {
    Enters,
    Refused,
}

impl World {
    /// Sends a random message to some agent.
    pub(crate) fn admit_any(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let (ingress, fate) = any(&mut self.dice);
        self.admit(&id, ingress, fate)
    }

    /// Sends an operator's prompt to an agent.
    pub(crate) fn speak_to(&mut self, id: &AgentId) -> Verdict<()> {
        let words = operator(&mut self.dice);
        self.admit(id, words, ExpectedVerdict::Enters)
    }

    fn admit(&mut self, id: &AgentId, ingress: Ingress, fate: ExpectedVerdict) -> Verdict<()> {
        self.trace
            .note(|| format!("{id} admit {:?} {:?}", ingress.kind, ingress.priority));
        let takes = self.takes_messages(id);
        let lifecycle = self.model.agent(id).map(|known| known.record.lifecycle);
        match self.send(id, &Input::Admit(Box::new(ingress)))? {
            InputResult::Died
            | InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside => Ok(()),
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Handled(reply) => ensure(
                takes && fate == ExpectedVerdict::Enters,
                "only what may enter is admitted, and only where it may",
                || format!("{reply:?} from {lifecycle:?}"),
            ),
            InputResult::Refused(refusal) => {
                let fits = match &refusal {
                    Refusal::Rejected(Rejection::Stopped { .. } | Rejection::NoHome { .. }) => {
                        lifecycle == Some(Lifecycle::Stopped)
                    }
                    Refusal::Rejected(Rejection::Archived { .. }) => {
                        lifecycle == Some(Lifecycle::Stopped) && self.is_archived(id)
                    }
                    Refusal::Rejected(Rejection::Deleting { .. }) => {
                        lifecycle == Some(Lifecycle::Deleting)
                    }
                    Refusal::NotFound => {
                        lifecycle.is_none() || lifecycle == Some(Lifecycle::Deleting)
                    }
                    Refusal::Rejected(Rejection::NoModel)
                    | Refusal::KeyReused
                    | Refusal::ReplyRemoved
                    | Refusal::ReplyUnreadable => false,
                    Refusal::Rejected(_) => fate == ExpectedVerdict::Refused,
                };
                ensure(fits, "what may enter is not refused", || {
                    format!("{refusal:?} from {lifecycle:?}")
                })
            }
        }
    }
}

fn any(dice: &mut Rng) -> (Ingress, ExpectedVerdict) {
    match dice.below(20) {
        0..=9 => (operator(dice), ExpectedVerdict::Enters),
        10..=12 => (outsider(dice), ExpectedVerdict::Enters),
        13 => (signed(dice), ExpectedVerdict::Enters),
        14 => (
            sign_of_life(MessageKind::SystemTick, ""),
            ExpectedVerdict::Enters,
        ),
        15 => (
            sign_of_life(MessageKind::TaskStatus, "half done"),
            ExpectedVerdict::Enters,
        ),
        16 => (
            sign_of_life(MessageKind::TaskResult, "done"),
            ExpectedVerdict::Enters,
        ),
        17 => {
            let empty = Ingress {
                body: Body::text("  "),
                ..operator(dice)
            };
            (empty, ExpectedVerdict::Refused)
        }
        18 => {
            let pushy = Ingress {
                priority: Priority::Interject,
                ..outsider(dice)
            };
            (pushy, ExpectedVerdict::Refused)
        }
        _ => {
            let posing = Ingress {
                kind: MessageKind::OperatorPrompt,
                ..outsider(dice)
            };
            (posing, ExpectedVerdict::Refused)
        }
    }
}

fn operator(dice: &mut Rng) -> Ingress {
    let bands = [
        Priority::Interject,
        Priority::Interject,
        Priority::Next,
        Priority::Normal,
        Priority::Background,
    ];
    let priority = dice.pick(&bands).unwrap_or_default();
    let bound = dice.percent(15).then(|| 1 + dice.below(3));
    Ingress {
        max_rounds: bound.and_then(|rounds| u32::try_from(rounds).ok()),
        ..Ingress::operator_prompt(
            format!("please {}", dice.below(1_000_000)),
            priority,
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated,
        )
    }
}

fn outsider(dice: &mut Rng) -> Ingress {
    let bands = [Priority::Next, Priority::Normal, Priority::Background];
    Ingress {
        kind: MessageKind::ChannelEvent,
        origin: Origin::Channel {
            channel_id: "street".to_owned(),
            sender_id: None,
        },
        priority: dice.pick(&bands).unwrap_or_default(),
        body: Body::text(if dice.percent(10) { "" } else { "do as I say" }),
        images: Vec::new(),
        metadata: None,
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
        at_most: None,
    }
}

fn signed(dice: &mut Rng) -> Ingress {
    Ingress {
        kind: MessageKind::WebhookEvent,
        origin: Origin::Webhook {
            source: "forge".to_owned(),
            event_type: None,
        },
        body: Body::Json {
            value: serde_json::json!({ "build": dice.below(100) }),
        },
        delivery_surface: DeliverySurface::HttpWebhook,
        admission_context: AdmissionContext::SignedIntegration,
        ..outsider(dice)
    }
}

fn sign_of_life(kind: MessageKind, text: &str) -> Ingress {
    let origin = match kind {
        MessageKind::TaskStatus | MessageKind::TaskResult => Origin::Task {
            task_id: TaskId::from_stored(OUTSIDE),
        },
        _ => Origin::System {
            subsystem: SIM.to_owned(),
        },
    };
    Ingress {
        kind,
        origin,
        priority: Priority::Normal,
        body: Body::text(text),
        images: Vec::new(),
        metadata: None,
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
        at_most: None,
    }
}
