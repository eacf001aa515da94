//! Answers queries about stored work and compares plan files with their rows. Pure, shared by the shell and the
//! simulation.

use holon_domain::intent::WorkQuery;
use holon_domain::tool::ToolEnvelope;
use holon_domain::work_item::{PlanArtifact, ViewContext, WorkItemRecord, WorkItemView};
pub use holon_prompt::PlanFile;
use holon_store::{WorkLook, WorkQueryRows};
use holon_tools::{get_work_item, list_timers, list_work_items};

/// Builds the result of the call that made the query.
#[must_use]
pub fn envelope(query: &WorkQuery, look: &WorkLook) -> ToolEnvelope {
    let current = look.agent.work.current.as_ref().map(|current| &current.id);
    let view = |item: &WorkItemRecord| view(look, item, shows_todos(query));
    match &look.found {
        WorkQueryRows::Item {
            item: Some(item), ..
        } => get_work_item::envelope(current, &view(item)),
        WorkQueryRows::Item { asked, item: None } => get_work_item::unknown(asked),
        WorkQueryRows::Items {
            filter,
            limit,
            page,
        } => {
            let items = page.items.iter();
            let items = items.map(|(cursor, item)| (*cursor, view(item).with_short_plan()));
            list_work_items::envelope(
                current,
                &list_work_items::ItemPage {
                    filter: *filter,
                    limit: *limit,
                    items: items.collect(),
                    total: page.total,
                    next: page.next,
                },
            )
        }
        WorkQueryRows::Timers { timers, total } => list_timers::envelope(timers, *total),
    }
}

/// Compares an item's plan file with its row. An item that never had a file is not missing one.
#[must_use]
pub fn plan_look(item: &WorkItemRecord, found: Option<PlanArtifact>) -> PlanFile {
    match (&item.plan, found) {
        (None, None) => PlanFile::Known,
        (Some(_), None) => PlanFile::Missing,
        (Some(known), Some(found)) if known.is_same_file(&found) => PlanFile::Known,
        (Some(_) | None, Some(found)) => PlanFile::Changed(found),
    }
}

const fn shows_todos(query: &WorkQuery) -> bool {
    match query {
        WorkQuery::Item {
            include_todo_list, ..
        }
        | WorkQuery::Items {
            include_todo_list, ..
        } => *include_todo_list,
        WorkQuery::Timers { .. } => false,
    }
}

fn view(look: &WorkLook, item: &WorkItemRecord, include_todo_list: bool) -> WorkItemView {
    item.view(ViewContext {
        agent_home: &look.agent.agent_home,
        current: look.agent.work.current.as_ref().map(|current| &current.id),
        wake_count: look.agent.work.wake_count,
        include_todo_list,
    })
}
