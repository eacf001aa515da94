//! Agents whose outcomes cannot be written because the disk is full.
//!
//! Kept in memory only: there is no space to store it, and a restart finds it out again.

use holon_domain::AgentId;
use holon_domain::summary::SchedulingPosture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Reason shown in the status of an agent that waits for disk space.
const REASON: &str =
    "waits for space on the disk: what has happened cannot be written down; free some space";

/// The number of waiting outcomes per agent. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct StalledAgents(Arc<Mutex<HashMap<AgentId, usize>>>);

impl StalledAgents {
    /// Counts one outcome of this agent as waiting until the returned guard is dropped.
    pub(crate) fn enter(&self, agent_id: &AgentId) -> StallGuard {
        *self.lock().entry(agent_id.clone()).or_default() += 1;
        StallGuard {
            all: self.clone(),
            agent_id: agent_id.clone(),
        }
    }

    /// Puts the reason into an agent's posture if the agent waits for disk space.
    pub(crate) fn explain(&self, agent_id: &AgentId, posture: &mut SchedulingPosture) {
        if self.lock().contains_key(agent_id) {
            REASON.clone_into(&mut posture.reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one waiting outcome of an agent until it is dropped.
#[derive(Debug)]
pub(crate) struct StallGuard {
    all: StalledAgents,
    agent_id: AgentId,
}

impl Drop for StallGuard {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(left) = all.get_mut(&self.agent_id) {
            *left -= 1;
            if *left == 0 {
                all.remove(&self.agent_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::summary::Posture;

    #[test]
    fn an_agent_is_shown_as_waiting_until_the_last_of_its_outcomes_is_written() {
        let (all, id) = (
            StalledAgents::default(),
            AgentId::parse("a").expect("a name"),
        );
        let shown = |all: &StalledAgents, id: &AgentId| {
            let mut posture = SchedulingPosture {
                posture: Posture::ActiveTurn,
                reason: "runs".to_owned(),
                run_id: None,
                work_item_id: None,
                waiting_intent_id: None,
                wakes_at: None,
            };
            all.explain(id, &mut posture);
            posture.reason
        };
        let (first, second) = (all.enter(&id), all.enter(&id));
        drop(first);
        assert!(shown(&all, &id).starts_with("waits for space on the disk"));
        assert_eq!(shown(&all, &AgentId::parse("b").expect("a name")), "runs");
        drop(second);
        assert_eq!(shown(&all, &id), "runs");
    }
}
