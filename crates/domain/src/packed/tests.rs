//! Packed text is shorter, is read back as it was, and damaged text is refused.

use super::*;
use crate::time::Timestamp;
use proptest::prelude::*;
use serde_json::json;

fn event(kind: &str, payload: Value) -> StoredEvent {
    StoredEvent {
        kind: kind.to_owned(),
        version: 1,
        payload,
    }
}

/// The events of an ordinary end of a turn, in part.
fn turn_end() -> Vec<StoredEvent> {
    let run = "run_69rk8gm584fdbt1afb61";
    vec![
        event(
            "assistant_round_recorded",
            json!({"turn_index": 13, "round": 1, "text_preview": "hello operator", "run_id": run, "message_seq": 13}),
        ),
        event(
            "turn_terminal",
            json!({"turn_index": 13, "run_id": run, "kind": "completed", "reason": "finished", "message_seq": 13,
                   "last_assistant_message": "hello operator"}),
        ),
        event(
            "brief_created",
            json!({"text_preview": "hello operator", "turn_index": 13, "kind": "result"}),
        ),
        event("session_state_changed", json!({})),
    ]
}

#[test]
fn fields_that_events_repeat_are_written_once() {
    let packed = pack_events(&turn_end());
    assert_eq!(
        packed,
        "~[{\"1\":13,\"2\":\"run_69rk8gm584fdbt1afb61\",\"3\":13,\"7\":\"hello operator\"},\
         [\"4t\",15,{\"5\":1}],[\"56\",7,{\"0\":\"u\",\"8m\":\"=3\",\"f\":\"0k\"}],[\"58\",9,{\"0\":\"0l\"}],[\"5b\",0]]"
    );
    assert_eq!(unpack_events(&packed), Ok(turn_end()));
}

#[test]
fn names_and_frequent_values_are_written_as_codes_and_others_as_they_are() {
    let value = json!({"entry": "incoming_message", "message_seq": 13, "id": "o", "note": "~=", "new": ["", 1.5]});
    let text = r#"~{"o":"1l","~id":"~o","3":13,"new":["",1.5],"note":"~~="}"#;
    let packed = pack(&value.to_string()).unwrap();
    assert_eq!(unpacked(&packed), value);
    assert_eq!(unpacked(text), value);
    assert_eq!(packed.len(), text.len());
}

#[test]
fn rows_of_earlier_builds_are_read_as_they_are() {
    let plain = r#"[["turn_terminal",1,{"turn_index":13,"kind":"completed"}],["odd",7,"=0"]]"#;
    let mut odd = event("odd", json!("=0"));
    odd.version = 7;
    let expected = vec![
        event(
            "turn_terminal",
            json!({"turn_index": 13, "kind": "completed"}),
        ),
        odd,
    ];
    assert_eq!(unpack_events(plain), Ok(expected));
    assert_eq!(unpack(r#"{"kind":"a"}"#), Ok(None));
}

#[test]
fn damaged_text_and_unknown_codes_are_errors() {
    for text in [
        "~",
        "~[",
        "~{}",
        "~[]",
        "~[1]",
        "~[{},1]",
        "~[{},[1,0]]",
        "~[{},[\"kind\"]]",
        "~[{},[\"0\",0,{\"zz\":1}]]",
        "~[{},[\"0\",0,\"=0\"]]",
        "~[{},[\"0\",0,{},\"x\"]]",
        "[[1]]",
        "",
    ] {
        assert!(unpack_events(text).is_err(), "{text}");
    }
    for text in ["~{\"zz\":1}", "~\"=1\"", "~[\"1"] {
        assert!(unpack(text).is_err(), "{text}");
    }
}

/// Reads packed text as a store does.
fn unpacked(text: &str) -> Value {
    let json = unpack(text).unwrap().expect("packed text");
    serde_json::from_str(&json).unwrap()
}

/// Strings that look like codes, marks or words, beside any others.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[~=0-9a-zA-Zé]{0,3}",
        "=[0-9t][0-9a-z]{0,2}",
        any::<i64>().prop_map(|millis| Timestamp::from_millis(millis).to_string()),
        proptest::sample::select(words::WORDS).prop_map(str::to_owned),
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(string(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_unpacked_equals_what_was_packed(value in value()) {
        prop_assert_eq!(unpacked(&pack(&value.to_string()).unwrap()), value);
    }

    #[test]
    fn events_are_unpacked_as_they_were(
        parts in proptest::collection::vec((string(), 0..3_u32, value()), 0..6),
        repeated in proptest::collection::btree_map("[a-d]{1,3}", value(), 0..4),
    ) {
        let events: Vec<StoredEvent> = parts
            .into_iter()
            .map(|(kind, version, payload)| {
                let mut payload = payload;
                if let Value::Object(fields) = &mut payload {
                    fields.extend(repeated.clone());
                }
                StoredEvent { kind, version, payload }
            })
            .collect();
        prop_assert_eq!(unpack_events(&pack_events(&events)), Ok(events));
    }
}
