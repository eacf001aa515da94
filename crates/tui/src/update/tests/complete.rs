//! Arguments of commands that are completed from what the host lists.

use super::*;
use crate::msg::Question as Q;
use crate::overlay::END;

fn task_list() -> Reply {
    let task = |id: &str, what: &str| {
        let task = json!({
            "id": id, "kind": "command_task", "status": "running", "summary": what,
            "created_at": "2026-11-16T10:00:00.000Z",
        });
        Answer::new(task).unwrap()
    };
    Reply::Tasks(vec![
        task("task_aa", "make all"),
        task("task_bb", "make test"),
    ])
}

/// Types a text and returns everything that was asked for meanwhile.
fn typed(model: &mut Model, text: &str) -> Vec<Command> {
    text.chars()
        .flat_map(|c| press(model, KeyCode::Char(c)))
        .collect()
}

#[test]
fn ids_of_tasks_are_offered_and_asked_for_once() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = typed(&mut model, "/tasks ta");
    assert_eq!(questions(&commands), [&Q::Tasks]);
    reply(&mut model, &commands, &Q::Tasks, task_list());
    let shown = screen(&model);
    assert!(
        shown.contains("task_aa") && shown.contains("make test"),
        "{shown}"
    );
    press(&mut model, KeyCode::Down);
    press(&mut model, KeyCode::Tab);
    assert_eq!(model.draft.text(), "/tasks task_bb");
    let commands = press(&mut model, KeyCode::Enter);
    let output = Q::TaskOutput {
        task: "task_bb".to_owned(),
        after_byte: END,
        stderr_after_byte: END,
    };
    assert_eq!(questions(&commands), [&Q::Tasks, &output]);
    reply(&mut model, &commands, &Q::Tasks, task_list());
    let top = model.overlays.last().unwrap();
    assert_eq!(top.selected_entry().unwrap().id, "task_bb");
    assert!(top.follow.is_some());
}

#[test]
fn enter_takes_a_choice_only_after_it_was_chosen() {
    let mut model = with_history(80, 24, Vec::new());
    type_text(&mut model, "/agent s");
    press(&mut model, KeyCode::Down);
    let commands = press(&mut model, KeyCode::Enter);
    assert_eq!(
        questions(&commands),
        [&Q::Agents],
        "its choices, and no action"
    );
    assert_eq!(model.draft.text(), "/agent start ");
    press(&mut model, KeyCode::Esc);
    press(&mut model, KeyCode::Esc);
    // Nothing was chosen: the words are taken as they are.
    enter(&mut model, "/display 4");
    assert_eq!(model.conversation.mode(), DisplayMode::Verbose);
    enter(&mut model, "/display i");
    assert_eq!(
        model.draft.text(),
        "/display i",
        "no such mode; the line stays"
    );
    press(&mut model, KeyCode::Tab);
    press(&mut model, KeyCode::Enter);
    assert_eq!(model.conversation.mode(), DisplayMode::Info);
}

#[test]
fn choices_of_one_agent_are_not_offered_for_another() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = typed(&mut model, "/tasks ");
    reply(&mut model, &commands, &Q::Tasks, task_list());
    ctrl(&mut model, 'c');
    switch(&mut model, "other");
    let commands = typed(&mut model, "/tasks ");
    assert_eq!(questions(&commands), [&Q::Tasks]);
    assert!(!screen(&model).contains("task_aa"));
}
