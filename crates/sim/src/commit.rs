//! One input, one commit: the faults drawn for it, what is looked at once it holds, and who learns of it.

use crate::plan::Fault;
use crate::post::Delivery;
use crate::receiver::{Failure, FaultyLedger, ReceiverFault, When};
use crate::rng::Rng;
use crate::store::refused_by_store;
use crate::violation::{Verdict, ensure};
use crate::world::{Sent, World};
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use holon_engine::kernel::{HandledInput, PostCommitWork, Refusal};
use holon_store::{Error, WriteError};
use std::collections::BTreeSet;

impl World {
    /// Hands an input to the kernel, in a commit of its own.
    pub(crate) fn send(&mut self, id: &AgentId, input: &Input) -> Verdict<Sent> {
        if self.trouble(Fault::Crash, 1) {
            self.trace
                .note(|| "the process dies before the commit".to_owned());
            self.die()?;
            return Ok(Sent::Died);
        }
        // A defect there costs the rule that is checked after it.
        let is_spared = matches!(
            input,
            Input::Recover { .. } | Input::GiveUp { .. } | Input::ClockSetBack { .. }
        );
        let panics = !is_spared && self.trouble(Fault::Panic, 3);
        let fault = ReceiverFault::new(self.draw_receiver_fault());
        let written = self.handle(id, input, panics, fault.clone())?;
        let handled = match written {
            Ok(Ok(handled)) => handled,
            Ok(Err(refusal)) => {
                self.trace.note(|| format!("  refused: {refusal:?}"));
                self.look_at(&BTreeSet::from([id.clone()]), Delivery::default())?;
                return Ok(Sent::Refused(refusal));
            }
            Err(WriteError::Panicked { .. }) if panics => {
                self.trace.note(|| "  panicked".to_owned());
                self.look_at(&BTreeSet::new(), Delivery::default())?;
                return Ok(Sent::Panicked);
            }
            Err(WriteError::Store(Error::Refused { .. })) if fault.failed_store() => {
                self.trace.note(|| "  the store failed".to_owned());
                self.model.coverage.count("receiver:store_failed");
                self.look_at(&BTreeSet::new(), Delivery::default())?;
                return Ok(Sent::Failed);
            }
            Err(WriteError::Store(error @ (Error::Row { .. } | Error::Aside { .. }))) => {
                self.trace.note(|| format!("  {error}"));
                self.look_at(&BTreeSet::new(), Delivery::default())?;
                self.note_unreadable(id, &error)?;
                return Ok(Sent::Aside);
            }
            Err(error) => return Err(refused_by_store(&error)),
        };
        self.check_faulty(&handled.work, fault.hit().as_ref())?;
        let failed = self.failed(fault.hit())?;
        self.look_after(id, input, &handled, &failed)?;
        self.committed(id, handled)
    }

    /// Handles an input in a commit of its own, with the faults that were drawn for it.
    fn handle(
        &mut self,
        id: &AgentId,
        input: &Input,
        panics: bool,
        fault: ReceiverFault,
    ) -> Verdict<Result<Result<HandledInput, Refusal>, WriteError>> {
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let (id, input) = (id.clone(), input.clone());
        let recovery = Input::Recover {
            clean_exit: true,
            proven: None,
            found: Vec::new(),
        };
        self.commit(move |ledger| {
            let mut entropy = Rng::new(seed);
            let mut ledger = FaultyLedger::new(ledger, &fault);
            let handled = match &input {
                // As the shell does: a start of an agent that is aside recovers it first.
                Input::Start => kernel.take_back(&mut ledger, &id, &recovery, now, &mut entropy)?,
                input => kernel.handle(&mut ledger, &id, input, now, &mut entropy)?,
            };
            if panics {
                std::panic::resume_unwind(Box::new("the simulation asked for this"));
            }
            Ok(handled)
        })
    }

    fn draw_receiver_fault(&mut self) -> Option<(Failure, When)> {
        if !self.trouble(Fault::Receiver, 30) {
            return None;
        }
        let failures = [Failure::Panic, Failure::Contradiction, Failure::Storage];
        let failure = self.dice.pick(&failures)?;
        Some((failure, self.dice.pick(&[When::First, When::Last])?))
    }

    /// Looks at everything a commit may have changed, and at what it told whom.
    fn look_after(
        &mut self,
        id: &AgentId,
        input: &Input,
        handled: &HandledInput,
        failed: &BTreeSet<AgentId>,
    ) -> Verdict<()> {
        let (deferred, handed) = match input {
            Input::Defer { sends } => (sends.as_slice(), [].as_slice()),
            Input::Deliver { sends, .. } if handled.reply == Reply::Done => {
                ([].as_slice(), sends.as_slice())
            }
            _ => ([].as_slice(), [].as_slice()),
        };
        let delivery = Delivery {
            deferred,
            handed,
            failed: Some(failed),
        };
        if !failed.is_empty() {
            self.model.coverage.count("receiver:failed");
        }
        self.look_at(&touched(id, &handled.work), delivery)
    }

    /// Agents that could take nothing in the last commit: their decision failed, or they cannot be read.
    fn failed(&self, hit: Option<AgentId>) -> Verdict<BTreeSet<AgentId>> {
        let mut failed: BTreeSet<AgentId> = hit.into_iter().collect();
        failed.extend(self.damage.keys().cloned());
        for id in self.model.names() {
            if self.is_aside(&id)? {
                failed.insert(id);
            }
        }
        Ok(failed)
    }

    /// An agent that another's commit could not decide about is to be put aside, for damage or a fault of its own.
    fn check_faulty(&self, work: &PostCommitWork, hit: Option<&AgentId>) -> Verdict<()> {
        for (id, reason) in &work.faulty {
            ensure(
                hit == Some(id) || self.damage.contains_key(id),
                "an agent is put aside for damage or a fault of its own",
                || format!("{id}: {reason}"),
            )?;
        }
        let forgotten = hit.filter(|id| !work.faulty.contains_key(*id));
        ensure(
            forgotten.is_none(),
            "a receiver whose decision failed is put aside",
            || format!("{forgotten:?}"),
        )
    }

    fn committed(&mut self, id: &AgentId, handled: HandledInput) -> Verdict<Sent> {
        let HandledInput { reply, work } = handled;
        self.trace.note(|| describe(&reply, &work));
        if self.trouble(Fault::Crash, 1) {
            self.trace
                .note(|| "the process dies after the commit".to_owned());
            self.die()?;
            return Ok(Sent::Died);
        }
        let touched = touched(id, &work);
        if touched.len() > 1 {
            self.model.coverage.count("commit:several_agents");
        }
        if self.trouble(Fault::Unknown, 4) {
            self.trace
                .note(|| "nobody learns that the commit holds".to_owned());
            self.model.coverage.count("commit_unknown");
            if touched.len() > 1 {
                self.model.coverage.count("commit_unknown:several_agents");
            }
            self.doubtful.extend(touched.iter().cloned());
            return Ok(Sent::Unknown(touched));
        }
        if let Reply::Admitted {
            message_id,
            message_seq,
        } = &reply
        {
            self.model.acknowledged(id, message_id, *message_seq)?;
        }
        if reply == Reply::RowsMayGo {
            self.model.is_going(id);
            self.going.push(id.clone());
        }
        self.dispatch(work)?;
        for agent_id in &touched {
            self.check_flights(agent_id)?;
        }
        Ok(Sent::Handled(reply))
    }
}

/// Every agent a commit made a decision about.
pub(crate) fn touched(id: &AgentId, work: &PostCommitWork) -> BTreeSet<AgentId> {
    let mut touched = work.touched.clone();
    touched.insert(id.clone());
    touched
}

pub(crate) fn describe(reply: &Reply, work: &PostCommitWork) -> String {
    let effects: Vec<String> = work
        .effects
        .values()
        .map(|record| format!("{} {}#{}", record.agent_id, record.effect.name(), record.id))
        .collect();
    let reply = match reply {
        Reply::Admitted { message_seq, .. } => format!("admitted {message_seq}"),
        Reply::Done => "done".to_owned(),
        Reply::Unchanged => "unchanged".to_owned(),
        Reply::RowsMayGo => "rows may go".to_owned(),
        Reply::Woken { coalesced } => format!("woken, coalesced: {coalesced}"),
        Reply::WorkItem(item) => format!("{} at revision {}", item.id, item.revision),
        Reply::Wait(wait) => format!("{} {:?}", wait.id, wait.status),
        Reply::Timer(timer) => format!("{} {:?}", timer.id, timer.status),
    };
    let closed: Vec<String> = work
        .closed
        .iter()
        .map(|(agent_id, id)| format!("{agent_id} #{id}"))
        .collect();
    format!(
        "  {reply}; begin {effects:?}; closed {closed:?}; due {:?}",
        work.due
    )
}
