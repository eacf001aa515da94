//! Waits, timers and stalled work with the real program, over crashes and restarts of the host.

use crate::processes::ProcessCleanup;
use crate::support::{hello, until, world};
use holon_testkit::{World, damage};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Ends the pause before the next tick at its next look, as an outage of an hour would. Matches only a pause that is
/// still to come.
const PASS_AN_HOUR: &str = "UPDATE due SET at = at - 3600000, set_at = set_at - 3600000 \
     WHERE due LIKE '%work_tick%' AND at > unixepoch('subsec') * 1000";

fn transcript(world: &World) -> String {
    world.run(&["transcript"]).answer().to_owned()
}

fn waits(world: &World, args: &[&str]) -> Value {
    let mut all = vec!["wait", "list", "--json"];
    all.extend(args);
    world.run(&all).json()
}

/// Writes a script whose last round repeats.
fn model(world: &World, name: &str, rounds: &Value) -> String {
    let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
    let path = world.write(&format!("{name}.json"), &script.to_string());
    format!("scripted/{}", path.display())
}

fn until_waiting(world: &World) {
    until("the agent waits", || {
        waits(world, &[])[0]["status"] == "active"
    });
}

#[test]
fn a_wait_for_a_task_is_ended_by_its_result_although_the_host_crashed_meanwhile() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let build =
        "echo ran >> ../../../ran; until [ -e ../../../go ]; do sleep 0.05; done; echo built";
    let exec = json!({ "tool": "ExecCommand", "input": { "cmd": build, "yield_time_ms": 0 } });
    let wait = json!({
        "tool": "WaitFor",
        "input": { "reason": "the build", "wake_on": [{ "task": "{{task_id}}" }] },
    });
    let rounds = json!([{ "calls": [exec] }, { "calls": [wait] }, { "text": "Told: {{input}}" }]);
    let model = model(&world, "builder", &rounds);
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "build it"]).code, Some(0));
    until_waiting(&world);
    let wait = waits(&world, &[])[0]["id"].clone();
    served.crash();
    // The command ends while no host runs.
    world.write("go", "");
    let served = world.serve(&["--model", &model]);
    until("the result is told", || {
        transcript(&world).contains("Told: ")
    });
    let all = waits(&world, &["--all"]);
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all:#}");
    assert_eq!(
        (&all[0]["id"], &all[0]["status"]),
        (&wait, &json!("resolved"))
    );
    let said = transcript(&world);
    assert_eq!(said.matches("Told: ").count(), 1, "{said}");
    let ran = std::fs::read_to_string(world.path().join("ran")).unwrap();
    assert_eq!(ran, "ran\n");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_wait_for_a_time_and_a_timer_end_once_although_the_host_crashed_before() {
    let world = world();
    let wait = json!({
        "tool": "WaitFor",
        "input": { "reason": "the tea", "wake_on": [{ "after_ms": 1_500 }] },
    });
    let rounds = json!([{ "calls": [wait] }, { "text": "Seen." }]);
    let model = model(&world, "tea", &rounds);
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "make tea"]).code, Some(0));
    until_waiting(&world);
    let timer = [
        "timer",
        "create",
        "--after",
        "1500ms",
        "--summary",
        "the oven",
    ];
    assert_eq!(world.run(&timer).code, Some(0));
    served.crash();
    let served = world.serve(&["--model", &model]);
    until("the wait and the timer were answered", || {
        transcript(&world).matches("Seen.").count() == 2
    });
    let said = transcript(&world);
    for once in ["You waited for: the tea", "the oven"] {
        assert_eq!(said.matches(once).count(), 1, "{once}: {said}");
    }
    let all = waits(&world, &["--all"]);
    assert_eq!(all.as_array().map(Vec::len), Some(1), "{all:#}");
    assert_eq!(all[0]["status"], "expired");
    let timers = world.run(&["timer", "list", "--all", "--json"]).json();
    assert_eq!(
        (&timers[0]["status"], &timers[0]["fire_count"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!(served.terminate().0, Some(0));
}

/// Briefs that ask the operator to act.
fn requests(world: &World) -> Vec<Value> {
    let told = world.run(&["tail", "--limit", "500", "--json"]).json();
    let briefs = told.as_array().unwrap().iter();
    let asks = briefs.filter(|brief| brief["action_required"].is_object());
    asks.cloned().collect()
}

fn list(world: &World) -> String {
    world.run(&["work", "list"]).answer().to_owned()
}

#[test]
fn work_without_progress_stalls_after_three_turns_asks_once_and_is_woken_by_a_word() {
    let world = world();
    let model = hello(&world);
    let db: PathBuf = world.home().join("state/holon.sqlite3");
    let mut served = world.serve(&["--model", &model]);
    let made = world.run(&["work", "create", "water the plants", "--json"]);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let offers = || transcript(&world).matches("can be taken up").count();
    for turn in 1..=2 {
        until("the turn is over and the next tick waits", || {
            let status = world.run(&["status", "--json"]).json();
            offers() == turn && status["agent"]["status"] == "asleep"
        });
        assert!(list(&world).contains("runnable: "), "{}", list(&world));
        assert_eq!(requests(&world), [Value::Null; 0]);
        assert_eq!(served.terminate().0, Some(0));
        // Moved while no host runs, so that none takes the tick up before it is stopped.
        assert_eq!(damage::sql(&db, PASS_AN_HOUR), 1);
        served = world.serve(&["--model", &model]);
    }
    until("the item stalled", || {
        list(&world) == format!("{id}  stalled: water the plants\n")
    });
    let asked = requests(&world);
    assert_eq!(asked.len(), 1, "{asked:#?}");
    assert_eq!(asked[0]["action_required"]["code"], "work_stalled");
    served.crash();
    // A restart is no reason to take it up again, and there is no pause that could end.
    let served = world.serve(&["--model", &model]);
    assert_eq!(damage::sql(&db, PASS_AN_HOUR), 0);
    assert_eq!(world.run(&["prompt", "take the small can"]).code, Some(0));
    until("the item is taken up again and pauses again", || {
        let status = world.run(&["status", "--json"]).json();
        offers() == 4 && status["agent"]["status"] == "asleep"
    });
    assert!(list(&world).contains("runnable: "), "{}", list(&world));
    assert_eq!(requests(&world).len(), 1);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_question_of_the_agent_itself_needs_the_operator_until_it_is_decided() {
    let world = world();
    let question = "Shall I go on with step 2?";
    let wait = json!({
        "tool": "WaitFor",
        "input": {
            "reason": "your word", "wake_on": ["operator:any"], "question": { "text": question },
        },
    });
    let rounds = json!([{ "calls": [wait] }, { "text": "It is sunny." }]);
    let model = model(&world, "asks", &rounds);
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "do step 1"]).code, Some(0));
    until_waiting(&world);
    let asked = world.run(&["status"]).answer().to_owned();
    assert!(asked.contains("needs you"), "{asked}");
    assert!(asked.contains(question), "{asked}");
    assert_eq!(world.run(&["prompt", "the weather?"]).code, Some(0));
    until("the prompt is answered", || {
        transcript(&world).contains("It is sunny.")
            && world.run(&["status", "--json"]).json()["agent"]["status"] == "asleep"
    });
    let status = world.run(&["status"]).answer().to_owned();
    assert!(status.contains("needs you"), "{status}");
    assert!(status.contains(question), "{status}");
    let told = world.run(&["tail"]).answer().to_owned();
    let note = format!("still waits for your answer to: {question}");
    assert!(told.contains(&note), "{told}");
    assert!(!told.contains("work goes on by itself"), "{told}");
    assert_eq!(served.terminate().0, Some(0));
}
