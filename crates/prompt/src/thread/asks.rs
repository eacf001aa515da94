//! Keeps the states of asks in recaps true: what a turn left open is open only until a later turn took it up.
//!
//! A turn that began to wait left its ask open. A later turn closes it: its message ended the wait, it gave the wait up,
//! or it began another wait in its place. Each fold looks again, because a recap stays longer than a wait.

use super::past::PastTurn;
use holon_domain::block::{ToolCall, calls_of};
use holon_domain::log::LogEntry;
use holon_domain::thread::{OpenAsk, TurnRecap};
use holon_domain::tool::ToolOutcome;
use holon_domain::wait::{WaitEffect, WaitNote};
use holon_domain::{CallId, WaitId, WorkItemId};
use serde::Deserialize;

/// State of an ask whose turn began to wait.
pub(super) const OPEN: &str = "open: you began to wait";

/// Result of a call that began a wait.
#[derive(Deserialize)]
struct BegunWait {
    wait: OpenAsk,
}

/// Returns the wait with which a turn ended; `None` if it ended otherwise.
pub(super) fn left_open(turn: &PastTurn<'_>) -> Option<OpenAsk> {
    let results = turn
        .entries
        .iter()
        .rev()
        .filter_map(|entry| match &**entry {
            LogEntry::ToolResult { envelope, .. } => Some(envelope),
            _ => None,
        });
    let envelope = results
        .take(1)
        .find(|envelope| envelope.tool_name == "WaitFor")?;
    match &envelope.outcome {
        ToolOutcome::Success { result } => Some(BegunWait::deserialize(result).ok()?.wait),
        ToolOutcome::Error { .. } => None,
    }
}

/// Lists the items that a turn completed, which ends their waits.
pub(super) fn completed(turn: &PastTurn<'_>) -> Vec<WorkItemId> {
    let completions = calls(turn).filter(|call| call.name == "CompleteWorkItem");
    let items = completions.filter_map(|call| call.input.get("work_item_id")?.as_str());
    items.map(WorkItemId::from_stored).collect()
}

/// Lists the waits that a turn ended: by a message that it took, or by a call.
pub(super) fn closed(turn: &PastTurn<'_>) -> Vec<WaitId> {
    let notes: Vec<&WaitNote> = notes(turn).collect();
    let ended = notes.iter().filter(|note| note.effect == WaitEffect::Ended);
    let mut closed: Vec<WaitId> = ended.map(|note| note.wait_id.clone()).collect();
    for call in calls(turn) {
        let argument = |name: &str| call.input.get(name).and_then(|value| value.as_str());
        if call.name == "CancelWait" {
            closed.extend(argument("wait_id").map(WaitId::from_stored));
        }
        // A message that interrupts the wait of an item leaves it to the turn whether it is the answer.
        let names_item = matches!(call.name.as_str(), "PickWorkItem" | "UpdateWorkItem");
        let item = argument("work_item_id").filter(|_| names_item);
        let interrupted = notes.iter().filter(|note| {
            let of = note.work_item_id.as_ref().map(WorkItemId::as_str);
            note.effect == WaitEffect::Interrupted && of.is_some() && of == item
        });
        closed.extend(interrupted.map(|note| note.wait_id.clone()));
    }
    closed
}

fn notes<'a>(turn: &PastTurn<'a>) -> impl Iterator<Item = &'a WaitNote> {
    let of_opening = turn.frame().map_or(&[][..], |frame| frame.waits.as_slice());
    let joined = turn.entries.iter().filter_map(|entry| match &**entry {
        LogEntry::Interjection { waits, .. } => waits.as_deref(),
        _ => None,
    });
    of_opening.iter().chain(joined.flatten())
}

/// Lists the calls of a turn that succeeded.
fn calls<'a>(turn: &PastTurn<'a>) -> impl Iterator<Item = &'a ToolCall> {
    let succeeded: Vec<&CallId> = turn
        .entries
        .iter()
        .filter_map(|entry| match &**entry {
            LogEntry::ToolResult {
                call_id, envelope, ..
            } => envelope.error().is_none().then_some(call_id),
            _ => None,
        })
        .collect();
    let rounds = turn.entries.iter().filter_map(|entry| match &**entry {
        LogEntry::AssistantRound { blocks, .. } => Some(blocks.as_slice()),
        _ => None,
    });
    rounds
        .flat_map(calls_of)
        .filter(move |call| succeeded.contains(&&call.id))
}

/// Changes the state of each ask that a later turn has closed. `shown` are the turns that the recaps do not cover.
pub(super) fn settle(recaps: &mut [TurnRecap], shown: &[&TurnRecap]) {
    let later: Vec<TurnRecap> = recaps
        .iter()
        .chain(shown.iter().copied())
        .filter(|turn| {
            turn.left_open.is_some() || !turn.closed.is_empty() || !turn.completed.is_empty()
        })
        .cloned()
        .collect();
    for recap in recaps {
        let Some(ask) = &recap.left_open else {
            continue;
        };
        let by = later
            .iter()
            .filter(|turn| turn.turn_index > recap.turn_index);
        let states =
            by.filter_map(|turn| closed_state(ask, turn).map(|state| (turn.turn_index, state)));
        let Some((_, state)) = states.min_by_key(|(turn, _)| *turn) else {
            continue;
        };
        recap.line = recap.line.replacen(OPEN, &state, 1);
        recap.text = recap
            .text
            .as_ref()
            .map(|text| text.replacen(OPEN, &state, 1));
        recap.left_open = None;
    }
}

/// Says how a later turn closed an ask; `None` if it did not.
fn closed_state(ask: &OpenAsk, by: &TurnRecap) -> Option<String> {
    let item = ask.work_item_id.as_ref();
    if by.closed.contains(&ask.id) || item.is_some_and(|item| by.completed.contains(item)) {
        return Some(format!("you waited, and turn {} went on", by.turn_index));
    }
    let again = by.left_open.as_ref()?;
    (again.work_item_id == ask.work_item_id).then(|| {
        format!(
            "superseded: turn {} began another wait in place of this one",
            by.turn_index
        )
    })
}
