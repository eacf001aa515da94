//! Commands of agents that call their own host: recognised by their ancestors, also after a double fork.

use crate::support::{until, world};
use holon_testkit::World;
use serde_json::json;

/// A world whose agent runs this command once and then answers.
fn agent_that_runs(world: &World, cmd: &str) -> String {
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": cmd, "yield_time_ms": 20_000 } });
    let rounds = json!([{ "text": "I call.", "calls": [call] }, { "text": "Done." }]);
    world.model("caller", &rounds)
}

#[test]
fn a_command_reads_its_own_agent_and_enqueues_to_it_and_every_other_request_is_refused() {
    let world = world();
    let program = env!("CARGO_BIN_EXE_holon");
    let socket = world.home().join("run/holon.sock");
    let socket = socket.display();
    let curl = format!("curl -s --unix-socket {socket} -H 'Content-Type: application/json'");
    // The last two run outside of the command's session, as children of the shim.
    // The message to itself opens another turn, which runs the command again without effect.
    let cmd = format!(
        "if [ -e begun ]; then exit 0; fi; touch begun; \
         {program} status --json > own.json 2>&1; \
         {program} prompt hello --json > prompt.json 2>&1; \
         {program} agent list --json > list.json 2>&1; \
         {program} agent stop --json > stop.json 2>&1; \
         {program} daemon stop --json > daemon.json 2>&1; \
         {curl} -d '{{\"text\":\"from my command\"}}' http://x/agents/main/enqueue > enqueue.json; \
         (setsid {program} agent stop --json > escaped.json.part 2>&1; mv escaped.json.part escaped.json) & \
         sleep 0; wait"
    );
    let served = world.serve(&["--model", &agent_that_runs(&world, &cmd)]);
    let ran = world.run(&["run", "go", "--agent", "main"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let home = world.home().join("agents/main");
    let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap_or_default();
    assert!(
        read("own.json").contains("\"main\""),
        "{}",
        read("own.json")
    );
    until("the command has made its requests", || {
        home.join("escaped.json").exists()
    });
    for name in [
        "prompt.json",
        "list.json",
        "stop.json",
        "daemon.json",
        "escaped.json",
    ] {
        let text = read(name);
        assert!(text.contains("agent_command"), "{name}: {text}");
    }
    assert!(
        read("enqueue.json").contains("message_id"),
        "{}",
        read("enqueue.json")
    );
    let events = world.run(&["events", "--limit", "200", "--json"]);
    let mut payloads = events.answer().lines();
    let own = payloads.find(|line| line.contains("payload") && line.contains("agent_command"));
    let own = own.unwrap_or_default();
    assert!(
        own.contains("runtime_instruction"),
        "the turn was the operator's: {own}"
    );
    assert_eq!(
        world.run(&["agent", "list"]).code,
        Some(0),
        "the operator may"
    );
    drop(served);
}
