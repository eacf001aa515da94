//! Reads the latest steps of the turns that worked on a work item, from the log.
//!
//! A turn worked on an item if its message, one of its calls or its brief names the item. Only a few of the newest entries
//! are searched, so the cost does not grow with the log.

use crate::error::Error;
use crate::row::{AgentNo, all, json, limit};
use crate::{briefs, log};
use holon_domain::WorkItemId;
use holon_domain::block::text_beginning;
use holon_domain::log::LogEntry;
use holon_domain::tool::ToolOutcome;
use holon_domain::turn::LogSeq;
use holon_domain::work_item::{ItemStep, StepAction, WorkItemRecord};
use rusqlite::{Connection, params};
use serde_json::Value;
use std::collections::BTreeSet;

/// Entries that are searched.
const ENTRIES: usize = 48;
/// Briefs that are searched for turns that ended with the item.
const BRIEFS: usize = 12;
/// Steps that are returned.
const STEPS: usize = 12;
/// Bytes of a text that are read; a prompt shows less.
const TEXT_BYTES: usize = 400;

/// Places in the result of a call that name the item which the call was about.
const NAMED: [&str; 2] = ["/work_item/id", "/wait/work_item_id"];
/// The tool whose result names its item as the current one. Other results name the current item beside theirs.
const PICK: &str = "PickWorkItem";
const PICKED: &str = "/current_work_item_id";

pub(crate) const BEFORE: &str = "SELECT seq, turn_index, entry FROM log \
     WHERE agent_no = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

/// Returns the newest steps before a log position, oldest first.
pub(crate) fn read(
    conn: &Connection,
    no: AgentNo,
    item: &WorkItemRecord,
    before: LogSeq,
) -> Result<Vec<ItemStep>, Error> {
    let newest_first = all(conn, BEFORE, params![no.0, before, limit(ENTRIES)], |row| {
        let seq: LogSeq = row.get(0)?;
        let turn_index: u64 = row.get(1)?;
        let entry = json(row, 2, "log", seq)?;
        Ok(Row {
            seq,
            turn_index,
            entry,
        })
    })?;
    let turns = turns_of(conn, no, item, &newest_first)?;
    let mut steps: Vec<ItemStep> = newest_first
        .into_iter()
        .filter(|row| turns.contains(&row.turn_index))
        .filter_map(|row| {
            let action = action(row.entry)?;
            let turn_index = row.turn_index;
            Some(ItemStep { turn_index, action })
        })
        .take(STEPS)
        .collect();
    steps.reverse();
    Ok(steps)
}

struct Row {
    seq: LogSeq,
    turn_index: u64,
    entry: LogEntry,
}

/// Returns the turns that worked on the item: the one that created it, and those whose message, calls or brief name it.
fn turns_of(
    conn: &Connection,
    no: AgentNo,
    item: &WorkItemRecord,
    newest_first: &[Row],
) -> Result<BTreeSet<u64>, Error> {
    let mut turns: BTreeSet<u64> = item.provenance.turn_index.into_iter().collect();
    let named = newest_first
        .iter()
        .filter(|row| names(&row.entry, &item.id));
    turns.extend(named.map(|row| row.turn_index));
    let ended = briefs::newest_rows(conn, no, BRIEFS)?.into_iter();
    let ended = ended.filter(|brief| brief.work_item_id.as_ref() == Some(&item.id));
    turns.extend(ended.map(|brief| brief.turn_index));
    // The frame of a long turn stands before the entries that were read.
    if let Some(oldest) = newest_first.last()
        && let Some((_, frame)) =
            log::frame_of(conn, no, oldest.turn_index, oldest.seq, log::JOINED)?
        && frame.work_item_id.as_ref() == Some(&item.id)
    {
        turns.insert(oldest.turn_index);
    }
    Ok(turns)
}

/// Returns true if an entry shows that its turn works on the item.
fn names(entry: &LogEntry, item: &WorkItemId) -> bool {
    match entry {
        LogEntry::Frame(frame) => frame.work_item_id.as_ref() == Some(item),
        LogEntry::ToolResult { envelope, .. } => match &envelope.outcome {
            ToolOutcome::Success { result } => {
                let picked = (envelope.tool_name == PICK).then_some(&PICKED);
                NAMED.iter().chain(picked).any(|place| {
                    let named = result.pointer(place).and_then(Value::as_str);
                    named == Some(item.as_str())
                })
            }
            ToolOutcome::Error { .. } => false,
        },
        _ => false,
    }
}

/// Converts an entry to a step, if it is one.
fn action(entry: LogEntry) -> Option<StepAction> {
    if let LogEntry::AssistantRound { blocks, .. } = &entry {
        let words = text_beginning(blocks, TEXT_BYTES);
        return (!words.trim().is_empty()).then_some(StepAction::Said(words));
    }
    let LogEntry::ToolResult { envelope, .. } = entry else {
        return None;
    };
    Some(StepAction::Called {
        failed: envelope.error().is_some(),
        tool: envelope.tool_name,
        summary: envelope.summary_text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::CallId;
    use holon_domain::tool::ToolEnvelope;
    use serde_json::json;

    #[test]
    fn a_call_is_about_the_item_it_changed_and_not_about_the_one_that_keeps_the_focus() {
        let (done, focused) = (json!({ "id": "work_done" }), "work_focused");
        let result = json!({ "work_item": done, "current_work_item_id": focused });
        let picked = json!({ "current_work_item_id": focused });
        for (tool, result, item, expected) in [
            ("CompleteWorkItem", &result, "work_done", true),
            ("CompleteWorkItem", &result, focused, false),
            (PICK, &picked, focused, true),
        ] {
            let entry = LogEntry::ToolResult {
                round: 1,
                call_id: CallId::from_stored("call_1"),
                envelope: ToolEnvelope::success(tool, "done", result.clone()),
                duration_ms: 1,
            };
            let named = names(&entry, &WorkItemId::from_stored(item));
            assert_eq!(named, expected, "{tool} {item}");
        }
    }
}
