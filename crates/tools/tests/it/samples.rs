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
        ],
        "Sleep" => vec![
            json!({}),
            json!({"reason": "waiting for review"}),
            json!({"duration_ms": 1}),
            json!({"reason": "short nap", "duration_ms": 86_400_000}),
        ],
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
            json!({"cmd": "ls", "tty": true}),
            json!({"cmd": "ls", "accepts_input": true}),
            json!({"cmd": "ls", "duplicate_policy": "start_new"}),
            json!({"cmd": "ls", "yield_time_ms": 0}),
            json!({"cmd": "ls", "yield_time_ms": 600_001}),
            json!({"cmd": "ls", "yield_time_ms": -1}),
            json!({"cmd": "ls", "max_output_tokens": 0}),
            json!({"cmd": "ls", "login": "yes"}),
        ],
        "Sleep" => vec![
            json!({"duration_ms": 86_400_001}),
            json!({"duration_ms": "soon"}),
            json!({"duration_ms": 1.5}),
            json!({"seconds": 3}),
        ],
        other => panic!("{other} has no samples: add some"),
    }
}

/// The same arguments as strict emission makes a model write them: every property present, absent ones null.
pub(crate) fn spelled_out(schema: &Value, arguments: &Value) -> Value {
    let mut full = arguments.clone();
    for name in schema["properties"]
        .as_object()
        .expect("an object schema")
        .keys()
    {
        full.as_object_mut()
            .expect("arguments")
            .entry(name.clone())
            .or_insert(Value::Null);
    }
    full
}
