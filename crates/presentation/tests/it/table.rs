//! The table: every kind of event in every mode, as one page to review.

use crate::support::{
    brief, event, failed, golden_events, record, reduce, round, suspended, terminal, written,
};
use holon_domain::event::Event;
use holon_presentation::rule::{self, Show};
use holon_presentation::{DisplayMode, present};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Events whose payload changes what is shown, beside the stored ones.
fn variants() -> Vec<Event> {
    let until = Some("2026-11-15T00:00:00.000Z");
    let task = |status: &str| {
        event(
            "task_status_updated",
            &json!({
                "task_id": "task_1", "kind": "child_agent_task", "previous": "running", "status": status,
                "reason": "it ended",
            }),
        )
    };
    let mut asks = brief(1, "result", "Which branch?");
    if let Event::BriefCreated(e) = &mut asks {
        e.action_required = Some(holon_domain::brief::ActionCode::OperatorInput);
    }
    vec![
        round(1, 1, None, &["ExecCommand", "ReadFile"]),
        round(1, 1, Some("Done."), &[]),
        round(1, 1, None, &[]),
        brief(1, "failure", "No model answered."),
        brief(1, "ack", "work goes on by itself"),
        asks,
        failed(1, "call_1", "command_not_found: no such program"),
        task("completed"),
        task("cancelling"),
        terminal(1, "aborted", "max_rounds"),
        suspended(1, "provider_trouble", until),
        suspended(1, "auth", None),
        written("created"),
        written("completed"),
        written("stalled"),
        written("idle_turn"),
        event("closure_decided", &json!({"outcome": "completed"})),
        Event::Unknown {
            kind: "agent_dreamed".into(),
            version: 7,
            data: json!({"about": "sheep", "minutes": 3}),
        },
        Event::Unknown {
            kind: "agent_state_changed".into(),
            version: 7,
            data: json!({}),
        },
        Event::Unknown {
            kind: "brief_created".into(),
            version: 7,
            data: json!({"brief_id": "brief_9", "text_preview": "from a newer host"}),
        },
    ]
}

/// Renders one event: its words, and what each mode does with it.
fn page_entry(event: &Event) -> String {
    let shown = present(event);
    let rule = rule::of(event);
    let mut entry = format!(
        "{} · {} · {}\n    {}\n   ",
        event.kind(),
        rule.category.as_str(),
        shown.visibility.as_str(),
        shown.summary
    );
    for mode in DisplayMode::ALL {
        let rows = reduce(mode, &[record(1, event.clone())]);
        let mark = if rows.is_empty() { "no" } else { "ROW" };
        write!(entry, " {mode} {mark} ({})", rule.show(mode).as_str()).expect("a string");
    }
    entry
}

#[test]
fn every_kind_of_event_in_every_mode() {
    let mut seen = BTreeSet::new();
    let first_of_kind = golden_events()
        .into_iter()
        .filter(|event| seen.insert(event.kind().to_owned()));
    let entries: Vec<String> = first_of_kind
        .chain(variants())
        .map(|event| page_entry(&event))
        .collect();
    for (kind, _) in Event::KINDS {
        assert!(seen.contains(*kind), "{kind} has no sample");
    }
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(entries.join("\n"));
    });
}

/// A kind that a mode may show has words of its own, not those of its payload.
#[test]
fn every_kind_that_can_be_a_row_is_described() {
    for event in golden_events() {
        let rule = rule::of(&event);
        let can_be_row = DisplayMode::ALL
            .iter()
            .any(|mode| !matches!(rule.show(*mode), Show::Trace | Show::Never));
        if can_be_row {
            let title = present(&event).title;
            assert_ne!(title, event.kind().replace('_', " "), "describe this kind");
        }
    }
}

#[test]
fn no_presentation_steers_a_display() {
    let steering = "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d\u{7f}\re\u{200b}f\u{2028}g\u{e0069}h\u{200d}i";
    let hostile = [
        brief(1, "result", steering),
        round(1, 1, Some(steering), &[steering]),
        failed(1, "call_1", steering),
        Event::Unknown {
            kind: steering.into(),
            version: 1,
            data: json!({ steering: steering }),
        },
    ];
    for event in hostile {
        let shown = present(&event);
        let texts = [
            shown.title,
            shown.body.unwrap_or_default(),
            shown.summary,
            shown.source_event_kind,
        ];
        for text in texts {
            for line in text.split('\n') {
                assert_eq!(holon_domain::visible::show_on_line(line), line);
            }
        }
    }
}
