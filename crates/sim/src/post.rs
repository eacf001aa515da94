//! The oracle's record of messages between agents. Each carries a unique token.
//!
//! Written from the contract: a sending call gets one result, in the commit that made the send. An accepted message is
//! in its receiver's queue exactly once, a refused one in no queue. A receiver refuses only what may not enter, unless
//! its decision fails. A deferred message is delivered exactly once.

use crate::coverage::Coverage;
use crate::letter;
use crate::violation::{Verdict, ensure, violation};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::block::ToolCall;
use holon_domain::message::MessageEnvelope;
use holon_domain::send::AgentSend;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::{AgentId, MessageId};
use std::collections::{BTreeMap, BTreeSet};

/// A message between agents that was found in a queue.
#[derive(Debug, Clone)]
struct Receipt {
    token: String,
    from: String,
    by: AgentId,
    id: MessageId,
    authority: AuthorityClass,
}

/// The result of a sending call.
#[derive(Debug, Clone)]
struct SendResult {
    token: String,
    from: AgentId,
    to: AgentId,
    /// Authority of the turn that made the call.
    authority: AuthorityClass,
    told: SendOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SendOutcome {
    /// The receiver queued it under this message id.
    Accepted(String),
    /// The receiver refused it with this code.
    Refused(String),
    /// The call was never run.
    NotRun,
    /// The turn ended while the call waited for the receiver; the message may still arrive.
    Unknown,
}

/// Messages between agents that one observation of an agent found.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    receipts: Vec<Receipt>,
    results: Vec<SendResult>,
}

impl Mail {
    /// Records a new message in an agent's queue.
    pub(crate) fn record_message(&mut self, envelope: &MessageEnvelope) {
        if let Some((from, token)) = letter::sender(envelope) {
            self.receipts.push(Receipt {
                token: token.to_owned(),
                from: from.to_owned(),
                by: envelope.agent_id.clone(),
                id: envelope.id.clone(),
                authority: envelope.authority_class,
            });
        }
    }

    /// Records the result of an agent's call. `waited` is true if the call waited for its receiver before this commit.
    pub(crate) fn record_result(
        &mut self,
        from: &AgentId,
        authority: AuthorityClass,
        call: &ToolCall,
        envelope: &ToolEnvelope,
        waited: bool,
    ) {
        let Some((to, token)) = letter::addressed(call) else {
            return;
        };
        let told = match &envelope.outcome {
            ToolOutcome::Success { result } => SendOutcome::Accepted(word(result, "message_id")),
            ToolOutcome::Error { error } => match &error.details {
                Some(details) if details.get("code").is_some() => {
                    SendOutcome::Refused(word(details, "code"))
                }
                Some(_) | None if waited => SendOutcome::Unknown,
                Some(_) | None => SendOutcome::NotRun,
            },
        };
        self.results.push(SendResult {
            token,
            from: from.clone(),
            to,
            authority,
            told,
        });
    }
}

fn word(value: &serde_json::Value, field: &str) -> String {
    let found = value.get(field).and_then(|word| word.as_str());
    found.unwrap_or_default().to_owned()
}

/// The deliveries of one commit, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delivery<'a> {
    /// Sends that it deferred.
    pub(crate) deferred: &'a [(AgentId, AgentSend)],
    /// Deferred sends that it handed over.
    pub(crate) handed: &'a [(AgentId, AgentSend)],
    /// Receivers about which no decision could be made.
    pub(crate) failed: Option<&'a BTreeSet<AgentId>>,
}

impl Delivery<'_> {
    fn has_failed(&self, id: &AgentId) -> bool {
        self.failed.is_some_and(|failed| failed.contains(id))
    }
}

/// Every message between agents so far.
#[derive(Debug, Default)]
pub(crate) struct Post {
    received: BTreeMap<String, Receipt>,
    /// Messages that must not arrive, because they were refused or their call was never run.
    void: BTreeSet<String>,
    /// Deferred messages with their receivers.
    deferred: BTreeMap<String, AgentId>,
    fresh: Mail,
}

impl Post {
    /// Adds the messages that one observation found.
    pub(crate) fn add(&mut self, mail: Mail) {
        self.fresh.receipts.extend(mail.receipts);
        self.fresh.results.extend(mail.results);
    }

    /// Compares the verdicts of a commit with the messages it queued. Every agent that it touched was observed before.
    pub(crate) fn check_commit(
        &mut self,
        delivery: Delivery<'_>,
        lifecycle: impl Fn(&AgentId) -> Option<Lifecycle>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let Mail { receipts, results } = std::mem::take(&mut self.fresh);
        let mut unclaimed = BTreeSet::new();
        for receipt in receipts {
            let token = receipt.token.clone();
            ensure(
                !self.void.contains(&token),
                "a refused message is in no queue",
                || format!("{receipt:?}"),
            )?;
            unclaimed.insert(token.clone());
            let before = self.received.insert(token, receipt);
            ensure(before.is_none(), "a message is queued once", || {
                format!("{before:?}")
            })?;
        }
        for result in results {
            let lives = lifecycle(&result.to);
            self.judge(&result, lives, delivery.has_failed(&result.to))?;
            count(&result, lives, coverage);
            unclaimed.remove(&result.token);
        }
        for (to, sent) in delivery.handed {
            let Some(token) = letter::token_of(sent) else {
                continue;
            };
            self.deferred.remove(token);
            unclaimed.remove(token);
            let arrived = self
                .received
                .get(token)
                .is_some_and(|found| found.by == *to);
            let lives = lifecycle(to);
            let failed = delivery.has_failed(to);
            ensure(
                arrived == may_enter(lives) || failed && !arrived,
                "what was kept for later is delivered, or refused by who may not take it",
                || format!("{token} to {to}, which is {lives:?}: {arrived}"),
            )?;
            coverage.count(match (arrived, failed) {
                (true, _) => "delivered:accepted",
                (false, true) => "delivered:receiver_failed",
                (false, false) => "delivered:refused",
            });
        }
        for (to, sent) in delivery.deferred {
            let token = letter::token_of(sent).unwrap_or_default();
            self.deferred.insert(token.to_owned(), to.clone());
            coverage.count("delivery_kept");
        }
        ensure(
            unclaimed.is_empty(),
            "a message is queued in the commit that tells its sender, or that delivers it",
            || format!("{unclaimed:?}"),
        )
    }

    fn judge(
        &mut self,
        result: &SendResult,
        lives: Option<Lifecycle>,
        failed: bool,
    ) -> Verdict<()> {
        let receipt = self.received.get(&result.token);
        let fits = match &result.told {
            SendOutcome::Accepted(id) => {
                let allowed = result.authority.weaker(AuthorityClass::RuntimeInstruction);
                receipt.is_some_and(|found| {
                    found.by == result.to
                        && found.from == result.from.as_str()
                        && found.id.as_str() == id
                        && found.authority >= allowed
                }) && may_enter(lives)
            }
            SendOutcome::Refused(code) => {
                let reason = match code.as_str() {
                    "agent_not_found" => lives.is_none(),
                    "receiver_failed" => failed,
                    // Every other refusal follows from the receiver's lifecycle state.
                    _ => lives.is_some() && !may_enter(lives),
                };
                receipt.is_none() && reason
            }
            SendOutcome::NotRun => receipt.is_none(),
            SendOutcome::Unknown => true,
        };
        if !fits {
            return violation(
                "a call is told the truth about its message: accepted once, or refused for a reason",
                format!("{result:?}, received {receipt:?}, receiver {lives:?}, failed {failed:?}"),
            );
        }
        match result.told {
            SendOutcome::Refused(_) | SendOutcome::NotRun => {
                let first = self.void.insert(result.token.clone());
                ensure(first, "a call that sends gets one result", || {
                    format!("{result:?}")
                })
            }
            SendOutcome::Accepted(_) | SendOutcome::Unknown => Ok(()),
        }
    }

    /// Checks that no delivery is left once nothing else is left to do.
    pub(crate) fn at_rest(&self) -> Verdict<()> {
        ensure(
            self.deferred.is_empty(),
            "what was kept for later is delivered in the end",
            || format!("{:?}", self.deferred),
        )
    }
}

/// Returns true if an agent in this state accepts messages.
const fn may_enter(lifecycle: Option<Lifecycle>) -> bool {
    match lifecycle {
        Some(Lifecycle::Booting | Lifecycle::Runnable) => true,
        Some(Lifecycle::Stopped | Lifecycle::Deleting) | None => false,
    }
}

fn count(result: &SendResult, lives: Option<Lifecycle>, coverage: &mut Coverage) {
    match &result.told {
        SendOutcome::Accepted(_) if result.from == result.to => coverage.count("sent:to_itself"),
        SendOutcome::Accepted(_) => coverage.count("sent:accepted"),
        SendOutcome::Refused(_) if lives == Some(Lifecycle::Stopped) => {
            coverage.count("sent:refused:stopped");
        }
        SendOutcome::Refused(_) if lives == Some(Lifecycle::Deleting) => {
            coverage.count("sent:refused:deleting");
        }
        SendOutcome::Refused(code) => coverage.count(format!("sent:refused:{code}")),
        SendOutcome::NotRun => coverage.count("sent:not_run"),
        SendOutcome::Unknown => coverage.count("sent:cut_off"),
    }
}
