//! The rows that decisions load, and the number of times a large text is written.

use super::bench::{Call, KernelBench};
use holon_domain::needs::Needs;
use serde_json::json;

fn call(name: &'static str, input: serde_json::Value) -> Call {
    let preset = holon_domain::agent::ProfilePreset::PublicNamed;
    let intent = holon_tools::interpret(name, &input, preset);
    (name, input, intent)
}

#[test]
fn an_admission_while_a_tool_runs_reads_neither_the_round_nor_its_calls_nor_tasks() {
    let mut bench = KernelBench::with(&["ada"]);
    bench.prompt("ada");
    bench.calls("ada", &[call("ExecCommand", json!({ "cmd": "make" }))]);
    assert_eq!(bench.waits_for("ada"), ["run_tool"]);
    bench.loads.clear();
    bench.prompt("ada");
    assert_eq!(
        bench.loads,
        [Needs::default()],
        "one decision, nothing loaded"
    );
}

#[test]
fn what_a_decision_turns_out_to_need_is_loaded_and_it_is_made_again() {
    let mut bench = KernelBench::with(&["ada"]);
    bench.prompt("ada");
    let calls = [
        call("ExecCommand", json!({ "cmd": "true" })),
        call("TaskStatus", json!({ "task_id": "task_none" })),
    ];
    bench.calls("ada", &calls);
    bench.loads.clear();
    let finished = holon_core::Input::ToolFinished {
        stamp: bench.stamp("ada"),
        consequence: holon_domain::consequence::Consequence::Result(
            holon_domain::tool::ToolEnvelope::success("ExecCommand", "exit 0", json!({})),
        ),
        duration_ms: 1,
    };
    bench.handle("ada", &finished);
    let tasks: Vec<usize> = bench.loads.iter().map(|needs| needs.tasks.len()).collect();
    assert_eq!(tasks, [0, 1], "the second call of the round names a task");
    let results = bench.results("ada");
    assert_eq!(results[0], "exit 0");
    assert!(results[1].contains("no task"), "{results:?}");
}

#[test]
fn a_patch_of_a_megabyte_is_written_once() {
    let mut bench = KernelBench::with(&["ada"]);
    bench.prompt("ada");
    let marker = "a line that stands nowhere else";
    let lines = format!("+{}\n", "x".repeat(120)).repeat(9_000);
    let patch = format!("--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,9001 @@\n+{marker}\n{lines}");
    assert!(patch.len() > 1_000_000);
    bench.calls("ada", &[call("ApplyPatch", json!({ "patch": patch }))]);
    assert_eq!(bench.waits_for("ada"), ["run_tool"]);
    let image = bench.db.image().unwrap();
    let found = image
        .windows(marker.len())
        .filter(|window| *window == marker.as_bytes());
    assert_eq!(found.count(), 1);
}
