//! Which tasks of an agent are told: the ones that began last, and every one that is not over, however long ago it began.

use holon_domain::limits;
use holon_domain::task::TaskRecord;
use holon_store::{AgentNo, Reader};

/// The tasks to tell, newest first.
pub(crate) fn told(
    reader: &Reader<'_>,
    no: AgentNo,
) -> Result<Vec<TaskRecord>, holon_store::Error> {
    let mut tasks = reader.tasks(no, limits::TASKS_PER_AGENT)?;
    // Fewer than were asked for are all there are.
    if tasks.len() == limits::TASKS_PER_AGENT {
        let active = reader.active_tasks(no)?.into_iter().rev();
        let older = active.filter(|task| !tasks.iter().any(|newer| newer.id == task.id));
        let older: Vec<TaskRecord> = older.collect();
        tasks.extend(older);
    }
    Ok(tasks)
}
