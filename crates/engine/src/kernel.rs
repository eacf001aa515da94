//! The kernel handles one input about one agent inside the writer's transaction.
//!
//! It is synchronous and deterministic. It loads the rows `core` asks for, lets `core` decide, applies the facts, and
//! delivers the decision's sends, until every agent it touched rests or needs an effect. It has no side effect outside
//! the transaction, so it can be run again. The simulation uses the same code.

mod post_commit;
mod transaction;

pub use post_commit::PostCommitWork;

use self::transaction::Transaction;
use crate::conditions::SharedConditions;
use holon_core::import::{ImportedAgent, import};
use holon_core::input::NewAgent;
use holon_core::lifecycle::GivenNumbers;
use holon_core::{Input, Rejection, Reply, lifecycle, reply_is_forgotten};
use holon_domain::agent::{AgentRecord, ProfilePreset, Visibility};
use holon_domain::block::{Block, ToolCall, calls_of};
use holon_domain::log::{Intents, LogEntry};
use holon_domain::request_key::{KeptReply, KeptReplyGap, RequestKey};
use holon_domain::{AgentId, Entropy, Timestamp, limits};
use holon_store::{AgentNo, Error, Ledger};
use std::sync::Arc;

/// Handles inputs. Holds only conditions of the host that no row contains.
#[derive(Debug, Clone)]
pub struct Kernel {
    conditions: SharedConditions,
    sends_per_commit: usize,
}

/// The result of an input that was handled.
#[derive(Debug, Clone, PartialEq)]
pub struct HandledInput {
    /// Answer for the sender of the input.
    pub reply: Reply,
    /// Work for the shell after the commit.
    pub work: PostCommitWork,
}

/// The reason why an input was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    /// The key of the request was used for another request.
    KeyReused,
    /// The request was carried out before, and its reply is kept no longer.
    ReplyRemoved,
    /// The request was carried out before, and the row of its reply is damaged.
    ReplyUnreadable,
    /// A rule of the agent forbids it.
    Rejected(Rejection),
}

/// The result of handling an input. The outer error is a storage failure, the inner one a refusal.
pub type HandleResult = Result<Result<HandledInput, Refusal>, Error>;

/// An input of a client with the key of its request.
#[derive(Debug, Clone, Copy)]
pub struct KeyedInput<'a> {
    pub key: &'a RequestKey,
    pub input: &'a Input,
}

/// A delivery from outside, with the keys under which it is known.
#[derive(Debug, Clone, Copy)]
pub struct DeliveredInput<'a> {
    /// Keys of the delivery. If the reply under any of them is kept, the delivery is a repetition.
    pub keys: &'a [RequestKey],
    pub input: &'a Input,
    pub reach: Reach,
}

/// The agents that an input can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Any agent: it comes from the runtime, or its sender proved a capability of the agent.
    Any,
    /// Agents that everyone may see; any other is unknown.
    Public,
}

impl Reach {
    /// Reads an agent that can be reached.
    fn find(
        self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
    ) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        let found = ledger.agent(agent_id)?;
        Ok(found.filter(|(_, agent)| match self {
            Self::Any => true,
            Self::Public => agent.identity.visibility == Visibility::Public,
        }))
    }
}

impl Kernel {
    /// Creates the kernel of a host.
    #[must_use]
    pub const fn new(conditions: SharedConditions) -> Self {
        Self::with_send_limit(conditions, limits::SENDS_PER_COMMIT)
    }

    /// Creates a kernel with another limit of sends per commit, for tests of deferred sends.
    #[must_use]
    pub const fn with_send_limit(conditions: SharedConditions, sends_per_commit: usize) -> Self {
        Self {
            conditions,
            sends_per_commit,
        }
    }

    /// The shared conditions of the host.
    #[must_use]
    pub const fn conditions(&self) -> &SharedConditions {
        &self.conditions
    }

    /// Creates an agent.
    ///
    /// # Errors
    /// When the name is taken or storage fails.
    pub fn create(
        &self,
        ledger: &mut dyn Ledger,
        new: NewAgent,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> Result<PostCommitWork, Error> {
        let given = numbers_of(ledger, &new.identity.agent_id)?;
        let decision = lifecycle::create(new, &self.conditions.now(), given, now, entropy);
        let no = ledger.create(&decision.agent)?;
        ledger.apply(no, &decision)?;
        let mut work = PostCommitWork::default();
        work.add(&decision);
        Ok(work)
    }

    /// Makes an agent from an archive.
    ///
    /// # Errors
    /// When the name is taken or storage fails.
    pub fn import(
        &self,
        ledger: &mut dyn Ledger,
        imported: ImportedAgent,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> Result<PostCommitWork, Error> {
        let given = numbers_of(ledger, &imported.new.identity.agent_id)?;
        let decision = import(imported, &self.conditions.now(), given, now, entropy);
        let no = ledger.create(&decision.agent)?;
        ledger.apply(no, &decision)?;
        let mut work = PostCommitWork::default();
        work.add(&decision);
        Ok(work)
    }

    /// Handles one input about one agent, including the decisions of every agent it sends something to.
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
        let found = Reach::Any.find(ledger, agent_id)?;
        self.handle_found(ledger, found, input, now, entropy)
    }

    /// Handles an input of a client. Agents that are not public do not exist for clients.
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
        let found = Reach::Public.find(ledger, agent_id)?;
        self.handle_found(ledger, found, input, now, entropy)
    }

    fn handle_found(
        &self,
        ledger: &mut dyn Ledger,
        found: Option<(AgentNo, AgentRecord)>,
        input: &Input,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        let Some((no, agent)) = found else {
            return Ok(Err(Refusal::NotFound));
        };
        let conditions = self.conditions.now();
        let agent_id = agent.identity.agent_id.clone();
        let mut transaction = Transaction::new(&agent_id, &conditions, now, entropy);
        let reply = match transaction.decide_about(ledger, no, agent, input)? {
            Ok(reply) => reply,
            Err(refusal) => return Ok(Err(refusal)),
        };
        transaction.finish(ledger, reply, self.sends_per_commit)
    }

    /// Handles an input of a client whose request has a key. The reply is kept with the decision, in the same commit. A
    /// repeated request gets the kept reply and changes nothing. A refusal is not kept.
    ///
    /// # Errors
    /// When storage fails or the kept reply cannot be read; a refusal is not an error.
    pub fn handle_keyed(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        keyed: KeyedInput<'_>,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        let KeyedInput { key, input } = keyed;
        let kept = ledger.kept_reply(&key.id, now)?;
        if let Some(kept) = kept
            && is_kept_for(ledger, agent_id, &kept, input)?
        {
            if !kept.answers(key) {
                return Ok(Err(Refusal::KeyReused));
            }
            let work = PostCommitWork::default();
            return Ok(read_reply(&kept).map(|reply| HandledInput { reply, work }));
        }
        let handled = self.handle_for_client(ledger, agent_id, input, now, entropy)?;
        if let Ok(done) = &handled {
            let reply = serde_json::to_string(&done.reply);
            let reply = reply.map_err(|error| Error::Encode {
                reason: error.to_string(),
            })?;
            ledger.keep_reply(key, Some(agent_id), &reply, now)?;
        }
        Ok(handled)
    }

    /// Handles a delivery from outside. Its reply is kept under its keys in the commit of the decision, so that a
    /// delivery takes effect at most once, no matter how often its sender repeats it. A refusal is not kept.
    ///
    /// # Errors
    /// When storage fails; a refusal is not an error.
    pub fn handle_delivery(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        delivered: DeliveredInput<'_>,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        let DeliveredInput { keys, input, reach } = delivered;
        for key in keys {
            if let Some(kept) = ledger.kept_reply(&key.id, now)?
                && is_kept_for(ledger, agent_id, &kept, input)?
            {
                let reply = read_reply(&kept);
                let work = PostCommitWork::default();
                return Ok(reply.map(|reply| HandledInput { reply, work }));
            }
        }
        let found = reach.find(ledger, agent_id)?;
        let handled = self.handle_found(ledger, found, input, now, entropy)?;
        if let Ok(done) = &handled {
            let reply = serde_json::to_string(&done.reply);
            let reply = reply.map_err(|error| Error::Encode {
                reason: error.to_string(),
            })?;
            let kept = keys.iter().filter(|_| !reply_is_forgotten());
            for key in kept {
                ledger.keep_reply(key, Some(agent_id), &reply, now)?;
            }
        }
        Ok(handled)
    }

    /// Brings back an agent that was put aside: handles `recovery` as a boot does, and starts the agent. An agent that
    /// is no longer aside is only started.
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
        let conditions = self.conditions.now();
        let mut transaction = Transaction::new(agent_id, &conditions, now, entropy);
        let was_aside = ledger.take_back(agent_id)?;
        if was_aside && let Err(refusal) = transaction.decide(ledger, agent_id, recovery)? {
            return Ok(Err(refusal));
        }
        let reply = match transaction.decide(ledger, agent_id, &Input::Start)? {
            Ok(reply) => reply,
            // The agent is back. A refused start is fine: an agent that is being removed is not started.
            Err(_) if was_aside => Reply::Done,
            Err(refusal) => return Ok(Err(refusal)),
        };
        transaction.finish(ledger, reply, self.sends_per_commit)
    }
}

/// Returns true if a kept reply belongs to the present agent. A reply to a removal is kept for every agent of the name:
/// its repetition must not remove another agent.
fn is_kept_for(
    ledger: &mut dyn Ledger,
    agent_id: &AgentId,
    kept: &KeptReply,
    input: &Input,
) -> Result<bool, Error> {
    if matches!(input, Input::Delete) {
        return Ok(true);
    }
    // An agent that cannot be read is refused here.
    if ledger.agent(agent_id)?.is_none() {
        return Ok(false);
    }
    let birth = ledger.birth(agent_id)?;
    Ok(birth.is_some_and(|birth| kept.belongs_to(birth)))
}

/// Reads the numbers that were given out before an agent of this name is made.
fn numbers_of(ledger: &mut dyn Ledger, agent_id: &AgentId) -> Result<GivenNumbers, Error> {
    Ok(GivenNumbers {
        generation: ledger.newest_generation()?,
        events: ledger.event_floor(agent_id)?,
    })
}

/// Decodes a kept reply. A reply that is gone or cannot be read is no reason to decide again.
pub(crate) fn read_reply(kept: &KeptReply) -> Result<Reply, Refusal> {
    kept.read().map_err(|gap| match gap {
        KeptReplyGap::Removed => Refusal::ReplyRemoved,
        KeptReplyGap::Unreadable => {
            tracing::error!(digest = kept.digest, "a row of `kept_replies` is damaged");
            Refusal::ReplyUnreadable
        }
    })
}

/// Interprets the calls of a round that an older build stored without their intents.
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

/// Interprets the calls of a round, in order.
pub(crate) fn intents_of(blocks: &[Block], preset: ProfilePreset) -> Arc<Intents> {
    let interpret = |call: &ToolCall| holon_tools::interpret(&call.name, &call.input, preset);
    Arc::new(calls_of(blocks).map(interpret).collect())
}
