//! Texts that events do not carry are read for the rows that are shown, and again after a failure.

use super::*;
use crate::msg::Question as Q;
use holon_api::EventEnvelope;

fn message(id: &str, text: &str) -> Reply {
    let entry = json!({
        "created_at": "2026-11-16T10:00:00.000Z", "turn_index": 1, "kind": "incoming_message",
        "related_message_id": id, "data": {"message": {"body": {"text": text}}},
    });
    Reply::Transcript(vec![Answer::new(entry).unwrap()])
}

fn briefs(id: &str, text: &str) -> Reply {
    let brief = json!({"id": id, "kind": "result", "created_at": "then", "text": text});
    Reply::Briefs(vec![Answer::new(brief).unwrap()])
}

fn history(model: &mut Model, events: Vec<EventEnvelope>, has_older: bool) -> Vec<Command> {
    feed(model, News::History { events, has_older })
}

fn fail(model: &mut Model, commands: &[Command], question: &Q) -> Vec<Command> {
    let ticket = ticket_of(commands, question);
    let reply = Err(gone());
    update(model, Msg::Reply { ticket, reply })
}

#[test]
fn texts_that_events_lack_are_read() {
    let mut model = model(80, 24);
    let commands = history(&mut model, turn(1, 1, "msg_1", "Begin"), false);
    let messages = Q::Messages { turn: 1 };
    reply(
        &mut model,
        &commands,
        &messages,
        message("msg_1", "what is new?"),
    );
    let text = "Begin, and the **whole** end";
    let up_to = Q::Briefs { up_to: 1 };
    reply(&mut model, &commands, &up_to, briefs("brief_1", text));
    let shown = screen(&model);
    assert!(shown.contains("what is new?"), "{shown}");
    assert!(shown.contains("Begin, and the whole end"), "{shown}");
}

#[test]
fn a_question_is_shown_whole_with_what_answers_it() {
    let mut model = model(80, 24);
    let commands = history(&mut model, turn(1, 1, "msg_1", "I ask."), false);
    let step = "answer the agent: Which branch?; write wait_1 in your message";
    let brief = json!({
        "id": "brief_1", "kind": "result", "created_at": "then", "text": "I ask.",
        "action_required": { "code": "operator_input", "next_step": step },
    });
    let up_to = Q::Briefs { up_to: 1 };
    let briefs = Reply::Briefs(vec![Answer::new(brief).unwrap()]);
    reply(&mut model, &commands, &up_to, briefs);
    let shown = screen(&model);
    assert!(shown.contains("I ask."), "{shown}");
    assert!(shown.contains(&format!("Next: {step}")), "{shown}");
}

#[test]
fn texts_are_read_for_the_rows_that_are_shown() {
    let mut model = model(80, 24);
    let commands = history(&mut model, turn(701, 100, "msg_100", "New"), true);
    let messages = Q::Messages { turn: 100 };
    reply(
        &mut model,
        &commands,
        &messages,
        message("msg_100", "the newest"),
    );
    let up_to = Q::Briefs { up_to: 100 };
    reply(&mut model, &commands, &up_to, briefs("brief_100", "New"));
    let older = Q::Older { before_seq: 701 };
    let commands = press(&mut model, KeyCode::PageUp);
    let events = (1..=20).flat_map(|n| turn(n * 7, n, &format!("msg_{n}"), "Old"));
    let events = Reply::Older {
        events: events.collect(),
        has_older: false,
    };
    reply(&mut model, &commands, &older, events);
    update(
        &mut model,
        Msg::Key(KeyEvent::new(KeyCode::Home, KeyModifiers::CONTROL)),
    );
    // Nothing that is far from the screen is asked for: 18 lines show the first few turns.
    let mut asked = Vec::new();
    for at in 1..20 {
        let ticket = model
            .asked
            .iter()
            .find_map(|(ticket, purpose)| match purpose {
                Purpose::Messages(id) => Some((*ticket, id.clone())),
                _ => None,
            });
        match ticket {
            Some((ticket, id)) => {
                let reply = Ok(message(&id, &format!("the text of {id}")));
                asked.push(id);
                update(&mut model, Msg::Reply { ticket, reply });
            }
            None => {
                update(&mut model, Msg::Tick(Timestamp::from_millis(at * 250)));
            }
        }
    }
    let shown = screen(&model);
    assert!(shown.contains("the text of msg_1"), "{shown}");
    assert!(shown.contains("the text of msg_2"), "{shown}");
    assert!(asked.len() < 20, "{asked:?}");
}

#[test]
fn a_text_whose_read_failed_is_read_again() {
    let mut model = model(80, 24);
    let commands = history(&mut model, turn(1, 1, "msg_1", "Begin"), false);
    let (messages, up_to) = (Q::Messages { turn: 1 }, Q::Briefs { up_to: 1 });
    fail(&mut model, &commands, &messages);
    fail(&mut model, &commands, &up_to);
    let tick = |model: &mut Model, millis: i64| {
        let ticked = update(model, Msg::Tick(Timestamp::from_millis(millis)));
        ticked
            .into_iter()
            .filter(|command| {
                matches!(command, Command::Ask { request, .. } if request.question != Q::Status)
            })
            .collect::<Vec<_>>()
    };
    assert!(tick(&mut model, 1_000).is_empty(), "not at once");
    let again = tick(&mut model, 3_000);
    assert_eq!(questions(&again), [&messages, &up_to]);
    reply(&mut model, &again, &messages, message("msg_1", "hello"));
    assert!(screen(&model).contains("hello"));
}

#[test]
fn a_text_that_is_needed_while_another_is_read_is_read_next() {
    let mut model = model(80, 24);
    let commands = history(
        &mut model,
        vec![admitted(1, "msg_1"), started(2, 1, "msg_1")],
        false,
    );
    push(&mut model, admitted(3, "msg_2"));
    push(&mut model, started(4, 2, "msg_2"));
    let first = Q::Messages { turn: 1 };
    let next = reply(&mut model, &commands, &first, message("msg_1", "one"));
    assert_eq!(questions(&next), [&Q::Messages { turn: 2 }]);
}

#[test]
fn a_text_that_the_host_does_not_have_is_not_asked_for_again() {
    let mut model = model(80, 24);
    let commands = history(
        &mut model,
        vec![admitted(1, "msg_1"), started(2, 1, "msg_1")],
        false,
    );
    let empty = Reply::Transcript(Vec::new());
    assert!(reply(&mut model, &commands, &Q::Messages { turn: 1 }, empty).is_empty());
    let shown = screen(&model);
    assert!(shown.contains("the host has no text of it"), "{shown}");
    // The transcript has a message once a turn took it up.
    assert!(push(&mut model, admitted(3, "msg_2")).is_empty());
    assert!(screen(&model).contains("queued"));
}
