//! Interactive programs, driven by `TaskInput` and read by `TaskOutput` from the end of the last read.

use crate::hands::{self, Hands};
use crate::processes::{ProcessCleanup, assert_none_left};
use crate::support::world;
use holon_domain::task::TaskStatus;
use serde_json::json;
use std::process::{Command, Stdio};

/// If this variable is set, a missing program fails the test instead of skipping it.
const NEEDED: &str = "HOLON_TESTS_NEED_PROGRAMS";

/// Returns true if a program is installed, and prints a message if it is not.
#[allow(clippy::print_stdout, reason = "what is not tested has to be said")]
fn is_installed(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        assert!(!is_set(NEEDED), "the program {program} is not installed");
        println!("what {program} does is not tested, it is not installed");
    }
    found
}

#[allow(
    clippy::disallowed_methods,
    reason = "what a test may leave out is not a setting of the product"
)]
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Types each line, waits for the program's answer in the new output, and then waits for its end.
fn talk(cmd: &str, prompt: &str, lines: &[(&str, &str)]) {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let task = hands.start(json!({ "cmd": cmd, "tty": true }));
    let (_, mut next) = hands.printed(&task, 0, prompt);
    for (line, answer) in lines {
        hands.type_in(&task, line);
        if answer.is_empty() {
            continue;
        }
        let (seen, now) = hands.printed(&task, next, answer);
        assert!(now > next, "{seen:?}");
        next = now;
    }
    hands.until_quiet();
    assert_eq!(hands.ends(), [(task, TaskStatus::Completed)]);
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_python_prompt_is_asked_line_by_line() {
    if is_installed("python3") {
        talk(
            "exec python3 -q",
            ">>> ",
            &[
                ("n = 6 * 7\n", ">>> "),
                ("print('n', n + 1)\n", "n 43"),
                ("import time; time.sleep(60)\n", "sleep(60)"),
                ("\u{3}", "KeyboardInterrupt"),
                ("exit()\n", ""),
            ],
        );
    }
}

#[test]
fn a_database_shell_keeps_what_it_was_told() {
    if is_installed("sqlite3") {
        talk(
            "sqlite3",
            "sqlite> ",
            &[
                ("create table t (a, b);\n", "sqlite> "),
                ("insert into t values (20, 22);\n", "sqlite> "),
                ("select 'sum', a + b from t;\n", "sum|42"),
                (".quit\n", ""),
            ],
        );
    }
}

#[test]
fn a_pager_is_turned_by_its_keys() {
    if is_installed("less") {
        // It shows a page of the terminal's size: 24 lines including its own.
        talk(
            "seq -f 'line %g' 500 | LESS= less -X",
            "line 23",
            &[(" ", "line 46"), ("G", "line 500"), ("q", "")],
        );
    } else if is_installed("more") {
        talk(
            "seq -f 'line %g' 500 > long; more long",
            "line 23",
            &[(" ", "line 46"), ("q", "")],
        );
    }
}
