//! Decides if this process performs the work of an agent: of all agents, or only of the run it was started for.

use super::Shell;
use crate::conduct::Scope;
use crate::kernel::PostCommitWork;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::effect::Effect;
use holon_store::DueScope;
use std::sync::PoisonError;

impl Shell {
    /// Returns true if this process performs an agent's work. It knows the temporary agents it created and those
    /// recovery found; there are no others once it accepts inputs.
    pub(super) fn covers(&self, agent_id: &AgentId) -> bool {
        match &self.conduct.scope {
            Scope::All => true,
            Scope::Run(Some(named)) if named == agent_id => true,
            Scope::Run(_) => {
                let temporary = self.temporary.lock();
                temporary
                    .unwrap_or_else(PoisonError::into_inner)
                    .contains(agent_id)
            }
        }
    }

    /// Returns the same scope as a filter of the due queue.
    pub(super) fn due_scope(&self) -> DueScope {
        let named = match &self.conduct.scope {
            Scope::All => return DueScope::All,
            Scope::Run(named) => named,
        };
        let temporary = self.temporary.lock();
        let temporary = temporary.unwrap_or_else(PoisonError::into_inner);
        DueScope::Only(temporary.iter().chain(named).cloned().collect())
    }

    /// Records that an agent is temporary. Only needed in a process with `Scope::Run`.
    pub(super) fn note_temporary(&self, agent_id: AgentId) {
        if self.conduct.scope != Scope::All {
            let mut temporary = self
                .temporary
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            temporary.insert(agent_id);
        }
    }

    /// Returns true if an agent belongs to the tree of the run's agent as a supervised child.
    fn is_child_of_run(&self, agent: &AgentRecord) -> bool {
        let root = agent.identity.root_agent_id.as_ref();
        match &self.conduct.scope {
            Scope::Run(Some(named)) => agent.supervision.is_some() && root == Some(named),
            Scope::Run(None) | Scope::All => false,
        }
    }

    /// Records the children that a commit made, so that this process performs their work, too.
    pub(super) fn note_children(&self, work: &PostCommitWork) {
        for ((agent_id, _), record) in &work.effects {
            if record.effect == Effect::PrepareHome && agent_id.is_child() {
                self.note_temporary(agent_id.clone());
            }
        }
    }

    /// Records which agents of a page are temporary, by their run terms.
    pub(super) async fn note_temporaries(&self, page: &[AgentId]) {
        if self.conduct.scope == Scope::All {
            return;
        }
        for agent_id in page {
            let read = self.read_or_put_aside(agent_id, self.store.agent(agent_id));
            if let Ok(Some(agent)) = read.await
                && (agent.is_temporary() || self.is_child_of_run(&agent))
            {
                self.note_temporary(agent_id.clone());
            }
        }
    }
}
