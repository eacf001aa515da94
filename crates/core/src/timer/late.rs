//! Ticks that wait: the reason for which a tick begins late, and the words for it.

use crate::assess::is_self_caused;
use crate::draft::Draft;
use holon_domain::Timestamp;
use holon_domain::agent::AgentRecord;
use holon_domain::limits::{LATE_TICK_MS, TICK_TURNS_KEPT};
use holon_domain::message::MessageKind;
use holon_domain::queue::QueueEntry;
use holon_domain::timer::{LateCause, LateTick};
use holon_domain::turn::{OpenTurn, Phase};
use serde_json::Value;

/// Returns how late the tick at the head of the queue begins its turn; `None` if it is in time.
pub(super) fn late_tick(
    draft: &Draft<'_>,
    head: &QueueEntry,
    passed_over: u64,
) -> Option<LateTick> {
    let metadata = head.envelope.metadata.as_ref()?;
    let planned_at = metadata.get("planned_at")?.clone();
    let planned_at: Timestamp = serde_json::from_value(planned_at).ok()?;
    let fired_at = head.envelope.created_at;
    if draft.now.millis_since(planned_at) < LATE_TICK_MS {
        return None;
    }
    let fired_late = fired_at.millis_since(planned_at) >= draft.now.millis_since(fired_at);
    // Ticks of earlier builds do not say it.
    let was_down = metadata.get("was_down").and_then(Value::as_bool);
    let cause = if was_down.unwrap_or(fired_late) {
        LateCause::Down
    } else if fired_late {
        LateCause::Overdue
    } else if is_self_caused(&head.envelope) && draft.agent.pace.is_some() {
        LateCause::Paced
    } else {
        LateCause::Busy
    };
    Some(LateTick {
        planned_at,
        cause,
        passed_over,
    })
}

/// Says why a queued tick of an agent waits.
pub(super) fn waiting_cause(agent: &AgentRecord) -> String {
    let Some(turn) = &agent.open_turn else {
        return match agent.pace {
            Some(pace) => format!(
                "turns that the agent causes itself are paced, the next one begins at {}",
                pace.at
            ),
            None => "other messages go first".to_owned(),
        };
    };
    let turn_index = turn.turn_index;
    match &turn.phase {
        Phase::Suspended { pause, .. } => match pause {
            Some(pause) => format!("turn {turn_index} is suspended until {}", pause.until),
            None => format!("turn {turn_index} is suspended until an operator acts"),
        },
        Phase::BackingOff { until, .. } => {
            format!("turn {turn_index} asks its model again at {until}")
        }
        Phase::CallingModel { .. } | Phase::RunningTool { .. } | Phase::Sending { .. } => {
            format!("turn {turn_index} runs since {}", turn.started_at)
        }
    }
}

/// Remembers the tokens of a turn that a tick of a timer began.
pub(crate) fn note_turn_tokens(agent: &mut AgentRecord, turn: &OpenTurn) {
    if turn.message_kind != MessageKind::TimerTick {
        return;
    }
    let tokens = &mut agent.work.tick_tokens;
    tokens.push(turn.usage.total_tokens);
    let over = tokens.len().saturating_sub(TICK_TURNS_KEPT);
    tokens.drain(..over);
}
