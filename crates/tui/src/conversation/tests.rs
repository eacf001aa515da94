//! What holds for the rows of a conversation, however its events arrive.

use super::*;
use crate::testing::{
    admitted, brief, envelope, executed, requested, round, started, terminal, turn,
};
use serde_json::json;

fn summaries(conversation: &Conversation) -> Vec<String> {
    let words = |row: &Row| match &row.content {
        Content::Message {
            message_id, joined, ..
        } => format!("{message_id} {joined}"),
        Content::Item(item) => item.presentation.summary.clone(),
    };
    conversation.rows().iter().map(words).collect()
}

fn told(events: impl IntoIterator<Item = EventEnvelope>) -> Conversation {
    let mut conversation = Conversation::new(DisplayMode::Verbose);
    for event in events {
        conversation.push(event);
    }
    conversation
}

#[test]
fn a_feed_that_repeats_events_changes_nothing() {
    let events = turn(1, 1, "msg_1", "Done.");
    let once = told(events.clone());
    assert_eq!(once.rows().len(), 4);
    let again = told(events.iter().cloned().chain(events.clone()));
    assert_eq!(again.rows(), once.rows());
    assert_eq!(again.events().len(), events.len());
    let mut restarted = once.clone();
    restarted.restart(events, false);
    assert_eq!(restarted.rows(), once.rows());
}

#[test]
fn events_in_any_pages_give_the_same_rows() {
    let mut events = turn(1, 1, "msg_1", "One.");
    events.extend(turn(8, 2, "msg_2", "Two."));
    let whole = told(events.clone());
    for cut in 0..=events.len() {
        let (older, newer) = events.split_at(cut);
        let mut paged = told(newer.to_vec());
        paged.prepend(older.to_vec(), false);
        assert_eq!(paged.rows(), whole.rows(), "cut at {cut}");
    }
}

#[test]
fn a_message_has_one_row_also_when_it_joins_a_running_turn() {
    let mut conversation = told([started(1, 1, "msg_0"), admitted(2, "msg_1")]);
    let joined = json!({
        "message_id": "msg_1", "round": 2, "boundary": "after_tool_results",
        "delivery_surface": "http_control_prompt", "admission_context": "control_authenticated",
        "text_preview": "and the docs",
    });
    conversation.push(envelope(3, "operator_interjection_admitted", &joined));
    assert_eq!(summaries(&conversation), ["msg_1 true"]);
    assert_eq!(
        conversation.message_text("msg_1"),
        Some(&Kept::of("and the docs"))
    );
}

#[test]
fn a_row_that_was_held_back_stands_before_later_ones() {
    let conversation = told([
        started(1, 1, "msg_0"),
        requested(2, 1, "cat a"),
        executed(3, 1, "ExecCommand", "exit 0"),
        admitted(4, "msg_1"),
        terminal(5, 1),
    ]);
    let seqs: Vec<u64> = conversation.rows().iter().map(|row| row.seq).collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
    assert_eq!(seqs.len(), 2);
}

#[test]
fn needs_name_what_events_do_not_carry() {
    let mut conversation = Conversation::new(DisplayMode::Info);
    assert!(conversation.push(started(1, 1, "msg_1")).texts);
    assert!(
        conversation.push(brief(2, 1, "result", "Beginning")).texts
            || conversation.push(terminal(3, 1)).texts
    );
    conversation.learn_brief("brief_1", "Beginning and end");
    let row = conversation.rows().back().unwrap();
    let Content::Item(item) = &row.content else {
        panic!("{row:?}");
    };
    assert_eq!(
        conversation.brief_text(item).as_deref(),
        Some("Beginning and end")
    );
    conversation.learn_message("msg_2", "known");
    assert!(!conversation.push(started(4, 2, "msg_2")).texts);
}

#[test]
fn another_mode_shows_the_same_events() {
    let mut conversation = told(turn(1, 1, "msg_1", "Done."));
    let verbose = summaries(&conversation);
    assert!(
        verbose.iter().any(|words| words.starts_with("Ran")),
        "{verbose:?}"
    );
    conversation.set_mode(DisplayMode::Info);
    assert_eq!(conversation.rows().len(), 2);
    conversation.set_mode(DisplayMode::Verbose);
    assert_eq!(summaries(&conversation), verbose);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut conversation = Conversation::new(DisplayMode::Debug);
    let last = EVENTS_KEPT as u64 + 500;
    for seq in 1..=last {
        conversation.push(round(seq, 1, "word", &["ExecCommand"]));
        conversation.learn_message(&format!("msg_{seq}"), "text");
    }
    assert_eq!(conversation.events().len(), EVENTS_KEPT);
    assert!(conversation.has_older);
    let first = conversation.events().front().unwrap().event_seq;
    assert!(conversation.rows().front().unwrap().seq >= first);
    assert!(conversation.rows().len() <= EVENTS_KEPT);
    assert!(conversation.message_text("msg_1").is_none());
    assert!(conversation.message_text(&format!("msg_{last}")).is_some());
}
