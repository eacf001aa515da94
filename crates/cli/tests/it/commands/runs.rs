//! `holon run` and `holon status` with running tasks.

use crate::hands::{self, Hands};
use crate::processes::{ProcessCleanup, assert_none_left};
use crate::support::world;
use holon_testkit::World;
use serde_json::json;

/// Creates a model that starts a command as a task, says so, and repeats the report of its end.
fn starter(world: &World, cmd: &str) -> String {
    let call = hands::call("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 0 }));
    world.model(
        "starter",
        &json!([{ "calls": [call] }, { "text": "Started." }, { "text": "Heard: {{input}}" }]),
    )
}

#[test]
fn a_run_waits_for_its_tasks_and_answers_with_what_came_of_them() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let model = starter(&world, "sleep 0.2; echo finished; exit 3");
    for _ in 0..2 {
        let ran = world.run(&["run", "go", "--model", &model, "--json"]);
        let answer = ran.json();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let said = answer["final_text"].as_str().unwrap();
        assert!(said.starts_with("Heard: "), "{said}");
        assert!(said.contains("failed: exit 3 after"), "{said}");
        assert!(said.contains("finished"), "{said}");
        let task = &answer["tasks"][0]["task"];
        assert_eq!(task["status"], "failed", "{answer:#}");
        assert_eq!(task["output_preview"], "finished");
        assert_eq!(task["output_truncated"], false, "{task:#}");
        assert_eq!(
            (&answer["tasks"][1], &answer["model_rounds"]),
            (&json!(null), &json!(3))
        );
        assert_none_left(&world);
    }
    assert_eq!(crate::runs::agents_left(&world), [""; 0]);
}

#[test]
fn a_run_with_a_task_that_ends_in_its_turn_asks_no_more_than_needed() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let cmd = |cmd: &str, wait: u64| {
        hands::call("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": wait }))
    };
    // The second command waits for the first, so the task ends during the turn.
    let calls = [
        cmd("echo early; mkfifo pipe; echo > pipe", 0),
        cmd("until [ -e pipe ]; do :; done; read word < pipe", 600_000),
    ];
    let rounds = json!([{ "calls": calls }, { "text": "Done." }]);
    let script = json!({ "rounds": rounds, "on_end": "repeat_last" });
    let path = world.write("busy.json", &script.to_string());
    let model = format!("scripted/{}", path.display());
    let ran = world.run(&["run", "go", "--model", &model, "--json"]);
    let answer = ran.json();
    assert_eq!(answer["final_text"], "Done.", "{answer:#}");
    assert_eq!(answer["tasks"][0]["task"]["status"], "completed");
    let rounds = answer["model_rounds"].as_u64().unwrap();
    assert!(rounds <= 3, "{rounds} rounds for one result");
    assert_none_left(&world);
}

#[test]
fn a_named_agent_answers_at_once_and_its_status_lists_the_task() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &starter(&world, "sleep 60")]);
    let ran = world
        .run(&["run", "go", "--agent", "main", "--json"])
        .json();
    assert_eq!(ran["final_text"], "Started.");
    let task = &ran["tasks"][0]["task"];
    let id = task["task_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{ran:#}"));
    let status = world.run(&["status"]);
    let line = format!("task       {id} (running) since ");
    assert!(status.answer().contains(&line), "{status:?}");
    assert!(status.answer().contains(": sleep 60\n"), "{status:?}");
    let listed = world.run(&["status", "--json"]).json();
    assert_eq!(listed["active_tasks"][0]["id"], id);
    assert_eq!(listed["active_tasks"][0]["kind"], "command_task");
    // A host that shuts down leaves it running, and the next host finds it.
    assert_eq!(served.terminate().0, Some(0));
    let served = world.serve(&["--model", &starter(&world, "sleep 60")]);
    let again = world.run(&["status", "--json"]).json();
    assert_eq!(again["active_tasks"], listed["active_tasks"]);
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    Hands::of(&world).until(|status| status.active_tasks.is_empty());
    assert_none_left(&world);
    assert!(!world.run(&["status"]).answer().contains("\ntask "));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_whose_rounds_are_used_up_names_the_task_that_was_stopped_with_it() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let model = starter(&world, "sleep 60");
    let args = ["run", "go", "--model", &model, "--max-turns", "2"];
    let told = world.run(&args);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert_eq!(told.stdout, "Started.\n");
    let lines: Vec<&str> = told.stderr.lines().collect();
    let [cut_off, stopped, next] = lines.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(*cut_off, "run was cut off after 2 model rounds");
    assert!(stopped.starts_with("stopped with it: task_"), "{stopped}");
    assert!(stopped.ends_with(" (cancelled): sleep 60"), "{stopped}");
    assert_eq!(*next, "next: allow more with --max-turns N");
    assert_none_left(&world);
    let answer = world.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(answer["final_status"], "max_turns_exceeded", "{answer:#}");
    assert_eq!(answer["tasks"][0]["task"]["status"], "cancelled");
    assert_eq!(answer["tasks"][0]["stopped_with_run"], true);
    assert_eq!(answer["tasks"][0]["task"]["artifacts"], json!([]));
}

#[test]
fn a_run_with_a_named_agent_names_each_task_that_goes_on_and_how_to_end_it() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let model = starter(&world, "sleep 60");
    let args = ["run", "go", "--agent", "keeper"];
    let goes_on = |line: &str, run: &str, before: &str, agent: &str| {
        let named = line.strip_prefix(&format!("goes on after {run}: "));
        let task = named.and_then(|rest| rest.split(' ').next());
        let task = task.filter(|id| id.starts_with("task_")).expect(line);
        let way = format!("{before}holon task stop {task} --agent {agent}");
        let end = format!(" (running): sleep 60; to end it: {way}");
        assert!(line.ends_with(&end), "{line}");
    };
    let alone = world.run(&[&args[..], &["--create-agent", "--model", &model]].concat());
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(0), "Started.\n"));
    let start_first = "holon daemon start, then: ";
    goes_on(alone.stderr.trim_end(), "the run", start_first, "keeper");
    let start = hands::call(
        "ExecCommand",
        json!({ "cmd": "sleep 60", "yield_time_ms": 0 }),
    );
    let look = hands::call("TaskList", json!({}));
    let busy = world.model("busy", &json!([{ "calls": [start] }, { "calls": [look] }]));
    let served = world.serve(&["--model", &busy]);
    assert_eq!(world.run(&["agent", "stop", "keeper"]).code, Some(0));
    let made = ["agent", "create", "other"];
    assert_eq!(world.run(&made).code, Some(0));
    let cut_off = world.run(&["run", "go", "--agent", "other", "--max-turns", "2"]);
    assert_eq!(cut_off.code, Some(1), "{cut_off:?}");
    let lines: Vec<&str> = cut_off.stderr.lines().collect();
    let [_, line, _] = lines.as_slice() else {
        panic!("{cut_off:?}");
    };
    goes_on(line, "it", "", "other");
    assert_eq!(world.run(&["agent", "stop", "other"]).code, Some(0));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let world = world();
    let model = crate::support::hello(&world);
    let run = ["run", "hi", "--model", &model];
    for args in [&run[..], &[&run[..], &["--json"]].concat(), &["--help"]] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let ran = world.command().args(args).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{told}");
        assert!(
            told.contains("the answer could not be written to standard output: "),
            "{told}"
        );
        assert!(!told.contains("panicked"), "{told}");
    }
}

#[test]
fn a_run_that_does_not_wait_for_its_tasks_says_which_it_stopped() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let model = starter(&world, "sleep 60");
    let told = world.run(&["run", "go", "--model", &model, "--no-wait-for-tasks"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(0), "Started.\n"));
    assert!(
        told.stderr.starts_with("stopped with the run: task_"),
        "{told:?}"
    );
    assert_none_left(&world);
}
