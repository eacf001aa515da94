//! Sends one input in one commit: draws its faults, checks the result and dispatches its effects.

use crate::callbacks;
use crate::plan::Fault;
use crate::post::Delivery;
use crate::receiver::{Failure, FaultPoint, FaultyLedger, ReceiverFault};
use crate::rng::Rng;
use crate::store::refused_by_store;
use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World};
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use holon_domain::previous_exit::PreviousExit;
use holon_engine::kernel::{DeliveredInput, HandledInput, PostCommitWork, Reach, Refusal};
use holon_store::{Error, WriteError};
use std::collections::BTreeSet;

impl World {
    /// Hands an input to the kernel in a commit of its own.
    pub(crate) fn send(&mut self, id: &AgentId, input: &Input) -> Verdict<InputResult> {
        if self.trouble(Fault::Crash, 1) {
            self.trace
                .note(|| "the process dies before the commit".to_owned());
            self.die()?;
            return Ok(InputResult::Died);
        }
        // A fault on these inputs would hide the rule that is checked after them.
        let is_spared = matches!(
            input,
            Input::Recover { .. } | Input::GiveUp { .. } | Input::ClockSetBack { .. }
        );
        let panics = !is_spared && self.trouble(Fault::Panic, 3);
        let fault = ReceiverFault::new(self.draw_receiver_fault());
        self.model.shown = match input {
            Input::RoundAnswered { answer, .. } => answer.shown_items.clone(),
            _ => Vec::new(),
        };
        let written = self.handle(id, input, panics, fault.clone())?;
        let handled = match written {
            Ok(Ok(handled)) => handled,
            Ok(Err(refusal)) => {
                self.trace.note(|| format!("  refused: {refusal:?}"));
                self.observe_commit(&BTreeSet::from([id.clone()]), Delivery::default())?;
                return Ok(InputResult::Refused(refusal));
            }
            Err(WriteError::Panicked { .. }) if panics => {
                self.trace.note(|| "  panicked".to_owned());
                self.observe_commit(&BTreeSet::new(), Delivery::default())?;
                return Ok(InputResult::Panicked);
            }
            Err(WriteError::Store(Error::Refused { .. })) if fault.failed_store() => {
                self.trace.note(|| "  the store failed".to_owned());
                self.model.coverage.count("receiver:store_failed");
                self.observe_commit(&BTreeSet::new(), Delivery::default())?;
                return Ok(InputResult::Failed);
            }
            Err(WriteError::Store(error @ (Error::Row { .. } | Error::Aside { .. }))) => {
                self.trace.note(|| format!("  {error}"));
                self.observe_commit(&BTreeSet::new(), Delivery::default())?;
                self.note_unreadable(id, &error)?;
                return Ok(InputResult::Aside);
            }
            Err(error) => return Err(refused_by_store(&error)),
        };
        self.check_faulty(&handled.work, fault.hit().as_ref())?;
        let failed = self.failed_agents(fault.hit())?;
        self.check_commit(id, input, &handled, &failed)?;
        self.finish_commit(id, handled)
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
            exit: PreviousExit::Clean,
            proven: None,
            found: Vec::new(),
        };
        self.commit(move |ledger| {
            let mut entropy = Rng::new(seed);
            let mut ledger = FaultyLedger::new(ledger, &fault);
            let handled = match &input {
                // A start of an agent that is aside recovers it first, as in the shell.
                Input::Start => kernel.take_back(&mut ledger, &id, &recovery, now, &mut entropy)?,
                Input::Callback(delivery) => {
                    let delivered = DeliveredInput {
                        keys: &callbacks::keys_of(delivery),
                        input: &input,
                        reach: Reach::Any,
                    };
                    kernel.handle_delivery(&mut ledger, &id, delivered, now, &mut entropy)?
                }
                input => kernel.handle(&mut ledger, &id, input, now, &mut entropy)?,
            };
            if panics {
                std::panic::resume_unwind(Box::new("the simulation asked for this"));
            }
            Ok(handled)
        })
    }

    fn draw_receiver_fault(&mut self) -> Option<(Failure, FaultPoint)> {
        if !self.trouble(Fault::Receiver, 30) {
            return None;
        }
        let failures = [Failure::Panic, Failure::Contradiction, Failure::Storage];
        let failure = self.dice.pick(&failures)?;
        Some((
            failure,
            self.dice.pick(&[FaultPoint::First, FaultPoint::Last])?,
        ))
    }

    /// Checks every agent that a commit may have changed, and its deliveries.
    fn check_commit(
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
        self.observe_commit(&touched_agents(id, &handled.work), delivery)
    }

    /// Lists the agents about which the last commit could decide nothing: their decision failed, or they cannot be
    /// read.
    fn failed_agents(&self, hit: Option<AgentId>) -> Verdict<BTreeSet<AgentId>> {
        let mut failed: BTreeSet<AgentId> = hit.into_iter().collect();
        failed.extend(self.damage.keys().cloned());
        for id in self.model.names() {
            if self.is_aside(&id)? {
                failed.insert(id);
            }
        }
        Ok(failed)
    }

    /// Checks that an agent about which another's commit could not decide is damaged or was hit by a fault.
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

    fn finish_commit(&mut self, id: &AgentId, handled: HandledInput) -> Verdict<InputResult> {
        let HandledInput { reply, work } = handled;
        self.trace.note(|| describe(&reply, &work));
        if self.trouble(Fault::Crash, 1) {
            self.trace
                .note(|| "the process dies after the commit".to_owned());
            self.die()?;
            return Ok(InputResult::Died);
        }
        let touched = touched_agents(id, &work);
        if touched.len() > 1 {
            self.model.coverage.count("commit:several_agents");
        }
        if self.trouble(Fault::Unknown, 4) {
            self.trace
                .note(|| "the commit holds but is unconfirmed".to_owned());
            self.model.coverage.count("commit_unknown");
            if touched.len() > 1 {
                self.model.coverage.count("commit_unknown:several_agents");
            }
            self.doubtful.extend(touched.iter().cloned());
            return Ok(InputResult::Unknown(touched));
        }
        if let Reply::Admitted {
            message_id,
            message_seq,
            ..
        } = &reply
        {
            self.model.acknowledged(id, message_id, *message_seq)?;
        }
        if reply == Reply::RowsMayGo {
            self.model.mark_removing(id);
            self.going.push(id.clone());
        }
        self.dispatch(work)?;
        for agent_id in &touched {
            self.check_flights(agent_id)?;
        }
        Ok(InputResult::Handled(reply))
    }
}

/// Lists every agent that a commit made a decision about.
pub(crate) fn touched_agents(id: &AgentId, work: &PostCommitWork) -> BTreeSet<AgentId> {
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
        Reply::Delivered(receipt) => format!("delivered {:?}", receipt.disposition),
        Reply::Trigger(trigger) => format!("{} {:?}", trigger.id, trigger.status),
        Reply::Binding(binding) => format!("bound {}", binding.binding_id),
        Reply::Woken { coalesced } => format!("woken, coalesced: {coalesced}"),
        Reply::WorkItem(item) => format!("{} at revision {}", item.id, item.revision),
        Reply::Wait(wait) => format!("{} {:?}", wait.id, wait.status),
        Reply::Timer(timer) => format!("{} {:?}", timer.id, timer.status),
        Reply::Task(task) => format!("{} {:?}", task.task_id, task.status),
        Reply::TaskStop { task, .. } => format!("{} {:?}", task.task_id, task.status),
        Reply::Aborted { run_id } => format!("aborted {run_id}"),
        Reply::TaskInput { number } => format!("task input {number}"),
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
