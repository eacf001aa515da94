//! Decoding of answers.

use super::super::error_fault;
use super::support::{decode, golden, goldens};
use crate::codec::{Fault, sample};
use holon_domain::model::{ModelFailureKind as Kind, ReplyBlock};
use holon_domain::tool::OfferedTool;
use serde_json::{Value, json};

/// The tools that the recorded requests offered.
fn tools() -> [OfferedTool; 2] {
    [sample::tool(), sample::freeform_tool()]
}

fn decoded(body: &Value) -> Result<crate::codec::DecodedReply, Fault> {
    decode(&tools(), body.to_string().as_bytes())
}

/// Writes a fault in the form of the golden files.
fn shown(fault: &Fault) -> Value {
    match fault {
        Fault::Malformed { what } => json!({"malformed": what}),
        Fault::NotJson { what } => json!({"not_json": what}),
        Fault::Reported { kind, message } => json!({"kind": kind, "message": message}),
        Fault::CutOff => json!("cut_off"),
    }
}

#[test]
fn answers_are_read_as_the_golden_files_say() {
    for name in goldens("responses", "answer-", ".json") {
        let file = golden(&name);
        match decoded(&file["body"]) {
            Ok(decoded) => {
                assert_eq!(json!(decoded.reply), file["reply"], "{name}");
                assert_eq!(json!(decoded.stored_id), file["stored_id"], "{name}");
            }
            Err(fault) => assert_eq!(shown(&fault), file["fault"], "{name}"),
        }
    }
}

#[test]
fn a_compaction_by_the_server_is_counted_in_the_reply() {
    let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "xyz"});
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}]});
    let reduction = |output: Vec<&Value>| {
        let body = json!({"id": "resp_1", "status": "completed", "output": output});
        decoded(&body).unwrap().reply.context_management
    };
    let counted = reduction(vec![&item, &message]).map(|reduced| reduced.compactions);
    assert_eq!(counted, Some(1));
    assert_eq!(reduction(vec![&message]), None);
}

#[test]
fn what_is_no_answer_is_malformed_and_never_a_panic() {
    let bodies = [
        "",
        "null",
        "[]",
        "7",
        "<html>",
        "{\"output\": [",
        "{}",
        "{\"output\": {}}",
        "{\"status\": \"completed\"}",
        "{\"status\": \"in_progress\", \"output\": []}",
        "{\"status\": \"queued\", \"output\": []}",
        "{\"output\": [{}]}",
        "{\"output\": [{\"type\": \"function_call\", \"call_id\": \"c\"}]}",
        "{\"output\": [{\"type\": \"custom_tool_call\", \"call_id\": \"c\", \"input\": \"x\"}]}",
        "{\"output\": [{\"type\": \"custom_tool_call\", \"name\": \"\", \"input\": \"x\"}]}",
        "{\"output\": [{\"type\": \"custom_tool_call\", \"name\": [\"WriteNote\"], \"input\": \"x\"}]}",
    ];
    for body in bodies {
        let fault = decode(&tools(), body.as_bytes()).expect_err(body);
        let is_json = serde_json::from_str::<Value>(body).is_ok();
        let is_expected = match fault {
            Fault::Malformed { .. } => is_json,
            Fault::NotJson { .. } => !is_json,
            Fault::Reported { .. } | Fault::CutOff => false,
        };
        assert!(is_expected, "{body}: {fault:?}");
    }
}

#[test]
fn arguments_that_are_not_an_object_are_kept() {
    let input = |arguments: Value| {
        let call = json!({"type": "function_call", "call_id": "c", "name": "Sleep", "arguments": arguments});
        let decoded = decoded(&json!({"output": [call]})).expect("an answer");
        match decoded.reply.blocks.into_iter().next() {
            Some(ReplyBlock::Call(call)) => call.input,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(input(json!("{\"a\": 1}")), json!({"a": 1}));
    assert_eq!(input(json!("{\"a\": ")), json!("{\"a\": "));
    assert_eq!(input(json!("[1]")), json!([1]));
    assert_eq!(input(json!("")), json!({}));
    assert_eq!(
        input(json!({"a": 1})),
        json!({"a": 1}),
        "an object in place of text"
    );
    assert_eq!(input(Value::Null), json!({}));
}

#[test]
fn a_call_that_came_as_text_has_the_arguments_of_one_that_came_as_json() {
    let input = |name: &str, input: Value| {
        let call =
            json!({"type": "custom_tool_call", "call_id": "c", "name": name, "input": input});
        let decoded = decoded(&json!({"output": [call]})).expect("an answer");
        match decoded.reply.blocks.into_iter().next() {
            Some(ReplyBlock::Call(call)) => call.input,
            other => panic!("{other:?}"),
        }
    };
    let text = "{\"note\": 1}\n\tü\u{0}";
    assert_eq!(input("WriteNote", json!(text)), json!({"note": text}));
    assert_eq!(input("WriteNote", json!("")), json!({"note": ""}));
    assert_eq!(input("WriteNote", Value::Null), json!({"note": ""}));
    assert_eq!(
        input("WriteNote", json!({"note": "x"})),
        json!({"note": "x"}),
        "an object in place of text"
    );
    // A call by text of a tool that was not offered as free text is parsed like a function call.
    assert_eq!(
        input("ReadSensor", json!("{\"bed\": 1}")),
        json!({"bed": 1})
    );
    assert_eq!(input("ReadSensor", json!("bed 1")), json!("bed 1"));
    assert_eq!(input("Unheard", Value::Null), json!({}));
}

#[test]
fn reported_errors_are_classified_by_code_then_type_then_message() {
    let table = [
        (
            json!({"code": "server_error", "message": "m"}),
            Kind::ServerError,
        ),
        (
            json!({"code": "rate_limit_exceeded", "message": "m"}),
            Kind::RateLimited,
        ),
        (
            json!({"code": "context_length_exceeded", "message": "m"}),
            Kind::ContextLengthExceeded,
        ),
        (
            json!({"type": "usage_limit_reached", "message": "m", "resets_in_seconds": 60}),
            Kind::Quota,
        ),
        (json!({"code": "usage_not_included"}), Kind::Quota),
        (json!({"code": "insufficient_quota"}), Kind::Quota),
        (json!({"code": "server_is_overloaded"}), Kind::ServerError),
        (json!({"code": "slow_down"}), Kind::ServerError),
        (
            json!({"code": "invalid_prompt", "message": "m"}),
            Kind::InvalidRequest,
        ),
        (
            json!({"code": "invalid_prompt", "message": "Your input exceeds the context window of this model."}),
            Kind::ContextLengthExceeded,
        ),
        (json!({"code": "image_too_large"}), Kind::InvalidRequest),
        (
            json!({"type": "invalid_request_error", "code": null, "message": "m"}),
            Kind::InvalidRequest,
        ),
        (
            json!({"type": "authentication_error", "message": "m"}),
            Kind::Auth,
        ),
        (json!({"code": "model_not_found"}), Kind::ModelUnavailable),
        (
            json!({"message": "Rate limit reached for gpt-test. Please try again in 11s."}),
            Kind::RateLimited,
        ),
        (
            json!({"code": "something_new", "message": "m"}),
            Kind::ServerError,
        ),
        (json!("it broke"), Kind::ServerError),
        (json!({}), Kind::ServerError),
    ];
    for (error, expected) in table {
        match error_fault(&error) {
            Fault::Reported { kind, message } => {
                assert_eq!(kind, expected, "{error}");
                assert!(!message.is_empty(), "{error}");
            }
            other @ (Fault::Malformed { .. } | Fault::NotJson { .. } | Fault::CutOff) => {
                panic!("{error}: {other:?}")
            }
        }
    }
}

#[test]
fn a_stated_wait_is_in_the_message() {
    let error = json!({"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": 3600});
    let message =
        "usage_limit_reached: The usage limit has been reached (try again in 3600 seconds)";
    let expected = Fault::Reported {
        kind: Kind::Quota,
        message: message.into(),
    };
    assert_eq!(error_fault(&error), expected);
}

#[test]
fn an_answer_with_an_error_is_a_failure_at_every_status() {
    for body in [
        json!({"error": {"code": "server_error", "message": "m"}}),
        json!({"status": "failed", "error": {"code": "server_error", "message": "m"}, "output": []}),
        json!({"status": "failed", "error": null}),
        json!({"status": "cancelled", "output": []}),
    ] {
        let fault = decoded(&body).expect_err("a fault");
        assert!(
            matches!(
                fault,
                Fault::Reported {
                    kind: Kind::ServerError,
                    ..
                }
            ),
            "{body}: {fault:?}"
        );
    }
}
