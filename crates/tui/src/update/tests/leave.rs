//! A console that is closed waits for what has no answer yet, in sight, and never loses it without a word.

use super::*;

/// A console with a message under way, which the operator closes.
fn leaving() -> (Model, Vec<Command>) {
    let mut model = with_history(80, 24, Vec::new());
    update(&mut model, Msg::Tick(Timestamp::from_millis(1_000)));
    let sent = enter(&mut model, "hello");
    assert_eq!(ctrl(&mut model, 'd'), []);
    assert!(!model.has_quit());
    let shown = screen(&model);
    assert!(shown.contains("waiting up to 3 s for a message"), "{shown}");
    (model, sent)
}

fn open_texts(model: &Model) -> Vec<String> {
    let open = model.open_requests(|_| true).messages.into_iter();
    open.map(|message| message.text).collect()
}

fn unanswered() -> Problem {
    Problem {
        message: "the host did not answer".to_owned(),
        cause: Cause::Unanswered,
    }
}

#[test]
fn the_console_ends_when_the_message_is_acknowledged() {
    let (mut model, commands) = leaving();
    let commands = reply(&mut model, &commands, &send("hello"), sent("msg_1"));
    assert_eq!(commands, [Command::Quit]);
    assert!(open_texts(&model).is_empty());
}

#[test]
fn the_console_ends_when_the_time_is_over_or_at_a_second_press() {
    for key in [Some('c'), Some('d'), None] {
        let (mut model, commands) = leaving();
        // An answer that is lost is not the end of the wait: the message is sent again.
        let ticket = ticket_of(&commands, &send("hello"));
        let reply = Err(unanswered());
        assert_eq!(update(&mut model, Msg::Reply { ticket, reply }), []);
        let at = |millis| Msg::Tick(Timestamp::from_millis(millis));
        update(&mut model, at(3_900));
        assert!(!model.has_quit());
        assert!(screen(&model).contains("waiting up to 1 s"));
        match key {
            Some(key) => assert_eq!(ctrl(&mut model, key), [Command::Quit]),
            None => assert!(update(&mut model, at(4_000)).contains(&Command::Quit)),
        }
        assert!(model.has_quit());
        assert_eq!(open_texts(&model), ["hello"]);
    }
}

#[test]
fn the_operator_may_stay() {
    let (mut model, _) = leaving();
    type_text(&mut model, "x");
    assert!(model.draft.is_empty());
    press(&mut model, KeyCode::Esc);
    update(&mut model, Msg::Tick(Timestamp::from_millis(9_000)));
    assert!(!model.has_quit() && !screen(&model).contains("waiting up to"));
    type_text(&mut model, "x");
    assert_eq!(model.draft.text(), "x");
}

#[test]
fn a_message_that_is_refused_keeps_the_console_open() {
    let (mut model, commands) = leaving();
    let ticket = ticket_of(&commands, &send("hello"));
    let reply = Err(gone());
    assert_eq!(update(&mut model, Msg::Reply { ticket, reply }), []);
    assert!(!model.has_quit());
    assert_eq!(model.draft.text(), "hello");
    assert!(screen(&model).contains("not sent"), "{}", screen(&model));
}

#[test]
fn a_signal_ends_the_console_and_a_refused_message_is_named() {
    let (mut model, commands) = leaving();
    assert_eq!(update(&mut model, Msg::Quit), []);
    assert!(model.must_leave());
    press(&mut model, KeyCode::Esc);
    assert!(model.must_leave());
    let ticket = ticket_of(&commands, &send("hello"));
    let reply = Err(gone());
    let commands = update(&mut model, Msg::Reply { ticket, reply });
    assert_eq!(commands, [Command::Quit]);
    assert_eq!(open_texts(&model), ["hello"]);
    // With nothing under way it ends at once.
    let mut model = with_history(80, 24, Vec::new());
    assert_eq!(update(&mut model, Msg::Quit), [Command::Quit]);
}

#[test]
fn a_command_that_changes_something_is_waited_for_too() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "/abort");
    enter(&mut model, "/quit");
    assert!(!model.has_quit());
    assert!(screen(&model).contains("for a command that was not acknowledged"));
    assert_eq!(model.open_requests(|_| true).commands, 1);
}
