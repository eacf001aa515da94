//! Reads the rows of an agent that an archive holds, from one snapshot of the store, and counts those that it does not
//! hold.

use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::archive::{
    ArchiveRecord, ArchivedModel, ArchivedTimer, ArchivedWorkItem, LeftOut,
};
use holon_domain::intent::WorkItemFilter;
use holon_domain::limits::{
    ACTIVE_TIMERS, ARCHIVE_HISTORY_ENTRIES, ARCHIVE_TEXT_BYTES, ARCHIVE_WORK_ITEMS,
};
use holon_store::Reader;
use serde::Serialize;

/// The rows of an agent that an archive holds, from one read.
pub(super) struct ExportedRows {
    pub(super) agent: AgentRecord,
    pub(super) record: ArchiveRecord,
    pub(super) generated: Vec<(String, String)>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Reads everything of an agent that an archive holds. `None` if there is no such agent.
pub(super) fn read_rows(
    reader: &Reader<'_>,
    agent_id: &AgentId,
) -> Result<Option<ExportedRows>, holon_store::Error> {
    let Some((no, agent)) = reader.agent(agent_id)? else {
        return Ok(None);
    };
    let mut left_out = Vec::new();
    let open = WorkItemFilter::Open;
    let (mut items, open_count) = reader.work_items(no, open, ARCHIVE_WORK_ITEMS)?;
    let room = ARCHIVE_WORK_ITEMS - items.len();
    let (done, done_count) = reader.work_items(no, WorkItemFilter::Completed, room)?;
    items.extend(done);
    let more = (open_count + done_count).saturating_sub(items.len() as u64);
    note(
        &mut left_out,
        "work items",
        more,
        "an archive has no room for more; completed ones go first",
    );
    let timers = reader.active_timers(no, ACTIVE_TIMERS as usize)?;
    let pending = reader.queue_lengths(no)?.pending;
    note(
        &mut left_out,
        "queued messages",
        pending,
        "messages that were not served stay with their agent",
    );
    let waits = reader.active_waits(no)?.len() as u64;
    note(
        &mut left_out,
        "waits",
        waits,
        "their items can go on once the agent is started",
    );
    note(
        &mut left_out,
        "wake hints",
        reader.hints(no)?.len() as u64,
        "they stay with their agent",
    );
    let tasks = u64::from(agent.active_tasks);
    note(
        &mut left_out,
        "running tasks",
        tasks,
        "commands and children stay with their agent",
    );
    let generated = read_history(reader, no, &agent, &mut left_out)?;
    let record = ArchiveRecord {
        profile_preset: agent.identity.profile_preset,
        model: ArchivedModel::of(&agent.settings),
        thread_tokens: agent.thread_tokens,
        workspaces: agent.attached_workspaces().as_slice().to_vec(),
        work_items: items.iter().map(ArchivedWorkItem::of).collect(),
        current_work_item_id: agent
            .work
            .current
            .as_ref()
            .map(|current| current.id.clone()),
        timers: timers.iter().filter_map(ArchivedTimer::of).collect(),
    };
    Ok(Some(ExportedRows {
        agent,
        record,
        generated,
        left_out,
    }))
}

fn note(left_out: &mut Vec<LeftOut>, what: &str, count: u64, reason: &str) {
    if count > 0 {
        left_out.push(LeftOut::new(format!("{count} {what}"), reason));
    }
}

/// Renders the newest briefs and transcript entries as files, one JSON object on each line.
fn read_history(
    reader: &Reader<'_>,
    no: holon_store::AgentNo,
    agent: &AgentRecord,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<(String, String)>, holon_store::Error> {
    // One agent has one folder of its own, also after it was imported somewhere else.
    let identity = &agent.identity.agent_id;
    let folder = format!("history/{identity}-{}", agent.created_at.as_millis());
    let briefs = reader.briefs(no, ARCHIVE_HISTORY_ENTRIES)?;
    let transcript = reader.transcript(no, ARCHIVE_HISTORY_ENTRIES)?;
    let counters = [
        ("older briefs", agent.counters.briefs, briefs.len()),
        ("older log entries", agent.counters.log, transcript.len()),
    ];
    for (what, all, taken) in counters {
        let older = all.saturating_sub(taken as u64);
        if taken == ARCHIVE_HISTORY_ENTRIES {
            note(left_out, what, older, "the history holds the newest only");
        }
    }
    let files = [
        ("briefs.jsonl", lines(&briefs)),
        ("transcript.jsonl", lines(&transcript)),
    ];
    let mut generated = Vec::new();
    for (name, content) in files {
        let content = content?;
        if content.len() as u64 > ARCHIVE_TEXT_BYTES {
            let reason = "it is too large for an archive";
            left_out.push(LeftOut::new(format!("{folder}/{name}"), reason));
        } else if !content.is_empty() {
            generated.push((format!("{folder}/{name}"), content));
        }
    }
    Ok(generated)
}

fn lines<T: Serialize>(rows: &[T]) -> Result<String, holon_store::Error> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row)?);
        text.push('\n');
    }
    Ok(text)
}
