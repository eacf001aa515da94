//! Calls as models write them, interpreted to intents or to errors a model can act on.

use holon_domain::agent::ProfilePreset::{PrivateChild, PublicNamed};
use holon_domain::intent::{DuplicatePolicy, ExecCommand, HostAction, Intent};
use holon_domain::limits::YIELD_MS;
use holon_domain::message::Priority;
use holon_domain::tool::{LASTING_RESULTS, ToolError, ToolErrorKind};
use holon_tools::{all, catalog, interpret};
use proptest::prelude::*;
use serde_json::{Value, json};

fn meant(tool: &str, input: &Value) -> Intent {
    interpret(tool, input, PublicNamed).expect("understood")
}

fn refusal(tool: &str, input: &Value) -> ToolError {
    interpret(tool, input, PublicNamed).expect_err("refused")
}

fn command(input: &Value) -> ExecCommand {
    match meant("ExecCommand", input) {
        Intent::Host(HostAction::ExecCommand(command)) => command,
        other => panic!("{other:?}"),
    }
}

fn field(error: &ToolError) -> Option<&str> {
    error.details.as_ref()?.get("field")?.as_str()
}

#[test]
fn a_private_child_is_offered_every_tool_but_the_one_that_makes_agents() {
    assert_eq!(catalog(PublicNamed), all());
    let all = all().iter().filter(|spec| spec.name != "SpawnAgent");
    assert!(catalog(PrivateChild).iter().eq(all));
}

#[test]
fn tools_whose_results_last_are_on_offer() {
    for name in LASTING_RESULTS {
        assert!(all().iter().any(|spec| spec.name == name), "{name}");
    }
}

#[test]
fn an_agent_is_made_only_with_what_its_preset_takes() {
    let refused = [
        (json!({}), "initial_message"),
        (json!({"initial_message": " "}), "initial_message"),
        (
            json!({"initial_message": "x", "agent_id": "named"}),
            "agent_id",
        ),
        (json!({"preset": "public_named"}), "agent_id"),
        (
            json!({"preset": "public_named", "agent_id": "tmp_x"}),
            "agent_id",
        ),
        (
            json!({"preset": "public_named", "agent_id": "../x"}),
            "agent_id",
        ),
        (
            json!({"preset": "public_named", "agent_id": "x", "workspace_mode": "worktree"}),
            "workspace_mode",
        ),
    ];
    for (input, named) in refused {
        let error = interpret("SpawnAgent", &input, PublicNamed).expect_err("refused");
        assert_eq!(field(&error), Some(named), "{input}");
        assert!(error.recovery_hint.is_some(), "{input}");
    }
}

#[test]
fn a_bare_sleep_rests_until_something_arrives() {
    let rest = Intent::Sleep {
        reason: None,
        duration_ms: None,
    };
    for input in [
        json!({}),
        json!({"duration_ms": 0}),
        json!({"duration_ms": null, "reason": null}),
        json!({"reason": " "}),
    ] {
        assert_eq!(meant("Sleep", &input), rest, "{input}");
    }
    assert_eq!(
        meant("Sleep", &json!({"reason": "nap", "duration_ms": 500})),
        Intent::Sleep {
            reason: Some("nap".into()),
            duration_ms: Some(500)
        }
    );
}

#[test]
fn a_sleep_of_more_than_a_day_is_refused_with_a_way_out() {
    let error = refusal("Sleep", &json!({"duration_ms": 86_400_001}));
    assert_eq!(
        (error.kind, field(&error)),
        (ToolErrorKind::InvalidToolInput, Some("duration_ms"))
    );
    assert!(
        error
            .recovery_hint
            .expect("a hint")
            .contains("leave duration_ms out")
    );
}

#[test]
fn a_follow_up_runs_next_unless_it_says_otherwise() {
    let priority = |input: Value| match meant("Enqueue", &input) {
        Intent::Enqueue { priority, .. } => priority,
        other => panic!("{other:?}"),
    };
    assert_eq!(priority(json!({"text": "x"})), Priority::Next);
    assert_eq!(
        priority(json!({"text": "x", "priority": null})),
        Priority::Next
    );
    assert_eq!(
        priority(json!({"text": "x", "priority": "interrupt"})),
        Priority::Interject
    );
    for known in Priority::ALL {
        assert_eq!(priority(json!({"text": "x", "priority": known})), known);
    }
}

#[test]
fn a_follow_up_without_words_is_refused() {
    for text in ["", "  \n\t"] {
        assert_eq!(
            field(&refusal("Enqueue", &json!({"text": text}))),
            Some("text")
        );
    }
}

#[test]
fn a_command_gets_the_usual_bounds_when_it_names_none() {
    assert_eq!(
        command(&json!({"cmd": "ls -l"})),
        ExecCommand {
            cmd: "ls -l".into(),
            workdir: None,
            shell: None,
            login: false,
            tty: false,
            accepts_input: false,
            duplicate_policy: DuplicatePolicy::ReuseRunning,
            yield_time_ms: YIELD_MS,
            max_output_tokens: None,
        }
    );
}

#[test]
fn a_command_keeps_what_it_asks_for_within_the_limits() {
    let asked = json!({
        "cmd": "make", "workdir": "sub", "shell": "bash", "login": true, "tty": true, "accepts_input": false,
        "duplicate_policy": "start_new", "yield_time_ms": 300_000, "max_output_tokens": 70_000_000_000_u64,
    });
    assert_eq!(
        command(&asked),
        ExecCommand {
            cmd: "make".into(),
            workdir: Some("sub".into()),
            shell: Some("bash".into()),
            login: true,
            tty: true,
            accepts_input: false,
            duplicate_policy: DuplicatePolicy::StartNew,
            yield_time_ms: 300_000,
            max_output_tokens: Some(u32::MAX),
        }
    );
    let at_once = command(&json!({"cmd": "make", "yield_time_ms": 0}));
    assert_eq!(at_once.yield_time_ms, 0);
    let empty = command(&json!({"cmd": "ls", "workdir": "", "shell": " "}));
    assert_eq!((empty.workdir, empty.shell), (None, None));
}

#[test]
fn an_empty_command_or_one_with_a_nul_is_refused_before_anything_starts() {
    for (input, culprit) in [
        (json!({"cmd": " "}), "cmd"),
        (json!({"cmd": "a\0b"}), "cmd"),
        (json!({"cmd": "ls", "workdir": "a\0"}), "workdir"),
        (json!({"cmd": "ls", "shell": "\0sh"}), "shell"),
    ] {
        let error = refusal("ExecCommand", &input);
        assert_eq!(
            (error.kind, field(&error)),
            (ToolErrorKind::InvalidToolInput, Some(culprit)),
            "{input}"
        );
    }
}

#[test]
fn a_command_on_a_terminal_can_be_written_to_unless_it_says_otherwise() {
    let taken = |input: Value| {
        let command = command(&input);
        (command.tty, command.accepts_input)
    };
    assert_eq!(taken(json!({"cmd": "top"})), (false, false));
    assert_eq!(taken(json!({"cmd": "top", "tty": true})), (true, true));
    assert_eq!(
        taken(json!({"cmd": "top", "tty": true, "accepts_input": false})),
        (true, false)
    );
    assert_eq!(
        taken(json!({"cmd": "cat", "accepts_input": true})),
        (false, true)
    );
}

#[test]
fn arguments_packed_into_a_string_are_unpacked() {
    assert_eq!(command(&json!("{\"cmd\":\"ls\"}")).cmd, "ls");
    for nothing in [json!(""), json!("  "), json!("{}"), Value::Null] {
        assert_eq!(meant("AgentGet", &nothing), Intent::AgentGet, "{nothing}");
    }
    for broken in [
        json!("{\"cmd\":"),
        json!("[1]"),
        json!("ls"),
        json!([{"cmd": "ls"}]),
        json!(7),
        json!(true),
    ] {
        let error = refusal("ExecCommand", &broken);
        assert_eq!(error.kind, ToolErrorKind::InvalidToolInput);
        assert!(
            error.recovery_hint.expect("a hint").contains("JSON object"),
            "{broken}"
        );
    }
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_way() {
    for (name, way) in [
        ("exec_command", "call it ExecCommand"),
        ("ReadFile", "sed -n 1,200p FILE"),
        ("str_replace_editor", "ApplyPatch"),
        ("TodoWrite", "UpdateWorkItem"),
        ("ask_user_question", "WaitFor"),
        ("Bash", "run commands with ExecCommand"),
        ("Frobnicate", "a tool that this request offers"),
    ] {
        let error = refusal(name, &json!({}));
        assert_eq!(error.kind, ToolErrorKind::UnknownTool);
        let hint = error.recovery_hint.expect("a hint");
        assert!(hint.contains(way), "{name}: {hint}");
    }
}

#[test]
fn an_argument_of_another_name_or_kind_is_told_how_it_is_given() {
    for (tool, input, message, hint) in [
        (
            "ExecCommand",
            json!({"command": "ls"}),
            "unknown argument `command` of ExecCommand",
            "call it `cmd`",
        ),
        (
            "TaskOutput",
            json!({"task_id": "task_1", "timeout": 5}),
            "unknown argument `timeout` of TaskOutput",
            "call it `timeout_ms`",
        ),
        (
            "Sleep",
            json!({"duration_ms": "5s"}),
            "invalid argument `duration_ms` of Sleep: \"5s\" is a string, and a number is needed",
            "give a number of milliseconds without quotes or a unit: 5000 is five seconds",
        ),
    ] {
        let error = refusal(tool, &input);
        assert_eq!(error.message, message);
        assert_eq!(error.recovery_hint.as_deref(), Some(hint));
    }
}

#[test]
fn an_invalid_argument_is_named_with_what_is_wrong_about_it() {
    for (tool, input, culprit) in [
        ("ExecCommand", json!({}), "cmd"),
        ("ExecCommand", json!({"cmd": null}), "cmd"),
        ("ExecCommand", json!({"cmd": 5}), "cmd"),
        ("ExecCommand", json!({"cmd": "ls", "login": "yes"}), "login"),
        (
            "ExecCommand",
            json!({"cmd": "ls", "max_output_tokens": "x", "yield_time_ms": "x"}),
            "max_output_tokens",
        ),
        (
            "Enqueue",
            json!({"text": "x", "priority": "urgent"}),
            "priority",
        ),
        ("Sleep", json!({"duration_ms": -1}), "duration_ms"),
        ("AgentGet", json!({"agent_id": "other"}), "agent_id"),
    ] {
        let error = refusal(tool, &input);
        let details = error.details.as_ref().expect("details");
        assert_eq!(error.kind, ToolErrorKind::InvalidToolInput);
        assert_eq!(
            (field(&error), details["tool_name"].as_str()),
            (Some(culprit), Some(tool)),
            "{input}"
        );
        assert!(
            details["parse_error"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert!(error.message.contains(culprit) && error.recovery_hint.is_some());
    }
}

#[test]
fn a_huge_wrong_argument_is_not_echoed_whole() {
    let huge = "x".repeat(100_000);
    for input in [
        json!({"cmd": "ls", "login": huge}),
        json!({"cmd": "ls", huge.clone(): 1}),
    ] {
        let error = refusal("ExecCommand", &input);
        assert!(serde_json::to_string(&error).expect("serialises").len() < 2_000);
    }
    assert!(
        serde_json::to_string(&refusal(&huge, &json!({})))
            .expect("serialises")
            .len()
            < 2_000
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(?s).{0,12}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("cmd"),
        Just("workdir"),
        Just("login"),
        Just("yield_time_ms"),
        Just("max_output_tokens"),
        Just("text"),
        Just("priority"),
        Just("reason"),
        Just("duration_ms"),
        Just("tty"),
        Just("accepts_input"),
        Just("items"),
        Just("timeout_ms"),
        Just("task_id"),
        Just("input"),
        Just("close_input"),
        Just("after_byte"),
        Just("tail_lines"),
        Just(""),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_model_writes_is_understood_or_refused_with_a_hint(
        tool in 0..all().len(), input in any_json(),
    ) {
        let name = &all()[tool].name;
        match interpret(name, &input, PublicNamed) {
            Ok(intent) => {
                // The packed form means the same as the plain one.
                let packed = Value::from(input.to_string());
                if input.is_object() {
                    prop_assert_eq!(interpret(name, &packed, PublicNamed), Ok(intent));
                }
            }
            Err(error) => {
                let kinds = [
                    ToolErrorKind::InvalidToolInput,
                    ToolErrorKind::UnsupportedBatchCommandField,
                    ToolErrorKind::EmptyPatch,
                ];
                prop_assert!(kinds.contains(&error.kind), "{error}");
                prop_assert!(error.recovery_hint.is_some() && !error.retryable);
            }
        }
    }
}
