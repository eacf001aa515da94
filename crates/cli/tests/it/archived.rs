//! `holon agent archive`: history can be read, the agent is not listed, and nothing reaches it.

use crate::support::{hello, until, world};

#[test]
fn an_archived_agent_can_be_read_is_not_listed_takes_nothing_and_can_be_removed() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let run = |args: &[&str]| world.run(args);
    assert_eq!(run(&["agent", "create", "old"]).code, Some(0));
    assert_eq!(run(&["run", "hello", "--agent", "old"]).code, Some(0));
    let timer = ["timer", "create", "--agent", "old", "--after", "1h"];
    assert_eq!(run(&timer).code, Some(0));
    let resting = run(&["work", "create", "--agent", "old", "do it"]);
    assert_eq!(resting.code, Some(0), "{resting:?}");
    let archived = run(&["agent", "archive", "old"]);
    assert!(archived.answer().contains("is archived"), "{archived:?}");
    assert_eq!(
        run(&["agent", "archive", "old"]).code,
        Some(0),
        "once is enough"
    );
    let check = || {
        assert!(!run(&["agent", "list"]).answer().contains("old"));
        let listed = run(&["agent", "list", "--archived"]);
        assert!(listed.answer().starts_with("old  archived "), "{listed:?}");
        let status = run(&["status", "--agent", "old"]);
        let status = status.answer();
        assert!(
            status.starts_with("agent      old (archived)\n"),
            "{status}"
        );
        assert!(!status.contains("runnable"), "{status}");
        let items = run(&["work", "list", "--agent", "old"]);
        assert!(items.answer().contains("  blocked: do it"), "{items:?}");
        let timers = run(&["timer", "list", "--agent", "old"]);
        assert!(!timers.answer().contains("timer create"), "{timers:?}");
        let told = run(&["events", "--agent", "old"]);
        assert!(told.answer().contains("1 timer was cancelled"), "{told:?}");
        let timers = run(&["timer", "list", "--agent", "old", "--json"]).json();
        assert_eq!(timers, serde_json::json!([]), "its timers are cancelled");
        let status = run(&["status", "--agent", "old", "--json"]).json();
        assert_eq!(status["identity"]["status"], "archived", "{status}");
        assert_eq!(status["agent"]["status"], "stopped", "{status}");
        assert_eq!(
            status["scheduling_posture"]["posture"], "archived",
            "{status}"
        );
        assert_eq!(
            status["lifecycle"]["resume_cli_hint"],
            serde_json::Value::Null
        );
        let told = run(&["transcript", "--agent", "old"]);
        assert!(told.answer().contains("Hello there."), "{told:?}");
        let events = run(&["events", "--agent", "old", "--json"]);
        assert!(events.answer().contains("control_applied"), "{events:?}");
    };
    check();
    for args in [
        &["prompt", "--agent", "old", "hello"][..],
        &["run", "hello", "--agent", "old"],
        &["wake", "old", "look"],
        &["agent", "start", "old"],
        &["agent", "stop", "old"],
        &["agent", "abort", "old"],
        &["agent", "model", "clear", "old"],
        &["work", "create", "--agent", "old", "do it"],
        &["timer", "create", "--agent", "old", "--after", "1h"],
        &["workspace", "exit", "--agent", "old"],
        &["agent", "create", "old"],
    ] {
        let refused = run(&[args, &["--json"]].concat());
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("archived"), "{args:?}: {refused:?}");
    }
    served.crash();
    let _served = world.serve(&["--model", &hello(&world)]);
    check();
    let copy = run(&["agent", "clone", "old", "new"]);
    assert_eq!(copy.code, Some(0), "the way back: {copy:?}");
    assert_eq!(run(&["agent", "start", "new"]).code, Some(0));
    assert_eq!(run(&["agent", "delete", "old", "--yes"]).code, Some(0));
    until("it is removed", || {
        run(&["status", "--agent", "old"])
            .stderr
            .contains("no agent")
            || run(&["status", "--agent", "old", "--json"])
                .stderr
                .contains("agent_not_found")
    });
    let default = run(&["agent", "archive", "main", "--json"]);
    assert!(default.stderr.contains("default_agent"), "{default:?}");
}
