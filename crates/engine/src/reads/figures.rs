//! Sums over the agents of a host, for its metrics and its status.

use super::{ReadHandle, is_archived};
use crate::error::Error;
use holon_domain::AgentId;
use holon_domain::agent::{AgentStatus, LastFailure};
use holon_domain::summary::{AgentListEntry, Posture};
use std::collections::BTreeMap;

/// Sums over the public agents, and the size of the store. Archived agents count in the sums of what was used, and in
/// none of what waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFigures {
    /// Number of agents by the word of their posture.
    pub agents: BTreeMap<String, u64>,
    pub queued_messages: u64,
    /// Queued messages of the agent with the most.
    pub longest_queue: u64,
    /// Effects of all agents that are not closed.
    pub open_effects: u64,
    pub model_rounds: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Bytes of the database without its log.
    pub db_bytes: u64,
}

/// Numbers of the public agents by what they do, and the last failure among them. Archived agents are not counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostActivity {
    /// Agents that are not stopped.
    pub active_agents: u64,
    /// Agents with an open turn, and agents that are being prepared.
    pub processing_agents: u64,
    /// Agents that wait or are blocked.
    pub waiting_agents: u64,
    pub active_tasks: u64,
    /// Newest failure of a turn, with its agent. Absent if no turn has failed.
    pub last_failure: Option<(AgentId, LastFailure)>,
}

impl ReadHandle {
    /// Returns the activity of the host.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn activity(&self) -> Result<HostActivity, Error> {
        let rows = self.readers.agents().await?;
        let mut activity = HostActivity::default();
        for listed in rows.into_iter().filter(|row| !is_archived(row)) {
            if let Ok(agent) = &listed.record {
                activity.active_tasks += u64::from(agent.active_tasks);
                let newest = activity.last_failure.as_ref();
                if let Some(failure) = &agent.last_failure
                    && newest.is_none_or(|(_, newest)| newest.occurred_at < failure.occurred_at)
                {
                    activity.last_failure = Some((listed.agent_id.clone(), failure.clone()));
                }
            }
            activity.count(&self.list_entry(listed));
        }
        Ok(activity)
    }

    /// Returns the figures of the host.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn figures(&self) -> Result<HostFigures, Error> {
        let read = self.readers.read(|reader| reader.figures());
        let (db_bytes, open_effects) = read.await?;
        let rows = self.readers.agents().await?;
        let mut figures = HostFigures {
            db_bytes,
            open_effects,
            ..HostFigures::default()
        };
        for listed in rows {
            if !is_archived(&listed) {
                figures.queued_messages += listed.pending;
                figures.longest_queue = figures.longest_queue.max(listed.pending);
            }
            if let Ok(agent) = &listed.record {
                figures.model_rounds += agent.totals.model_rounds;
                let used = agent.totals.usage;
                figures.input_tokens = figures.input_tokens.saturating_add(used.input_tokens);
                figures.output_tokens = figures.output_tokens.saturating_add(used.output_tokens);
            }
            let posture = self.list_entry(listed).scheduling_posture.posture;
            let word = serde_json::to_value(posture).unwrap_or_default();
            let word = word.as_str().unwrap_or("unknown").to_owned();
            *figures.agents.entry(word).or_default() += 1;
        }
        Ok(figures)
    }
}

impl HostActivity {
    fn count(&mut self, entry: &AgentListEntry) {
        match entry.status {
            AgentStatus::Stopped => return,
            AgentStatus::Booting | AgentStatus::AwakeRunning => self.processing_agents += 1,
            AgentStatus::AwakeIdle | AgentStatus::Asleep => {
                match entry.scheduling_posture.posture {
                    Posture::WaitingForTask
                    | Posture::WaitingForExternal
                    | Posture::WaitingForOperator
                    | Posture::Blocked => self.waiting_agents += 1,
                    Posture::Unknown
                    | Posture::Archived
                    | Posture::ActiveTurn
                    | Posture::HasQueuedInput
                    | Posture::HasRunnableWork
                    | Posture::Idle => {}
                }
            }
        }
        self.active_agents += 1;
    }
}
