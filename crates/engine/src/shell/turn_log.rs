//! Keeps the logs of open turns between their rounds, and the ended turns of agents' threads between requests, so that a
//! request reads only what is new.
//!
//! A log or a thread that is not kept is read again, so losing one costs time and nothing else. Both count
//! against one bound. Of a log that exceeds the bound, the rounds that a recap stands for are kept in short.

mod folded;

use super::Shell;
use crate::model_request::KnownThread;
use holon_domain::AgentId;
use holon_store::{TurnLog, TurnRows};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Most bytes of rows that are kept for all agents together.
const KEPT_BYTES: usize = 16 << 20;
/// Smallest log that is kept. A shorter one is read again as fast.
const LEAST_BYTES: usize = 16 << 10;

/// What is kept for an agent.
#[derive(Debug, Clone, Default)]
struct Kept {
    log: TurnLog,
    thread: KnownThread,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.log.bytes + self.thread.bytes()
    }
}

/// What is kept, by agent. The one that was used last is at the back.
#[derive(Debug, Default)]
pub(super) struct TurnLogs(Mutex<VecDeque<(AgentId, Kept)>>);

impl TurnLogs {
    /// Takes what is kept for an agent; nothing if it is not known.
    fn take(&self, agent_id: &AgentId) -> Kept {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|(id, _)| id == agent_id);
        let taken = place.and_then(|place| all.remove(place));
        taken.map(|(_, kept)| kept).unwrap_or_default()
    }

    /// Keeps the log of an agent's open turn and its thread. Those that were not used for longest give way.
    fn keep(&self, agent_id: AgentId, kept: Kept) {
        let kept = if kept.log.bytes > KEPT_BYTES {
            Kept {
                log: folded::shorten(kept.log),
                ..kept
            }
        } else {
            kept
        };
        if !(LEAST_BYTES..=KEPT_BYTES).contains(&kept.bytes()) {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(id, _)| *id != agent_id);
        all.push_back((agent_id, kept));
        let mut bytes: usize = all.iter().map(|(_, kept)| kept.bytes()).sum();
        while bytes > KEPT_BYTES
            && let Some((_, kept)) = all.pop_front()
        {
            bytes -= kept.bytes();
        }
    }
}

impl Shell {
    /// Reads the rows of a turn, with what earlier requests have read of its log and of the thread before it.
    pub(super) async fn turn_rows(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
    ) -> Result<Option<(TurnRows, KnownThread)>, holon_store::Error> {
        let Kept { log, mut thread } = self.turn_logs.take(agent_id);
        let known = TurnLog {
            past_through: thread.through(),
            ..log
        };
        let Some(mut rows) = self.store.turn(agent_id, turn_index, known).await? else {
            return Ok(None);
        };
        thread.take(&mut rows);
        let kept = Kept {
            log: rows.log.clone(),
            thread: thread.clone(),
        };
        self.turn_logs.keep(agent_id.clone(), kept);
        Ok(Some((rows, thread)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(bytes: usize) -> Kept {
        Kept {
            log: TurnLog {
                bytes,
                ..TurnLog::default()
            },
            thread: KnownThread::default(),
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
        assert_eq!(logs.take(&agent("a")).bytes(), 0, "it gave way");
        assert_eq!(logs.take(&agent("b")).bytes(), KEPT_BYTES / 2);
        assert_eq!(logs.take(&agent("b")).bytes(), 0, "it was taken");
        logs.keep(agent("c"), log(LEAST_BYTES - 1));
        assert_eq!(
            logs.take(&agent("c")).bytes(),
            KEPT_BYTES / 2,
            "too short to replace it"
        );
        logs.keep(agent("d"), log(KEPT_BYTES + 1));
        assert_eq!(logs.take(&agent("d")).bytes(), 0, "too large");
    }
}
