//! Arguments each tool accepts, and some it does not; shared by the schema and the parsing tests.

use serde_json::{Value, json};

/// Accepted by the tool and valid against its relaxed schema.
pub(crate) fn accepted(tool: &str) -> Vec<Value> {
    match tool {
        "AgentGet" => vec![json!({})],
        "ApplyPatch" => vec![
            json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"}),
            json!({"patch": "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n"}),
        ],
        "Enqueue" => vec![
            json!({"text": "look at the build"}),
            json!({"text": "later", "priority": "background"}),
            json!({"text": "now", "priority": "interject"}),
        ],
        "ExecCommand" => vec![
            json!({"cmd": "ls"}),
            json!({
                "cmd": "make", "workdir": "sub", "shell": "/bin/bash", "login": true,
                "yield_time_ms": 600_000, "max_output_tokens": 1,
            }),
            json!({
                "cmd": "python3", "tty": true, "accepts_input": false, "yield_time_ms": 0,
                "duplicate_policy": "start_new",
            }),
        ],
        "ExecCommandBatch" => vec![
            json!({"items": [{"cmd": "ls"}]}),
            json!({
                "items": [
                    {"cmd": "make", "workdir": "sub", "shell": "bash", "login": true},
                    {"cmd": "make test", "timeout_ms": 600_000, "max_output_tokens": 1},
                ],
                "stop_on_error": true,
            }),
            json!({"items": vec![json!({"cmd": "true"}); 12]}),
        ],
        "Sleep" => vec![
            json!({}),
            json!({"reason": "waiting for review"}),
            json!({"duration_ms": 1}),
            json!({"reason": "short nap", "duration_ms": 86_400_000}),
        ],
        "TaskInput" => vec![
            json!({"task_id": "task_1", "input": "print(1)\n"}),
            json!({"task_id": "task_1", "input": "", "close_input": true}),
        ],
        "TaskList" => vec![json!({})],
        "TaskOutput" => vec![
            json!({"task_id": "task_1"}),
            json!({"task_id": "task_1", "block": true, "timeout_ms": 600_000}),
            json!({"task_id": "task_1", "after_byte": 0, "stderr_after_byte": 7, "max_output_tokens": 100}),
            json!({"task_id": "task_1", "tail_lines": 20, "timeout_ms": 0}),
        ],
        "TaskStatus" | "TaskStop" => vec![json!({"task_id": "task_1"})],
        other => panic!("{other} has no samples: add some"),
    }
}

/// Refused by the tool and invalid against its relaxed schema.
pub(crate) fn refused(tool: &str) -> Vec<Value> {
    match tool {
        "AgentGet" => vec![json!({"agent_id": "other"}), json!([])],
        "ApplyPatch" => vec![
            json!({}),
            json!({"patch": ""}),
            json!({"patch": ["--- a/x"]}),
            json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n", "dry_run": true}),
        ],
        "Enqueue" => vec![
            json!({}),
            json!({"text": ""}),
            json!({"text": 7}),
            json!({"text": "x", "priority": "urgent"}),
            json!({"text": "x", "trust": "trusted_operator"}),
        ],
        "ExecCommand" => vec![
            json!({}),
            json!({"cmd": ["ls"]}),
            json!({"cmd": "ls", "tty": "yes"}),
            json!({"cmd": "ls", "background": true}),
            json!({"cmd": "ls", "duplicate_policy": "never"}),
            json!({"cmd": "ls", "yield_time_ms": 600_001}),
            json!({"cmd": "ls", "yield_time_ms": -1}),
            json!({"cmd": "ls", "max_output_tokens": 0}),
            json!({"cmd": "ls", "login": "yes"}),
        ],
        "ExecCommandBatch" => vec![
            json!({}),
            json!({"items": []}),
            json!({"items": vec![json!({"cmd": "true"}); 13]}),
            json!({"items": ["ls"]}),
            json!({"items": [{"cmd": ""}]}),
            json!({"items": [{"cmd": "ls", "tty": true}]}),
            json!({"items": [{"cmd": "ls", "accepts_input": false}]}),
            json!({"items": [{"cmd": "ls", "duplicate_policy": "start_new"}]}),
            json!({"items": [{"cmd": "ls", "timeout_ms": 0}]}),
            json!({"items": [{"cmd": "ls", "timeout_ms": 600_001}]}),
            json!({"items": [{"cmd": "ls"}], "parallel": true}),
        ],
        "Sleep" => vec![
            json!({"duration_ms": 86_400_001}),
            json!({"duration_ms": "soon"}),
            json!({"duration_ms": 1.5}),
            json!({"seconds": 3}),
        ],
        "TaskInput" => vec![
            json!({"task_id": "task_1"}),
            json!({"input": "x"}),
            json!({"task_id": "", "input": "x"}),
            json!({"task_id": "task_1", "input": 7}),
        ],
        "TaskList" => vec![json!({"status": "running"}), json!([])],
        "TaskOutput" => vec![
            json!({}),
            json!({"task_id": 1}),
            json!({"task_id": "task_1", "timeout_ms": 600_001}),
            json!({"task_id": "task_1", "tail_lines": 0}),
            json!({"task_id": "task_1", "after_byte": -1}),
            json!({"task_id": "task_1", "offset": 3}),
        ],
        "TaskStatus" | "TaskStop" => vec![
            json!({}),
            json!({"task_id": ""}),
            json!({"task_id": "task_1", "force": true}),
        ],
        other => panic!("{other} has no samples: add some"),
    }
}

/// The same arguments as strict emission makes a model write them: every property present, absent ones null, also
/// inside lists.
pub(crate) fn spelled_out(schema: &Value, arguments: &Value) -> Value {
    let mut full = arguments.clone();
    let members = full.as_object_mut().expect("arguments");
    for (name, property) in schema["properties"].as_object().expect("an object schema") {
        let value = members.entry(name.clone()).or_insert(Value::Null);
        if property["items"]["properties"].is_object()
            && let Value::Array(items) = value
        {
            for item in items {
                *item = spelled_out(&property["items"], item);
            }
        }
    }
    full
}
