//! Overlays: keys, follow-ups and what they ask of the host.

use super::*;
use crate::msg::Question as Q;
use crate::overlay::END;

fn task_list() -> Reply {
    let task = |id: &str, status: &str| {
        let task = json!({
            "id": id, "kind": "command_task", "status": status, "summary": "make all",
            "created_at": "2026-11-16T10:00:00.000Z",
        });
        Answer::new(task).unwrap()
    };
    Reply::Tasks(vec![task("task_1", "running"), task("task_2", "completed")])
}

fn output(next: u64, text: &str, status: &str) -> Reply {
    let part = json!({
        "retrieval_status": status,
        "task": {
            "task_id": "task_1", "status": "running", "output_preview": text, "next_offset": next,
            "result_summary": if status == "success" { json!("exit 0") } else { json!(null) },
        },
    });
    Reply::TaskOutput(Box::new(Answer::new(part).unwrap()))
}

fn part(after_byte: u64) -> Q {
    Q::TaskOutput {
        task: "task_1".to_owned(),
        after_byte,
        stderr_after_byte: if after_byte == END { END } else { 0 },
    }
}

fn with_tasks() -> Model {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/tasks");
    reply(&mut model, &commands, &Q::Tasks, task_list());
    model
}

#[test]
fn escape_closes_the_top_overlay_only() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "/model");
    let models = json!({"model_availability": [{"model": "a/b", "available": true}]});
    let top = model.overlays.last().unwrap().ticket.unwrap();
    let models = Reply::Models(Box::new(Answer::new(models).unwrap()));
    update(
        &mut model,
        Msg::Reply {
            ticket: top,
            reply: Ok(models),
        },
    );
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.overlays.len(), 2);
    press(&mut model, KeyCode::Esc);
    assert_eq!(
        model.overlays.last().map(|top| &top.page),
        Some(&Page::Models)
    );
    press(&mut model, KeyCode::Enter);
    press(&mut model, KeyCode::Down);
    let commands = press(&mut model, KeyCode::Enter);
    let chosen = Q::SetModel {
        model: "a/b".to_owned(),
        effort: Some("low".to_owned()),
    };
    assert_eq!(questions(&commands), [&chosen]);
    assert!(model.overlays.is_empty());
}

#[test]
fn letters_filter_models_also_j_and_k() {
    let mut model = with_history(80, 24, Vec::new());
    enter(&mut model, "/model");
    type_text(&mut model, "jkq");
    assert_eq!(model.overlays.last().unwrap().filter, "jkq");
    press(&mut model, KeyCode::Backspace);
    assert_eq!(model.overlays.last().unwrap().filter, "jk");
}

#[test]
fn the_output_of_a_task_is_followed_to_its_end() {
    let mut model = with_tasks();
    let first = press(&mut model, KeyCode::Enter);
    let first = reply(&mut model, &first, &part(END), output(0, "", "not_ready"));
    let next = reply(
        &mut model,
        &first,
        &part(0),
        output(6, "line 1", "not_ready"),
    );
    assert_eq!(questions(&next), [&part(6)]);
    let idle = reply(&mut model, &next, &part(6), output(6, "", "not_ready"));
    assert!(idle.is_empty(), "nothing new: the next tick asks");
    let ticked = update(&mut model, Msg::Tick(Timestamp::from_millis(1)));
    let again = reply(
        &mut model,
        &ticked,
        &part(6),
        output(12, "line 2", "success"),
    );
    let last = reply(&mut model, &again, &part(12), output(12, "", "success"));
    assert!(last.is_empty());
    let shown = screen(&model);
    assert!(
        shown.contains("line 1line 2") && shown.contains("exit 0"),
        "{shown}"
    );
    assert!(update(&mut model, Msg::Tick(Timestamp::from_millis(2))).is_empty());
}

#[test]
fn a_long_output_opens_at_its_end_and_goes_back_at_the_top() {
    let mut model = with_tasks();
    let end: u64 = 2_000_000;
    let first = press(&mut model, KeyCode::Enter);
    let next = reply(&mut model, &first, &part(END), output(end, "", "not_ready"));
    let from = end - (16 << 10);
    assert_eq!(questions(&next), [&part(from)]);
    let tail: String = (0..60).map(|n| format!("late {n}\n")).collect();
    let next = reply(
        &mut model,
        &next,
        &part(from),
        output(end, &tail, "not_ready"),
    );
    reply(&mut model, &next, &part(end), output(end, "", "not_ready"));
    let shown = screen(&model);
    assert!(shown.contains("late 59"), "{shown}");
    for _ in 0..3 {
        assert!(press(&mut model, KeyCode::PageUp).is_empty());
    }
    let shown = screen(&model);
    assert!(shown.contains("late 1 "), "{shown}");
    assert!(shown.contains("bytes stand before; PgUp"), "{shown}");
    let back = press(&mut model, KeyCode::PageUp);
    let before = from + "late 0\n".len() as u64;
    let earlier = before - (16 << 10);
    assert_eq!(questions(&back), [&part(earlier)]);
    let text: String = (0..40).map(|n| format!("early {n}\n")).collect();
    reply(
        &mut model,
        &back,
        &part(earlier),
        output(before, &text, "not_ready"),
    );
    assert!(screen(&model).contains("late 1 "), "the place stays");
    press(&mut model, KeyCode::PageUp);
    assert!(screen(&model).contains("early 30 "), "{}", screen(&model));
}

#[test]
fn triggers_are_listed_shown_made_and_revoked() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/triggers");
    let trigger = json!({
        "id": "trg_1", "delivery_mode": "wake_hint", "status": "active", "generation": 1, "trigger_count": 3,
        "last_triggered_at": "2026-11-16T10:00:00.000Z",
    });
    let list = Reply::Triggers(vec![Answer::new(trigger).unwrap()]);
    reply(&mut model, &commands, &Q::Triggers, list);
    assert!(
        screen(&model).contains("wakes the agent"),
        "{}",
        screen(&model)
    );
    let id = || "trg_1".to_owned();
    let reveal = Q::RevealTrigger { id: id() };
    let shown = press(&mut model, KeyCode::Enter);
    let url = "http://127.0.0.1:7878/callbacks/secret".to_owned();
    reply(
        &mut model,
        &shown,
        &reveal,
        Reply::TriggerUrl { id: id(), url },
    );
    assert!(
        screen(&model).contains("/callbacks/secret"),
        "{}",
        screen(&model)
    );
    let made = press(&mut model, KeyCode::Char('m'));
    assert_eq!(questions(&made), [&Q::CreateTrigger { enqueues: true }]);
    assert!(press(&mut model, KeyCode::Char('x')).is_empty());
    let revoked = press(&mut model, KeyCode::Char('x'));
    assert_eq!(questions(&revoked), [&Q::RevokeTrigger { id: id() }]);
}

#[test]
fn input_is_sent_to_a_task_with_its_line_end() {
    let mut model = with_tasks();
    press(&mut model, KeyCode::Char('i'));
    type_text(&mut model, "yesq");
    press(&mut model, KeyCode::Backspace);
    assert!(screen(&model).contains("input of the task"));
    let commands = press(&mut model, KeyCode::Enter);
    let input = Q::TaskInput {
        task: "task_1".to_owned(),
        input: "yes\n".to_owned(),
    };
    assert_eq!(questions(&commands), [&part(END), &input]);
    let done = reply(
        &mut model,
        &commands,
        &input,
        Reply::Done("4 bytes are written".to_owned()),
    );
    assert_eq!(questions(&done), [&Q::Tasks, &Q::Status]);
    assert!(screen(&model).contains("4 bytes are written"));
}

#[test]
fn what_ends_something_asks_twice() {
    let mut model = with_tasks();
    assert!(press(&mut model, KeyCode::Char('x')).is_empty());
    assert!(screen(&model).contains("x once more: stop task_1"));
    press(&mut model, KeyCode::Down);
    assert!(
        press(&mut model, KeyCode::Char('x')).is_empty(),
        "another task"
    );
    let commands = press(&mut model, KeyCode::Char('x'));
    let stop = Q::StopTask {
        task: "task_2".to_owned(),
    };
    assert_eq!(questions(&commands), [&stop]);
}

#[test]
fn a_conversation_is_pinned_by_its_turns_and_folded_and_cleared_as_a_whole() {
    let mut model = with_history(80, 24, Vec::new());
    let view = json!({
        "agent_id": "main", "thread_tokens": 30_000, "high_tokens": 100_000, "low_tokens": 40_000,
        "pin_tokens": 20_000, "pinned_tokens": 0,
        "turns": [{"turn_index": 7, "tokens": 90}, {"turn_index": 8, "tokens": 80}],
    });
    let commands = enter(&mut model, "/context");
    let answer = Reply::Context(Box::new(Answer::new(view).unwrap()));
    reply(&mut model, &commands, &Q::Context, answer);
    assert!(
        press(&mut model, KeyCode::Char('p')).is_empty(),
        "the sizes are no turn"
    );
    press(&mut model, KeyCode::Down);
    let commands = press(&mut model, KeyCode::Char('p'));
    assert_eq!(questions(&commands), [&Q::PinTurn { turn: 8 }]);
    press(&mut model, KeyCode::Down);
    let commands = press(&mut model, KeyCode::Char('u'));
    assert_eq!(questions(&commands), [&Q::UnpinTurn { turn: 7 }]);
    for (key, asked) in [('f', Q::FoldContext), ('c', Q::ClearContext)] {
        assert!(press(&mut model, KeyCode::Char(key)).is_empty());
        let commands = press(&mut model, KeyCode::Char(key));
        assert_eq!(questions(&commands), [&asked]);
    }
    press(&mut model, KeyCode::Esc);
    for (command, asked) in [
        ("/context fold", Q::FoldContext),
        ("/context clear", Q::ClearContext),
        ("/context pin 3", Q::PinTurn { turn: 3 }),
        ("/context unpin 3", Q::UnpinTurn { turn: 3 }),
    ] {
        assert_eq!(
            questions(&enter(&mut model, command)),
            [&asked],
            "{command}"
        );
    }
}

#[test]
fn every_page_opens_and_asks_for_its_content() {
    let mut model = with_history(80, 24, turn(1, 1, "msg_1", "Done."));
    for (command, asked) in [
        ("/help", None),
        ("/events", None),
        ("/status", Some(Q::Explain)),
        ("/agents", Some(Q::Agents)),
        ("/transcript", Some(Q::Transcript)),
        ("/tasks", Some(Q::Tasks)),
        ("/work", Some(Q::WorkItems)),
        ("/timers", Some(Q::Timers)),
        ("/triggers", Some(Q::Triggers)),
        ("/workspace", Some(Q::Status)),
        ("/model", Some(Q::Models)),
        ("/skills", Some(Q::Skills)),
        ("/context", Some(Q::Context)),
        ("/debug-prompt", Some(Q::DebugPrompt)),
        ("/usage", Some(Q::Usage)),
        ("/budget", Some(Q::Budgets)),
    ] {
        let commands = enter(&mut model, command);
        assert_eq!(
            questions(&commands),
            asked.iter().collect::<Vec<_>>(),
            "{command}"
        );
        assert_eq!(model.overlays.len(), 1, "{command}");
        press(&mut model, KeyCode::Esc);
        assert!(model.overlays.is_empty(), "{command}");
    }
}

#[test]
fn a_private_child_is_followed_and_stopped_through_its_task() {
    let mut model = with_history(80, 24, Vec::new());
    let mut status = agent_json("waiting_for_task", "a child works");
    status["active_children"] = json!([{
        "identity": {"agent_id": "child_1"}, "status": "awake_running", "supervision_task_id": "task_1",
        "summary": "read the log", "phase": "running",
    }]);
    model.status = Some(Box::new(Answer::new(status).unwrap()));
    let main = json!({
        "identity": {"agent_id": "main"}, "status": "asleep", "pending": 0,
        "scheduling_posture": {"posture": "waiting_for_task", "reason": "a child works"},
    });
    let commands = enter(&mut model, "/agents");
    let list = Reply::Agents(vec![Answer::new(main).unwrap()]);
    reply(&mut model, &commands, &Q::Agents, list);
    assert!(
        screen(&model).contains("child_1  private, running"),
        "{}",
        screen(&model)
    );
    press(&mut model, KeyCode::Down);
    assert!(
        press(&mut model, KeyCode::Char('s')).is_empty(),
        "it has no start of its own"
    );
    assert!(press(&mut model, KeyCode::Char('x')).is_empty());
    assert!(
        screen(&model).contains("x once more: stop task_1"),
        "{}",
        screen(&model)
    );
    let stop = Q::StopTask {
        task: "task_1".to_owned(),
    };
    assert_eq!(questions(&press(&mut model, KeyCode::Char('x'))), [&stop]);
    let followed = press(&mut model, KeyCode::Enter);
    assert_eq!(
        model.overlays.last().map(|top| &top.page),
        Some(&Page::Tasks)
    );
    assert!(questions(&followed).contains(&&Q::Tasks), "{followed:?}");
}

#[test]
fn workspaces_are_attached_used_and_left() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/workspace");
    reply(&mut model, &commands, &Q::Status, status("idle", ""));
    assert!(
        screen(&model).contains("exclusive write"),
        "{}",
        screen(&model)
    );
    press(&mut model, KeyCode::Down);
    let used = press(&mut model, KeyCode::Enter);
    let id = "ws_2".to_owned();
    assert_eq!(
        questions(&used),
        [&Q::UseWorkspace {
            id: id.clone(),
            isolated: false
        }]
    );
    let isolated = press(&mut model, KeyCode::Char('w'));
    assert_eq!(
        questions(&isolated),
        [&Q::UseWorkspace { id, isolated: true }]
    );
    assert!(press(&mut model, KeyCode::Char('e')).is_empty());
    assert_eq!(
        questions(&press(&mut model, KeyCode::Char('e'))),
        [&Q::ExitWorkspace]
    );
    press(&mut model, KeyCode::Char('a'));
    let attached = enter(&mut model, "/src/new");
    let path = "/src/new".to_owned();
    assert_eq!(questions(&attached), [&Q::AttachWorkspace { path }]);
}

#[test]
fn a_page_that_cannot_be_read_says_why() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/work");
    let ticket = ticket_of(&commands, &Q::WorkItems);
    update(
        &mut model,
        Msg::Reply {
            ticket,
            reply: Err(gone()),
        },
    );
    assert!(screen(&model).contains("cannot reach the host"));
}

fn tasks_of(ids: &[&str]) -> Reply {
    let task = |id: &&str| {
        let task = json!({
            "id": id, "kind": "command_task", "status": "running", "summary": "make all",
            "created_at": "2026-11-16T10:00:00.000Z",
        });
        Answer::new(task).unwrap()
    };
    Reply::Tasks(ids.iter().map(task).collect())
}

/// Reads the list of tasks again.
fn refill(model: &mut Model, ids: &[&str]) {
    let ticket = model.next_ticket;
    model.asked.insert(ticket, Purpose::Page);
    model.next_ticket += 1;
    model.overlays.last_mut().unwrap().ticket = Some(ticket);
    let reply = Ok(tasks_of(ids));
    update(model, Msg::Reply { ticket, reply });
}

#[test]
fn a_confirmation_holds_for_the_entry_it_was_asked_about() {
    let stop = |task: &str| Q::StopTask {
        task: task.to_owned(),
    };
    // The entry is gone when the key is pressed again.
    let mut model = with_tasks();
    press(&mut model, KeyCode::Char('x'));
    refill(&mut model, &["task_2", "task_3"]);
    assert!(!screen(&model).contains("once more"), "{}", screen(&model));
    assert!(press(&mut model, KeyCode::Char('x')).is_empty());
    assert!(screen(&model).contains("x once more: stop task_2"));
    // The entry moved.
    let mut model = with_tasks();
    press(&mut model, KeyCode::Char('x'));
    refill(&mut model, &["task_0", "task_1"]);
    let stopped = press(&mut model, KeyCode::Char('x'));
    assert_eq!(questions(&stopped), [&stop("task_1")]);
    // Another key stands between.
    let mut model = with_tasks();
    press(&mut model, KeyCode::Char('x'));
    press(&mut model, KeyCode::PageDown);
    assert!(press(&mut model, KeyCode::Char('x')).is_empty());
}

#[test]
fn keys_act_on_the_task_whose_output_is_shown() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/tasks task_9");
    reply(&mut model, &commands, &Q::Tasks, task_list());
    press(&mut model, KeyCode::Char('x'));
    assert!(screen(&model).contains("x once more: stop task_9"));
    press(&mut model, KeyCode::Char('i'));
    refill(&mut model, &["task_2"]);
    let written = enter(&mut model, "yes");
    let input = Q::TaskInput {
        task: "task_9".to_owned(),
        input: "yes\n".to_owned(),
    };
    assert!(questions(&written).contains(&&input), "{written:?}");
}

#[test]
fn a_line_that_is_asked_for_keeps_its_task() {
    let mut model = with_tasks();
    press(&mut model, KeyCode::Char('i'));
    refill(&mut model, &["task_2", "task_3"]);
    let written = enter(&mut model, "yes");
    let input = Q::TaskInput {
        task: "task_1".to_owned(),
        input: "yes\n".to_owned(),
    };
    assert!(questions(&written).contains(&&input), "{written:?}");
}

#[test]
fn an_empty_list_has_nothing_to_confirm() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/timers");
    let empty = Reply::Timers {
        timers: Vec::new(),
        waits: Vec::new(),
    };
    reply(&mut model, &commands, &Q::Timers, empty);
    assert!(press(&mut model, KeyCode::Char('x')).is_empty());
    let shown = screen(&model);
    assert!(!shown.contains("once more"), "{shown}");
    assert!(shown.contains("nothing is selected"), "{shown}");
}

#[test]
fn a_reply_to_an_earlier_request_adds_nothing_to_the_output() {
    let mut model = with_tasks();
    let first = press(&mut model, KeyCode::Enter);
    let first = reply(&mut model, &first, &part(END), output(0, "", "not_ready"));
    let old = reply(&mut model, &first, &part(0), output(2, "a\n", "not_ready"));
    // The same task is followed anew while a request is under way.
    let again = press(&mut model, KeyCode::Enter);
    let next = reply(&mut model, &again, &part(END), output(4, "", "not_ready"));
    assert!(reply(&mut model, &old, &part(2), output(4, "b\n", "not_ready")).is_empty());
    reply(
        &mut model,
        &next,
        &part(0),
        output(4, "a\nb\n", "not_ready"),
    );
    let follow = model.overlays.last().unwrap().follow.as_ref().unwrap();
    assert_eq!(follow.output, "a\nb\n");
}
