//! Arguments each tool accepts, and some it does not; shared by the schema and the parsing tests.

use holon_domain::memory::SourceRef;
use serde_json::{Value, json};

/// Returns a reference as a search returns it.
fn issued(key: &str) -> String {
    SourceRef::parse(key).expect("a reference").to_string()
}

/// Arguments that the tool accepts and its relaxed schema allows.
#[expect(clippy::too_many_lines, reason = "a table with an entry for each tool")]
pub(crate) fn accepted(tool: &str) -> Vec<Value> {
    match tool {
        "AgentGet" => vec![json!({})],
        "ApplyPatch" => vec![
            json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"}),
            json!({"patch": "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n"}),
        ],
        "CancelExternalTrigger" => vec![json!({"external_trigger_id": "trig_1"})],
        "CancelTimer" => vec![json!({"timer_id": "timer_1"})],
        "CancelWait" => vec![json!({"wait_id": "wait_1"})],
        "CompleteWorkItem" => vec![
            json!({"work_item_id": "work_1"}),
            json!({"work_item_id": "work_1", "attachments": ["work/report.md"]}),
        ],
        "CreateExternalTrigger" => vec![
            json!({"delivery_mode": "wake_hint"}),
            json!({"delivery_mode": "enqueue_message"}),
        ],
        "CreateTimer" => vec![
            json!({"after_ms": 300, "summary": "look at the build"}),
            json!({"at": "2026-03-01T09:00:00Z", "summary": "look at the build"}),
            json!({
                "every_ms": 60_000, "first": "2026-03-01T10:00:00+01:00", "missed": "all",
                "summary": "look at the build",
            }),
            json!({"every_ms": 60_000, "missed": "skip", "summary": "look at the build"}),
            json!({
                "cron": "30 9 * * MON-FRI", "time_zone": "Europe/Berlin", "missed": "once",
                "summary": "look at the build",
            }),
        ],
        "CreateWorkItem" => vec![
            json!({"objective": "Split the fixtures"}),
            json!({
                "objective": "Split the fixtures", "plan_status": "ready", "plan": "# Plan\nFirst this.",
                "todo_list": [{"text": "read", "state": "completed"}, {"text": "split", "state": "in_progress"}],
            }),
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
        "GetWorkItem" => vec![
            json!({"work_item_id": "work_1"}),
            json!({"work_item_id": "work_1", "include_todo_list": true}),
        ],
        "ListTimers" => vec![json!({}), json!({"limit": 100})],
        "ListWorkItems" => vec![
            json!({}),
            json!({"filter": "waiting_for_operator", "limit": 1, "include_todo_list": true}),
        ],
        "MemoryGet" => vec![
            json!({"source_ref": issued("brief:brief_1")}),
            json!({"source_ref": issued("agent_memory:self"), "max_chars": 50_000}),
        ],
        "MemorySearch" => vec![
            json!({"query": "数据库 lease"}),
            json!({"query": "x", "limit": 50, "include_all_workspaces": true}),
        ],
        "NotifyOperator" => vec![json!({"message": "the disk fills"})],
        "PickWorkItem" => vec![
            json!({"work_item_id": "work_1"}),
            json!({"work_item_id": "work_1", "reason": "the other one waits"}),
        ],
        "SpawnAgent" => vec![
            json!({"initial_message": "count the files"}),
            json!({"initial_message": "count", "preset": "private_child", "workspace_mode": "worktree"}),
            json!({"preset": "public_named", "agent_id": "reviewer", "template": "review"}),
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
        // Each names blocked_by: strict emission writes null for what is left out, and null has a meaning here.
        "UpdateWorkItem" => vec![
            json!({"work_item_id": "work_1", "blocked_by": null}),
            json!({"work_item_id": "work_1", "blocked_by": "", "plan_status": "needs_input"}),
            json!({
                "work_item_id": "work_1", "objective": "Split them all", "blocked_by": "review of #12",
                "recheck_after": 1, "todo_list": [],
            }),
        ],
        "UseWorkspace" => vec![
            json!({"path": "/srv/project"}),
            json!({"workspace_id": "agent_home", "mode": "direct"}),
            json!({
                "workspace_id": "ws-1", "mode": "isolated", "cwd": "src", "isolation_label": "fix the parser",
            }),
        ],
        "ViewImage" => vec![json!({"file_path": "shots/one.png"})],
        "WebFetch" => vec![
            json!({"url": "https://example.com/page"}),
            json!({"url": "http://example.com", "max_chars": 100, "offset": 20_000, "extract_mode": "raw"}),
        ],
        "WebSearch" => vec![
            json!({"query": "rust async"}),
            json!({"query": "rust async", "max_results": 3, "provider": "mine"}),
        ],
        "WaitFor" => vec![
            json!({"reason": "CI", "wake_on": ["task_1"]}),
            json!({
                "reason": "review", "work_item_id": "work_1", "external_ref": "#12", "recheck_after": 60_000,
                "wake_on": ["operator", "external", "external:github", "2026-03-01T09:00:00Z", "after_ms:1"],
            }),
        ],
        other => panic!("{other} has no samples: add some"),
    }
}

/// Arguments that the tool refuses and its source schema forbids.
#[expect(clippy::too_many_lines, reason = "one sample of each tool")]
pub(crate) fn refused(tool: &str) -> Vec<Value> {
    match tool {
        "AgentGet" => vec![json!({"agent_id": "other"}), json!([])],
        "ApplyPatch" => vec![
            json!({}),
            json!({"patch": ""}),
            json!({"patch": ["--- a/x"]}),
            json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n", "dry_run": true}),
        ],
        "CancelExternalTrigger" => vec![
            json!({}),
            json!({"external_trigger_id": ""}),
            json!({"external_trigger_id": 1}),
        ],
        "CancelTimer" => vec![json!({}), json!({"timer_id": ""}), json!({"timer_id": 1})],
        "CancelWait" => vec![
            json!({}),
            json!({"wait_id": ""}),
            json!({"wait_id": "wait_1", "why": "x"}),
        ],
        "CompleteWorkItem" => vec![
            json!({}),
            json!({"work_item_id": ""}),
            json!({"work_item_id": "work_1", "report": "done"}),
        ],
        "CreateExternalTrigger" => vec![
            json!({}),
            json!({"delivery_mode": "wake"}),
            json!({"delivery_mode": "wake_hint", "source": "ci"}),
        ],
        "CreateTimer" => vec![
            json!({"after_ms": 300}),
            json!({"after_ms": 300, "summary": ""}),
            json!({"after_ms": 0, "summary": "look"}),
            json!({"every_ms": 0, "summary": "look"}),
            json!({"after_ms": 400_000_000_000_u64, "summary": "look"}),
            json!({"at": 1_794_700_000, "summary": "look"}),
            json!({"cron": 5, "summary": "look"}),
            json!({"after_ms": 5, "missed": "never", "summary": "look"}),
            json!({"interval_ms": 5, "summary": "look"}),
        ],
        "CreateWorkItem" => vec![
            json!({}),
            json!({"objective": ""}),
            json!({"objective": "x", "plan_status": "done"}),
            json!({"objective": "x", "todo_list": ["read"]}),
            json!({"objective": "x", "todo_list": [{"text": "read"}]}),
            json!({"objective": "x", "todo_list": [{"text": "read", "state": "blocked"}]}),
            json!({"objective": "x", "todo_list": [{"text": "", "state": "pending"}]}),
            json!({"objective": "x", "blocked_by": "y"}),
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
        "GetWorkItem" => vec![
            json!({}),
            json!({"work_item_id": ""}),
            json!({"work_item_id": "work_1", "plan": true}),
        ],
        "ListTimers" => vec![
            json!({"limit": 0}),
            json!({"limit": 101}),
            json!({"filter": "all"}),
        ],
        "ListWorkItems" => vec![
            json!({"filter": "done"}),
            json!({"limit": 0}),
            json!({"limit": 101}),
            json!({"offset": 5}),
        ],
        "MemoryGet" => vec![
            json!({}),
            json!({"source_ref": ""}),
            json!({"source_ref": issued("brief:brief_1"), "max_chars": 0}),
            json!({"source_ref": issued("brief:brief_1"), "max_chars": 50_001}),
        ],
        "MemorySearch" => vec![
            json!({}),
            json!({"query": ""}),
            json!({"query": "x", "limit": 0}),
            json!({"query": "x", "limit": 51}),
            json!({"query": "x", "workspace": "all"}),
        ],
        "NotifyOperator" => vec![
            json!({}),
            json!({"message": ""}),
            json!({"message": 7}),
            json!({"message": "x", "priority": "high"}),
        ],
        "PickWorkItem" => vec![
            json!({}),
            json!({"work_item_id": ""}),
            json!({"work_item_id": "work_1", "why": "x"}),
        ],
        "SpawnAgent" => vec![
            json!({"initial_message": 7}),
            json!({"initial_message": "x", "preset": "child"}),
            json!({"initial_message": "x", "workspace_mode": "isolated"}),
            json!({"initial_message": "x", "summary": "y"}),
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
        "UpdateWorkItem" => vec![
            json!({"blocked_by": "x"}),
            json!({"work_item_id": "work_1", "blocked_by": "x", "recheck_after": 0}),
            json!({"work_item_id": "work_1", "plan_status": "done"}),
            json!({"work_item_id": "work_1", "todo_list": [{"text": "a", "state": "open"}]}),
            json!({"work_item_id": "work_1", "state": "completed"}),
        ],
        "UseWorkspace" => vec![
            json!({"path": 7}),
            json!({"path": "/p", "mode": "shared"}),
            json!({"workspace_id": ["ws-1"]}),
            json!({"path": "/p", "access_mode": "exclusive_write"}),
        ],
        "ViewImage" => vec![
            json!({}),
            json!({"file_path": ""}),
            json!({"path": "one.png"}),
        ],
        "WebFetch" => vec![
            json!({}),
            json!({"url": ""}),
            json!({"url": "https://example.com", "max_chars": 0}),
            json!({"url": "https://example.com", "offset": -1}),
            json!({"url": "https://example.com", "offset": 5_000_000_000_u64}),
            json!({"url": "https://example.com", "extract_mode": "html"}),
            json!({"url": "https://example.com", "method": "POST"}),
        ],
        "WebSearch" => vec![
            json!({}),
            json!({"query": ""}),
            json!({"query": "x", "max_results": 0}),
            json!({"query": "x", "site": "example.com"}),
        ],
        "WaitFor" => vec![
            json!({"reason": "x"}),
            json!({"reason": "", "wake_on": ["operator"]}),
            json!({"reason": "x", "wake_on": []}),
            json!({"reason": "x", "wake_on": ["timer"]}),
            json!({"reason": "x", "wake_on": ["after_ms:0"]}),
            json!({"reason": "x", "wake_on": [{"pull_request": 12}]}),
            json!({"reason": "x", "wake_on": vec!["operator"; 17]}),
            json!({"reason": "x", "wake_on": "operator"}),
            json!({"reason": "x", "wake_on": ["operator"], "recheck_after": 0}),
        ],
        other => panic!("{other} has no samples: add some"),
    }
}

/// Rewrites arguments as strict emission makes a model write them: every property present, absent ones null, also
/// inside lists.
pub(crate) fn spelled_out(schema: &Value, arguments: &Value) -> Value {
    let mut full = arguments.clone();
    let members = full.as_object_mut().expect("arguments");
    for (name, property) in schema["properties"].as_object().expect("an object schema") {
        let value = members.entry(name.clone()).or_insert(Value::Null);
        let alternatives = property["items"]["anyOf"].as_array();
        let inner = std::iter::once(&property["items"]).chain(alternatives.into_iter().flatten());
        let inner = inner
            .into_iter()
            .find(|schema| schema["properties"].is_object());
        if let (Some(inner), Value::Array(items)) = (inner, value) {
            for item in items.iter_mut().filter(|item| item.is_object()) {
                *item = spelled_out(inner, item);
            }
        }
    }
    full
}
