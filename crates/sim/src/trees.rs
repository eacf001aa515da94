//! The oracle's record of trees of agents: the limits on spawning, and the bond between a child and the task that stands
//! for it.
//!
//! Written from the contract: a spawn is refused in its own commit if it would exceed the depth, the live children or the
//! spawns of an hour. In the end no task waits for a child that has ended, and no child lives whose task is over.

use crate::model::Model;
use crate::violation::{Verdict, ensure};
use holon_domain::agent::AgentRecord;
use holon_domain::task::TaskRecord;
use holon_domain::{AgentId, Timestamp, limits};
use std::collections::BTreeMap;

const HOUR_MS: u64 = 3_600_000;

/// Every agent that another one made so far.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    /// Root and time of each spawn, by the agent that was made.
    spawned: BTreeMap<AgentId, (AgentId, Timestamp)>,
    /// Supervising agents above each one. Roots and agents that own themselves have none.
    depths: BTreeMap<AgentId, u32>,
}

impl Trees {
    /// Notes an agent at its first observation, and checks that its tree had room for it.
    pub(crate) fn note(&mut self, agent: &AgentRecord, now: Timestamp, depth: u32) -> Verdict<()> {
        let identity = &agent.identity;
        let (Some(root), Some(parent)) =
            (&identity.root_agent_id, &identity.lineage_parent_agent_id)
        else {
            return Ok(());
        };
        if self.spawned.contains_key(&identity.agent_id) {
            return Ok(());
        }
        // An agent that owns itself begins a depth of its own.
        let above = match agent.supervision {
            Some(_) => self.depths.get(parent).copied().unwrap_or(0) + 1,
            None => 0,
        };
        self.depths.insert(identity.agent_id.clone(), above);
        ensure(above <= depth, "no agent is made below the depth", || {
            format!("{} is at {above} of {depth}", identity.agent_id)
        })?;
        let spawn = (root.clone(), now);
        self.spawned.insert(identity.agent_id.clone(), spawn);
        let of_root = self.spawned.values().filter(|(of, _)| of == root);
        let recent = of_root.filter(|(_, at)| *at <= now && now.millis_since(*at) < HOUR_MS);
        let recent = recent.count();
        ensure(
            recent <= limits::SPAWNS_PER_HOUR,
            "a tree makes a bounded number of agents in an hour",
            || format!("{recent} of {root}"),
        )
    }
}

impl Model {
    /// Returns true if an agent is a private child.
    pub(crate) fn is_child(&self, id: &AgentId) -> bool {
        let known = self.agent(id);
        known.is_some_and(|known| known.record.supervision.is_some())
    }

    /// Returns the agents that operators may name: all but private children.
    pub(crate) fn public_names(&self) -> Vec<AgentId> {
        let names = self.names().into_iter();
        names.filter(|id| !self.is_child(id)).collect()
    }

    /// Checks that no tree has more live children than it may.
    pub(crate) fn check_live_children(&self) -> Verdict<()> {
        let mut live: BTreeMap<&AgentId, u32> = BTreeMap::new();
        for (_, known) in self.known() {
            let agent = &known.record;
            let lives = agent.archived_at.is_none() && !known.removing;
            if let (Some(_), Some(root), true) =
                (&agent.supervision, &agent.identity.root_agent_id, lives)
            {
                *live.entry(root).or_default() += 1;
            }
        }
        let most = live.into_iter().max_by_key(|(_, count)| *count);
        ensure(
            most.is_none_or(|(_, count)| count <= limits::LIVE_CHILDREN),
            "a tree has a bounded number of live children",
            || format!("{most:?}"),
        )
    }

    /// Checks that every task and its child have come to their ends together. `is_spared` names agents whose rows cannot
    /// be read, so that nothing could be told to them.
    pub(crate) fn check_bonds(&self, is_spared: impl Fn(&AgentId) -> bool) -> Verdict<()> {
        for (id, known) in self.known().filter(|(_, known)| !known.removing) {
            if is_spared(id) {
                continue;
            }
            for task in known.tasks.children().filter(|task| !task.is_over()) {
                self.check_waited_for(id, task)?;
            }
            let Some(supervision) = &known.record.supervision else {
                continue;
            };
            let parent = &supervision.parent_agent_id;
            if known.record.archived_at.is_some() || is_spared(parent) {
                continue;
            }
            let parent = self.agent(parent).filter(|parent| !parent.removing);
            let task = parent.and_then(|parent| {
                let mut tasks = parent.tasks.children();
                tasks.find(|task| task.id == supervision.task_id)
            });
            ensure(
                task.is_some_and(|task| !task.is_over()),
                "no child outlives its task",
                || format!("{id} lives, and its task is {task:?}"),
            )?;
        }
        Ok(())
    }

    fn check_waited_for(&self, parent: &AgentId, task: &TaskRecord) -> Verdict<()> {
        let child = task.child().map(|own| &own.child_agent_id);
        let lives = child
            .and_then(|child| self.agent(child))
            .is_some_and(|known| known.record.archived_at.is_none() && !known.removing);
        ensure(
            lives,
            "no parent waits for ever on a finished child",
            || format!("{parent} waits for {child:?} in {}", task.id),
        )
    }
}
