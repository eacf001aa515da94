//! `holon debug latency`: where the time of an agent's last turns went, from its events.

use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::target::Target;
use holon_api::EventEnvelope;
use holon_api::event::PageOrder;
use holon_client::EventsQuery;
use holon_domain::attempt::AttemptRecord;
use holon_domain::event::Event;
use holon_domain::limits::EVENT_PAGE_MAX;
use holon_domain::text::pluralize;
use holon_domain::{AgentId, Timestamp};
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
    failed_requests: u64,
    failed_requests_ms: u64,
    /// Pauses before a request was repeated, and suspensions while no model could answer.
    back_off_ms: u64,
    tools: u64,
    tool_execution_ms: u64,
    /// The rest of the duration: decisions, commits and what else the runtime does. Absent while the turn is open.
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

/// When a turn paused, sent its requests and ended, for the lengths of its pauses.
#[derive(Debug, Default)]
struct TurnTimes {
    pauses: Vec<Timestamp>,
    requests: Vec<Timestamp>,
    ended: Option<Timestamp>,
}

impl TurnTimes {
    /// Sums up the pauses. Each lasts until the next request, the next pause or the end of the turn; one that goes on is
    /// not counted.
    fn back_off_ms(&self) -> u64 {
        let ends = || self.requests.iter().chain(&self.pauses).chain(&self.ended);
        let length = |begun: &Timestamp| {
            let end = ends().filter(|end| *end > begun).min()?;
            Some(end.millis_since(*begun))
        };
        self.pauses.iter().filter_map(length).sum()
    }
}

/// Adds the requests of a round that failed.
fn add_failed(turn: &mut TurnLatency, times: &mut TurnTimes, failed: &[AttemptRecord]) {
    for attempt in failed {
        turn.failed_requests += 1;
        turn.failed_requests_ms += attempt.duration_ms.unwrap_or_default();
        times.requests.extend(attempt.started_at);
    }
}

/// Sums up the events of each turn, newest turn first.
fn measure(events: &[EventEnvelope]) -> Vec<TurnLatency> {
    let mut turns: BTreeMap<u64, (TurnLatency, TurnTimes)> = BTreeMap::new();
    let mut of = |turn_index: u64, add: &dyn Fn(&mut TurnLatency, &mut TurnTimes)| {
        let (turn, times) = turns.entry(turn_index).or_default();
        turn.turn_index = turn_index;
        add(turn, times);
    };
    for envelope in events {
        add_event(envelope, &mut of);
    }
    let turns = turns.into_values().rev();
    let finish = |(mut turn, times): (TurnLatency, TurnTimes)| {
        turn.back_off_ms = times.back_off_ms();
        let spent = turn.context_build_ms
            + turn.provider_ms
            + turn.failed_requests_ms
            + turn.back_off_ms
            + turn.tool_execution_ms;
        turn.turn_cleanup_ms = turn.duration_ms.map(|whole| whole.saturating_sub(spent));
        turn
    };
    turns.map(finish).collect()
}

/// Adds what one event says to its turn.
fn add_event(
    envelope: &EventEnvelope,
    of: &mut impl FnMut(u64, &dyn Fn(&mut TurnLatency, &mut TurnTimes)),
) {
    let ts = envelope.ts;
    match envelope.event() {
        Event::MessageProcessingStarted(e) => {
            if let Some(turn_index) = e.turn_index {
                of(turn_index, &|turn, _| {
                    turn.queue_wait_ms = Some(e.queue_wait_ms);
                });
            }
        }
        // Its event of the prompt tells of the first round only.
        Event::ProviderRoundCompleted(e) => of(e.turn_index, &|turn, times| {
            turn.provider_rounds += 1;
            turn.context_build_ms += e.context_build_ms;
            turn.provider_ms += e.tries.duration_ms;
            times.requests.push(e.tries.started_at);
            add_failed(turn, times, &e.tries.failed);
        }),
        Event::RuntimeError(e) => {
            if let (Some(turn_index), Some(timeline)) = (e.turn_index, &e.provider_attempt_timeline)
            {
                of(turn_index, &|turn, times| {
                    add_failed(turn, times, &timeline.attempts);
                });
            }
        }
        Event::ProviderRetryScheduled(e) => of(e.turn_index, &|_, times| times.pauses.push(ts)),
        Event::TurnSuspended(e) => of(e.turn_index, &|_, times| times.pauses.push(ts)),
        Event::ToolExecuted(e) => of(e.turn_index, &|turn, _| {
            turn.tools += 1;
            turn.tool_execution_ms += e.duration_ms;
        }),
        Event::ToolExecutionFailed(e) => of(e.turn_index, &|turn, _| {
            turn.tools += 1;
            turn.tool_execution_ms += e.duration_ms;
        }),
        Event::TurnTerminal(e) => of(e.turn_index, &|turn, times| {
            turn.duration_ms = Some(e.duration_ms);
            times.ended = Some(ts);
        }),
        _ => {}
    }
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
    let failed = match turn.failed_requests {
        0 => String::new(),
        count => format!(
            ", {} ms in {}",
            turn.failed_requests_ms,
            pluralize(count, "failed request")
        ),
    };
    let back_off = match turn.back_off_ms {
        0 => String::new(),
        millis => format!(", back-off {millis} ms"),
    };
    let rest = turn
        .turn_cleanup_ms
        .map_or_else(String::new, |millis| format!(", clean-up {millis} ms"));
    format!(
        "turn {}: {whole}, {queue}\n  context {} ms, model {} ms in {}{failed}{back_off}, tools {} ms in {}{rest}",
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

    /// An event of turn 2 at a millisecond of a minute.
    fn event_at(event_seq: u64, millis: u64, kind: &str, payload: &Value) -> EventEnvelope {
        let mut envelope = event(event_seq, kind, payload);
        envelope.ts = at(millis);
        envelope
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus_millis(millis)
    }

    #[test]
    fn failed_requests_back_off_and_clean_up_are_told_apart() {
        let failed = |begun: u64, millis: u64| {
            json!({
                "provider": "scripted", "model_ref": "scripted/x", "attempt": 1, "max_attempts": 3,
                "started_at": at(begun), "duration_ms": millis, "outcome": "retrying", "advanced_to_fallback": false,
            })
        };
        let retry = json!({
            "turn_index": 2, "round": 1, "attempt": 1, "failure_kind": "rate_limited", "error": "slow down",
            "backoff_ms": 400, "retry_at": at(900),
        });
        let suspended = json!({
            "run_id": "run_1", "turn_index": 2, "round": 1, "reason": "provider_trouble", "error": "no", "waited_ms": 0,
        });
        let answered = json!({
            "turn_index": 2, "round": 1, "stop_reason": "end_turn", "context_build_ms": 10,
            "token_usage": { "input_tokens": 7, "output_tokens": 2, "total_tokens": 9 },
            "prompt_cache_key": "k", "context_fingerprint": "f",
            "tries": {
                "model_ref": "scripted/x", "started_at": at(5_600), "duration_ms": 300,
                "failed": [failed(100, 20), failed(500, 100)],
            },
        });
        let terminal = json!({
            "turn_index": 2, "run_id": "run_1", "kind": "completed", "reason": "finished", "duration_ms": 5_950,
            "rounds": 1, "token_usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 },
        });
        let events = [
            event_at(9, 6_000, "turn_terminal", &terminal),
            event_at(8, 5_900, "provider_round_completed", &answered),
            event_at(6, 600, "turn_suspended", &suspended),
            event_at(5, 120, "provider_retry_scheduled", &retry),
        ];
        let turn = &measure(&events)[0];
        let shown = render_turn(turn);
        assert_eq!((turn.failed_requests, turn.failed_requests_ms), (2, 120));
        // From 120 to the request at 500, and from 600 to the one at 5,600; less than the pause that was planned.
        assert_eq!(turn.back_off_ms, 380 + 5_000, "{shown}");
        assert_eq!(turn.turn_cleanup_ms, Some(5_950 - 10 - 300 - 120 - 5_380));
        assert!(
            shown.contains("120 ms in 2 failed requests, back-off 5380 ms")
                && shown.ends_with("clean-up 140 ms"),
            "{shown}"
        );
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
                 clean-up 30 ms",
            ]
        );
        let unread = &measure(&events[..2])[1];
        assert!(
            render_turn(unread).contains("its first events were not read"),
            "{unread:?}"
        );
    }
}
