//! Turns without words and ticks without effect, as the thread and its recap tell them.

use crate::fixture::{Scene, at, operator, tick};
use holon_domain::attempt::TokenUsage;
use holon_domain::block::{Block, ToolCall};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::image::{ImageDigest, ImageFormat, SentImage};
use holon_domain::log::{InterjectionBoundary, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ConversationItem, StopReason};
use holon_domain::thread::{FoldCause, ThreadState};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::TerminalReason;
use holon_domain::{CallId, MessageId};
use holon_prompt::thread::{FoldTarget, PastTurn, ShownTurn, Thread, fold_text, render};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

const NOTHING: &[(&str, Value)] = &[];

/// Entries of a turn with one round of calls, all of which succeeded, and an answer.
fn entries(calls: &[(&str, Value)], answer: &str) -> Vec<LogEntry> {
    let ids: Vec<CallId> = (1..=calls.len())
        .map(|n| CallId::from_stored(format!("call_{n}")))
        .collect();
    let made = calls.iter().zip(&ids).map(|((name, input), id)| {
        Block::ToolCall(ToolCall {
            id: id.clone(),
            name: (*name).to_owned(),
            input: input.clone(),
            provider_id: None,
        })
    });
    let said = (!answer.is_empty()).then(|| Block::Text {
        text: answer.to_owned(),
    });
    let round = LogEntry::AssistantRound {
        round: 1,
        blocks: Arc::new(said.into_iter().chain(made).collect()),
        intents: Arc::default(),
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::new(1, 1),
        tries: serde_json::from_value(json!({
            "model_ref": "a/b", "started_at": at(0), "duration_ms": 1,
        }))
        .expect("tries"),
    };
    let results = calls.iter().zip(&ids).map(|((name, _), id)| {
        let took = json!({ "exit_status": 0 });
        LogEntry::ToolResult {
            round: 1,
            call_id: id.clone(),
            envelope: ToolEnvelope::success(*name, "done", took),
            duration_ms: 1,
        }
    });
    std::iter::once(round).chain(results).collect()
}

/// An ended turn that this message began, `turn_index` minutes after the first.
fn ended(turn_index: u64, message: MessageEnvelope, rest: Vec<LogEntry>) -> ShownTurn {
    let scene = Scene::new();
    let first = LogEntry::IncomingMessage { message_seq: 1 };
    let entries = std::iter::once(first).chain(rest).map(Arc::new);
    let entries: Vec<Arc<LogEntry>> = entries.collect();
    let messages = HashMap::from([(1, message), (2, operator(2, "And this."))]);
    render(&PastTurn {
        agent: &scene.agent,
        turn_index,
        first_entry: turn_index,
        began_at: at(0).plus_millis(turn_index * 60_000),
        entries: &entries,
        messages: &messages,
        receipt: holon_tools::receipt,
        entered_guidance: holon_tools::use_workspace::entered_guidance,
    })
}

fn last_text(turn: &ShownTurn) -> String {
    let thread = Thread::new(&ThreadState::default(), None, vec![turn.clone()]);
    let items = &thread.shown_turns()[0].items;
    match items.last().expect("an item") {
        ConversationItem::User { text } => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// Folds all turns and returns the recap.
fn recap(turns: Vec<ShownTurn>) -> String {
    let mut thread = Thread::new(&ThreadState::default(), None, turns);
    let target = FoldTarget {
        cause: FoldCause::Invalid,
        tokens: 9_000,
        recap_tokens: 0,
        turn_index: 100,
    };
    assert!(thread.fold(target, None));
    fold_text(&thread.into_new_fold().expect("a fold"))
}

#[test]
fn a_turn_without_words_is_told_as_what_it_did() {
    let notify = ("NotifyOperator", json!({ "message": "The build is red." }));
    let rest = ("Sleep", json!({ "reason": "nothing is left to do" }));
    let table = [
        (
            vec![notify.clone(), rest.clone()],
            r#"you notified your operator: "The build is red."; you rested: "nothing is left to do""#,
        ),
        (vec![("Sleep", json!({}))], "you rested."),
        (
            vec![("ExecCommand", json!({ "cmd": "true" })), rest.clone()],
            r#"you called 1 × ExecCommand; you rested: "nothing is left to do""#,
        ),
        (
            vec![("WaitFor", json!({ "reason": "the review", "wake_on": [] }))],
            r#"you began to wait: "the review""#,
        ),
        (Vec::new(), "you ended it without a call."),
    ];
    for (calls, told) in table {
        let turn = ended(1, tick(1, "Look again."), entries(&calls, ""));
        let text = last_text(&turn);
        assert!(
            text.starts_with("[In turn 1, which ends here, you said nothing."),
            "{text}"
        );
        assert!(text.contains(told), "{text}");
        let recap = recap(vec![turn]);
        assert!(!recap.contains("You ended with"), "{recap}");
    }
    let turn = ended(1, tick(1, "Look."), entries(&[notify], ""));
    let recap = recap(vec![turn]);
    assert!(
        recap.contains("In it you notified your operator:\n> The build is red."),
        "{recap}"
    );
}

#[test]
fn the_short_line_of_a_turn_tells_what_was_added_and_what_reached_the_operator() {
    let notify = [(
        "NotifyOperator",
        json!({ "message": "It says ready.\n\nSeen now." }),
    )];
    let mut log = entries(&notify, "I told you.");
    log.push(LogEntry::Interjection {
        message_seq: 2,
        boundary: InterjectionBoundary::BeforeProviderRequest,
        waits: None,
    });
    let turn = ended(1, tick(1, "Look once."), log);
    let long_ago = ended(2, tick(1, &"Look. ".repeat(400)), entries(NOTHING, "No."));
    let mut thread = Thread::new(&ThreadState::default(), None, vec![turn, long_ago]);
    let target = FoldTarget {
        cause: FoldCause::Room,
        tokens: 0,
        recap_tokens: 0,
        turn_index: 3,
    };
    assert!(thread.fold(target, None));
    let fold = thread.into_new_fold().expect("a fold");
    let line = &fold.turns[0].line;
    for told in [
        "added \"And this.\"",
        "you notified your operator: \"It says ready. / Seen now.\"",
        "you answered \"I told you.\"",
    ] {
        assert!(line.contains(told), "{told}: {line}");
    }
}

#[test]
fn a_call_that_failed_is_no_deed() {
    let mut log = entries(&[("NotifyOperator", json!({ "message": "Red." }))], "");
    if let Some(LogEntry::ToolResult { envelope, .. }) = log.last_mut() {
        let error = ToolError::new(ToolErrorKind::InvalidToolInput, "too long");
        *envelope = ToolEnvelope::failure("NotifyOperator", error);
    }
    let turn = ended(1, tick(1, "Look again."), log);
    let text = last_text(&turn);
    assert!(text.contains("you called 1 × NotifyOperator"), "{text}");
    assert!(!text.contains("you notified"), "{text}");
}

#[test]
fn equal_ticks_in_a_row_that_changed_nothing_are_one_in_a_recap_and_nothing_else_is() {
    let looked = [("ExecCommand", json!({ "cmd": "cargo test" }))];
    let quiet = |turn| {
        ended(
            turn,
            tick(1, "Run the tests."),
            entries(&looked, "Tests pass."),
        )
    };
    let turns: Vec<ShownTurn> = (1..=14).map(quiet).collect();
    let told = recap(turns.clone());
    assert!(
        told.contains(&format!(
            "Turns 1 to 14: 14 ticks, {} to {}, each: \"Run the tests.\"; you answered \"Tests pass.\"",
            at(60),
            at(14 * 60)
        )),
        "{told}"
    );
    assert_eq!(told.matches("Tests pass.").count(), 1, "{told}");

    let fix = [("ApplyPatch", json!({ "input": "a patch" }))];
    let joined = LogEntry::Interjection {
        message_seq: 2,
        boundary: InterjectionBoundary::BeforeProviderRequest,
        waits: None,
    };
    let with_words = std::iter::once(joined).chain(entries(&looked, "Tests pass."));
    let differing = [
        ended(
            15,
            operator(1, "Run the tests."),
            entries(&looked, "Tests pass."),
        ),
        ended(15, tick(1, "Run the tests."), entries(&looked, "Two fail.")),
        ended(
            15,
            tick(1, "Run the lints."),
            entries(&looked, "Tests pass."),
        ),
        ended(15, tick(1, "Run the tests."), entries(&fix, "Tests pass.")),
        ended(
            15,
            tick(1, "Run the tests."),
            entries(NOTHING, "Tests pass."),
        ),
        ended(15, tick(1, "Run the tests."), with_words.collect()),
        ended(
            16,
            tick(1, "Run the tests."),
            entries(&looked, "Tests pass."),
        ),
    ];
    for other in differing {
        let told = recap(turns.iter().cloned().chain([other]).collect());
        assert!(told.contains("Turns 1 to 14: 14 ticks"), "{told}");
        assert!(
            told.contains("## Turn 1"),
            "the other is told apart: {told}"
        );
    }
}

#[test]
fn equal_ticks_join_those_of_the_fold_before() {
    let quiet = |turn| ended(turn, tick(1, "Look."), entries(NOTHING, "Nothing new."));
    let mut thread = Thread::new(&ThreadState::default(), None, (1..=3).map(quiet).collect());
    let target = FoldTarget {
        cause: FoldCause::Invalid,
        tokens: 9_000,
        recap_tokens: 0,
        turn_index: 4,
    };
    assert!(thread.fold(target, None));
    let fold = thread.into_new_fold().expect("a fold");
    let state = ThreadState {
        from_entry: 4,
        ..ThreadState::default()
    };
    let mut thread = Thread::new(&state, Some(fold), (4..=5).map(quiet).collect());
    assert!(thread.fold(target, None));
    let fold = thread.into_new_fold().expect("a fold");
    assert_eq!(fold.turns.len(), 1);
    assert!(fold_text(&fold).contains("Turns 1 to 5: 5 ticks"));
}

/// A failure that ends a turn for this reason.
fn failed(reason: TerminalReason, kind: &str) -> LogEntry {
    let text = "the words of the provider";
    LogEntry::RuntimeFailure {
        message_id: MessageId::from_stored("msg_1"),
        text: text.to_owned(),
        failure_artifact: FailureArtifact::new(FailureCategory::Protocol, kind, text),
        reason: Some(reason),
        usage: None,
        timeline: None,
        task_id: None,
    }
}

#[test]
fn a_turn_that_must_not_be_shown_again_is_one_line_and_every_other_failure_stands_as_it_was() {
    use TerminalReason::{OperatorAborted, Poisoned, ProviderFailed};
    let table = [
        (
            ProviderFailed,
            "invalid_request",
            Some("a model provider refused its content"),
        ),
        (ProviderFailed, "content_filter", Some("a content filter")),
        (
            Poisoned,
            "poisoned_message",
            Some("the runtime set it aside"),
        ),
        (ProviderFailed, "server_error", None),
        (OperatorAborted, "aborted", None),
    ];
    for (reason, kind, line) in table {
        let calls = [("ExecCommand", json!({ "cmd": "secret" }))];
        let log = entries(&calls, "")
            .into_iter()
            .chain([failed(reason, kind)]);
        let turn = ended(1, operator(1, "Poisonous words."), log.collect());
        let thread = Thread::new(&ThreadState::default(), None, vec![turn.clone()]);
        let items = serde_json::to_string(&thread.shown_turns()[0].items).expect("JSON");
        let told = recap(vec![turn]);
        for text in [items, told] {
            let shows = ["Poisonous", "secret", "words of the provider"].map(|w| text.contains(w));
            match line {
                Some(line) => {
                    assert!(text.contains(line), "{text}");
                    assert!(text.contains("1 call of ExecCommand"), "{text}");
                    assert_eq!(shows, [false; 3], "{text}");
                }
                None => assert!(shows[0] && shows[1], "{kind}: {text}"),
            }
        }
    }
}

#[test]
fn a_recap_tells_what_became_of_each_ask() {
    let wait = [(
        "WaitFor",
        json!({ "reason": "the review; then I merge", "wake_on": [] }),
    )];
    let aborted = entries(NOTHING, "I begin.")
        .into_iter()
        .chain([failed(TerminalReason::OperatorAborted, "aborted")]);
    let turns = vec![
        ended(
            1,
            operator(1, "Count the files."),
            entries(NOTHING, "Twelve."),
        ),
        ended(2, operator(1, "Merge it."), entries(&wait, "")),
        ended(3, operator(1, "Rewrite it."), aborted.collect()),
    ];
    let told = recap(turns);
    let states = [
        ": done",
        ": open: you began to wait",
        ": cancelled: your operator aborted it",
    ];
    for state in states {
        assert!(told.contains(state), "{state} in {told}");
    }
    assert!(told.contains("> the review; then I merge"), "{told}");
}

/// An ended turn that began to wait, for an item if one is named.
fn waiting(turn_index: u64, wait: &str, item: Option<&str>) -> ShownTurn {
    let reason = json!({ "reason": "the review", "wake_on": [] });
    let mut log = entries(&[("WaitFor", reason)], "");
    for entry in &mut log {
        if let LogEntry::ToolResult { envelope, .. } = entry {
            let record =
                json!({ "wait": { "id": wait, "work_item_id": item, "status": "active" } });
            *envelope = ToolEnvelope::success("WaitFor", "waiting", record);
        }
    }
    ended(turn_index, operator(1, "Merge it after the review."), log)
}

#[test]
fn an_ask_is_open_only_until_a_later_turn_closed_it() {
    let given_up = [("CancelWait", json!({ "wait_id": "wait_1" }))];
    let other = [("CancelWait", json!({ "wait_id": "wait_9" }))];
    let answered = |turn_index, calls: &[(&str, Value)]| {
        ended(
            turn_index,
            operator(1, "Reviewed."),
            entries(calls, "Merged."),
        )
    };
    let table = [
        (
            vec![waiting(2, "wait_1", None)],
            ": open: you began to wait",
        ),
        (
            vec![waiting(2, "wait_1", None), answered(3, &given_up)],
            ": you waited, and turn 3 went on",
        ),
        (
            vec![
                waiting(2, "wait_1", Some("work_1")),
                answered(
                    3,
                    &[("CompleteWorkItem", json!({ "work_item_id": "work_1" }))],
                ),
            ],
            ": you waited, and turn 3 went on",
        ),
        (
            vec![waiting(2, "wait_1", None), answered(3, &other)],
            ": open: you began to wait",
        ),
        (
            vec![waiting(2, "wait_1", None), waiting(5, "wait_2", None)],
            ": superseded: turn 5 began another wait in place of this one",
        ),
        (
            vec![
                waiting(2, "wait_1", None),
                waiting(5, "wait_2", Some("work_1")),
            ],
            ": open: you began to wait",
        ),
    ];
    for (turns, state) in table {
        let told = recap(turns);
        let mut lines = told.lines();
        let heading = lines.find(|line| line.starts_with("## Turn 2"));
        let heading = heading.expect("the recap of turn 2");
        assert!(heading.ends_with(state), "{state} in {told}");
    }
}

#[test]
fn a_recap_of_an_earlier_fold_learns_that_its_ask_was_closed() {
    let given_up = [("CancelWait", json!({ "wait_id": "wait_1" }))];
    let target = FoldTarget {
        cause: FoldCause::Invalid,
        tokens: 9_000,
        recap_tokens: 0,
        turn_index: 100,
    };
    let mut thread = Thread::new(
        &ThreadState::default(),
        None,
        vec![waiting(1, "wait_1", None)],
    );
    assert!(thread.fold(target, None));
    let first = thread.into_new_fold().expect("a fold");
    assert!(fold_text(&first).contains("open: you began to wait"));
    let later = ended(2, operator(1, "Done."), entries(&given_up, "Merged."));
    let mut thread = Thread::new(&ThreadState::default(), Some(first), vec![later]);
    assert!(thread.fold(target, None));
    let told = fold_text(&thread.into_new_fold().expect("a fold"));
    assert!(told.contains("you waited, and turn 2 went on"), "{told}");
    assert!(!told.contains("open: you began to wait"), "{told}");
}

#[test]
fn an_ended_turn_shows_its_images_and_its_recap_says_that_there_were_some() {
    let mut message = operator(1, "What is it?");
    message.images = ["one", "two"]
        .map(|name| SentImage {
            digest: ImageDigest::of(name.as_bytes()),
            media_type: ImageFormat::Png,
            width: 800,
            height: 600,
            bytes: 4,
        })
        .to_vec();
    let turn = ended(1, message.clone(), entries(&[], "Two squares."));
    let shown: Vec<&SentImage> = turn.images().collect();
    assert_eq!(shown, message.images.iter().collect::<Vec<_>>());
    let thread = Thread::new(&ThreadState::default(), None, vec![turn.clone()]);
    let items = &thread.shown_turns()[0].items;
    let [
        ConversationItem::User { text },
        ConversationItem::Image(one),
        ConversationItem::Image(two),
        ..,
    ] = items.as_slice()
    else {
        panic!("{items:?}");
    };
    let label = message.images[0].label();
    assert!(
        text.contains(&format!("What is it?\n[image 1: {label}]")),
        "{text}"
    );
    assert_eq!((one.number, two.number), (1, 2));
    assert!(one.shown.is_none() && two.shown.is_none());
    let recap = recap(vec![turn]);
    assert!(recap.contains(&format!("[image 1: {label}]")), "{recap}");
}
