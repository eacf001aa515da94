//! The activity of a running host: as the host reports it, or derived from its agents if it reports nothing.

use super::status::newest;
use crate::host;
use holon_client::Client;
use holon_client::view::{AgentListEntry, HostActivity, HostFailure, HostReport};
use holon_domain::AgentId;
use serde_json::Value;
use std::path::Path;

/// Agents whose tasks and failures are looked at, if the host does not report them.
const AGENTS_SEEN: usize = 64;

/// Asks a host for its activity, the last failure of a turn and its store. A part that cannot be learned is absent.
pub(super) async fn ask(home: &Path) -> HostReport {
    let client = host::client(home);
    match client.host_report().await {
        Ok(Some(report)) if report.activity.is_some() => report,
        Ok(report) => {
            let report = report.unwrap_or_default();
            let (activity, failure) = derive(&client).await;
            HostReport {
                activity,
                last_failure: newest(report.last_failure, failure),
                epoch: report.epoch,
            }
        }
        Err(_) => HostReport::default(),
    }
}

async fn derive(client: &Client) -> (Option<HostActivity>, Option<HostFailure>) {
    let Ok(agents) = client.agents().await else {
        return (None, None);
    };
    let mut activity = count(agents.iter().map(|agent| &**agent));
    let mut last = None;
    for agent in agents.iter().take(AGENTS_SEEN) {
        let Ok(id) = AgentId::parse_stored(&agent.identity.agent_id) else {
            continue;
        };
        let Ok(status) = client.status(Some(&id)).await else {
            continue;
        };
        activity.active_task_count += status.active_tasks.len() as u64;
        last = newest(last, turn_failure(status.raw()));
    }
    if activity.state == "idle" && activity.active_task_count > 0 {
        activity.state = "waiting".to_owned();
    }
    (Some(activity), last)
}

/// Counts agents by their state.
fn count<'a>(agents: impl Iterator<Item = &'a AgentListEntry>) -> HostActivity {
    let mut activity = HostActivity::default();
    for agent in agents {
        let posture = agent.scheduling_posture.posture.as_str();
        match agent.status.as_str() {
            "stopped" => continue,
            "booting" | "awake_running" => activity.processing_agent_count += 1,
            _ if posture.starts_with("waiting") || posture == "blocked" => {
                activity.waiting_agent_count += 1;
            }
            _ => {}
        }
        activity.active_agent_count += 1;
    }
    activity.state = if activity.processing_agent_count > 0 {
        "processing"
    } else if activity.waiting_agent_count > 0 {
        "waiting"
    } else {
        "idle"
    }
    .to_owned();
    activity
}

/// Returns the last failure of an agent's turn from its status.
fn turn_failure(status: &Value) -> Option<HostFailure> {
    let failure = status.pointer("/agent/last_runtime_failure")?;
    let text = |pointer: &str| {
        failure
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    Some(HostFailure {
        occurred_at: text("/occurred_at")?,
        summary: text("/failure_artifact/summary").unwrap_or_default(),
        phase: "runtime_turn".to_owned(),
        agent_id: status
            .pointer("/identity/agent_id")
            .and_then(Value::as_str)
            .map(str::to_owned),
        detail_hint: None,
        failure_artifact: failure.pointer("/failure_artifact").cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent(status: &str, posture: &str) -> AgentListEntry {
        let entry = json!({
            "identity": { "agent_id": "a" },
            "status": status,
            "scheduling_posture": { "posture": posture, "reason": "" },
            "pending": 0,
        });
        serde_json::from_value(entry).unwrap()
    }

    #[test]
    fn a_host_is_processing_before_it_is_waiting_before_it_is_idle() {
        for (agents, state, counts) in [
            (vec![], "idle", [0, 0, 0]),
            (
                vec![("asleep", "idle"), ("stopped", "idle")],
                "idle",
                [1, 0, 0],
            ),
            (
                vec![("asleep", "waiting_for_task"), ("asleep", "idle")],
                "waiting",
                [2, 0, 1],
            ),
            (
                vec![("asleep", "blocked"), ("awake_running", "active_turn")],
                "processing",
                [2, 1, 1],
            ),
            (vec![("booting", "idle")], "processing", [1, 1, 0]),
            (vec![("of_a_later_build", "dreaming")], "idle", [1, 0, 0]),
        ] {
            let entries: Vec<_> = agents.iter().map(|(a, b)| agent(a, b)).collect();
            let counted = count(entries.iter());
            assert_eq!(counted.state, state, "{agents:?}");
            let numbers = [
                counted.active_agent_count,
                counted.processing_agent_count,
                counted.waiting_agent_count,
            ];
            assert_eq!(numbers, counts, "{agents:?}");
        }
    }

    #[test]
    fn the_failure_of_a_turn_is_read_from_a_status() {
        let status = json!({ "agent": { "last_runtime_failure": {
            "occurred_at": "2026-01-01T00:00:00Z",
            "failure_artifact": { "summary": "no model answered", "kind": "x" },
        } } });
        let failure = turn_failure(&status).unwrap();
        assert_eq!(
            (failure.summary.as_str(), failure.phase.as_str()),
            ("no model answered", "runtime_turn")
        );
        assert_eq!(turn_failure(&json!({ "agent": {} })), None);
    }
}
