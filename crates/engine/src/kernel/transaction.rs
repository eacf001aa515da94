//! One transaction of the kernel: the decisions about the agent of an input and about the receivers of its sends.

use super::{HandleResult, HandledInput, PostCommitWork, Refusal, fill_intents, numbers_of};
use holon_core::{
    AgentView, HostConditions, Input, Rejection, Reply, Step, StepError, delegation, needs, step,
};
use holon_domain::agent::AgentRecord;
use holon_domain::decision::Decision;
use holon_domain::delegation::SpawnOrder;
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::send::{AgentSend, SendId, Verdict};
use holon_domain::{AgentId, Entropy, Timestamp, limits};
use holon_store::{AgentNo, Error, Ledger};
use std::collections::VecDeque;

/// Loads per decision before it counts as a defect of `core`.
const LOADS_PER_DECISION: usize = 8;

/// A send that is not delivered yet: sender, receiver, content.
type Delivery = (AgentId, AgentId, AgentSend);

/// The result of a part in a savepoint of its own. The outer error is a storage failure, the inner one a fault of the
/// agent.
type Nested = Result<Result<Result<Reply, Refusal>, Error>, Error>;

/// One transaction of the kernel: its inputs and the work it has produced so far.
pub(super) struct Transaction<'a> {
    /// Agent whose input is handled. A fault in its own decisions fails the whole transaction.
    subject: &'a AgentId,
    conditions: &'a HostConditions,
    now: Timestamp,
    entropy: &'a mut dyn Entropy,
    work: PostCommitWork,
    worklist: VecDeque<Delivery>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(
        subject: &'a AgentId,
        conditions: &'a HostConditions,
        now: Timestamp,
        entropy: &'a mut dyn Entropy,
    ) -> Self {
        Self {
            subject,
            conditions,
            now,
            entropy,
            work: PostCommitWork::default(),
            worklist: VecDeque::new(),
        }
    }

    /// Delivers the collected sends and builds the result.
    pub(super) fn finish(
        mut self,
        ledger: &mut dyn Ledger,
        reply: Reply,
        room: usize,
    ) -> HandleResult {
        self.deliver(ledger, room)?;
        let work = self.work;
        Ok(Ok(HandledInput { reply, work }))
    }

    /// Makes the decisions about one agent until it rests. Its sends are put on the worklist.
    pub(super) fn decide(
        &mut self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
    ) -> Result<Result<Reply, Refusal>, Error> {
        match ledger.agent(agent_id)? {
            Some((no, agent)) => self.decide_about(ledger, no, agent, input),
            None => Ok(Err(Refusal::NotFound)),
        }
    }

    /// Makes the decisions about an agent that was read in this transaction.
    pub(super) fn decide_about(
        &mut self,
        ledger: &mut dyn Ledger,
        no: AgentNo,
        agent: AgentRecord,
        input: &Input,
    ) -> Result<Result<Reply, Refusal>, Error> {
        let agent_id = agent.identity.agent_id.clone();
        self.work.touched.insert(agent_id.clone());
        let first = match self.step(ledger, no, agent, input)? {
            Ok(first) => first,
            Err(rejection) => return Ok(Err(Refusal::Rejected(rejection))),
        };
        let reply = first.reply;
        // A decision that changes nothing is not written.
        if reply != Reply::Unchanged || !first.decision.facts.is_empty() {
            ledger.apply(no, &first.decision)?;
            self.work.add(&first.decision);
        }
        self.send(&agent_id, first.sends);
        self.decide_until_rest(ledger, no, first.decision)?;
        Ok(Ok(reply))
    }

    /// Repeats the decision while the queue may hold more, a bounded number of times.
    fn decide_until_rest(
        &mut self,
        ledger: &mut dyn Ledger,
        no: AgentNo,
        mut last: Decision,
    ) -> Result<(), Error> {
        for _ in 0..limits::STEPS_PER_COMMIT {
            if !last.more {
                return Ok(());
            }
            let agent_id = last.agent.identity.agent_id.clone();
            let Ok(next) = self.step(ledger, no, last.agent, &Input::Continue)? else {
                return Ok(());
            };
            ledger.apply(no, &next.decision)?;
            self.work.add(&next.decision);
            self.send(&agent_id, next.sends);
            last = next.decision;
        }
        if last.more {
            self.work
                .unfinished
                .insert(last.agent.settings.identity.agent_id);
        }
        Ok(())
    }

    /// Makes one decision. If it needs more rows, loads them and makes it again.
    fn step(
        &mut self,
        ledger: &mut dyn Ledger,
        no: AgentNo,
        mut agent: AgentRecord,
        input: &Input,
    ) -> Result<Result<Step, Rejection>, Error> {
        let agent_id = agent.identity.agent_id.clone();
        let mut wanted = needs(input, &agent);
        for _ in 0..LOADS_PER_DECISION {
            let view = AgentView {
                loaded: load(ledger, no, &agent, &wanted)?,
                agent,
            };
            match step(view, input, self.conditions, self.now, self.entropy) {
                Ok(step) => return Ok(Ok(step)),
                Err(StepError::Rejected(rejection)) => return Ok(Err(rejection)),
                Err(StepError::NeedsMore(more)) => wanted.extend(*more),
            }
            // Nothing of the decision was written, so the stored agent is the one it began with.
            (_, agent) = ledger
                .agent(&agent_id)?
                .ok_or_else(|| Error::Contradiction {
                    what: format!("agent {agent_id} is gone in the middle of its decision"),
                })?;
        }
        Err(Error::Contradiction {
            what: format!("a decision asked for rows again and again: {wanted:?}"),
        })
    }

    fn send(&mut self, from: &AgentId, sends: Vec<(AgentId, AgentSend)>) {
        let on_its_way = |(to, sent)| (from.clone(), to, sent);
        self.worklist.extend(sends.into_iter().map(on_its_way));
    }

    /// Delivers the sends, each by a decision of its receiver, up to the bound. The senders keep the rest.
    fn deliver(&mut self, ledger: &mut dyn Ledger, room: usize) -> Result<(), Error> {
        for _ in 0..room {
            let Some((from, to, sent)) = self.worklist.pop_front() else {
                return Ok(());
            };
            let awaited = sent.awaits_verdict();
            let handled = match &sent {
                AgentSend::Spawn { .. } if is_taken(ledger, &to)? => {
                    self.refuse_name(ledger, &from, awaited)?;
                    continue;
                }
                AgentSend::Spawn { order, .. } => self.spawn_nested(ledger, &to, order)?,
                _ => self.decide_nested(ledger, &to, &Input::Received(sent))?,
            };
            let verdict = match handled {
                Ok(Ok(reply)) => acceptance_of(reply),
                Ok(Err(refusal)) => refusal_of(&refusal),
                Err(fault) => Verdict::Refused {
                    code: "receiver_failed".to_owned(),
                    reason: format!("{to} could not take it: {fault}"),
                },
            };
            if let Some(send) = awaited {
                let back = Input::Received(AgentSend::Verdict { send, verdict });
                self.notify_sender(ledger, &from, &back)?;
            }
        }
        self.defer(ledger, room)
    }

    /// Tells a sender the fate of its sends. A refusal means that the sender no longer waits, which is fine.
    fn notify_sender(
        &mut self,
        ledger: &mut dyn Ledger,
        sender: &AgentId,
        input: &Input,
    ) -> Result<(), Error> {
        if sender == self.subject {
            drop(self.decide(ledger, sender, input)?);
        } else {
            drop(self.decide_nested(ledger, sender, input)?);
        }
        Ok(())
    }

    /// Makes a decision about one agent in a savepoint of its own. A fault of that agent is rolled back and reported to
    /// the sender, and the agent is put aside after the commit. Other agents are not affected.
    fn decide_nested(
        &mut self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
    ) -> Nested {
        self.nested(ledger, agent_id, |this, ledger| {
            this.decide(ledger, agent_id, input)
        })
    }

    /// Makes an agent by the order of another one, in a savepoint of its own.
    fn spawn_nested(
        &mut self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        order: &SpawnOrder,
    ) -> Nested {
        self.nested(ledger, agent_id, |this, ledger| {
            let given = numbers_of(ledger, agent_id)?;
            let made = delegation::create(order, this.conditions, given, this.now, this.entropy);
            let step = match made {
                Ok(step) => step,
                Err(StepError::Rejected(rejection)) => {
                    return Ok(Err(Refusal::Rejected(rejection)));
                }
                Err(StepError::NeedsMore(needs)) => {
                    return Err(Error::Contradiction {
                        what: format!("a new agent asked for rows: {needs:?}"),
                    });
                }
            };
            let no = ledger.create(&step.decision.agent)?;
            ledger.apply(no, &step.decision)?;
            this.work.touched.insert(agent_id.clone());
            this.work.add(&step.decision);
            this.send(agent_id, step.sends);
            Ok(Ok(step.reply))
        })
    }

    /// Tells the maker of an agent that its name is taken.
    fn refuse_name(
        &mut self,
        ledger: &mut dyn Ledger,
        maker: &AgentId,
        awaited: Option<SendId>,
    ) -> Result<(), Error> {
        let Some(send) = awaited else {
            return Ok(());
        };
        let verdict = Verdict::Refused {
            code: "agent_exists".to_owned(),
            reason: "an agent of this name exists; choose another name".to_owned(),
        };
        let back = Input::Received(AgentSend::Verdict { send, verdict });
        self.notify_sender(ledger, maker, &back)
    }

    fn nested(
        &mut self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        mut part: impl FnMut(&mut Self, &mut dyn Ledger) -> Result<Result<Reply, Refusal>, Error>,
    ) -> Nested {
        let (work, worklist) = (self.work.clone(), self.worklist.len());
        let mut outcome = Ok(Reply::Unchanged);
        let nested = ledger.nested(&mut |ledger| {
            outcome = part(self, ledger)?;
            Ok(())
        });
        match nested {
            Ok(()) => Ok(Ok(outcome)),
            Err(fault) if fault.concerns_one_agent() => {
                self.work = work;
                self.worklist.truncate(worklist);
                tracing::error!(%agent_id, %fault, "an agent could not take what another sent it");
                if !matches!(fault, Error::Aside { .. }) {
                    self.work.faulty.insert(agent_id.clone(), fault.to_string());
                }
                Ok(Err(fault))
            }
            Err(error) => Err(error),
        }
    }

    /// Hands the sends that exceed the bound back to their senders, which keep them.
    fn defer(&mut self, ledger: &mut dyn Ledger, room: usize) -> Result<(), Error> {
        while let Some((from, to, sent)) = self.worklist.pop_front() {
            let mut sends = vec![(to, sent)];
            for (other, to, sent) in std::mem::take(&mut self.worklist) {
                if other == from {
                    sends.push((to, sent));
                } else {
                    self.worklist.push_back((other, to, sent));
                }
            }
            for part in sends.chunks(room.max(1)) {
                let sends = part.to_vec();
                self.notify_sender(ledger, &from, &Input::Defer { sends })?;
            }
        }
        Ok(())
    }
}

/// Returns true if an agent of this name exists, readable or not.
fn is_taken(ledger: &mut dyn Ledger, agent_id: &AgentId) -> Result<bool, Error> {
    match ledger.agent(agent_id) {
        Ok(found) => Ok(found.is_some()),
        Err(fault) if fault.concerns_one_agent() => Ok(true),
        Err(error) => Err(error),
    }
}

fn acceptance_of(reply: Reply) -> Verdict {
    let message_id = match reply {
        Reply::Admitted { message_id, .. } => Some(message_id),
        Reply::Done
        | Reply::Unchanged
        | Reply::RowsMayGo
        | Reply::WorkItem(_)
        | Reply::Wait(_)
        | Reply::Timer(_)
        | Reply::Aborted { .. }
        | Reply::Task(_)
        | Reply::TaskStop { .. }
        | Reply::TaskInput { .. }
        | Reply::Woken { .. }
        | Reply::Delivered(_)
        | Reply::Binding(_)
        | Reply::Trigger(_) => None,
    };
    Verdict::Accepted { message_id }
}

fn refusal_of(refusal: &Refusal) -> Verdict {
    let (code, reason) = match refusal {
        Refusal::NotFound => ("agent_not_found", "there is no such agent".to_owned()),
        Refusal::KeyReused => ("idempotency_key_reused", "the key was used".to_owned()),
        Refusal::ReplyRemoved => ("outcome_removed", "its reply is kept no longer".to_owned()),
        Refusal::ReplyUnreadable => ("outcome_unreadable", "its reply cannot be read".to_owned()),
        Refusal::Rejected(rejection) => (rejection.text().code, rejection.to_string()),
    };
    Verdict::Refused {
        code: code.to_owned(),
        reason,
    }
}

/// Loads the rows a decision needs.
fn load(
    ledger: &mut dyn Ledger,
    no: AgentNo,
    agent: &AgentRecord,
    needs: &Needs,
) -> Result<LoadedRows, Error> {
    let mut loaded = ledger.load(no, needs)?;
    check_tasks(agent, &loaded)?;
    if let Part::Loaded((_, Some(entry))) = &mut loaded.round {
        fill_intents(entry, agent);
    }
    Ok(loaded)
}

/// Checks that every unfinished task that the agent counts has its row. A decision would wait for ever for the end of a
/// task whose row was lost.
fn check_tasks(agent: &AgentRecord, loaded: &LoadedRows) -> Result<(), Error> {
    let Part::Loaded(tasks) = &loaded.active_tasks else {
        return Ok(());
    };
    let counted = usize::try_from(agent.active_tasks).unwrap_or(usize::MAX);
    // One read lists a bounded number, which is not below this limit.
    if tasks.len() >= counted.min(limits::TASKS_PER_AGENT) {
        return Ok(());
    }
    Err(Error::Row {
        table: "tasks",
        key: agent.identity.agent_id.to_string(),
        reason: format!("{} of {counted} unfinished tasks are there", tasks.len()),
    })
}
