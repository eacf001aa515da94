//! Calls about work items: writes plan files and reads stored work.
//!
//! The plan of a new item is written before the item has a row, under an id derived from the call. If the turn is over
//! by then, the folder belongs to no item. It is removed at once, or in the background after the next unclean boot.

use super::Shell;
use super::tool::unreadable_result;
use crate::tool_outcome::{CallCleanup, ToolRunOutcome};
use crate::tool_run::ToolRun;
use crate::work_answer;
use holon_domain::consequence::Consequence;
use holon_domain::intent::WorkQuery;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::{AgentId, WorkItemId};
use holon_prompt::PlanFile;
use holon_store::{LastExit, Readers, TurnRows, WorkQueryRows};
use holon_tools::create_work_item;
use tokio_util::sync::CancellationToken;

/// Folders looked up in one read.
const FOLDERS_AT_ONCE: usize = 256;

impl Shell {
    /// Writes the plan file of the item that a call creates. Idempotent: after a restart it writes the same file again.
    pub(super) async fn write_plan(
        &self,
        run: &ToolRun,
        cancel: CancellationToken,
    ) -> ToolRunOutcome {
        let item = WorkItemId::of_call(&run.call.id);
        let text = create_work_item::plan_of(&run.call);
        let written = self
            .ports
            .plan
            .write(&run.agent_home, &item, text, cancel)
            .await;
        holon_fault::hit("plan.written");
        match written {
            Ok(plan) => ToolRunOutcome {
                consequence: Consequence::PlanWritten(plan),
                forget: CallCleanup::Nothing,
                succeeded: Vec::new(),
            },
            Err(reason) => ToolRunOutcome::result(create_work_item::not_written(&reason)),
        }
    }

    /// Answers a call that reads stored work. The plan of a single item is described as its file is now.
    pub(super) async fn work_query(&self, run: &ToolRun, query: &WorkQuery) -> ToolRunOutcome {
        let read = self.store.work(&run.agent_id, query);
        match self.read_or_put_aside(&run.agent_id, read).await {
            Ok(Some(mut look)) => {
                if let WorkQueryRows::Item {
                    item: Some(item), ..
                } = &mut look.found
                {
                    item.plan = self.ports.plan.read(&run.agent_home, &item.id).await;
                }
                ToolRunOutcome::result(work_answer::envelope(query, &look))
            }
            Ok(None) | Err(_) => ToolRunOutcome::result(unreadable_result(&run.call)),
        }
    }

    /// Compares the plan file of the turn's work item with its row.
    pub(super) async fn look_at_plan(&self, rows: &TurnRows) -> PlanFile {
        let Some(item) = &rows.item else {
            return PlanFile::Known;
        };
        let home = &rows.agent.agent_home;
        work_answer::plan_look(item, self.ports.plan.read(home, &item.id).await)
    }

    /// Removes the plan of a call whose result was not accepted, unless the item exists.
    pub(super) async fn discard_plan(&self, run: &ToolRun) {
        let item = WorkItemId::of_call(&run.call.id);
        self.remove_orphans(&run.agent_id, &run.agent_home, vec![item])
            .await;
    }

    /// Removes plan folders without an item, of every agent whose last process died. Runs beside the agents' turns.
    pub(crate) async fn sweep_all_plans(self, last_exit: LastExit, readers: Readers) {
        let listed = match readers.read(|reader| reader.agents()).await {
            Ok(listed) => listed,
            Err(error) => {
                return tracing::warn!(%error, "the agents whose plans are to be looked at could not be read");
            }
        };
        for agent_id in listed.into_iter().map(|listed| listed.agent_id) {
            if self.covers(&agent_id) && last_exit.of(&agent_id) != PreviousExit::Clean {
                self.sweep_plans(&agent_id).await;
            }
        }
    }

    async fn sweep_plans(&self, agent_id: &AgentId) {
        let Some(home) = self.home_of(agent_id).await else {
            return;
        };
        let mut items = match self.ports.plan.list(&home).await {
            Ok(items) => items,
            Err(reason) => {
                return tracing::warn!(%agent_id, reason, "plan folders could not be listed");
            }
        };
        while !items.is_empty() && !self.draining.is_cancelled() {
            let rest = items.split_off(items.len().min(FOLDERS_AT_ONCE));
            self.remove_orphans(agent_id, &home, std::mem::replace(&mut items, rest))
                .await;
        }
    }

    async fn remove_orphans(&self, agent_id: &AgentId, home: &str, items: Vec<WorkItemId>) {
        let read = self.store.items_without_row(agent_id, items);
        // If the read fails, the folders stay until the next unclean boot.
        let Ok(orphans) = self.read_or_put_aside(agent_id, read).await else {
            return;
        };
        for item in orphans {
            let removed = self.ports.plan.remove(home, &item).await;
            holon_fault::hit("plan.removed");
            if let Err(reason) = removed {
                tracing::warn!(%agent_id, %item, reason, "a plan that belongs to no item could not be removed");
            }
        }
    }
}
