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
use holon_domain::text::pluralize;
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
    /// The rest of the duration: failed requests, decisions, commits and pauses. Absent while the turn is open.
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
    output.answer_wrapped(&report, render);
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
            // Its event of the prompt tells of the first round only.
            Event::ProviderRoundCompleted(e) => of(e.turn_index, &|turn| {
                turn.provider_rounds += 1;
                turn.context_build_ms += e.context_build_ms;
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
        let spent = turn.context_build_ms + turn.provider_ms + turn.tool_execution_ms;
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

/// Renders the parts of a turn's duration. Together they are the whole of it, apart from a turn that is open or whose first
/// events were not read.
fn render_turn(turn: &TurnLatency) -> String {
    let whole = turn
        .duration_ms
        .map_or_else(|| "open".to_owned(), |millis| format!("{millis} ms"));
    let queue = match turn.queue_wait_ms {
        Some(millis) => format!("after {millis} ms in the queue"),
        None => "its first events were not read, see more with --events-limit N".to_owned(),
    };
    let rest = turn
        .turn_cleanup_ms
        .map_or_else(String::new, |millis| format!(", the rest {millis} ms"));
    format!(
        "turn {}: {whole}, {queue}\n  context {} ms, model {} ms in {}, tools {} ms in {}{rest}",
        turn.turn_index,
        turn.context_build_ms,
        turn.provider_ms,
        pluralize(turn.provider_rounds, "round"),
        turn.tool_execution_ms,
        pluralize(turn.tools, "call"),
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
    fn the_time_of_a_turn_is_what_its_events_say_and_its_parts_are_the_whole() {
        let tool = |seq, ms| {
            let payload = json!({
                "tool_call_id": "call_1", "tool_name": "ExecCommand", "turn_index": 2, "run_id": "run_1",
                "duration_ms": ms, "summary": "done",
            });
            event(seq, "tool_executed", &payload)
        };
        let round = |seq, build, ms| {
            let payload = json!({
                "turn_index": 2, "round": 1, "stop_reason": "end_turn", "context_build_ms": build,
                "token_usage": { "input_tokens": 7, "output_tokens": 2, "total_tokens": 9 },
                "prompt_cache_key": "k", "context_fingerprint": "f",
                "tries": {
                    "model_ref": "scripted/x", "started_at": "2026-11-14T23:46:40.123Z", "duration_ms": ms,
                },
            });
            event(seq, "provider_round_completed", &payload)
        };
        let built = json!({
            "turn_index": 2, "duration_ms": 4, "context_section_count": 1, "rendered_context_chars": 1,
            "rendered_system_chars": 1, "shortened_parts": [],
        });
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
            round(7, 6, 20),
            tool(6, 30),
            event(5, "turn_context_built", &built),
            round(4, 4, 10),
            event(3, "message_processing_started", &started),
        ];
        let turns = measure(&events);
        assert_eq!(
            turns.iter().map(render_turn).collect::<Vec<_>>(),
            [
                "turn 3: open, after 3 ms in the queue\n  context 0 ms, model 0 ms in 0 rounds, tools 0 ms in 0 calls",
                "turn 2: 100 ms, after 7 ms in the queue\n  context 10 ms, model 30 ms in 2 rounds, tools 30 ms in 1 call, \
                 the rest 30 ms",
            ]
        );
        let unread = &measure(&events[..2])[1];
        assert!(
            render_turn(unread).contains("its first events were not read"),
            "{unread:?}"
        );
    }
}
