//! More tasks than an agent may have.

use crate::hands::{self, Hands, call};
use crate::processes::{ProcessCleanup, assert_none_left, shims};
use crate::support::{http, world};
use holon_domain::limits::{CALLS_PER_ROUND, TASKS_PER_AGENT};
use serde_json::{Value, json};

#[test]
fn two_hundred_commands_at_once_meet_the_limit_and_all_are_stopped_with_their_agent() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let calls: Vec<Value> = (0..200)
        .map(|number| {
            let cmd = format!("exec sleep 90 # {number}");
            call("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 0 }))
        })
        .collect();
    let told: Vec<Value> = calls
        .chunks(CALLS_PER_ROUND)
        .flat_map(|calls| hands.calls(calls))
        .collect();
    let (started, refused) = told.split_at(TASKS_PER_AGENT);
    assert!(
        started.iter().all(|told| told["status"] == "success"),
        "{started:#?}"
    );
    for told in refused {
        assert_eq!(told["error"]["kind"], "limit_reached", "{told:#}");
    }
    let hint = refused[0]["error"]["recovery_hint"].as_str().unwrap();
    assert!(hint.contains("or stop one"), "{hint}");
    assert_eq!(hands.status().active_tasks.len(), TASKS_PER_AGENT);
    assert_eq!(shims(&world).len(), TASKS_PER_AGENT);
    // Neither the host nor another agent is affected.
    let health = http(
        &served.addr,
        "GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n",
    );
    assert!(health.starts_with("HTTP/1.1 200 "), "{health}");
    let batch = hands.call(
        "ExecCommandBatch",
        json!({ "items": [{ "cmd": "echo here" }] }),
    );
    assert_eq!(
        batch["completed_count"], 1,
        "a command that cannot become a task still runs"
    );
    // After one task ends, there is room for one more.
    let first = hands::task_of(&started[0]["result"]);
    hands.call("TaskStop", json!({ "task_id": first }));
    hands.until(|status| status.active_tasks.len() < TASKS_PER_AGENT);
    hands.start(json!({ "cmd": "exec sleep 91" }));

    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    hands.until(|status| status.active_tasks.is_empty());
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}
