//! `holon debug latency`: where the time of an agent's last turns went, from its events.

use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::EventEnvelope;
use holon_api::event::PageOrder;
use holon_client::EventsQuery;
use holon_domain::AgentId;
use holon_domain::event::Event;
use holon_domain::limits::EVENT_PAGE_MAX;
use serde::Serialize;
use std::collections::BTreeMap;

/// The turns that are shown, and the events that are read for them at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatencyLimits {
    pub(super) turns: u64,
    pub(super) events: u64,
}

/// Where the time of one turn went. The time in the queue is before the turn and no part of its duration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
struct TurnLatency {
    turn_index: u64,
    /// Absent if the event of the message's start was not read.
    queue_wait_ms: Option<u64>,
    context_build_ms: u64,
    provider_rounds: u64,
    provider_ms: u64,
    tools: u64,
    tool_execution_ms: u64,
    /// The rest of the duration: decisions, commits and pauses. Absent while the turn is open.
    turn_cleanup_ms: Option<u64>,
    /// Absent while the turn is open.
    duration_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
struct LatencyReport {
    agent_id: AgentId,
    events_read: u64,
    /// The turns that were found, newest first.
    turns: Vec<TurnLatency>,
}

/// Reads events of the agent, newest first, and prints the times of its last turns.
pub(super) async fn run(
    target: Target,
    agent: Option<String>,
    limits: LatencyLimits,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, agent, output)?;
    let agent_id = host.agent_id().await?;
    let mut events: Vec<EventEnvelope> = Vec::new();
    let mut before_seq = None;
    loop {
        let left = limits.events.saturating_sub(events.len() as u64);
        let query = EventsQuery {
            before_seq,
            limit: Some(left.min(EVENT_PAGE_MAX)),
            order: Some(PageOrder::Desc),
            ..EventsQuery::default()
        };
        let page = host.check_answer(host.client().events(&agent_id, query).await)?;
        before_seq = page.events.last().map(|event| event.event_seq);
        events.extend(page.events);
        // A turn is whole once the events before it are there too.
        let found = measure(&events).len() as u64;
        let is_full = events.len() as u64 >= limits.events;
        if !page.has_older || before_seq.is_none() || is_full || found > limits.turns {
            break;
        }
    }
    let mut turns = measure(&events);
    turns.truncate(usize::try_from(limits.turns).unwrap_or(usize::MAX));
    let report = LatencyReport {
        agent_id,
        events_read: events.len() as u64,
        turns,
    };
    output.answer(&report, render);
    Ok(Exit::Done)
}

/// Sums up the events of each turn, newest turn first. Times of suspended turns include their pauses.
fn measure(events: &[EventEnvelope]) -> Vec<TurnLatency> {
    let mut turns: BTreeMap<u64, TurnLatency> = BTreeMap::new();
    let mut of = |turn_index: u64, add: &dyn Fn(&mut TurnLatency)| {
        let turn = turns.entry(turn_index).or_insert_with(|| TurnLatency {
            turn_index,
            ..TurnLatency::default()
        });
        add(turn);
    };
    for envelope in events {
        match envelope.event() {
            Event::MessageProcessingStarted(e) => {
                if let Some(turn_index) = e.turn_index {
                    of(turn_index, &|turn| {
                        turn.queue_wait_ms = Some(e.queue_wait_ms)
                    });
                }
            }
            Event::TurnContextBuilt(e) => {
                of(e.turn_index, &|turn| turn.context_build_ms += e.duration_ms);
            }
            Event::ProviderRoundCompleted(e) => of(e.turn_index, &|turn| {
                turn.provider_rounds += 1;
                turn.provider_ms += e.tries.duration_ms;
            }),
            Event::ToolExecuted(e) => of(e.turn_index, &|turn| {
                turn.tools += 1;
                turn.tool_execution_ms += e.duration_ms;
            }),
            Event::ToolExecutionFailed(e) => of(e.turn_index, &|turn| {
                turn.tools += 1;
                turn.tool_execution_ms += e.duration_ms;
            }),
            Event::TurnTerminal(e) => {
                of(e.turn_index, &|turn| turn.duration_ms = Some(e.duration_ms));
            }
            _ => {}
        }
    }
    let mut turns: Vec<TurnLatency> = turns.into_values().rev().collect();
    for turn in &mut turns {
        let spent = turn.provider_ms + turn.tool_execution_ms;
        turn.turn_cleanup_ms = turn.duration_ms.map(|whole| whole.saturating_sub(spent));
    }
    turns
}

fn render(report: &LatencyReport) -> String {
    if report.turns.is_empty() {
        return format!(
            "no turn of {} is among its last {} events",
            report.agent_id, report.events_read
        );
    }
    let turns: Vec<String> = report.turns.iter().map(render_turn).collect();
    turns.join("\n")
}

fn render_turn(turn: &TurnLatency) -> String {
    let shown = |millis: Option<u64>| {
        millis.map_or_else(|| "-".to_owned(), |millis| format!("{millis} ms"))
    };
    format!(
        "turn {}: {}\n  queue_wait {}, context_build {} ms, provider {} ms in {} rounds, tool_execution {} ms in {} \
         calls, turn_cleanup {}",
        turn.turn_index,
        turn.duration_ms
            .map_or_else(|| "open".to_owned(), |millis| format!("{millis} ms")),
        shown(turn.queue_wait_ms),
        turn.context_build_ms,
        turn.provider_ms,
        turn.provider_rounds,
        turn.tool_execution_ms,
        turn.tools,
        shown(turn.turn_cleanup_ms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn event(event_seq: u64, kind: &str, payload: &Value) -> EventEnvelope {
        let envelope = json!({
            "id": format!("evt_main_{event_seq}"), "event_seq": event_seq, "ts": "2026-01-01T00:00:00Z",
            "agent_id": "main", "type": kind, "version": 1,
            "projection": { "name": "operator", "raw_payload_included": false, "redactions": [] },
            "provenance": {}, "payload": payload,
        });
        serde_json::from_value(envelope).expect("an envelope")
    }

    #[test]
    fn the_time_of_a_turn_is_what_its_events_say_and_the_rest_is_cleanup() {
        let tool = |seq, ms| {
            let payload = json!({
                "tool_call_id": "call_1", "tool_name": "ExecCommand", "turn_index": 2, "run_id": "run_1",
                "duration_ms": ms, "summary": "done",
            });
            event(seq, "tool_executed", &payload)
        };
        let started = json!({
            "message_id": "msg_1", "run_id": "run_1", "queue_wait_ms": 7, "turn_index": 2,
        });
        let terminal = json!({
            "turn_index": 2, "run_id": "run_1", "kind": "completed", "reason": "finished", "duration_ms": 100,
            "rounds": 1, "token_usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 },
        });
        let open = json!({
            "message_id": "msg_2", "run_id": "run_2", "queue_wait_ms": 3, "turn_index": 3,
        });
        let events = [
            event(9, "message_processing_started", &open),
            event(8, "turn_terminal", &terminal),
            tool(7, 20),
            tool(6, 30),
            event(5, "message_processing_started", &started),
        ];
        let turns = measure(&events);
        let told: Vec<_> = turns
            .iter()
            .map(|turn| {
                (
                    turn.turn_index,
                    turn.queue_wait_ms,
                    turn.tools,
                    turn.tool_execution_ms,
                    turn.turn_cleanup_ms,
                )
            })
            .collect();
        assert_eq!(
            told,
            [(3, Some(3), 0, 0, None), (2, Some(7), 2, 50, Some(50))]
        );
        assert!(render_turn(&turns[0]).starts_with("turn 3: open\n"));
        assert!(render_turn(&turns[1]).contains("tool_execution 50 ms in 2 calls"));
    }
}
