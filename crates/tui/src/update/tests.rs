//! What keys, news and replies do to the model, and what they ask for.

use super::*;
use crate::model::Scroll;
use crate::msg::{Cause, News, Problem, Reply};
use crate::overlay::Page;
use crate::testing::*;
use holon_client::Answer;
use holon_domain::time::Timestamp;
use holon_presentation::DisplayMode;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

mod complete;
mod hints;
mod images;
mod leave;
mod link;
mod models;
mod pages;
mod redraw;
mod send;
mod texts;
mod trouble;

fn send(text: &str) -> Question {
    Question::Send {
        text: text.to_owned(),
        images: Vec::new(),
    }
}

fn sent(id: &str) -> Reply {
    Reply::Sent {
        message_id: id.to_owned(),
    }
}

/// Switches to an agent that exists.
fn switch(model: &mut Model, id: &str) -> Vec<Command> {
    let asked = enter(model, &format!("/agent switch {id}"));
    let known = status("idle", "rests");
    reply(model, &asked, &Question::Status, known)
}

fn gone() -> Problem {
    Problem {
        message: "cannot reach the host".to_owned(),
        cause: Cause::Unreachable,
    }
}

#[test]
fn a_console_first_follows_its_agent_and_asks_for_its_status() {
    let mut fresh = model(80, 24);
    let commands = start(&mut fresh);
    let feed = fresh.feed;
    assert_eq!(
        commands[0],
        Command::Follow {
            feed,
            agent: agent()
        }
    );
    assert_eq!(questions(&commands), [&Question::Status]);
}

#[test]
fn enter_sends_and_the_message_is_shown_once() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "hello");
    assert_eq!(questions(&commands), [&send("hello")]);
    assert!(model.draft.is_empty());
    assert!(screen(&model).contains("sending"));
    // The event may come before the reply, and after it.
    push(&mut model, admitted(1, "msg_9"));
    reply(&mut model, &commands, &send("hello"), sent("msg_9"));
    assert!(model.pending.is_empty());
    assert_eq!(
        screen(&model).matches("hello").count(),
        1,
        "{}",
        screen(&model)
    );

    let commands = enter(&mut model, "again");
    reply(&mut model, &commands, &send("again"), sent("msg_10"));
    assert_eq!(model.pending.len(), 1);
    push(&mut model, admitted(2, "msg_10"));
    assert!(model.pending.is_empty());
    assert_eq!(screen(&model).matches("again").count(), 1);
}

#[test]
fn a_message_that_was_not_sent_comes_back() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "hello");
    let ticket = ticket_of(&commands, &send("hello"));
    update(
        &mut model,
        Msg::Reply {
            ticket,
            reply: Err(gone()),
        },
    );
    assert_eq!(model.draft.text(), "hello");
    assert!(model.pending.is_empty());
    assert!(screen(&model).contains("not sent: cannot reach the host"));
}

#[test]
fn a_new_message_never_shows_the_activity_of_the_turn_before() {
    let mut model = with_history(80, 24, vec![admitted(1, "msg_1"), started(2, 1, "msg_1")]);
    push(&mut model, requested(3, 1, "make old"));
    assert!(screen(&model).contains("make old"));
    for event in [
        executed(4, 1, "ExecCommand", "exit 0"),
        brief(5, 1, "result", "Built."),
        terminal(6, 1),
    ] {
        push(&mut model, event);
    }
    let commands = enter(&mut model, "next");
    let shown = screen(&model);
    assert!(shown.contains("sending your message"), "{shown}");
    assert!(!shown.contains("make old"), "{shown}");
    push(&mut model, admitted(7, "msg_2"));
    reply(&mut model, &commands, &send("next"), sent("msg_2"));
    assert!(!screen(&model).contains("make old"));
}

#[test]
fn deltas_are_shown_and_replaced_by_the_recorded_round() {
    let mut model = with_history(80, 24, vec![admitted(1, "msg_1"), started(2, 1, "msg_1")]);
    feed(&mut model, delta(1, 0, "The build "));
    feed(&mut model, delta(1, 10, "is green."));
    assert!(
        screen(&model).contains("The build is green."),
        "{}",
        screen(&model)
    );
    push(&mut model, round(3, 1, "The build is green.", &[]));
    push(&mut model, brief(4, 1, "result", "The build is green."));
    push(&mut model, terminal(5, 1));
    feed(&mut model, delta(1, 19, " stale"));
    let shown = screen(&model);
    assert_eq!(shown.matches("The build is green.").count(), 1, "{shown}");
    assert!(!shown.contains("stale"));
}

#[test]
fn a_restart_of_the_host_neither_misses_nor_repeats_a_row() {
    let events = turn(1, 1, "msg_1", "First.");
    let mut model = with_history(80, 24, events.clone());
    let before = model.conversation.rows().clone();
    feed(&mut model, News::Lost("the stream ended".to_owned()));
    assert!(screen(&model).contains("no connection"));
    feed(&mut model, News::Back);
    for event in events.into_iter().chain(turn(8, 2, "msg_2", "Second.")) {
        push(&mut model, event);
    }
    assert_eq!(model.conversation.rows().len(), before.len() + 2);
    assert!(
        before
            .iter()
            .zip(model.conversation.rows())
            .all(|(old, new)| old == new)
    );
    assert!(!screen(&model).contains("no connection"));
}

#[test]
fn lines_are_continued_and_old_messages_come_back() {
    let mut model = with_history(80, 24, Vec::new());
    type_text(&mut model, "one\\");
    assert!(press(&mut model, KeyCode::Enter).is_empty());
    type_text(&mut model, "two");
    ctrl(&mut model, 'j');
    type_text(&mut model, "three");
    update(
        &mut model,
        Msg::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT)),
    );
    let commands = enter(&mut model, "four");
    let whole = "one\ntwo\nthree\nfour";
    assert_eq!(questions(&commands), [&send(whole)]);
    type_text(&mut model, "half");
    press(&mut model, KeyCode::Up);
    assert_eq!(model.draft.text(), whole);
    for _ in 0..4 {
        press(&mut model, KeyCode::Down);
    }
    assert_eq!(model.draft.text(), "half");
}

#[test]
fn commands_are_completed_and_unknown_ones_are_never_sent() {
    let mut model = with_history(80, 24, Vec::new());
    type_text(&mut model, "/dis");
    press(&mut model, KeyCode::Tab);
    assert_eq!(model.draft.text(), "/display ");
    enter(&mut model, "4");
    assert_eq!(model.conversation.mode(), DisplayMode::Verbose);
    assert!(enter(&mut model, "/frobnicate").is_empty());
    assert_eq!(
        model.draft.text(),
        "/frobnicate",
        "the line stays, to be mended"
    );
    press(&mut model, KeyCode::Esc);
    assert!(model.draft.is_empty());
    let commands = enter(&mut model, "//frobnicate");
    assert_eq!(questions(&commands), [&send("/frobnicate")]);
    type_text(&mut model, "/t");
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Enter);
    assert_eq!(
        model.overlays.last().map(|top| &top.page),
        Some(&Page::Tasks)
    );
}

#[test]
fn a_paste_keeps_its_lines_and_a_huge_one_is_cut_with_a_word() {
    let mut model = with_history(80, 24, Vec::new());
    update(&mut model, Msg::Paste("a\r\nb\n".to_owned()));
    assert_eq!(model.draft.text(), "a\nb\n");
    update(&mut model, Msg::Paste("x".repeat(10 << 20)));
    assert!(screen(&model).contains("left out"));
    let commands = press(&mut model, KeyCode::Enter);
    let [Question::Send { text, .. }] = questions(&commands)[..] else {
        panic!("{:?}", commands.len());
    };
    assert!(text.starts_with("a\nb\nxxx") && text.len() <= 1 << 20);
    check_safe(&model);
}

#[test]
fn scrolling_goes_up_and_comes_back_and_new_rows_do_not_move_it() {
    let events: Vec<_> = (0..40)
        .flat_map(|n| turn(n * 7 + 1, n + 1, "msg_1", &format!("Result {n}.")))
        .collect();
    let mut model = with_history(80, 24, events);
    assert!(screen(&model).contains("Result 39."));
    for _ in 0..3 {
        press(&mut model, KeyCode::PageUp);
    }
    let above = screen(&model);
    assert!(!above.contains("Result 39."));
    for event in turn(400, 41, "msg_1", "New.") {
        push(&mut model, event);
    }
    let body = |shown: &str| {
        shown
            .lines()
            .take(18)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(body(&screen(&model)), body(&above));
    update(
        &mut model,
        Msg::Key(KeyEvent::new(KeyCode::Home, KeyModifiers::CONTROL)),
    );
    assert!(screen(&model).contains("Result 0."), "{}", screen(&model));
    for _ in 0..60 {
        press(&mut model, KeyCode::PageDown);
    }
    assert_eq!(model.scroll, Scroll::Bottom);
    press(&mut model, KeyCode::PageUp);
    press(&mut model, KeyCode::Esc);
    assert!(screen(&model).contains("New."));
}

#[test]
fn the_top_asks_for_older_events_once() {
    let mut model = model(80, 24);
    let events = turn(101, 2, "msg_2", "Newer.");
    feed(
        &mut model,
        News::History {
            events,
            has_older: true,
        },
    );
    let commands = press(&mut model, KeyCode::PageUp);
    let older = Question::Older { before_seq: 101 };
    assert_eq!(questions(&commands), [&older]);
    assert!(press(&mut model, KeyCode::PageUp).is_empty());
    let events = turn(94, 1, "msg_1", "Older.");
    reply(
        &mut model,
        &commands,
        &older,
        Reply::Older {
            events,
            has_older: false,
        },
    );
    assert!(screen(&model).contains("Older."));
    assert!(press(&mut model, KeyCode::PageUp).is_empty());
}

#[test]
fn news_of_an_agent_that_is_not_shown_is_ignored() {
    let mut model = with_history(80, 24, turn(1, 1, "msg_1", "Mine."));
    let old_feed = model.feed;
    let commands = switch(&mut model, "other");
    assert!(matches!(&commands[0], Command::Follow { agent, .. } if agent.as_str() == "other"));
    let news = News::Event(Box::new(brief(20, 9, "result", "Not mine.")));
    update(
        &mut model,
        Msg::Feed {
            feed: old_feed,
            news,
        },
    );
    assert!(model.conversation.rows().is_empty());
    assert!(!screen(&model).contains("Mine."));
}

#[test]
fn a_status_is_asked_for_again_but_never_twice_at_a_time() {
    let mut model = with_history(80, 24, Vec::new());
    let at = |seconds: i64| Msg::Tick(Timestamp::from_millis(seconds * 1_000));
    let commands = update(&mut model, at(10));
    assert_eq!(questions(&commands), [&Question::Status]);
    assert!(update(&mut model, at(20)).is_empty());
    push(&mut model, started(1, 1, "msg_1"));
    answer(
        &mut model,
        &Question::Status,
        status("active_turn", "a turn runs"),
    );
    assert_eq!(questions(&update(&mut model, at(21))), [&Question::Status]);
}

#[test]
fn trouble_is_said_in_words_and_ends_by_itself() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = update(&mut model, Msg::Tick(Timestamp::from_millis(60_000)));
    let ticket = ticket_of(&commands, &Question::Status);
    update(
        &mut model,
        Msg::Reply {
            ticket,
            reply: Err(gone()),
        },
    );
    assert!(screen(&model).contains("no connection, trying again: cannot reach the host"));
    update(&mut model, Msg::Tick(Timestamp::from_millis(62_000)));
    answer(
        &mut model,
        &Question::Status,
        status("idle", "nothing is queued"),
    );
    assert!(screen(&model).contains("idle: nothing is queued"));
    feed(
        &mut model,
        News::Ended("agent main does not exist".to_owned()),
    );
    assert!(screen(&model).contains("/agents"));
}

#[test]
fn closing_asks_the_host_for_nothing() {
    for code in ['c', 'd'] {
        let mut model = with_history(80, 24, Vec::new());
        assert_eq!(ctrl(&mut model, code), [Command::Quit]);
        assert!(model.has_quit());
    }
    let mut model = with_history(80, 24, Vec::new());
    type_text(&mut model, "draft");
    assert!(ctrl(&mut model, 'c').is_empty());
    assert!(model.draft.is_empty());
    assert_eq!(enter(&mut model, "/quit")[0], Command::Quit);
    let mut model = with_history(80, 24, Vec::new());
    assert_eq!(update(&mut model, Msg::Quit), [Command::Quit]);
}
