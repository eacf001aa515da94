//! Faults at the receiver of a send: its decision is written and then fails, inside the sender's transaction.
//!
//! The decision is written first, so that there is something to roll back.

use holon_domain::agent::AgentRecord;
use holon_domain::budget::{Budget, BudgetKey};
use holon_domain::decision::Decision;
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget};
use holon_domain::effect::EffectId;
use holon_domain::needs::{LoadedRows, Needs};
use holon_domain::request_key::{KeptReply, RequestKey, TokenRecord};
use holon_domain::{AgentId, Timestamp};
use holon_store::{
    AgentNo, BudgetChange, Error, Hook, Ledger, TargetAddition, TokenAddition, WaitingAgents,
};
use std::sync::{Arc, Mutex, PoisonError};

/// The way in which a receiver's decision fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The decision panics. The fault is the receiver's own.
    Panic,
    /// The decision contradicts the stored rows. The fault is the receiver's own.
    Contradiction,
    /// The store fails. The whole commit fails with it.
    Storage,
}

/// The point at which a receiver's decision fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    /// After the first written decision.
    First,
    /// After the last written decision about the receiver.
    Last,
}

/// A fault that hits the next receiver, and the agent it has hit.
#[derive(Debug, Clone)]
pub(crate) struct ReceiverFault {
    fault: Option<(Failure, FaultPoint)>,
    hit: Arc<Mutex<Option<AgentId>>>,
}

impl ReceiverFault {
    pub(crate) fn new(fault: Option<(Failure, FaultPoint)>) -> Self {
        Self {
            fault,
            hit: Arc::default(),
        }
    }

    /// Returns true if the fault made the whole commit fail.
    pub(crate) fn failed_store(&self) -> bool {
        matches!(self.fault, Some((Failure::Storage, _))) && self.hit().is_some()
    }

    /// Returns the receiver that was hit, if any.
    pub(crate) fn hit(&self) -> Option<AgentId> {
        self.hit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Fails if the fault is planned for this point and has not hit yet.
    fn strike(&self, agent_id: &AgentId, moment: FaultPoint) -> Result<(), Error> {
        let Some((failure, when)) = self.fault else {
            return Ok(());
        };
        {
            let mut hit = self.hit.lock().unwrap_or_else(PoisonError::into_inner);
            if when != moment || hit.is_some() {
                return Ok(());
            }
            *hit = Some(agent_id.clone());
        }
        match failure {
            // Resumed without the panic's own report, because it is part of the plan.
            Failure::Panic => std::panic::resume_unwind(Box::new("the simulation asked for this")),
            Failure::Contradiction => Err(Error::Contradiction {
                what: "the simulation asked for this".to_owned(),
            }),
            Failure::Storage => Err(Error::Refused {
                reason: "the simulation asked for this".to_owned(),
            }),
        }
    }
}

/// A ledger in which a decision about a receiver fails.
pub(crate) struct FaultyLedger<'a> {
    inner: &'a mut dyn Ledger,
    fault: &'a ReceiverFault,
    /// True inside a receiver's savepoint.
    nested: bool,
    /// Agent of the last written decision.
    decided: Option<AgentId>,
}

impl<'a> FaultyLedger<'a> {
    /// Wraps the ledger of a transaction, which may be a retry of an earlier one.
    pub(crate) fn new(inner: &'a mut dyn Ledger, fault: &'a ReceiverFault) -> Self {
        *fault.hit.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Self {
            inner,
            fault,
            nested: false,
            decided: None,
        }
    }
}

impl Ledger for FaultyLedger<'_> {
    fn agent(&mut self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        self.inner.agent(id)
    }

    fn load(&mut self, no: AgentNo, needs: &Needs) -> Result<LoadedRows, Error> {
        self.inner.load(no, needs)
    }

    fn create(&mut self, record: &AgentRecord) -> Result<AgentNo, Error> {
        self.inner.create(record)
    }

    fn apply(&mut self, no: AgentNo, decision: &Decision) -> Result<(), Error> {
        self.inner.apply(no, decision)?;
        if !self.nested {
            return Ok(());
        }
        let agent_id = &decision.agent.identity.agent_id;
        self.decided = Some(agent_id.clone());
        self.fault.strike(agent_id, FaultPoint::First)
    }

    fn nested(
        &mut self,
        part: &mut dyn FnMut(&mut dyn Ledger) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let fault = self.fault;
        self.inner.nested(&mut |inner| {
            let mut ledger = FaultyLedger {
                inner,
                fault,
                nested: true,
                decided: None,
            };
            part(&mut ledger)?;
            match &ledger.decided {
                Some(agent_id) => fault.strike(agent_id, FaultPoint::Last),
                None => Ok(()),
            }
        })
    }

    fn newest_generation(&mut self) -> Result<u64, Error> {
        self.inner.newest_generation()
    }

    fn event_floor(&mut self, id: &AgentId) -> Result<u64, Error> {
        self.inner.event_floor(id)
    }

    fn put_aside(&mut self, id: &AgentId, reason: &str, now: Timestamp) -> Result<bool, Error> {
        self.inner.put_aside(id, reason, now)
    }

    fn take_back(&mut self, id: &AgentId) -> Result<bool, Error> {
        self.inner.take_back(id)
    }

    fn open_effects(&mut self, no: AgentNo) -> Result<Vec<EffectId>, Error> {
        self.inner.open_effects(no)
    }

    fn kept_reply(&mut self, id: &str, now: Timestamp) -> Result<Option<KeptReply>, Error> {
        self.inner.kept_reply(id, now)
    }

    fn keep_reply(
        &mut self,
        key: &RequestKey,
        agent: Option<&AgentId>,
        reply: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.inner.keep_reply(key, agent, reply, now)
    }

    fn birth(&mut self, id: &AgentId) -> Result<Option<i64>, Error> {
        self.inner.birth(id)
    }

    fn add_tombstone(&mut self, id: &AgentId, now: Timestamp) -> Result<(), Error> {
        self.inner.add_tombstone(id, now)
    }

    fn add_token(&mut self, token: &TokenRecord) -> Result<TokenAddition, Error> {
        self.inner.add_token(token)
    }

    fn remove_token(&mut self, name: &str) -> Result<bool, Error> {
        self.inner.remove_token(name)
    }

    fn add_delivery_target(&mut self, target: &DeliveryTarget) -> Result<TargetAddition, Error> {
        self.inner.add_delivery_target(target)
    }

    fn remove_delivery_target(&mut self, name: &str) -> Result<Option<DeliveryRoute>, Error> {
        self.inner.remove_delivery_target(name)
    }

    fn set_budget(&mut self, budget: &Budget, day: &str) -> Result<BudgetChange, Error> {
        self.inner.set_budget(budget, day)
    }

    fn remove_budget(&mut self, key: &BudgetKey) -> Result<bool, Error> {
        self.inner.remove_budget(key)
    }

    fn waiting_agents(
        &mut self,
        route: &DeliveryRoute,
        after: Option<AgentNo>,
        limit: usize,
    ) -> Result<WaitingAgents, Error> {
        self.inner.waiting_agents(route, after, limit)
    }

    fn after_commit(&mut self, hook: Hook) {
        self.inner.after_commit(hook);
    }
}
