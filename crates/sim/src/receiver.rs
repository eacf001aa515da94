//! A fault at the receiver of a send: its decision is written and then fails, inside the sender's transaction.
//!
//! The decision is written first, so that there is something to undo.

use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::decision::Decision;
use holon_domain::effect::EffectId;
use holon_domain::needs::{Loaded, Needs};
use holon_store::{AgentNo, Error, Hook, Ledger};
use std::sync::{Arc, Mutex, PoisonError};

/// How a receiver's decision fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It panics. The fault is the receiver's own.
    Panic,
    /// It does not fit the stored rows. The fault is the receiver's own.
    Contradiction,
    /// The store fails. The whole commit fails with it.
    Storage,
}

/// A fault that hits the next receiver, and where it did.
#[derive(Debug, Clone)]
pub(crate) struct ReceiverFault {
    pub(crate) failure: Option<Failure>,
    hit: Arc<Mutex<Option<AgentId>>>,
}

impl ReceiverFault {
    pub(crate) fn new(failure: Option<Failure>) -> Self {
        Self {
            failure,
            hit: Arc::default(),
        }
    }

    /// The receiver that was hit, if one was.
    pub(crate) fn hit(&self) -> Option<AgentId> {
        self.hit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Notes a hit; none when there is no fault, or it has hit already.
    fn strike(&self, agent_id: &AgentId) -> Option<Failure> {
        let failure = self.failure?;
        let mut hit = self.hit.lock().unwrap_or_else(PoisonError::into_inner);
        if hit.is_some() {
            return None;
        }
        *hit = Some(agent_id.clone());
        Some(failure)
    }
}

/// A ledger in which the first decision of a receiver fails.
pub(crate) struct FaultyLedger<'a> {
    inner: &'a mut dyn Ledger,
    fault: &'a ReceiverFault,
    /// Whether this is a receiver's part of the transaction.
    nested: bool,
}

impl<'a> FaultyLedger<'a> {
    /// Begins a transaction, which may be a second try of the same.
    pub(crate) fn new(inner: &'a mut dyn Ledger, fault: &'a ReceiverFault) -> Self {
        *fault.hit.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Self {
            inner,
            fault,
            nested: false,
        }
    }
}

impl Ledger for FaultyLedger<'_> {
    fn agent(&mut self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        self.inner.agent(id)
    }

    fn load(&mut self, no: AgentNo, needs: &Needs) -> Result<Loaded, Error> {
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
        match self.fault.strike(&decision.agent.identity.agent_id) {
            None => Ok(()),
            Some(Failure::Panic) => {
                // Without the panic's own report: it is part of the plan.
                std::panic::resume_unwind(Box::new("the simulation asked for this"))
            }
            Some(Failure::Contradiction) => Err(Error::Contradiction {
                what: "the simulation asked for this".to_owned(),
            }),
            Some(Failure::Storage) => Err(Error::Refused {
                reason: "the simulation asked for this".to_owned(),
            }),
        }
    }

    fn nested(
        &mut self,
        part: &mut dyn FnMut(&mut dyn Ledger) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let fault = self.fault;
        self.inner.nested(&mut |inner| {
            part(&mut FaultyLedger {
                inner,
                fault,
                nested: true,
            })
        })
    }

    fn open_effects(&mut self, no: AgentNo) -> Result<Vec<EffectId>, Error> {
        self.inner.open_effects(no)
    }

    fn after_commit(&mut self, hook: Hook) {
        self.inner.after_commit(hook);
    }
}
