//! Conversion of well-formed and malformed transcripts into steps.

use super::*;
use crate::codec::sample::{assistant_turn, call, failure, own_call, result, sealed, text, user};
use serde_json::json;

const MODEL: &str = "local/one";
const OTHER: &str = "local/two";

fn model() -> ModelRef {
    ModelRef::parse(MODEL).expect("a model reference")
}

fn converted(conversation: &[ConversationItem]) -> Vec<Step<'_>> {
    steps_of(conversation, &model())
}

fn answers<'a>(step: &'a Step<'_>) -> Vec<(&'a str, &'a str, bool)> {
    match step {
        Step::Results(answered) => answered
            .iter()
            .map(|answer| (answer.id.as_str(), answer.content, answer.is_error))
            .collect(),
        other @ (Step::Assistant(_) | Step::User(_) | Step::Image(_)) => {
            panic!("no results: {other:?}")
        }
    }
}

fn ids(steps: &[Step<'_>]) -> Vec<String> {
    let parts = steps.iter().filter_map(|step| match step {
        Step::Assistant(parts) => Some(parts),
        Step::Results(_) | Step::User(_) | Step::Image(_) => None,
    });
    parts
        .flatten()
        .filter_map(|piece| match piece {
            ReplyPart::Call { id, .. } => Some(id.clone()),
            ReplyPart::Text(_) | ReplyPart::Sealed { .. } => None,
        })
        .collect()
}

#[test]
fn results_stand_after_their_calls_in_the_order_of_the_calls_wherever_they_were() {
    let conversation = [
        result("call_2", "two"),
        assistant_turn(
            MODEL,
            vec![call("call_1", json!({})), call("call_2", json!({}))],
        ),
        user("Wait."),
        failure("call_1", "one"),
    ];
    let steps = converted(&conversation);
    assert_eq!(
        answers(&steps[1]),
        vec![("call_1", "one", true), ("call_2", "two", false)]
    );
    assert_eq!(steps[2], Step::User("Wait.".into()));
    assert_eq!(steps.len(), 3);
}

#[test]
fn a_call_without_a_result_is_answered_as_failed_and_an_empty_result_gets_a_word() {
    let conversation = [
        assistant_turn(
            MODEL,
            vec![call("call_1", json!({})), call("call_2", json!({}))],
        ),
        result("call_2", " \n"),
    ];
    let steps = converted(&conversation);
    assert_eq!(
        answers(&steps[1]),
        vec![("call_1", NO_RESULT, true), ("call_2", EMPTY_RESULT, false)]
    );
}

#[test]
fn a_result_without_a_call_becomes_text_in_its_place() {
    let conversation = [
        user("Begin."),
        result("call_gone", "the harvest was good"),
        result("call_gone", " "),
        assistant_turn(MODEL, vec![text("Fine.")]),
        user("And?"),
    ];
    let steps = converted(&conversation);
    let stray = format!("{STRAY_RESULT}\nthe harvest was good");
    assert_eq!(steps[1], Step::User(stray.into()));
    assert_eq!(steps.len(), 4);
}

#[test]
fn a_second_result_is_dropped_if_it_is_equal_and_kept_as_text_otherwise() {
    let conversation = [
        assistant_turn(MODEL, vec![call("call_1", json!({}))]),
        result("call_1", "dry"),
        result("call_1", "dry"),
        result("call_1", "wet"),
    ];
    let steps = converted(&conversation);
    assert_eq!(answers(&steps[1]), vec![("call_1", "dry", false)]);
    assert_eq!(steps[2], Step::User(format!("{STRAY_RESULT}\nwet").into()));
    assert_eq!(steps.len(), 3);
}

#[test]
fn calls_that_share_an_id_get_an_id_and_a_result_each() {
    let conversation = [
        assistant_turn(
            MODEL,
            vec![call("call_1", json!({})), call("call_1", json!({}))],
        ),
        result("call_1", "first"),
        result("call_1", "second"),
    ];
    let steps = converted(&conversation);
    assert_eq!(
        answers(&steps[1]),
        vec![("call_1", "first", false), ("call_1_2", "second", false)]
    );
}

#[test]
fn an_id_goes_back_only_to_the_model_that_gave_it_and_only_once() {
    let conversation = [assistant_turn(
        MODEL,
        vec![
            own_call("call_1", MODEL, "own", json!({})),
            own_call("call_2", MODEL, "own", json!({})),
            own_call("call_3", OTHER, "theirs", json!({})),
            own_call("call_4", MODEL, "functions.read:0", json!({})),
            own_call("call_5", MODEL, "", json!({})),
        ],
    )];
    let steps = converted(&conversation);
    assert_eq!(
        ids(&steps),
        vec!["own", "call_2", "call_3", "call_4", "call_5"]
    );
}

#[test]
fn stored_ids_and_names_that_no_protocol_takes_are_respelled() {
    let odd = Block::ToolCall(holon_domain::block::ToolCall {
        id: CallId::from_stored("call 1!"),
        name: "functions.read sensor".to_owned(),
        input: json!({}),
        provider_id: None,
    });
    let nameless = Block::ToolCall(holon_domain::block::ToolCall {
        id: CallId::from_stored(""),
        name: String::new(),
        input: json!({}),
        provider_id: None,
    });
    let conversation = [assistant_turn(MODEL, vec![odd, nameless])];
    let steps = converted(&conversation);
    assert_eq!(ids(&steps), vec!["call_1_", "unknown"]);
    let Some(Step::Assistant(parts)) = steps.first() else {
        panic!("{steps:?}");
    };
    let names: Vec<&str> = parts
        .iter()
        .filter_map(|piece| match piece {
            ReplyPart::Call { name, .. } => Some(name.as_ref()),
            ReplyPart::Text(_) | ReplyPart::Sealed { .. } => None,
        })
        .collect();
    assert_eq!(names, vec!["functions_read_sensor", "unknown"]);
}

#[test]
fn sealed_reasoning_returns_only_to_the_model_that_sealed_it_and_never_alone() {
    let conversation = [
        assistant_turn(
            MODEL,
            vec![
                sealed("mine", MODEL, "m"),
                sealed("theirs", OTHER, "t"),
                text("Hm."),
            ],
        ),
        user("Yes?"),
        assistant_turn(MODEL, vec![sealed("mine", MODEL, "m")]),
    ];
    let steps = converted(&conversation);
    assert_eq!(
        steps,
        vec![
            Step::Assistant(vec![
                ReplyPart::Sealed {
                    text: "mine",
                    data: "m"
                },
                ReplyPart::Text("Hm.")
            ]),
            Step::User("Yes?".into()),
        ]
    );
}

#[test]
fn no_message_is_empty_and_the_last_one_is_not_the_assistants() {
    let conversation = [
        user(" "),
        assistant_turn(MODEL, vec![text(""), text("\u{1c}")]),
        assistant_turn(MODEL, vec![text("Done.")]),
    ];
    assert_eq!(
        converted(&conversation),
        vec![
            Step::Assistant(vec![ReplyPart::Text("Done.")]),
            Step::User(GO_ON.into()),
        ]
    );
}

#[test]
fn arguments_that_are_no_object_become_one_that_shows_them() {
    assert_eq!(*object(&json!({"bed": 1})), json!({"bed": 1}));
    assert_eq!(*object(&json!(null)), json!({}));
    assert_eq!(*object(&json!(" ")), json!({}));
    assert_eq!(*object(&json!("{\"bed\": ")), json!({"_raw": "{\"bed\": "}));
    assert_eq!(*object(&json!([1])), json!({"_raw": "[1]"}));
}

#[test]
fn a_failed_result_is_marked_in_protocols_without_an_error_flag() {
    let answer = |is_error| CallResult {
        id: "call_1".to_owned(),
        name: "ReadSensor".into(),
        content: "no",
        is_error,
        image: None,
    };
    assert_eq!(answer(false).marked_content(), "no");
    assert_eq!(answer(true).marked_content(), "[the call failed]\nno");
}
