//! Calls about waits and timers, interpreted to intents or to errors a model can act on.

use crate::work::{meant, refused_at, refused_field};
use holon_domain::intent::{Intent, NewTimer, NewWait, WakeCondition, WorkIntent};
use holon_domain::limits::{
    ORIGIN_NAME_CHARACTERS, TIMER_MAX_MS, TIMER_SUMMARY_CHARACTERS, WAIT_REASON_BYTES,
};
use holon_domain::timer::{MissedSlotPolicy, NO_ZONE, TimerSchedule};
use holon_domain::{TaskId, Timestamp};
use serde_json::{Value, json};

fn waited(input: &Value) -> NewWait {
    match meant("WaitFor", input) {
        Intent::WaitFor(wait) => wait,
        other => panic!("{other:?}"),
    }
}

fn nine() -> Timestamp {
    serde_json::from_value(json!("2026-03-01T09:00:00Z")).expect("a time")
}

#[test]
fn every_form_of_a_wake_is_understood() {
    let task = || WakeCondition::Task {
        task_id: TaskId::from_stored("task_1"),
    };
    let external = |source: Option<&str>| WakeCondition::External {
        source: source.map(str::to_owned),
    };
    for (entry, meant) in [
        (json!({"task": "task_1"}), task()),
        (json!("task_1"), task()),
        (json!("operator"), WakeCondition::Operator),
        (json!({"operator": true}), WakeCondition::Operator),
        (json!({"external": "github"}), external(Some("github"))),
        (json!("external:github"), external(Some("github"))),
        (json!("external:"), external(None)),
        (json!({"external": ""}), external(None)),
        (json!("external"), external(None)),
        (json!("operator:any"), WakeCondition::Operator),
        (
            json!("trig_1"),
            WakeCondition::Trigger {
                external_trigger_id: holon_domain::TriggerId::from_stored("trig_1"),
            },
        ),
        (
            json!({"time": "2026-03-01T10:00:00+01:00"}),
            WakeCondition::Time { at: nine() },
        ),
        (
            json!(" 2026-03-01T10:00:00+01:00"),
            WakeCondition::Time { at: nine() },
        ),
        (
            json!("after_ms:60000"),
            WakeCondition::After { delay_ms: 60_000 },
        ),
        (
            json!({"after_ms": 60_000}),
            WakeCondition::After { delay_ms: 60_000 },
        ),
        (
            json!({"after_ms": 5, "task": null, "time": null}),
            WakeCondition::After { delay_ms: 5 },
        ),
    ] {
        let wait = waited(&json!({"reason": "x", "wake_on": [entry]}));
        assert_eq!(wait.wake_on, [meant], "{entry}");
    }
}

#[test]
fn a_question_has_a_text_and_perhaps_choices() {
    let asked = |question: Value, wake_on: &str| {
        let input = json!({"reason": "x", "wake_on": [wake_on], "question": question});
        waited(&input).question.expect("a question")
    };
    let plain = asked(json!("Go on?"), "operator");
    assert_eq!((plain.text.as_str(), plain.any_message), ("Go on?", false));
    let whole = json!({"text": " Go on? ", "choices": ["yes", " no ", ""]});
    let whole = asked(whole, "operator:any");
    assert_eq!(whole.text, "Go on?");
    assert_eq!(whole.choices, ["yes", "no"]);
    assert!(whole.any_message);
    let none = waited(&json!({"reason": "x", "wake_on": ["operator"], "question": null}));
    assert_eq!(none.question, None);
    for (question, wake_on) in [
        (json!("  "), "operator"),
        (json!("Go on?"), "external"),
        (json!({"choices": ["yes"]}), "operator"),
        (
            json!({"text": "Go on?", "choices": vec!["x"; 9]}),
            "operator",
        ),
        (json!(3), "operator"),
    ] {
        let input = json!({"reason": "x", "wake_on": [wake_on], "question": question});
        let (field, _) = refused_field("WaitFor", &input);
        assert_eq!(field.as_deref(), Some("question"), "{input}");
    }
}

#[test]
fn a_wait_that_could_not_end_or_is_not_understood_is_refused_by_name() {
    let with = |entry: Value| json!({"reason": "x", "wake_on": [entry]});
    for (field, input) in [
        ("reason", json!({"reason": "  ", "wake_on": ["operator"]})),
        (
            "reason",
            json!({"reason": "x".repeat(WAIT_REASON_BYTES + 1), "wake_on": ["operator"]}),
        ),
        ("wake_on", json!({"reason": "x", "wake_on": []})),
        (
            "wake_on",
            json!({"reason": "x", "wake_on": vec!["operator"; 17]}),
        ),
        ("wake_on", with(json!("timer"))),
        ("wake_on", with(json!("after_ms:0"))),
        ("wake_on", with(json!("after_ms:soon"))),
        ("wake_on", with(json!("2026-03-01T09:00:00"))),
        ("wake_on", with(json!("every:60000"))),
        ("wake_on", with(json!(5))),
        ("wake_on", with(json!({}))),
        ("wake_on", with(json!({"task": "task_1", "after_ms": 5}))),
        ("wake_on", with(json!({"task": ""}))),
        ("wake_on", with(json!({"time": "tomorrow"}))),
        ("wake_on", with(json!({"time": "2026-03-01T09:00:00"}))),
        ("wake_on", with(json!({"after_ms": 0}))),
        ("wake_on", with(json!({"after_ms": "60000"}))),
        ("wake_on", with(json!({"after_ms": TIMER_MAX_MS + 1}))),
        (
            "work_item_id",
            json!({"reason": "x", "wake_on": ["operator"], "work_item_id": " "}),
        ),
        (
            "recheck_after",
            json!({"reason": "x", "wake_on": ["operator"], "recheck_after": 0}),
        ),
    ] {
        assert_eq!(
            refused_field("WaitFor", &input),
            refused_at(field),
            "{input}"
        );
    }
    let long = "x".repeat(ORIGIN_NAME_CHARACTERS + 1);
    let long = json!({"reason": "x", "wake_on": [{"external": long}]});
    assert_eq!(
        refused_field("WaitFor", &long).0.as_deref(),
        Some("wake_on")
    );
}

/// Adds the message of the tick, unless the arguments have one.
fn summarised(input: &Value) -> Value {
    let mut input = input.clone();
    if input.get("summary").is_none() {
        input["summary"] = json!("look");
    }
    input
}

#[test]
fn a_timer_has_exactly_one_kind() {
    let absolute = |schedule| {
        Intent::Work(WorkIntent::CreateTimer(NewTimer {
            schedule,
            missed: MissedSlotPolicy::Once,
            summary: Some("look".to_owned()),
        }))
    };
    let after = |delay_ms, interval_ms| {
        Intent::Work(WorkIntent::CreateTimerAfter {
            delay_ms,
            interval_ms,
            missed: MissedSlotPolicy::Once,
            summary: Some("look".to_owned()),
        })
    };
    for (input, expected) in [
        (json!({"after_ms": 300}), after(300, None)),
        (json!({"every_ms": 300}), after(300, Some(300))),
        (
            json!({"at": "2026-03-01T09:00:00Z"}),
            absolute(TimerSchedule::Once { at: nine() }),
        ),
        (
            json!({"every_ms": 300, "first": "2026-03-01T09:00:00Z"}),
            absolute(TimerSchedule::Every {
                first_at: nine(),
                interval_ms: 300,
            }),
        ),
        (
            json!({"cron": " 0 9 * * * "}),
            absolute(TimerSchedule::Cron {
                expression: "0 9 * * *".to_owned(),
                time_zone: NO_ZONE.to_owned(),
            }),
        ),
    ] {
        assert_eq!(
            meant("CreateTimer", &summarised(&input)),
            expected,
            "{input}"
        );
    }
}

#[test]
fn a_timer_without_the_words_of_its_tick_is_refused() {
    for input in [
        json!({"after_ms": 5}),
        json!({"after_ms": 5, "summary": null}),
        json!({"after_ms": 5, "summary": " \n"}),
    ] {
        assert_eq!(
            refused_field("CreateTimer", &input),
            refused_at("summary"),
            "{input}"
        );
    }
}

#[test]
fn a_timer_without_a_kind_or_with_two_is_refused_by_name() {
    for (field, input) in [
        ("at", json!({"after_ms": 5, "at": "2026-03-01T09:00:00Z"})),
        ("cron", json!({"every_ms": 5, "cron": "* * * * *"})),
        (
            "first",
            json!({"after_ms": 5, "first": "2026-03-01T09:00:00Z"}),
        ),
        ("time_zone", json!({"every_ms": 5, "time_zone": "UTC"})),
        ("every_ms", json!({"every_ms": 0})),
        ("after_ms", json!({"after_ms": TIMER_MAX_MS + 1})),
        ("at", json!({"at": "soon"})),
        ("first", json!({"every_ms": 5, "first": "soon"})),
        ("cron", json!({"cron": " "})),
        (
            "summary",
            json!({"after_ms": 5, "summary": "x".repeat(TIMER_SUMMARY_CHARACTERS + 1)}),
        ),
    ] {
        assert_eq!(
            refused_field("CreateTimer", &summarised(&input)),
            refused_at(field),
            "{input}"
        );
    }
    assert_eq!(
        refused_field("CreateTimer", &summarised(&json!({}))),
        (None, true)
    );
}
