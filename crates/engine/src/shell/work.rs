//! Calls about work items and their reports: writes plan files, reads stored work and looks at attached files.
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
use holon_domain::limits::ATTACHMENT_BYTES;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::{AgentId, WorkItemId};
use holon_prompt::PlanFile;
use holon_store::{LastExit, Readers, TurnRows};
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
                referring: Vec::new(),
            },
            Err(reason) => ToolRunOutcome::result(create_work_item::not_written(&reason)),
        }
    }

    /// Answers a call that reads stored work. The plans of items are described as their files are now.
    pub(super) async fn work_query(&self, run: &ToolRun, query: &WorkQuery) -> ToolRunOutcome {
        let read = self.store.work(&run.agent_id, query);
        match self.read_or_put_aside(&run.agent_id, read).await {
            Ok(Some(mut look)) => {
                for item in look.found.items_mut() {
                    item.plan = self.ports.plan.read(&run.agent_home, &item.id).await;
                }
                ToolRunOutcome::result(work_answer::envelope(query, &look))
            }
            Ok(None) | Err(_) => ToolRunOutcome::result(unreadable_result(&run.call)),
        }
    }

    /// Looks at files of the home that a call attaches. One that is missing, no regular file or too large is a fault.
    pub(super) async fn look_at_files(&self, run: &ToolRun, paths: &[String]) -> ToolRunOutcome {
        let mut fault = None;
        for path in paths {
            let name = path.strip_prefix("./").unwrap_or(path);
            let opened = self
                .ports
                .plan
                .open_file(&run.agent_home, name, ATTACHMENT_BYTES);
            fault = match opened.await {
                Ok(Some(_)) => None,
                Ok(None) => Some(format!("there is no file {path:?} in your home")),
                Err(reason) => Some(format!("{path:?} cannot be attached: {reason}")),
            };
            if fault.is_some() {
                break;
            }
        }
        ToolRunOutcome {
            consequence: Consequence::FilesSeen { fault },
            forget: CallCleanup::Nothing,
            referring: Vec::new(),
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

    /// Reads the plan files of the items that the first request of a turn lists, so that it shows them as they are now.
    pub(super) async fn refresh_listed_plans(&self, rows: &mut TurnRows) {
        let Some(work) = rows.work.as_mut() else {
            return;
        };
        for item in work.listed_mut() {
            item.plan = self.ports.plan.read(&rows.agent.agent_home, &item.id).await;
        }
    }

    /// Removes the plan of a call whose result was not accepted, unless the item exists.
    pub(super) async fn discard_plan(&self, run: &ToolRun) {
        let item = WorkItemId::of_call(&run.call.id);
        self.remove_orphans(&run.agent_id, &run.agent_home, vec![item])
            .await;
    }

    /// Removes plan folders without an item, of every agent whose last process died. Runs beside the agents' turns.
    pub(crate) async fn sweep_all_plans(self, last_exit: LastExit, readers: Readers) {
        let listed = match readers.agents().await {
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
