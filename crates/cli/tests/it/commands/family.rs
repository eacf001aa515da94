//! Results of the command tools: duplicates, batches, and output read in parts.

use crate::hands::{self, Hands, call, task_of};
use crate::processes::{ProcessCleanup, assert_none_left};
use crate::support::world;
use holon_domain::task::TaskStatus;
use serde_json::{Value, json};

#[test]
fn an_equal_command_that_runs_is_named_instead_of_started_unless_another_is_wanted() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let cmd = json!({ "cmd": "echo ran >> ../../../ran; echo ready; exec sleep 60" });
    let ran =
        || std::fs::read_to_string(world.path().join("ran")).map_or(0, |text| text.lines().count());
    let first = hands.start(cmd.clone());
    let again = hands.call("ExecCommand", cmd.clone());
    assert_eq!(again["disposition"], "already_running", "{again:#}");
    assert_eq!(again["task_handle"]["task_id"], first.as_str());
    let words = hands.read("ExecCommand", cmd.clone());
    let expected = format!("already running as task {first} (running) for ");
    assert!(words.starts_with(&expected), "{words}");
    assert!(words.contains("duplicate_policy=start_new"), "{words}");

    let mut other = cmd.clone();
    other["duplicate_policy"] = json!("start_new");
    let second = hands.start(other);
    assert_ne!(first, second);
    // The same words with another terminal or directory are another command.
    let mut on_terminal = cmd.clone();
    on_terminal["tty"] = json!(true);
    let third = hands.start(on_terminal);
    for task in [&first, &second, &third] {
        hands.printed(task, 0, "ready");
    }
    let stops: Vec<Value> = [&first, &second, &third]
        .iter()
        .map(|task| call("TaskStop", json!({ "task_id": task })))
        .collect();
    hands.calls(&stops);
    hands.until_quiet();
    assert_eq!(ran(), 3, "one for each that was started");
    let fourth = hands.start(cmd);
    assert_ne!(fourth, first, "what is over is started anew");
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    hands.until_quiet();
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_batch_answers_item_by_item_and_skips_the_rest_where_it_is_told_to() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let items = json!([
        { "cmd": "echo one; echo odd >&2" },
        { "cmd": "echo two; exit 3" },
        { "cmd": "echo begun; sleep 60", "timeout_ms": 50 },
        { "cmd": "true", "workdir": "nowhere" },
        { "cmd": "echo five" },
    ]);
    let whole = hands.call("ExecCommandBatch", json!({ "items": items }));
    let told: Vec<(&Value, &Value, &Value)> = whole["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (&item["status"], &item["exit_status"], &item["error_kind"]))
        .collect();
    let (completed, failed) = (json!("completed"), json!("failed"));
    let late = json!("command_timed_out");
    let nowhere = json!("command_spawn_failed");
    let null = Value::Null;
    assert_eq!(
        told,
        [
            (&completed, &json!(0), &null),
            (&failed, &json!(3), &null),
            (&failed, &json!(124), &late),
            (&failed, &null, &nowhere),
            (&completed, &json!(0), &null),
        ]
    );
    assert_eq!(whole["items"][0]["stderr_preview"], "odd\n");
    let words = hands.read(
        "ExecCommandBatch",
        json!({ "items": items, "stop_on_error": true }),
    );
    assert!(
        words.starts_with(
            "1/5 items completed, 1 failed, 3 skipped\n[1] echo one; echo odd >&2\nexit=0 ("
        ),
        "{words}"
    );
    assert!(
        words.ends_with(
            "[5] echo five\nnot run: item 2 failed, and stop_on_error skips what follows"
        ),
        "{words}"
    );
    assert!(
        hands.status().active_tasks.is_empty(),
        "none becomes a task"
    );
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn what_a_task_printed_is_read_by_offsets_by_lines_and_after_its_end() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let cmd = "for i in 1 2 3 4 5; do echo line $i; done; echo odd >&2; read word; echo last $word";
    let task = hands.start(json!({ "cmd": cmd, "accepts_input": true }));
    let (seen, next) = hands.printed(&task, 0, "line 5\n");
    assert_eq!((seen.lines().count(), next), (5, 35));
    let look = |query: Value| {
        let mut query = query;
        query["task_id"] = json!(task);
        hands.call("TaskOutput", query)
    };
    let nothing = look(json!({ "after_byte": next, "stderr_after_byte": 4 }));
    assert_eq!(nothing["retrieval_status"], "not_ready");
    let parts = |look: &Value| {
        let task = &look["task"];
        [
            &task["output_preview"],
            &task["stderr_preview"],
            &task["next_offset"],
            &task["next_stderr_offset"],
        ]
        .map(Clone::clone)
    };
    assert_eq!(parts(&nothing), [json!(""), json!(""), json!(35), json!(4)]);
    let last_two = look(json!({ "tail_lines": 2 }));
    assert_eq!(
        last_two["task"]["output_preview"],
        "line 4\nline 5\nstderr:\nodd\n"
    );
    assert_eq!(last_two["task"]["next_offset"], 35);
    let waited = look(json!({ "timeout_ms": 1 }));
    assert_eq!(waited["retrieval_status"], "timeout");
    let both = format!("{seen}stderr:\nodd\n");
    assert_eq!(waited["task"]["output_preview"], both);

    hands.type_in(&task, "word\n");
    hands.until_quiet();
    let new = look(json!({ "after_byte": next, "stderr_after_byte": 0 }));
    assert_eq!(new["retrieval_status"], "success");
    assert_eq!(
        parts(&new),
        [json!("last word\n"), json!("odd\n"), json!(45), json!(4)]
    );
    assert_eq!(new["task"]["exit_status"], 0);
    assert_eq!(hands.ends(), [(task.clone(), TaskStatus::Completed)]);
    let told = hands.results();
    assert_eq!((told.len(), &told[0].0), (1, &task), "{told:?}");
    let taken = hands.call("TaskInput", json!({ "task_id": task, "input": "more\n" }));
    assert_eq!(taken["accepted_input"], false);
    let unknown = hands.refused("TaskOutput", json!({ "task_id": "task_of_nobody" }));
    assert_eq!(unknown["kind"], "unknown_task");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn input_goes_once_to_programs_that_take_it_and_ends_when_it_is_closed() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let started = hands.calls(&[
        call(
            "ExecCommand",
            json!({ "cmd": "cat; echo over", "accepts_input": true, "yield_time_ms": 0 }),
        ),
        call(
            "ExecCommand",
            json!({ "cmd": "sleep 60", "yield_time_ms": 0 }),
        ),
    ]);
    let [cat, deaf] = [0, 1].map(|index| task_of(&started[index]["result"]));
    let refused = hands.call("TaskInput", json!({ "task_id": deaf, "input": "x" }));
    assert_eq!(refused["accepted_input"], false, "{refused:#}");
    assert!(
        refused["summary_text"]
            .as_str()
            .unwrap()
            .contains("accepts_input or tty")
    );
    // Two lines in one round arrive in order, followed by the end of input.
    hands.calls(&[
        call("TaskInput", json!({ "task_id": cat, "input": "one\n" })),
        call(
            "TaskInput",
            json!({ "task_id": cat, "input": "two\n", "close_input": true }),
        ),
        call("TaskStop", json!({ "task_id": deaf })),
    ]);
    hands.until_quiet();
    let look = hands.call("TaskOutput", json!({ "task_id": cat }));
    assert_eq!(look["task"]["output_preview"], "one\ntwo\nover\n");
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}
