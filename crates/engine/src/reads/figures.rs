//! Sums over the agents of a host, for its metrics.

use super::ReadHandle;
use crate::error::Error;
use std::collections::BTreeMap;

/// Sums over the public agents, and the size of the store.
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

impl ReadHandle {
    /// Returns the figures of the host.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn figures(&self) -> Result<HostFigures, Error> {
        let read = self
            .readers
            .read(|reader| Ok((reader.figures()?, reader.agents()?)));
        let ((db_bytes, open_effects), rows) = read.await?;
        let mut figures = HostFigures {
            db_bytes,
            open_effects,
            ..HostFigures::default()
        };
        for listed in rows {
            figures.queued_messages += listed.pending;
            figures.longest_queue = figures.longest_queue.max(listed.pending);
            if let Ok(agent) = &listed.record {
                figures.model_rounds += agent.totals.model_rounds;
                figures.input_tokens += agent.totals.usage.input_tokens;
                figures.output_tokens += agent.totals.usage.output_tokens;
            }
            let posture = self.list_entry(listed).scheduling_posture.posture;
            let word = serde_json::to_value(posture).unwrap_or_default();
            let word = word.as_str().unwrap_or("unknown").to_owned();
            *figures.agents.entry(word).or_default() += 1;
        }
        Ok(figures)
    }
}
