//! What operators do beside messages: look after tasks, give out tokens, abort runs and remove agents.

use crate::hands::{self, Hands};
use crate::support::world;
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
