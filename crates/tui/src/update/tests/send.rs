//! A message without an answer is never taken for one that was not sent, and never sent as another one.

use super::*;
use crate::msg::Sending;

/// A request that was sent and had no answer.
fn unanswered() -> Problem {
    Problem {
        message: "the host did not answer".to_owned(),
        cause: Cause::Unanswered,
    }
}

fn busy() -> Problem {
    Problem {
        message: "too many requests".to_owned(),
        cause: Cause::Busy,
    }
}

fn fail(model: &mut Model, commands: &[Command], problem: Problem) {
    let ticket = ticket_of(commands, &send("hello"));
    let reply = Err(problem);
    update(model, Msg::Reply { ticket, reply });
}

fn tick(model: &mut Model, millis: i64) -> Vec<Command> {
    update(model, Msg::Tick(Timestamp::from_millis(millis)))
}

fn sending(commands: &[Command]) -> Vec<Sending> {
    let sending = |command: &Command| match command {
        Command::Ask { request, .. } => request.sending.clone(),
        _ => None,
    };
    commands.iter().filter_map(sending).collect()
}

#[test]
fn a_message_without_an_answer_is_sent_again_under_its_key() {
    let mut model = with_history(80, 24, Vec::new());
    let first = enter(&mut model, "hello");
    fail(&mut model, &first, unanswered());
    let shown = screen(&model);
    assert!(model.draft.is_empty(), "a second enter sends nothing");
    assert!(!shown.contains("not sent"), "{shown}");
    assert!(shown.contains("it is not known if your message"), "{shown}");
    assert!(press(&mut model, KeyCode::Enter).is_empty());
    assert!(sending(&tick(&mut model, 1_000)).is_empty());
    let again = tick(&mut model, 3_000);
    let key = sending(&first)[0].key.clone();
    let repeated = Sending {
        key,
        is_again: true,
    };
    assert_eq!(sending(&again), [repeated]);
    assert!(
        sending(&tick(&mut model, 9_000)).is_empty(),
        "one at a time"
    );
    reply(&mut model, &again, &send("hello"), sent("msg_9"));
    push(&mut model, admitted(1, "msg_9"));
    assert!(model.pending.is_empty());
    assert_eq!(screen(&model).matches("hello").count(), 1);
}

#[test]
fn a_repetition_that_does_not_reach_the_host_leaves_the_outcome_open() {
    for problem in [gone(), busy(), unanswered()] {
        let mut model = with_history(80, 24, Vec::new());
        let first = enter(&mut model, "hello");
        fail(&mut model, &first, unanswered());
        let again = tick(&mut model, 3_000);
        fail(&mut model, &again, problem.clone());
        assert_eq!(model.pending.len(), 1, "{problem:?}");
        assert!(model.draft.is_empty(), "{problem:?}");
    }
    // A first request that did not reach the host was not carried out.
    for problem in [gone(), busy()] {
        let mut model = with_history(80, 24, Vec::new());
        let first = enter(&mut model, "hello");
        fail(&mut model, &first, problem);
        assert_eq!(model.draft.text(), "hello");
    }
}

#[test]
fn a_message_that_the_host_refuses_after_all_comes_back() {
    let mut model = with_history(80, 24, Vec::new());
    let first = enter(&mut model, "hello");
    fail(&mut model, &first, unanswered());
    let again = tick(&mut model, 3_000);
    let refused = Problem {
        message: "agent main was deleted".to_owned(),
        ..Problem::default()
    };
    fail(&mut model, &again, refused);
    assert_eq!(model.draft.text(), "hello");
    assert!(screen(&model).contains("not sent: agent main was deleted"));
}

#[test]
fn the_row_of_a_message_settles_it_without_an_answer() {
    let mut model = with_history(80, 24, vec![admitted(1, "msg_1")]);
    model.conversation.learn_message("msg_1", "hello");
    let first = enter(&mut model, "hello");
    fail(&mut model, &first, unanswered());
    assert_eq!(model.pending.len(), 1, "the same words were sent before");
    push(&mut model, admitted(2, "msg_2"));
    let read = push(&mut model, started(3, 1, "msg_2"));
    let entry = json!({
        "created_at": "2026-11-16T10:00:00.000Z", "turn_index": 1, "kind": "incoming_message",
        "related_message_id": "msg_2", "data": {"message": {"body": {"text": "hello"}}},
    });
    let entries = Reply::Transcript(vec![Answer::new(entry).unwrap()]);
    reply(&mut model, &read, &Question::Messages { turn: 1 }, entries);
    assert!(model.pending.is_empty());
    assert!(sending(&tick(&mut model, 9_000)).is_empty());
}
