//! Helpers of all tests: worlds, scripts and a readable record of a command's output.

use holon_testkit::{ProgramOutput, World};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

/// Number of checks of a status before a test fails.
const LOOKS: u32 = 1_000;
/// Timeout that only a failed test reaches.
const FOREVER: Duration = Duration::from_secs(60);

/// Creates a world for this program.
pub(crate) fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_holon"))
}

/// Creates a model that says hello.
pub(crate) fn hello(world: &World) -> String {
    world.model("hello", &json!([{ "text": "Hello there." }]))
}

/// Creates a model that runs one command and then repeats its result.
pub(crate) fn doer(world: &World, cmd: &str) -> String {
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": cmd } });
    world.model(
        "doer",
        &json!([{ "text": "I look.", "calls": [call] }, { "text": "Saw: {{tool_result}}" }]),
    )
}

/// Creates a model that does not answer during a test.
pub(crate) fn silent(world: &World) -> String {
    world.model(
        "silent",
        &json!([{ "text": "Too late.", "delay_ms": 3_600_000 }]),
    )
}

/// Renders a command line and its output, without the names that differ between worlds.
pub(crate) fn record(world: &World, args: &[&str], ran: &ProgramOutput) -> String {
    let shown: Vec<String> = args
        .iter()
        .map(|arg| {
            if arg.contains(' ') || arg.is_empty() {
                format!("{arg:?}")
            } else {
                (*arg).to_owned()
            }
        })
        .collect();
    let code = ran
        .code
        .map_or_else(|| "signal".to_owned(), |code| code.to_string());
    let text = format!(
        "$ holon {}\n{}{}exit {code}\n",
        shown.join(" "),
        ran.stdout,
        ran.stderr
    );
    text.replace(&world.path().display().to_string(), "[WORLD]")
}

/// Repeats a check until it holds, and fails after too many attempts.
#[allow(
    clippy::disallowed_methods,
    reason = "only a test that has failed asks how late it is"
)]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < FOREVER,
            "a minute passed, and not once was it so: {what}"
        );
        std::thread::yield_now();
    }
}

/// Checks the agent's status until it contains these words; each check is a process of its own.
pub(crate) fn wait_for_status(world: &World, words: &str) {
    let status = || world.run(&["status"]).answer().to_owned();
    let said = (0..LOOKS).any(|_| status().contains(words));
    assert!(said, "{words:?} was not said: {}", status());
}

/// Renders several command lines in one world.
pub(crate) fn records(world: &World, lines: &[&[&str]]) -> String {
    let said: Vec<String> = lines
        .iter()
        .map(|args| record(world, args, &world.run(args)))
        .collect();
    said.join("\n")
}

/// Patterns of output that differs between runs and systems.
pub(crate) const FILTERS: [(&str, &str); 4] = [
    (r"pid \d+", "pid [PID]"),
    (r"127\.0\.0\.1:\d{5}", "127.0.0.1:[PORT]"),
    (
        r"(Operation not permitted|Permission denied|Read-only file system) \(os error \d+\)",
        "[REFUSED]",
    ),
    (r" \(os error \d+\)", ""),
];

/// Compares with the stored snapshot.
macro_rules! assert_output {
    ($said:expr) => {
        insta::with_settings!({ filters => $crate::support::FILTERS, omit_expression => true }, {
            insta::assert_snapshot!($said);
        })
    };
}
pub(crate) use assert_output;

/// Sends one plain HTTP request and returns the whole response.
pub(crate) fn http(addr: &str, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(addr).unwrap();
    stream
        .write_all(request.replace('\n', "\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
