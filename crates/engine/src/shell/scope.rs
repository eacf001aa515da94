//! Whose work this process takes up: everybody's, or only that of the run it was started for.

use super::Shell;
use crate::conduct::Scope;
use holon_domain::AgentId;
use holon_store::DueScope;
use std::sync::PoisonError;

impl Shell {
    /// Whether this process takes up an agent's work. Of temporary agents it knows those it made and those that
    /// recovery found; no other is left once it admits anything.
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

    /// The same as a filter of the due-queue.
    pub(super) fn due_scope(&self) -> DueScope {
        let named = match &self.conduct.scope {
            Scope::All => return DueScope::All,
            Scope::Run(named) => named,
        };
        let temporary = self.temporary.lock();
        let temporary = temporary.unwrap_or_else(PoisonError::into_inner);
        DueScope::Only(temporary.iter().chain(named).cloned().collect())
    }

    /// Notes that an agent is temporary. Only a process with a narrow scope has to know.
    pub(super) fn note_temporary(&self, agent_id: AgentId) {
        if self.conduct.scope != Scope::All {
            let mut temporary = self
                .temporary
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            temporary.insert(agent_id);
        }
    }

    /// Finds out which agents of a page are temporary, by their terms.
    pub(super) async fn note_temporaries(&self, page: &[AgentId]) {
        if self.conduct.scope == Scope::All {
            return;
        }
        for agent_id in page {
            let read = self.noted(agent_id, self.store.agent(agent_id));
            if let Ok(Some(agent)) = read.await
                && agent.is_temporary()
            {
                self.note_temporary(agent_id.clone());
            }
        }
    }
}
