//! Calls about memory: each is answered from an index that is built from the store for this call, as for an agent without
//! a home.

use crate::store::now;
use crate::tool_run::CallStep;
use crate::violation::{Verdict, ensure, violation};
use crate::world::World;
use holon_domain::AgentId;
use holon_domain::memory::{MemoryFault, MemoryLag, MemoryQuery};
use holon_engine::tool_run::ToolRun;
use holon_store::{IndexOwner, IndexPosition, MemoryIndex, MemoryReads as _};
use holon_tools::{memory_get, memory_search};

/// Most steps of one build; the histories of the simulation are far shorter.
const STEPS: usize = 64;

impl World {
    pub(crate) fn query_memory(
        &mut self,
        agent_id: &AgentId,
        run: &ToolRun,
        query: &MemoryQuery,
    ) -> Verdict<CallStep> {
        let Ok(Some(owner)) = now(self.store.memory_owner(agent_id))? else {
            return Ok(CallStep::Nothing);
        };
        let mut index = self.build_index(agent_id, &owner)?;
        let workspace = &run.workspace.workspace_id;
        let answered = match query {
            MemoryQuery::Search(search) => index.search(search, workspace, self.now).map(|found| {
                memory_search::envelope(&found.into_page(MemoryLag::default(), Vec::new()))
            }),
            MemoryQuery::Get(get) => index.get(&get.source_ref).map(|found| match found {
                Some(document) => memory_get::envelope(&document.content(get.max_chars)),
                None => {
                    let source_ref = get.source_ref.key();
                    memory_search::failure(&run.call.name, &MemoryFault::NotFound { source_ref })
                }
            }),
        };
        match answered {
            Ok(envelope) => Ok(CallStep::result(envelope)),
            Err(fault) => violation("memory can be searched", fault.to_string()),
        }
    }

    fn build_index(&mut self, agent_id: &AgentId, owner: &IndexOwner) -> Verdict<MemoryIndex> {
        let mut index = match MemoryIndex::in_memory(owner) {
            Ok(index) => index,
            Err(fault) => return violation("an index can be made in memory", fault.to_string()),
        };
        for _ in 0..STEPS {
            let Ok(Some(batch)) = now(self.store.memory_batch(agent_id, index.position()))? else {
                break;
            };
            if let Err(fault) = index.apply(owner, batch) {
                return violation("a step of an index can be taken", fault.to_string());
            }
        }
        let is_complete = matches!(index.position(), IndexPosition::Following { .. });
        ensure(is_complete, "an index is complete after its steps", || {
            format!("{:?}", index.position())
        })?;
        Ok(index)
    }
}
