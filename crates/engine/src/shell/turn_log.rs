//! Keeps the logs of open turns between their rounds, so that a round of a long turn reads only what is new.
//!
//! A log that is not kept is read again, so losing one costs time and nothing else. Of a log that exceeds the bound, the
//! rounds that a recap stands for are kept in short.

mod folded;

use super::Shell;
use holon_domain::AgentId;
use holon_store::{TurnLog, TurnRows};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Most bytes of rows that are kept for all agents together.
const KEPT_BYTES: usize = 16 << 20;
/// Smallest log that is kept. A shorter one is read again as fast.
const LEAST_BYTES: usize = 16 << 10;

/// The kept logs, one for each agent. The one that was used last is at the back.
#[derive(Debug, Default)]
pub(super) struct TurnLogs(Mutex<VecDeque<(AgentId, TurnLog)>>);

impl TurnLogs {
    /// Takes the log that is kept for an agent; an empty one if there is none.
    fn take(&self, agent_id: &AgentId) -> TurnLog {
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = logs.iter().position(|(id, _)| id == agent_id);
        let taken = place.and_then(|place| logs.remove(place));
        taken.map(|(_, log)| log).unwrap_or_default()
    }

    /// Keeps the log of an agent's open turn. The logs that were not used for longest give way.
    fn keep(&self, agent_id: AgentId, log: TurnLog) {
        let log = if log.bytes > KEPT_BYTES {
            folded::shorten(log)
        } else {
            log
        };
        if !(LEAST_BYTES..=KEPT_BYTES).contains(&log.bytes) {
            return;
        }
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logs.retain(|(id, _)| *id != agent_id);
        logs.push_back((agent_id, log));
        let mut bytes: usize = logs.iter().map(|(_, log)| log.bytes).sum();
        while bytes > KEPT_BYTES
            && let Some((_, log)) = logs.pop_front()
        {
            bytes -= log.bytes;
        }
    }
}

impl Shell {
    /// Reads the rows of a turn, with the part of its log that an earlier round has read.
    pub(super) async fn turn_rows(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
    ) -> Result<Option<TurnRows>, holon_store::Error> {
        let known = self.turn_logs.take(agent_id);
        let rows = self.store.turn(agent_id, turn_index, known).await?;
        if let Some(rows) = &rows {
            self.turn_logs.keep(agent_id.clone(), rows.log.clone());
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bytes: usize) -> TurnLog {
        TurnLog {
            bytes,
            ..TurnLog::default()
        }
    }

    fn agent(name: &str) -> AgentId {
        AgentId::parse(name).expect("a name")
    }

    #[test]
    fn the_logs_that_were_used_last_are_kept_within_the_bound() {
        let logs = TurnLogs::default();
        for name in ["a", "b", "c"] {
            logs.keep(agent(name), log(KEPT_BYTES / 2));
        }
        assert_eq!(logs.take(&agent("a")).bytes, 0, "it gave way");
        assert_eq!(logs.take(&agent("b")).bytes, KEPT_BYTES / 2);
        assert_eq!(logs.take(&agent("b")).bytes, 0, "it was taken");
        logs.keep(agent("c"), log(LEAST_BYTES - 1));
        assert_eq!(
            logs.take(&agent("c")).bytes,
            KEPT_BYTES / 2,
            "too short to replace it"
        );
        logs.keep(agent("d"), log(KEPT_BYTES + 1));
        assert_eq!(logs.take(&agent("d")).bytes, 0, "too large");
    }
}
