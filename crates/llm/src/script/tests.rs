//! Rules of the format, tested on text alone.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Script, Error> {
    Script::parse(text, Path::new("s.json"))
}

fn refusal(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn the_smallest_script_is_one_text() {
    let script = parse(r#"{"rounds":[{"text":"hi"}]}"#).unwrap();
    assert_eq!(script.rounds[0].text.as_deref(), Some("hi"));
    assert_eq!(script.on_end, EndPolicy::Fail);
}

#[test]
fn every_documented_field_is_accepted() {
    let script = parse(
        r#"{"name":"n","on_end":"loop","rounds":[{"text":"t","reasoning":"r","delay_ms":1,"stop":"refusal",
            "calls":[{"tool":"ExecCommand","input":{"cmd":"ls"}},{"tool":"AgentGet"}],
            "usage":{"input_tokens":10,"output_tokens":5},
            "error":{"kind":"rate_limited","message":"m","retry_after_ms":100,"times":2},
            "expect":{"tool_result_contains":"a","input_contains":"b"}}]}"#,
    )
    .unwrap();
    assert_eq!(script.rounds[0].calls[1].input, serde_json::json!({}));
}

#[test]
fn each_error_kind_has_the_spelling_of_its_failure() {
    for kind in ModelFailureKind::ALL {
        let text = format!(
            r#"{{"rounds":[{{"error":{{"kind":"{}"}}}}]}}"#,
            kind.as_str()
        );
        let playable = !matches!(
            kind,
            ModelFailureKind::UnsupportedTransport | ModelFailureKind::ModelUnavailable
        );
        match parse(&text) {
            Ok(script) => {
                let parsed = script.rounds[0].error.as_ref().unwrap().kind;
                assert!(playable && ModelFailureKind::from(parsed) == kind);
            }
            Err(error) => assert!(!playable, "{error}"),
        }
    }
}

#[test]
fn malformed_json_names_file_line_and_column() {
    assert_eq!(
        refusal("{\n  \"rounds\": [,]\n}"),
        "script s.json:2:14: expected value; correct the file and try again"
    );
    let unknown = refusal("{\"rounds\":[\n{\"txt\":\"hi\"}]}");
    assert!(
        unknown.starts_with("script s.json:2:6: unknown field `txt`"),
        "{unknown}"
    );
    assert!(refusal(r#"{"rounds":[{"text":"a","text":"b"}]}"#).contains("duplicate field"));
    assert!(refusal("").contains("EOF"));
    assert!(refusal(&"[".repeat(100_000)).contains("s.json:1:"));
}

#[test]
fn rules_beyond_the_shape_name_the_round_and_the_next_step() {
    for (text, words) in [
        (r#"{"rounds":[]}"#, "no rounds; add"),
        (
            r#"{"rounds":[{"text":"a"},{}]}"#,
            "round 2: it says nothing",
        ),
        (
            r#"{"rounds":[{"text":"{{nope}}"}]}"#,
            "round 1: unknown placeholder {{nope}}",
        ),
        (
            r#"{"rounds":[{"reasoning":"{{nope}}"}]}"#,
            "unknown placeholder",
        ),
        (
            r#"{"rounds":[{"text":"a","delay_ms":3600001}]}"#,
            "the most is 3600000",
        ),
        (
            r#"{"rounds":[{"error":{"kind":"auth","times":0}}]}"#,
            "error.times is 0",
        ),
        (r#"{"rounds":[{"calls":[{"tool":" "}]}]}"#, "names no tool"),
    ] {
        let said = refusal(text);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn braces_in_call_arguments_are_not_placeholders() {
    let text = r#"{"rounds":[{"calls":[{"tool":"ExecCommand","input":{"cmd":"docker ps --format '{{.ID}}'"}}]}]}"#;
    assert!(parse(text).is_ok());
}

#[test]
fn the_end_policy_decides_what_follows_the_last_round() {
    let index = |on_end: &str, asked| {
        let text = format!(r#"{{"rounds":[{{"text":"a"}},{{"text":"b"}}],"on_end":"{on_end}"}}"#);
        parse(&text).unwrap().round(asked).map(|(index, _)| index)
    };
    assert_eq!(
        [0, 1, 2].map(|asked| index("fail", asked)),
        [Some(0), Some(1), None]
    );
    assert_eq!(
        [0, 1, 2, 9].map(|asked| index("repeat_last", asked)),
        [Some(0), Some(1), Some(1), Some(1)]
    );
    assert_eq!(
        [0, 1, 2, u64::MAX].map(|asked| index("loop", asked)),
        [Some(0), Some(1), Some(0), Some(1)]
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,200}") {
        let wrapped = serde_json::json!({ "rounds": [{ "text": text }] }).to_string();
        prop_assert_eq!(parse(&wrapped).is_ok(), placeholder::pieces(&text).is_ok());
        if let Err(error) = parse(&text) {
            prop_assert!(error.to_string().starts_with("script s.json"));
        }
    }
}
