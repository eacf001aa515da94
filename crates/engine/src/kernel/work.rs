//! What the shell has to do once a commit holds.

use holon_domain::decision::{Decision, Fact};
use holon_domain::effect::{EffectId, EffectRecord};
use holon_domain::{AgentId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// What follows from a commit outside the database. One commit may touch several agents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Effects to perform. Numbers are unique for one agent only.
    pub effects: BTreeMap<(AgentId, EffectId), EffectRecord>,
    /// Effects that are over: their outcome is in, or nobody waits for it any more.
    pub closed: Vec<(AgentId, EffectId)>,
    /// The earliest of the times that were newly set.
    pub due: Option<Timestamp>,
    /// Agents whose queues may hold more than one commit could decide on.
    pub unfinished: BTreeSet<AgentId>,
    /// Agents about which no decision could be made for another's sake, and why: they are put aside.
    pub faulty: BTreeMap<AgentId, String>,
    /// Every agent a decision was made about: after a commit nobody can be sure of, each is looked after.
    pub touched: BTreeSet<AgentId>,
}

impl Work {
    /// Adds what follows from a decision.
    pub(super) fn add(&mut self, decision: &Decision) {
        let agent_id = &decision.agent.identity.agent_id;
        for fact in &decision.facts {
            match fact {
                Fact::EffectOpened {
                    id,
                    generation,
                    at,
                    effect,
                } => {
                    let record = EffectRecord {
                        agent_id: agent_id.clone(),
                        id: *id,
                        generation: *generation,
                        opened_at: *at,
                        effect: effect.clone(),
                    };
                    self.effects.insert((agent_id.clone(), *id), record);
                }
                Fact::EffectClosed { id } => {
                    let key = (agent_id.clone(), *id);
                    self.effects.remove(&key);
                    self.closed.push(key);
                }
                Fact::DueSet { time, .. } => {
                    let at = time.at();
                    self.due = Some(self.due.map_or(at, |due| due.min(at)));
                }
                Fact::MessageAdmitted(_)
                | Fact::MessageMoved { .. }
                | Fact::MessageSettled { .. }
                | Fact::LogAppended { .. }
                | Fact::BriefWritten { .. }
                | Fact::EventRecorded { .. }
                | Fact::DueCleared { .. }
                | Fact::AttemptKept { .. }
                | Fact::AttemptsCleared
                | Fact::GenerationTaken { .. }
                | Fact::SettingsWritten(_)
                | Fact::TaskWritten(_)
                | Fact::WorkItemWritten(_)
                | Fact::WaitWritten(_)
                | Fact::TimerWritten(_)
                | Fact::HintWritten(_)
                | Fact::HintsCleared
                | Fact::LimitLearned { .. }
                | Fact::BlobKept { .. } => {}
            }
        }
    }
}
