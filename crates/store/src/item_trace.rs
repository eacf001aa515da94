//! Reads the latest steps of the turns that worked on a work item, from the log.
//!
//! The frame of a turn names the item that was current when the turn began; the turn that created an item counts as well.
//! Only a few of the newest entries are searched, so the cost does not grow with the log.

use crate::error::Error;
use crate::row::{AgentNo, all, json, limit};
use holon_domain::block::text_beginning;
use holon_domain::log::LogEntry;
use holon_domain::turn::LogSeq;
use holon_domain::work_item::{ItemStep, StepAction, WorkItemRecord};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// Entries that are searched.
const ENTRIES: usize = 48;
/// Steps that are returned.
const STEPS: usize = 12;
/// Bytes of a text that are read; a prompt shows less.
const TEXT_BYTES: usize = 400;

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
        Ok((turn_index, json::<LogEntry>(row, 2, "log", seq)?))
    })?;
    let mut turns: BTreeSet<u64> = item.provenance.turn_index.into_iter().collect();
    for (turn, entry) in &newest_first {
        if let LogEntry::Frame(frame) = entry
            && frame.work_item_id.as_ref() == Some(&item.id)
        {
            turns.insert(*turn);
        }
    }
    let mut steps: Vec<ItemStep> = newest_first
        .into_iter()
        .filter(|(turn, _)| turns.contains(turn))
        .filter_map(|(turn_index, entry)| {
            let action = action(entry)?;
            Some(ItemStep { turn_index, action })
        })
        .take(STEPS)
        .collect();
    steps.reverse();
    Ok(steps)
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
