//! Calls about memory: searches the agent's index and reads its documents.

use super::Shell;
use super::tool::unreadable_result;
use crate::memory::MemorySubject;
use crate::tool_outcome::ToolRunOutcome;
use crate::tool_run::ToolRun;
use holon_domain::memory::MemoryQuery;
use holon_tools::{memory_get, memory_search};

impl Shell {
    /// Answers a call that searches or reads memory. It changes nothing, so it is repeated after a restart.
    pub(super) async fn memory_query(&self, run: &ToolRun, query: &MemoryQuery) -> ToolRunOutcome {
        let read = self.store.agent(&run.agent_id);
        let Ok(Some(agent)) = self.read_or_put_aside(&run.agent_id, read).await else {
            return ToolRunOutcome::result(unreadable_result(&run.call));
        };
        let subject = MemorySubject {
            // A call runs in the workspace of its turn.
            workspace_id: run.workspace.workspace_id.clone(),
            ..MemorySubject::of(&agent)
        };
        let answer = match query {
            MemoryQuery::Search(search) => {
                let found = self.memory.search(&subject, search.clone()).await;
                found.map(|page| memory_search::envelope(&page))
            }
            MemoryQuery::Get(get) => {
                let found = self.memory.get(&subject, get.clone()).await;
                found.map(|content| memory_get::envelope(&content))
            }
        };
        let name = &run.call.name;
        ToolRunOutcome::result(answer.unwrap_or_else(|fault| memory_search::failure(name, &fault)))
    }
}
