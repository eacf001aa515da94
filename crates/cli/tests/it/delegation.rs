//! Children in the real program: a child works, reports to its parent, and is known through its parent only.

use crate::support::{until, world};
use serde_json::json;

#[test]
fn a_child_reports_to_its_parent_and_is_known_through_its_parent_only() {
    let world = world();
    let spawn = json!({ "tool": "SpawnAgent", "input": { "initial_message": "count the files" } });
    // Parent and child ask the same model. Each answers its first message with words, and the parent its second with a
    // child.
    let text = json!({ "text": "There are seven files." });
    let mut rounds = vec![text; 5];
    rounds.insert(1, json!({ "calls": [spawn] }));
    let served = world.serve(&["--model", &world.model("delegating", &json!(rounds))]);
    let run = |args: &[&str]| world.run(args);
    for words in ["hello", "delegate it"] {
        let asked = run(&["run", words, "--agent", "main"]);
        assert!(asked.answer().contains("seven files"), "{asked:?}");
    }
    let tasks = || run(&["task", "list", "--all", "--json"]).json();
    until("the child has reported", || {
        tasks()[0]["status"] == "completed"
    });
    let task = tasks()[0].clone();
    assert_eq!(task["kind"], "child_agent_task", "{task}");
    assert_eq!(task["summary"], "count the files", "{task}");
    let child = task["child_agent_id"].as_str().expect("a child").to_owned();
    let shown = run(&["task", "show", task["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["child_observability"]["phase"], "terminal", "{shown}");
    assert_eq!(
        shown["child_supervision"]["parent_agent_id"], "main",
        "{shown}"
    );
    let output = run(&["task", "output", task["id"].as_str().unwrap(), "--json"]);
    assert!(
        output.answer().contains("There are seven files."),
        "{output:?}"
    );
    assert!(!run(&["agent", "list"]).answer().contains(&child));
    assert!(run(&["agent", "tree"]).answer().contains("main"));
    for args in [
        &["status", "--agent", &child][..],
        &["prompt", "--agent", &child, "hello"],
        &["agent", "stop", &child],
        &["transcript", "--agent", &child],
    ] {
        let refused = run(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("agent"), "{args:?}: {refused:?}");
    }
    drop(served);
}
