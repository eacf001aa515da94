//! Lists the agents and their tasks as users of directories, so that no worktree is removed that one of them uses.

use crate::error::Error;
use crate::reader::Reader;
use crate::readers::Readers;
use holon_domain::agent::AgentRecord;
use holon_domain::limits::AGENTS_READ_AT_ONCE;
use holon_domain::task::TaskRecord;
use holon_domain::workspace::{WorktreeTask, WorktreeUser};

/// A part of the list, and the name after which the next one begins; absent on the last one.
pub(crate) struct UserPage {
    users: Vec<WorktreeUser>,
    next: Option<String>,
}

/// Lists every agent. Each page is a read of its own: an agent that enters a directory meanwhile may also do so after a
/// list that is one read.
pub(crate) async fn list(readers: &Readers) -> Result<Vec<WorktreeUser>, Error> {
    let mut users = Vec::new();
    let mut after = Some(String::new());
    while let Some(from) = after {
        let read = readers.read(move |reader| page(reader, &from, AGENTS_READ_AT_ONCE));
        let page = read.await?;
        users.extend(page.users);
        after = page.next;
    }
    Ok(users)
}

/// Lists every agent of a store without a thread.
pub(crate) fn list_inline(reader: &Reader<'_>) -> Result<Vec<WorktreeUser>, Error> {
    let mut users = Vec::new();
    let mut after = Some(String::new());
    while let Some(from) = after {
        let page = page(reader, &from, AGENTS_READ_AT_ONCE)?;
        users.extend(page.users);
        after = page.next;
    }
    Ok(users)
}

/// Lists a part of the agents by name. A row that cannot be read fails the whole list: its agent may use any directory.
fn page(reader: &Reader<'_>, after: &str, count: usize) -> Result<UserPage, Error> {
    let mut users = Vec::new();
    let found = reader.every_agent_after(after, count)?;
    for listed in found.agents {
        let agent = listed.record?;
        let row = match agent.active_tasks {
            0 => None,
            _ => reader.agent(&listed.agent_id)?,
        };
        let tasks = row.map(|(no, _)| reader.active_tasks(no)).transpose()?;
        users.push(user_of(agent, &tasks.unwrap_or_default()));
    }
    Ok(UserPage {
        users,
        next: found.next,
    })
}

fn user_of(agent: AgentRecord, tasks: &[TaskRecord]) -> WorktreeUser {
    // An open turn may still work in a directory that an operator made it leave.
    let turn = agent.open_turn.as_ref();
    // A child that has ended does not come back to its worktree.
    let ended = agent.supervision.is_some() && agent.archived_at.is_some();
    let mut execution_roots = Vec::new();
    if !ended {
        execution_roots.push(agent.workspace.execution_root.clone());
    }
    execution_roots.extend(turn.map(|turn| turn.workspace.execution_root.clone()));
    let task = |task: &TaskRecord| {
        Some(WorktreeTask {
            task_id: task.id.clone(),
            workdir: task.command()?.workdir.clone(),
        })
    };
    WorktreeUser {
        in_turn: turn.is_some(),
        agent_id: agent.settings.identity.agent_id,
        execution_roots,
        tasks: tasks.iter().filter_map(task).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples::agent;
    use holon_domain::agent::Visibility;

    #[tokio::test]
    async fn every_agent_is_listed_in_pages_private_ones_too() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        let mut db = Db::open(&path).expect("opens");
        let count = 2 * AGENTS_READ_AT_ONCE + 3;
        let created = db.write(|tx| {
            (0..count).try_for_each(|number| {
                let mut record = agent(&format!("a{number}"));
                if number % 2 == 1 {
                    record.settings.identity.visibility = Visibility::Private;
                }
                tx.create_agent(&record).map(drop)
            })
        });
        assert_eq!(created, Ok(()));
        let first = page(&db.reader(), "", AGENTS_READ_AT_ONCE).expect("a page");
        assert_eq!(first.users.len(), AGENTS_READ_AT_ONCE);
        assert!(first.next.is_some());

        let inline = list_inline(&db.reader()).expect("lists");
        let readers = Readers::open(&path).expect("opens");
        let listed = list(&readers).await.expect("lists");
        assert_eq!(listed, inline);
        let names: Vec<_> = listed.into_iter().map(|user| user.agent_id).collect();
        assert_eq!(names.len(), count);
        assert!(names.is_sorted_by(|one, next| one < next), "each once");
    }
}
