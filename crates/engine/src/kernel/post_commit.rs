//! The work that the shell performs after a commit.

use holon_domain::decision::{Decision, Fact};
use holon_domain::effect::{EffectId, EffectRecord};
use holon_domain::event::Event;
use holon_domain::turn::TerminalReason;
use holon_domain::{AgentId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Work outside of the database that follows from a commit. One commit may touch several agents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PostCommitWork {
    /// Effects to perform. Effect ids are unique per agent only.
    pub effects: BTreeMap<(AgentId, EffectId), EffectRecord>,
    /// Effects that are closed: their outcome is committed, or it is no longer needed. Running ones are cancelled.
    pub closed: Vec<(AgentId, EffectId)>,
    /// Earliest due time that the commit set.
    pub due: Option<Timestamp>,
    /// Agents whose queues may hold more than one commit can process.
    pub unfinished: BTreeSet<AgentId>,
    /// Agents whose decision failed while they received a send, with the fault. The shell puts them aside.
    pub faulty: BTreeMap<AgentId, String>,
    /// Reasons for the ends of turns, for the figures of the host.
    pub ended_turns: Vec<TerminalReason>,
    /// Every agent with a decision in this commit. If the commit is unconfirmed, the shell checks each of them.
    pub touched: BTreeSet<AgentId>,
}

impl PostCommitWork {
    /// Adds the effects, due times, closed effects and ended turns of a decision.
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
                Fact::EventRecorded {
                    event: Event::TurnTerminal(terminal),
                    ..
                } => self.ended_turns.push(terminal.reason),
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
                | Fact::DeliverySummaryWritten(_)
                | Fact::WaitWritten(_)
                | Fact::TimerWritten(_)
                | Fact::HintWritten(_)
                | Fact::HintsCleared
                | Fact::DeliveryWritten(_)
                | Fact::DeliverySettled { .. }
                | Fact::DeliveriesTrimmed { .. }
                | Fact::TriggerWritten(_)
                | Fact::AgentSpawned(_)
                | Fact::SpawnEnded { .. }
                | Fact::LimitLearned { .. }
                | Fact::UsageCharged(_)
                | Fact::CallReserved(_)
                | Fact::ReservationReleased
                | Fact::WorkspaceRegistered { .. }
                | Fact::OccupancyTaken(_)
                | Fact::OccupancyReleased
                | Fact::WorkingMemoryWritten(_)
                | Fact::EpisodeArchived(_)
                | Fact::BlobKept { .. } => {}
            }
        }
    }
}
