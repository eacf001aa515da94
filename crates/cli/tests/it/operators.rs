//! What operators do beside messages: look after tasks, give out tokens, abort runs and remove agents.

use crate::hands::{self, Hands};
use crate::support::{hello, world};
use serde_json::json;

#[test]
fn an_operator_writes_to_a_task_follows_it_and_stops_another() {
    let world = world();
    let _served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let cmd = "read word; echo \"got $word\"; echo oops >&2";
    let task = hands.start(json!({ "cmd": cmd, "accepts_input": true }));
    let endless = hands.start(json!({ "cmd": "sleep 3600" }));
    let listed = world.run(&["task", "list"]);
    assert!(listed.answer().contains(&task) && listed.answer().contains(&endless));
    let written = world.run(&["task", "input", &task, "hello"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let followed = world.run(&["task", "output", &task, "--follow"]);
    assert_eq!(followed.code, Some(0), "{followed:?}");
    assert_eq!(followed.answer().trim(), "got hello");
    assert!(followed.stderr.contains("oops"), "{followed:?}");
    let shown = world.run(&["task", "show", &task, "--json"]).json();
    assert_eq!(shown["status"], "completed");
    let late = world.run(&["task", "input", &task, "again"]);
    assert_eq!(late.code, Some(1), "{late:?}");
    let stopped = world.run(&["task", "stop", &endless, "--json"]).json();
    assert_eq!(stopped["stop_requested"], true);
    hands.until_quiet();
    let shown = world.run(&["task", "show", &endless, "--json"]).json();
    assert_eq!(shown["status"], "cancelled");
    let again = world.run(&["task", "stop", &endless]);
    assert!(again.answer().contains("was over already"), "{again:?}");
    let all = world.run(&["task", "list", "--all", "--json"]).json();
    assert_eq!(all.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_named_token_works_within_its_scope_also_after_a_restart_until_it_is_revoked() {
    let world = world();
    let serve = || world.serve(&["--model", &hands::model(&world)]);
    let served = serve();
    let made = world.run(&["token", "create", "ci", "--scope", "read"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let secret = made.answer().trim().to_owned();
    drop(served);
    let _served = serve();
    let listed = world.run(&["token", "list"]);
    assert!(listed.answer().contains("ci  read"), "{listed:?}");
    assert!(!listed.answer().contains(&secret));
    let store = std::fs::read(world.home().join("state/holon.sqlite3")).unwrap();
    let wal = std::fs::read(world.home().join("state/holon.sqlite3-wal")).unwrap_or_default();
    let needle = secret.as_bytes();
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
    assert!(!holds(&store) && !holds(&wal), "only the hash is stored");
    let gone = world.run(&["token", "revoke", "ci"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    let listed = world.run(&["token", "list"]);
    assert!(listed.answer().contains("no named tokens"), "{listed:?}");
}

#[test]
fn an_agent_is_removed_for_good_and_the_default_one_is_not() {
    let world = world();
    let _served = world.serve(&["--model", &hands::model(&world)]);
    let made = world.run(&["agent", "create", "scout"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let asked = world.run(&["agent", "delete", "scout"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    let gone = world.run(&["agent", "delete", "scout", "--yes"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    crate::support::until("the agent is gone", || {
        let status = world.run(&["status", "--agent", "scout"]);
        status.stderr.contains("there is no agent scout")
    });
    let kept = world.run(&["agent", "delete", "main", "--yes"]);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    let idle = world.run(&["agent", "abort"]);
    assert!(idle.stderr.contains("no current run"), "{idle:?}");
}

#[test]
fn the_older_spelling_of_start_stop_and_abort_works_and_the_time_of_a_turn_is_told() {
    let world = world();
    let _served = world.serve(&["--model", &hello(&world)]);
    let stopped = world.run(&["control", "stop", "--agent", "main"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let refused = world.run(&["prompt", "hello"]);
    assert!(refused.stderr.contains("stopped"), "{refused:?}");
    let started = world.run(&["control", "start"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let idle = world.run(&["control", "abort"]);
    assert!(idle.stderr.contains("no current run"), "{idle:?}");
    let ran = world.run(&["run", "--agent", "main", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = world.run(&["debug", "latency"]);
    assert!(told.answer().contains("clean-up "), "{told:?}");
    let told = world
        .run(&["debug", "latency", "--json", "--limit", "1"])
        .json();
    let turns = told["turns"].as_array().expect("a list");
    assert_eq!(turns.len(), 1, "{told}");
    assert!(turns[0]["provider_rounds"].as_u64() >= Some(1), "{told}");
}

#[test]
fn what_waits_for_a_remote_operator_is_tried_at_once_and_an_unknown_one_is_refused() {
    let world = world();
    let _served = world.serve(&["--model", &hands::model(&world)]);
    let unknown = world.run(&["delivery", "retry", "opb_none", "--agent", "main"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("no such binding"), "{unknown:?}");
    let made = world.run(&[
        "binding",
        "add",
        "main",
        "--transport",
        "bridge",
        "--actor",
        "jo",
        "--route",
        "room",
        "--callback",
        "http://127.0.0.1:9/cb",
        "--auth",
        "none",
        "--json",
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let made = made.json();
    let id = made["binding"]["binding_id"].as_str().expect("an id");
    let retried = world.run(&["delivery", "retry", id, "--agent", "main"]);
    assert_eq!(retried.code, Some(0), "{retried:?}");
    assert!(retried.answer().contains("nothing waits"), "{retried:?}");
}
