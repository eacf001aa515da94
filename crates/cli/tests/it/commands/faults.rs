//! Commands that cannot be started, print undecodable output, or attack their supervisor. Each result names the next
//! step, and the next command works.

use crate::hands::{self, Hands, call};
use crate::processes::{ProcessCleanup, assert_none_left};
use crate::support::world;
use serde_json::{Value, json};

#[test]
fn a_command_that_cannot_be_started_says_why_and_what_to_do() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    world.write("project/sub/file", "");
    std::os::unix::fs::symlink("..", world.path().join("project/up")).unwrap();
    let served = world.serve(&["--model", &hands::model(&world)]);
    let made = world.run(&["agent", "create", "scout", "--workspace-root", "project"]);
    assert_eq!(made.code, Some(0));
    let hands = Hands::of_agent(&world, "scout");
    // Longer than a single argument may be on this system.
    let long = format!("true {}", "x".repeat(256 << 10));
    let cases = [
        (
            json!({ "cmd": "true", "shell": "/no/such/shell" }),
            "command_spawn_failed",
            "/no/such/shell",
        ),
        (
            json!({ "cmd": "true", "shell": "no-such-shell" }),
            "command_spawn_failed",
            "no-such-shell",
        ),
        (
            json!({ "cmd": "true", "workdir": "nowhere" }),
            "command_spawn_failed",
            "nowhere",
        ),
        (
            json!({ "cmd": "true", "workdir": "sub/file" }),
            "command_spawn_failed",
            "sub/file",
        ),
        (
            json!({ "cmd": "true", "workdir": ".." }),
            "execution_root_violation",
            "outside",
        ),
        (
            json!({ "cmd": "true", "workdir": "/" }),
            "execution_root_violation",
            "outside",
        ),
        (
            json!({ "cmd": "true", "workdir": "up" }),
            "execution_root_violation",
            "outside",
        ),
        (json!({ "cmd": long }), "command_spawn_failed", "long"),
        (json!({ "cmd": " " }), "invalid_tool_input", "empty"),
        (json!({ "cmd": "a\u{0}b" }), "invalid_tool_input", "NUL"),
    ];
    let calls: Vec<Value> = cases
        .iter()
        .map(|(input, _, _)| call("ExecCommand", input.clone()))
        .collect();
    for ((input, kind, word), told) in cases.iter().zip(hands.calls(&calls)) {
        let shown = format!("{told:#}");
        let input = input.to_string();
        let case = holon_domain::text::prefix(&input, 80);
        assert_eq!(told["error"]["kind"], *kind, "{case}: {shown}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{case}: {message}");
        assert!(
            told["error"]["recovery_hint"].is_string(),
            "{case}: {shown}"
        );
        assert!(shown.len() < 4_000, "{case}: {} bytes", shown.len());
    }
    let inside = hands.call(
        "ExecCommand",
        json!({ "cmd": "pwd", "workdir": "sub/../sub" }),
    );
    let sub = format!("{}\n", world.path().join("project/sub").display());
    assert_eq!(inside["stdout_preview"], sub);
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn far_too_much_output_and_bytes_that_are_no_text_are_kept_within_bounds() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let run = |cmd: &str| {
        let input = json!({ "cmd": cmd, "yield_time_ms": 600_000 });
        hands.call("ExecCommand", input)
    };
    let flood = run("yes | head -c 200000000; echo; echo last");
    assert_eq!(flood["truncated"], true);
    assert_eq!(
        flood["command_diagnostics"]["stdout_bytes"], 200_000_006,
        "{flood:#}"
    );
    let shown = flood["stdout_preview"].as_str().unwrap();
    assert!(
        shown.starts_with("y\ny\n") && shown.ends_with("y\n\nlast\n"),
        "{shown}"
    );
    assert!(shown.len() < 64_000, "{} bytes", shown.len());
    let file = flood["artifacts"][0]["path"].as_str().unwrap();
    let kept = std::fs::metadata(file).unwrap().len();
    // A line between beginning and end states the omitted part.
    assert!(kept <= (64 << 20) + 200, "{kept} bytes");

    let odd = run("printf 'a\\377\\376b\\000c\\n'; printf '\\303' >&2");
    assert_eq!(odd["stdout_preview"], "a\u{fffd}\u{fffd}b\u{0}c\n");
    assert_eq!(odd["stderr_preview"], "\u{fffd}");
    let noise = run("head -c 100000 /dev/urandom; exit 5");
    assert_eq!(noise["exit_status"], 5);
    // A character that arrives in two halves is decoded whole, wherever a read ends.
    let cmd = "printf '\\303'; read word; printf '\\274\\n'; read word";
    let task = hands.start(json!({ "cmd": cmd, "accepts_input": true }));
    let half = hands.call("TaskOutput", json!({ "task_id": task, "after_byte": 0 }));
    assert_eq!(half["task"]["output_preview"], "");
    assert_eq!(half["task"]["next_offset"], 0);
    hands.type_in(&task, "on\n");
    assert_eq!(
        hands.printed(&task, 0, "\u{fc}\n"),
        ("\u{fc}\n".to_owned(), 3)
    );
    hands.type_in(&task, "on\n");
    hands.until_quiet();
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_command_that_kills_its_supervisor_is_lost_with_its_last_words_and_harms_no_other() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let beside = hands.start(json!({ "cmd": "exec sleep 60" }));
    let lost = hands.refused(
        "ExecCommand",
        json!({ "cmd": "echo words; sleep 0.1; kill -9 $PPID", "yield_time_ms": 600_000 }),
    );
    assert_eq!(lost["kind"], "outcome_unknown", "{lost:#}");
    let words = hands.read(
        "ExecCommand",
        json!({ "cmd": "echo words; sleep 0.1; kill -9 $PPID; exit 7", "yield_time_ms": 600_000 }),
    );
    for part in [
        "\"run_again\":\"echo words; sleep 0.1",
        "\"output_tail\":\"words\\n\"",
        "look before you run it again",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let task = hands.start(json!({ "cmd": "echo begun; read word; kill -9 $PPID; exec sleep 60", "accepts_input": true }));
    hands.printed(&task, 0, "begun\n");
    // The command may kill its supervisor before it reports that the input was written.
    hands.call("TaskInput", json!({ "task_id": task, "input": "on\n" }));
    hands.until(|status| status.active_tasks.len() == 1 && status.agent.pending == 0);
    hands.until_idle();
    let told = hands.results();
    assert_eq!((told.len(), &told[0].0), (1, &task), "{told:?}");
    assert!(told[0].1.contains("was interrupted"), "{told:?}");
    assert!(told[0].1.contains("begun"), "{told:?}");
    let look = hands.call("TaskStatus", json!({ "task_id": beside }));
    assert_eq!(look["task"]["status"], "running");
    let next = hands.call("ExecCommand", json!({ "cmd": "echo on" }));
    assert_eq!(next["stdout_preview"], "on\n");
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    hands.until(|status| status.active_tasks.is_empty());
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}
