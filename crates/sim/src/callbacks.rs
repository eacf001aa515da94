//! Outside systems that use the capabilities of agents: deliveries, repetitions of them, and operators that rotate and
//! revoke. A delivery id takes effect at most once, also if the process died before its sender had an answer.

use crate::rng::Rng;
use crate::violation::{Verdict, ensure};
use crate::work_calls::SOURCES;
use crate::world::{InputResult, World};
use holon_core::input::TriggerCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::limits::KEPT_REPLY_MS;
use holon_domain::request_key::RequestKey;
use holon_domain::trigger::{
    CallbackDelivery, CallbackReceipt, DeliveryContent, DeliveryMode, TriggerRecord,
};
use holon_domain::{AgentId, Timestamp, TriggerId};
use holon_engine::kernel::Refusal;

/// Delivery ids that senders use, few, so that many deliveries are repetitions.
const DELIVERY_IDS: u64 = 5;

/// Deliveries of a source that does not stop, two more than the credit is good for.
const PESTERED: u64 = 8;

/// A delivery that took effect.
#[derive(Debug, Clone)]
pub(crate) struct TakenDelivery {
    at: Timestamp,
    /// Absent if its sender got no answer.
    receipt: Option<CallbackReceipt>,
}

/// Key under which a delivery takes effect once.
pub(crate) type DeliveryName = (TriggerId, String);

/// Returns the keys of an input that came from outside.
pub(crate) fn keys_of(delivery: &CallbackDelivery) -> Vec<RequestKey> {
    let id = delivery.delivery_id.as_deref();
    let key = |id| RequestKey::of_delivery(delivery.trigger_id.as_str(), "callback", id);
    id.map(key).into_iter().collect()
}

impl World {
    /// Uses, rotates or revokes a capability of some agent.
    pub(crate) fn callback_any(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let triggers = self.triggers_of(&id);
        let trigger = triggers.get(self.dice.index(triggers.len())).cloned();
        let Some(trigger) = trigger else {
            return Ok(());
        };
        if self.dice.percent(15) {
            return self.change_trigger(&id, &trigger);
        }
        let delivery = any_delivery(&trigger, &mut self.dice);
        self.deliver(&id, delivery)
    }

    /// Delivers to an agent at rest again and again, each time once it has done what came before: more often than the
    /// credit for ticks at once allows.
    pub(crate) fn pester(&mut self, bound: u64) -> Verdict<()> {
        let wakes =
            |one: &TriggerRecord| one.is_active() && one.delivery_mode == DeliveryMode::WakeHint;
        let found = self.model.public_names().into_iter().find_map(|id| {
            let trigger = self.triggers_of(&id).into_iter().find(wakes)?;
            Some((id, trigger))
        });
        let Some((id, trigger)) = found else {
            return Ok(());
        };
        for number in 0..PESTERED {
            let body = format!("again {number}");
            let delivery = CallbackDelivery {
                trigger_id: trigger.id.clone(),
                generation: trigger.generation,
                mode: trigger.delivery_mode,
                source: None,
                delivery_id: None,
                correlation_id: None,
                causation_id: None,
                content: DeliveryContent::of(None, body.as_bytes()),
            };
            self.deliver(&id, delivery)?;
            self.perform_all(bound)?;
        }
        self.run_until_idle(bound)
    }

    /// Reads the capabilities of an agent. Empty if its rows cannot be read.
    fn triggers_of(&self, id: &AgentId) -> Vec<TriggerRecord> {
        let db = self.store.db();
        let reader = db.reader();
        match reader.agent(id) {
            Ok(Some((no, _))) => reader.triggers(no).unwrap_or_default(),
            Ok(None) | Err(_) => Vec::new(),
        }
    }

    fn deliveries_to(&self, id: &AgentId, trigger_id: &TriggerId) -> u64 {
        let triggers = self.triggers_of(id);
        let found = triggers.iter().find(|one| one.id == *trigger_id);
        found.map_or(0, |trigger| trigger.trigger_count)
    }

    fn deliver(&mut self, id: &AgentId, delivery: CallbackDelivery) -> Verdict<()> {
        let name = delivery
            .delivery_id
            .clone()
            .map(|delivery_id| (delivery.trigger_id.clone(), delivery_id));
        let known = name.as_ref().and_then(|name| self.deliveries.get(name));
        let known = known.filter(|taken| self.is_kept(taken.at)).cloned();
        let trigger_id = delivery.trigger_id.clone();
        let triggers = self.triggers_of(id);
        let meant = triggers.iter().find(|one| one.id == trigger_id);
        let is_stale = meant.is_some_and(|one| one.generation != delivery.generation);
        let before = self.deliveries_to(id, &trigger_id);
        self.trace.note(|| format!("{id} {delivery:?}"));
        let result = self.send(id, &Input::Callback(Box::new(delivery)))?;
        let after = self.deliveries_to(id, &trigger_id);
        ensure(
            !is_stale || after <= before,
            "a token of an older generation has no effect",
            || format!("{id} {trigger_id}: {before}, then {after}"),
        )?;
        if known.is_some() {
            self.model.coverage.count("callback:repeated");
            ensure(
                after <= before,
                "a delivery id takes effect at most once",
                || format!("{name:?}: {before}, then {after}"),
            )?;
        }
        let receipt = match &result {
            InputResult::Handled(Reply::Delivered(receipt)) => Some((**receipt).clone()),
            _ => None,
        };
        if let Some(name) = name.filter(|_| after > before) {
            let taken = TakenDelivery {
                at: self.now,
                receipt: receipt.clone(),
            };
            self.deliveries.insert(name, taken);
        }
        let first = known.and_then(|taken| taken.receipt);
        if let (Some(first), Some(again)) = (first, &receipt) {
            ensure(
                first == *again,
                "a repetition gets the first answer",
                || format!("{first:?}, then {again:?}"),
            )?;
        }
        self.judge_delivery(result)
    }

    /// Returns true if the reply to a delivery of this time is surely kept. The clock may have been set back since.
    fn is_kept(&self, at: Timestamp) -> bool {
        let age = self.now.as_millis().saturating_sub(at.as_millis());
        u64::try_from(age).is_ok_and(|age| age < KEPT_REPLY_MS)
    }

    fn judge_delivery(&mut self, result: InputResult) -> Verdict<()> {
        match result {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Handled(Reply::Delivered(receipt)) => {
                let kind = format!("callback:{:?}", receipt.disposition);
                self.model.coverage.count(kind);
                Ok(())
            }
            InputResult::Handled(reply) => ensure(false, "a delivery is answered as one", || {
                format!("{reply:?}")
            }),
            InputResult::Refused(refusal) => ensure(
                is_known_refusal(&refusal),
                "a delivery is refused only for its capability, its agent or a full queue",
                || format!("{refusal:?}"),
            ),
            InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }

    fn change_trigger(&mut self, id: &AgentId, trigger: &TriggerRecord) -> Verdict<()> {
        let trigger_id = trigger.id.clone();
        let command = match self.dice.below(4) {
            0 => TriggerCommand::Rotate { trigger_id },
            1 => TriggerCommand::Revoke { trigger_id },
            2 => TriggerCommand::Create {
                delivery_mode: DeliveryMode::WakeHint,
            },
            _ => TriggerCommand::Create {
                delivery_mode: DeliveryMode::EnqueueMessage,
            },
        };
        self.trace.note(|| format!("{id} {command:?}"));
        match self.send(id, &Input::Trigger(command))? {
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Refused(refusal) => ensure(
                is_known_refusal(&refusal),
                "a command about a capability is refused only for what it names",
                || format!("{refusal:?}"),
            ),
            InputResult::Handled(_)
            | InputResult::Panicked
            | InputResult::Failed
            | InputResult::Aside
            | InputResult::Died => Ok(()),
        }
    }
}

fn is_known_refusal(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::NotFound => true,
        Refusal::KeyReused | Refusal::ReplyRemoved | Refusal::ReplyUnreadable => false,
        Refusal::Rejected(rejection) => matches!(
            rejection,
            Rejection::Stopped { .. }
                | Rejection::NoHome { .. }
                | Rejection::Deleting { .. }
                | Rejection::Archived { .. }
                | Rejection::NoSuchTrigger { .. }
                | Rejection::UnknownToken
                | Rejection::QueueFullForOthers { .. }
        ),
    }
}

fn any_delivery(trigger: &TriggerRecord, dice: &mut Rng) -> CallbackDelivery {
    let is_stale = dice.percent(10);
    let body = format!("changed {:08x}", dice.below(1 << 32));
    let body = if dice.percent(60) {
        body
    } else {
        String::new()
    };
    CallbackDelivery {
        trigger_id: trigger.id.clone(),
        generation: trigger.generation.saturating_sub(u64::from(is_stale)),
        mode: trigger.delivery_mode,
        source: dice
            .percent(60)
            .then(|| dice.pick(&SOURCES).unwrap_or("ci").to_owned()),
        delivery_id: dice
            .percent(70)
            .then(|| format!("d{}", dice.below(DELIVERY_IDS))),
        correlation_id: None,
        causation_id: None,
        content: DeliveryContent::of(None, body.as_bytes()),
    }
}
