//! What must not be lost or stay wrong: messages that failed, pages of agents that are gone, and cut lines.

use super::*;
use crate::msg::Question as Q;

fn fail(model: &mut Model, commands: &[Command], question: &Q) -> Vec<Command> {
    let ticket = ticket_of(commands, question);
    let reply = Err(gone());
    update(model, Msg::Reply { ticket, reply })
}

#[test]
fn a_message_that_failed_waits_as_the_draft_of_its_agent() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "hello");
    switch(&mut model, "other");
    fail(&mut model, &commands, &send("hello"));
    assert!(
        model.draft.is_empty(),
        "the text is for main, not for other"
    );
    assert!(screen(&model).contains("not sent"), "{}", screen(&model));
    switch(&mut model, "main");
    assert_eq!(model.draft.text(), "hello");
}

#[test]
fn a_message_that_failed_stands_before_the_text_that_is_being_written() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "hello");
    type_text(&mut model, "next");
    fail(&mut model, &commands, &send("hello"));
    assert_eq!(model.draft.text(), "hello\nnext");
}

#[test]
fn pages_of_an_agent_that_is_gone_are_closed() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "/tasks");
    assert_eq!(model.overlays.len(), 1);
    feed(&mut model, News::Ended("agent main was deleted".to_owned()));
    assert!(model.overlays.is_empty());
    assert!(
        screen(&model).contains("agent main was deleted"),
        "{}",
        screen(&model)
    );
    enter(&mut model, "/agents");
    feed(&mut model, News::Ended("agent main was deleted".to_owned()));
    assert_eq!(
        model.overlays.len(),
        1,
        "the list of agents is about no agent"
    );
}

#[test]
fn ctrl_c_closes_a_page_and_not_the_console() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "/tasks");
    assert_eq!(ctrl(&mut model, 'c'), [Command::Redraw]);
    assert!(model.overlays.is_empty() && !model.has_quit());
    assert_eq!(ctrl(&mut model, 'c'), [Command::Quit]);
}

#[test]
fn a_line_that_does_not_fit_ends_with_an_ellipsis() {
    let mut model = with_history(80, 24, Vec::new());
    update(&mut model, Msg::Tick(Timestamp::from_millis(60_000)));
    let reason = "漢字 rests until the message arrives ".repeat(4);
    answer(&mut model, &Question::Status, status("idle", &reason));
    let shown = screen(&model);
    let line = shown.lines().find(|line| line.contains("rests")).unwrap();
    assert!(line.contains('…'), "{shown}");
}

#[test]
fn the_number_of_bytes_that_are_not_shown_counts_the_whole_message() {
    let mut model = with_history(80, 24, turn(1, 1, "msg_1", "Done."));
    let text = "x".repeat(1 << 20);
    model.conversation.learn_message("msg_1", &text);
    let shown = screen(&model);
    let left = (1 << 20) - 4_000;
    let note = format!("({left} more bytes are not shown; holon transcript --json has all of it)");
    assert!(shown.contains(&note), "{shown}");
}

#[test]
fn the_list_of_agents_begins_at_the_agent_of_the_console() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/agents");
    let agent = |id: &str| {
        let agent = json!({
            "identity": {"agent_id": id}, "status": "asleep", "pending": 0,
            "scheduling_posture": {"posture": "idle", "reason": "rests"},
            "active_workspace_entry": {"cwd": "/src", "access_mode": "exclusive_write"},
        });
        Answer::new(agent).unwrap()
    };
    let list = Reply::Agents(vec![agent("a"), agent("b"), agent("main")]);
    reply(&mut model, &commands, &Q::Agents, list);
    let selected = model.overlays.last().unwrap().selected_entry().unwrap();
    assert_eq!(selected.id, "main");
}

#[test]
fn ctrl_z_suspends_also_in_a_page() {
    let mut model = with_history(80, 24, Vec::new());
    assert_eq!(ctrl(&mut model, 'z'), [Command::Suspend]);
    enter(&mut model, "/tasks");
    assert_eq!(ctrl(&mut model, 'z'), [Command::Suspend]);
    update(&mut model, Msg::NotSuspended);
    assert!(screen(&model).contains("not suspended"));
}

#[test]
fn a_token_that_was_revoked_is_named_with_the_way_to_a_new_one() {
    let mut model = with_history(80, 24, Vec::new());
    let advice = "the token in r.tok was revoked; make one with holon token create NAME";
    model.token_advice = Some(advice.to_owned());
    let commands = enter(&mut model, "hello");
    let problem = Problem {
        message: "unauthorized".to_owned(),
        cause: Cause::Unauthorized,
    };
    let ticket = ticket_of(&commands, &send("hello"));
    let reply = Err(problem);
    update(&mut model, Msg::Reply { ticket, reply });
    let words = |shown: &str| {
        let lines = shown.lines().map(|line| line.trim_matches(['"', ' ']));
        lines.collect::<Vec<_>>().join(" ")
    };
    let shown = words(&screen(&model));
    assert!(shown.contains(&format!("not sent: {advice}")), "{shown}");
    model.notice = None;
    enter(&mut model, "/tasks");
    feed(&mut model, News::Unauthorized("unauthorized".to_owned()));
    let shown = words(&screen(&model));
    assert!(shown.contains(advice), "{shown}");
    assert!(model.overlays.is_empty());
}

#[test]
fn what_was_entered_is_kept_and_comes_back_in_a_later_console() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "hello");
    let text = "hello".to_owned();
    assert!(commands.contains(&Command::Remember { text }));
    let mut later = Model::new(crate::model::Setup {
        host: String::new(),
        agent: agent(),
        mode: DisplayMode::Info,
        theme: crate::theme::Theme::new(false),
        columns: 80,
        rows: 24,
        history: vec!["first".to_owned(), "hello".to_owned()],
        token_advice: None,
        key: "console".to_owned(),
    });
    start(&mut later);
    press(&mut later, KeyCode::Up);
    assert_eq!(later.draft.text(), "hello");
    press(&mut later, KeyCode::Up);
    assert_eq!(later.draft.text(), "first");
}

#[test]
fn a_message_that_begins_with_a_slash_comes_back_with_its_escape() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "//etc is full");
    fail(&mut model, &commands, &send("/etc is full"));
    assert_eq!(model.draft.text(), "//etc is full");
    let again = press(&mut model, KeyCode::Enter);
    assert_eq!(questions(&again), [&send("/etc is full")]);
}

#[test]
fn a_paste_is_sent_whole_after_the_keys_of_the_history() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "first");
    let log = "line\n".repeat(1_000);
    type_text(&mut model, "see ");
    update(&mut model, Msg::Paste(log.clone()));
    press(&mut model, KeyCode::Up);
    assert_eq!(model.draft.text(), "first");
    press(&mut model, KeyCode::Down);
    let commands = press(&mut model, KeyCode::Enter);
    assert_eq!(
        questions(&commands),
        [&send(format!("see {log}").trim_end())]
    );
}
