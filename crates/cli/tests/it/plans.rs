//! Work items with the real program: planned, carried out over several turns and a crash, and reported.

use crate::looking::follow;
use crate::processes::ProcessCleanup;
use crate::support::{until, world};
use holon_testkit::World;
use serde_json::{Value, json};

const REPORT: &str = "The fixtures are split. The tests pass.";

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers write the arguments where they call"
)]
fn call(tool: &str, input: Value) -> Value {
    json!({ "tool": tool, "input": input })
}

fn creation() -> Value {
    let new = json!({
        "objective": "Split the fixtures", "plan": "# Plan\n\nSplit, then test.\n",
        "todo_list": [{"text": "split", "state": "pending"}],
    });
    json!({ "calls": [call("CreateWorkItem", new)] })
}

fn pick() -> Value {
    json!({ "calls": [call("PickWorkItem", json!({ "work_item_id": "{{work_item_id}}" }))] })
}

fn completion() -> Value {
    let complete = call(
        "CompleteWorkItem",
        json!({ "work_item_id": "{{work_item_id}}" }),
    );
    json!({ "text": REPORT, "calls": [complete] })
}

/// Returns the contents of an agent's plan files.
fn plans(world: &World, agent: &str) -> Vec<String> {
    let folder = world.home().join("agents").join(agent).join("work-items");
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    folders
        .map(|entry| std::fs::read_to_string(entry.path().join("plan.md")).unwrap())
        .collect()
}

#[test]
fn a_plan_is_carried_out_over_several_turns_and_a_crash_and_its_report_is_delivered() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let update = json!({
        "work_item_id": "{{work_item_id}}", "plan_status": "ready",
        "todo_list": [{"text": "split", "state": "completed"}],
    });
    let wait = "echo ran >> ../../../ran; until [ -e ../../../go ]; do sleep 0.05; done";
    let model = world.model(
        "work",
        &json!([
            creation(),
            pick(),
            { "text": "Planned." },
            { "calls": [call("ExecCommand", json!({ "cmd": wait, "yield_time_ms": 600_000 }))] },
            { "calls": [call("UpdateWorkItem", update)], "expect": { "input_contains": "system_tick" } },
            { "text": "Split." },
            completion(),
            { "text": "Nothing is left." },
        ]),
    );
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "split the fixtures"]).code, Some(0));
    until("the command of the second turn runs", || {
        world.path().join("ran").exists()
    });
    assert_eq!(plans(&world, "main"), ["# Plan\n\nSplit, then test.\n"]);
    served.crash();
    world.write("go", "");
    let served = world.serve(&["--model", &model]);
    let told = follow(&world, "main", 5);
    let texts: Vec<&str> = told
        .iter()
        .filter_map(|brief| brief["text"].as_str())
        .collect();
    let goes_on = "work goes on by itself: Split the fixtures";
    let expected = ["Planned.", goes_on, "Split.", REPORT, "Nothing is left."];
    assert_eq!(texts, expected);
    assert!(told[3]["work_item_id"].is_string(), "{}", told[3]);
    assert_eq!(
        std::fs::read_to_string(world.path().join("ran")).unwrap(),
        "ran\n"
    );
    assert_eq!(
        plans(&world, "main").len(),
        1,
        "the plan of a completed item stays"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn the_report_of_a_run_is_its_answer() {
    let world = world();
    let rounds = json!([creation(), pick(), completion(), { "text": "Bye." }]);
    let model = world.model("report", &rounds);
    let ran = world.run(&["run", "split the fixtures", "--model", &model]);
    assert_eq!(ran.answer(), format!("{REPORT}\n"));
    let ran = world.run(&["run", "split the fixtures", "--json", "--model", &model]);
    let answer = ran.json();
    assert_eq!(
        (&answer["final_text"], &answer["raw_final_text"]),
        (&json!(REPORT), &json!("Bye."))
    );
    assert_eq!(answer["final_status"], "completed");
}
