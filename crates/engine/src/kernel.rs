//! The kernel: one input about one agent, handled inside the writer's transaction.
//!
//! Synchronous and deterministic: it loads what `core` asks for, lets `core` decide, applies the facts, hands what the
//! decision sends to its receivers, and goes on until every agent it touched rests or needs something outside. It has
//! no side effect beside the transaction and may be run again; the simulation drives this very code.

mod work;

pub use work::Work;

use crate::facts::SharedFacts;
use holon_core::input::NewAgent;
use holon_core::{
    AgentView, HostFacts, Input, Rejection, Reply, Step, Undecided, lifecycle, needs, step,
};
use holon_domain::agent::{AgentRecord, ProfilePreset, Visibility};
use holon_domain::block::{Block, ToolCall, calls_of};
use holon_domain::decision::Decision;
use holon_domain::log::{Intents, LogEntry};
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::send::{AgentSend, Verdict};
use holon_domain::{AgentId, Entropy, Timestamp, limits};
use holon_store::{AgentNo, Error, Ledger};
use std::collections::VecDeque;
use std::sync::Arc;

/// How often a decision may ask for more rows before it counts as a defect of `core`.
const LOADS_PER_DECISION: usize = 8;

/// Handles inputs. Holds only what the host knows that no row does.
#[derive(Debug, Clone)]
pub struct Kernel {
    facts: SharedFacts,
    sends_per_commit: usize,
}

/// What came of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Handled {
    /// The answer to its sender.
    pub reply: Reply,
    /// What follows outside.
    pub work: Work,
}

/// Why an input came to nothing. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such agent.
    NotFound,
    /// A rule of the agent forbids it.
    Rejected(Rejection),
}

/// The result of handling an input: storage may fail, and the kernel may refuse.
pub type HandleResult = Result<Result<Handled, Refusal>, Error>;

/// A send on its way: from whom, to whom, what.
type Delivery = (AgentId, AgentId, AgentSend);

impl Kernel {
    /// A kernel for a host.
    #[must_use]
    pub const fn new(facts: SharedFacts) -> Self {
        Self::with_room_for(facts, limits::SENDS_PER_COMMIT)
    }

    /// A kernel whose commits hand over at most this many sends, for those who look at what happens beyond.
    #[must_use]
    pub const fn with_room_for(facts: SharedFacts, sends_per_commit: usize) -> Self {
        Self {
            facts,
            sends_per_commit,
        }
    }

    /// What the host knows.
    #[must_use]
    pub const fn facts(&self) -> &SharedFacts {
        &self.facts
    }

    /// Makes an agent.
    ///
    /// # Errors
    /// When the name is taken or storage fails.
    pub fn create(
        &self,
        ledger: &mut dyn Ledger,
        new: NewAgent,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> Result<Work, Error> {
        let newest = ledger.newest_generation()?;
        let decision = lifecycle::create(new, &self.facts.now(), newest, now, entropy);
        let no = ledger.create(&decision.agent)?;
        ledger.apply(no, &decision)?;
        let mut work = Work::default();
        work.add(&decision);
        Ok(work)
    }

    /// Handles one input about one agent: its decision, and those of every agent it sends something to.
    ///
    /// # Errors
    /// When storage fails; a refusal is not an error.
    pub fn handle(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        let facts = self.facts.now();
        let mut run = Run::new(agent_id, &facts, now, entropy);
        let reply = match run.decide(ledger, agent_id, input)? {
            Ok(reply) => reply,
            Err(refusal) => return Ok(Err(refusal)),
        };
        run.finish(ledger, reply, self.sends_per_commit)
    }

    /// Handles an input of a client. For a client, an agent that is not public does not exist.
    ///
    /// # Errors
    /// When storage fails; a refusal is not an error.
    pub fn handle_for_client(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        match ledger.agent(agent_id)? {
            Some((_, agent)) if agent.identity.visibility == Visibility::Public => {
                self.handle(ledger, agent_id, input, now, entropy)
            }
            Some(_) | None => Ok(Err(Refusal::NotFound)),
        }
    }

    /// Takes an agent back that was put aside: settles what it left open by `recovery`, as a boot does, and starts it.
    /// One that is not aside any more is only started.
    ///
    /// # Errors
    /// When storage fails or a row still cannot be read; a refusal is not an error.
    pub fn take_back(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        recovery: &Input,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        let facts = self.facts.now();
        let mut run = Run::new(agent_id, &facts, now, entropy);
        let was_aside = ledger.take_back(agent_id)?;
        if was_aside && let Err(refusal) = run.decide(ledger, agent_id, recovery)? {
            return Ok(Err(refusal));
        }
        let reply = match run.decide(ledger, agent_id, &Input::Start)? {
            Ok(reply) => reply,
            // It is back, and goes on with what it was at: an agent that is being removed is not started.
            Err(_) if was_aside => Reply::Done,
            Err(refusal) => return Ok(Err(refusal)),
        };
        run.finish(ledger, reply, self.sends_per_commit)
    }
}

/// One transaction: what is known while it runs, and what has come of it so far.
struct Run<'a> {
    /// The agent whose input is handled: a fault of its own decisions fails the whole transaction.
    subject: &'a AgentId,
    facts: &'a HostFacts,
    now: Timestamp,
    entropy: &'a mut dyn Entropy,
    work: Work,
    worklist: VecDeque<Delivery>,
}

impl<'a> Run<'a> {
    fn new(
        subject: &'a AgentId,
        facts: &'a HostFacts,
        now: Timestamp,
        entropy: &'a mut dyn Entropy,
    ) -> Self {
        Self {
            subject,
            facts,
            now,
            entropy,
            work: Work::default(),
            worklist: VecDeque::new(),
        }
    }

    /// Hands over what was sent, and answers.
    fn finish(mut self, ledger: &mut dyn Ledger, reply: Reply, room: usize) -> HandleResult {
        self.deliver(ledger, room)?;
        let work = self.work;
        Ok(Ok(Handled { reply, work }))
    }

    /// Decides about one agent and runs it to rest. What it sends is put on the worklist.
    fn decide(
        &mut self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
    ) -> Result<Result<Reply, Refusal>, Error> {
        let Some((no, agent)) = ledger.agent(agent_id)? else {
            return Ok(Err(Refusal::NotFound));
        };
        self.work.touched.insert(agent_id.clone());
        let first = match self.step(ledger, no, &agent, input)? {
            Ok(first) => first,
            Err(rejection) => return Ok(Err(Refusal::Rejected(rejection))),
        };
        let reply = first.reply;
        // What changes nothing is not written either.
        if reply != Reply::Unchanged || !first.decision.facts.is_empty() {
            ledger.apply(no, &first.decision)?;
            self.work.add(&first.decision);
        }
        self.send(agent_id, first.sends);
        self.run_to_rest(ledger, no, first.decision)?;
        Ok(Ok(reply))
    }

    /// Decides on while a decision leaves the queue's head unknown, a bounded number of times.
    fn run_to_rest(
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
            let Ok(next) = self.step(ledger, no, &last.agent, &Input::Continue)? else {
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

    /// Makes one decision, loading what it asks for. Rows it turns out to need are loaded and it is made again.
    fn step(
        &mut self,
        ledger: &mut dyn Ledger,
        no: AgentNo,
        agent: &AgentRecord,
        input: &Input,
    ) -> Result<Result<Step, Rejection>, Error> {
        let mut wanted = needs(input, agent);
        for _ in 0..LOADS_PER_DECISION {
            let view = AgentView {
                loaded: load(ledger, no, agent, &wanted)?,
                agent: agent.clone(),
            };
            match step(view, input, self.facts, self.now, self.entropy) {
                Ok(step) => return Ok(Ok(step)),
                Err(Undecided::Rejected(rejection)) => return Ok(Err(rejection)),
                Err(Undecided::NeedsMore(more)) => wanted.extend(*more),
            }
        }
        Err(Error::Contradiction {
            what: format!("a decision asked for rows again and again: {wanted:?}"),
        })
    }

    fn send(&mut self, from: &AgentId, sends: Vec<(AgentId, AgentSend)>) {
        let on_its_way = |(to, sent)| (from.clone(), to, sent);
        self.worklist.extend(sends.into_iter().map(on_its_way));
    }

    /// Works the sends off, each by its receiver's own decision, a bounded number; the rest is kept by its senders.
    fn deliver(&mut self, ledger: &mut dyn Ledger, room: usize) -> Result<(), Error> {
        for _ in 0..room {
            let Some((from, to, sent)) = self.worklist.pop_front() else {
                return Ok(());
            };
            let awaited = sent.awaits_verdict();
            let verdict = match self.decide_nested(ledger, &to, &Input::Received(sent))? {
                Ok(Ok(reply)) => accepted(reply),
                Ok(Err(refusal)) => refused(&refusal),
                Err(fault) => Verdict::Refused {
                    code: "receiver_failed".to_owned(),
                    reason: format!("{to} could not take it: {fault}"),
                },
            };
            if let Some(send) = awaited {
                let back = Input::Received(AgentSend::Verdict { send, verdict });
                self.tell_sender(ledger, &from, &back)?;
            }
        }
        self.defer(ledger, room)
    }

    /// Hands a sender what became of its sends. A refusal means that it no longer waits, which is fine.
    fn tell_sender(
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

    /// Decides about one agent in a savepoint of its own. A fault of that agent is undone and answered, and the agent
    /// is put aside once the commit holds; the others go on.
    fn decide_nested(
        &mut self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
    ) -> Result<Result<Result<Reply, Refusal>, Error>, Error> {
        let (work, worklist) = (self.work.clone(), self.worklist.len());
        let mut outcome = Ok(Reply::Unchanged);
        let nested = ledger.nested(&mut |ledger| {
            outcome = self.decide(ledger, agent_id, input)?;
            Ok(())
        });
        match nested {
            Ok(()) => Ok(Ok(outcome)),
            Err(fault) if fault.is_one_agents() => {
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

    /// Has the senders keep what the commit has no room for.
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
                self.tell_sender(ledger, &from, &Input::Defer { sends })?;
            }
        }
        Ok(())
    }
}

fn accepted(reply: Reply) -> Verdict {
    let message_id = match reply {
        Reply::Admitted { message_id, .. } => Some(message_id),
        Reply::Done
        | Reply::Unchanged
        | Reply::RowsMayGo
        | Reply::WorkItem(_)
        | Reply::Wait(_)
        | Reply::Timer(_)
        | Reply::Woken { .. } => None,
    };
    Verdict::Accepted { message_id }
}

fn refused(refusal: &Refusal) -> Verdict {
    let (code, reason) = match refusal {
        Refusal::NotFound => ("agent_not_found", "there is no such agent".to_owned()),
        Refusal::Rejected(rejection) => (rejection.text().code, rejection.to_string()),
    };
    Verdict::Refused {
        code: code.to_owned(),
        reason,
    }
}

/// Loads what a decision asks for.
fn load(
    ledger: &mut dyn Ledger,
    no: AgentNo,
    agent: &AgentRecord,
    needs: &Needs,
) -> Result<LoadedRows, Error> {
    let mut loaded = ledger.load(no, needs)?;
    if let Part::Loaded((_, Some(entry))) = &mut loaded.round {
        fill_intents(entry, agent);
    }
    Ok(loaded)
}

/// Interprets the calls of a round whose entry was written by a build that did not store what they ask for.
pub(crate) fn fill_intents(entry: &mut LogEntry, agent: &AgentRecord) {
    let LogEntry::AssistantRound {
        blocks, intents, ..
    } = entry
    else {
        return;
    };
    if intents.is_empty() && calls_of(blocks).next().is_some() {
        *intents = intents_of(blocks, agent.identity.profile_preset);
    }
}

/// What the calls of a round ask for, in their order.
pub(crate) fn intents_of(blocks: &[Block], preset: ProfilePreset) -> Arc<Intents> {
    let interpret = |call: &ToolCall| holon_tools::interpret(&call.name, &call.input, preset);
    Arc::new(calls_of(blocks).map(interpret).collect())
}
