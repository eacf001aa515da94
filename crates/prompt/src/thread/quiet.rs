//! Ticks in a row that brought the same and changed nothing: a recap tells them as one.
//!
//! Only a recap may do that. In the thread itself every turn stays as its last request showed it, because the thread is
//! append-only between folds, and waiting ticks need no joining: a timer has one tick for all slots that passed while its
//! agent was busy, and ticks never join a running turn. The words of an operator, of a task or of the outside are no
//! tick, so they are never told as one.

use super::deeds::Deeds;
use super::past::PastTurn;
use crate::visible;
use holon_domain::block::calls_of;
use holon_domain::log::LogEntry;
use holon_domain::message::MessageKind;
use holon_domain::text;
use holon_domain::thread::{QuietTick, TurnRecap};
use holon_domain::tool::{ToolEnvelope, ToolOutcome};

/// Bytes of what a tick brought and of what was answered.
const WORDS_BYTES: usize = 160;
/// Tools whose calls change nothing of the agent. A command may change files, but equal ones with equal ends are told by
/// these.
const QUIET_TOOLS: [&str; 12] = [
    "AgentGet",
    "ExecCommand",
    "GetWorkItem",
    "ListTimers",
    "ListWorkItems",
    "MemoryGet",
    "MemorySearch",
    "Sleep",
    "TaskList",
    "TaskOutput",
    "TaskStatus",
    "ViewImage",
];

/// Describes a turn that a tick began and that changed nothing; `None` for every other turn.
pub(super) fn of(turn: &PastTurn<'_>, answer: &str) -> Option<QuietTick> {
    let opening = turn.opening()?;
    let is_tick = match opening.kind {
        MessageKind::TimerTick | MessageKind::SystemTick => true,
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => false,
    };
    if !is_tick || turn.failure().is_some() {
        return None;
    }
    let mut did = Vec::new();
    for entry in turn.entries {
        match &**entry {
            LogEntry::Interjection { .. } => return None,
            LogEntry::AssistantRound { blocks, .. } => {
                for call in calls_of(blocks) {
                    if !QUIET_TOOLS.contains(&call.name.as_str()) {
                        return None;
                    }
                    if call.name != "Sleep" {
                        did.push(format!("{} {}", call.name, call.input));
                    }
                }
            }
            LogEntry::ToolResult { envelope, .. } => did.extend(end(envelope)),
            LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::Recap(_)
            | LogEntry::Shortened(_)
            | LogEntry::ThreadFold(_)
            | LogEntry::ContinuationPrompt { .. }
            | LogEntry::RuntimeFailure { .. } => {}
        }
    }
    let body = opening.body.render();
    let answered = match answer.trim() {
        "" => Deeds::of(turn).line(WORDS_BYTES),
        words => format!("you answered {}", short(words)),
    };
    let told = format!("{}; {answered}", short(&body));
    let all = [body.trim(), answer.trim(), &did.join("\n"), &told].join("\n");
    Some(QuietTick {
        told,
        digest: crate::digest::hash(&all),
        count: 1,
        first_turn: turn.turn_index,
        first_at: turn.began_at,
        last_at: turn.began_at,
    })
}

fn short(words: &str) -> String {
    visible::quoted(&text::preview(words.trim(), WORDS_BYTES))
}

/// Returns how a call ended, as far as two ends are the same: its exit status, or its error.
fn end(envelope: &ToolEnvelope) -> Option<String> {
    match &envelope.outcome {
        ToolOutcome::Success { result } => {
            let status = result.get("exit_status")?.as_i64()?;
            Some(format!("exit {status}"))
        }
        ToolOutcome::Error { error } => Some(error.message.clone()),
    }
}

/// Tells equal ticks in a row as one recap, in the place of the last. `turns` are in order.
pub(super) fn join(turns: Vec<TurnRecap>) -> Vec<TurnRecap> {
    let mut joined: Vec<TurnRecap> = Vec::new();
    for turn in turns {
        match joined.last().and_then(|last| merged(last, &turn)) {
            Some(both) => {
                joined.pop();
                joined.push(both);
            }
            None => joined.push(turn),
        }
    }
    joined
}

fn merged(earlier: &TurnRecap, later: &TurnRecap) -> Option<TurnRecap> {
    let (first, last) = earlier.quiet.as_ref().zip(later.quiet.as_ref())?;
    let is_next = earlier.turn_index + 1 == last.first_turn;
    if first.digest != last.digest || !is_next || earlier.work_item_id != later.work_item_id {
        return None;
    }
    let quiet = QuietTick {
        count: first.count + last.count,
        first_turn: first.first_turn,
        first_at: first.first_at,
        ..last.clone()
    };
    let line = format!(
        "- Turns {} to {}: {} ticks, {} to {}, each: {}",
        quiet.first_turn, later.turn_index, quiet.count, quiet.first_at, quiet.last_at, quiet.told
    );
    Some(TurnRecap {
        line: line.clone(),
        text: Some(line),
        quiet: Some(quiet),
        ..later.clone()
    })
}
