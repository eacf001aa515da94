//! What an operator must be able to read at 80 columns, and keys of lines that are asked for inside overlays.

use super::*;
use crate::msg::Question as Q;

#[test]
fn a_line_that_is_asked_for_knows_the_keys_of_a_shell() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/work");
    reply(
        &mut model,
        &commands,
        &Q::WorkItems,
        Reply::WorkItems(Vec::new()),
    );
    press(&mut model, KeyCode::Char('n'));
    type_text(&mut model, "mend the bug");
    for key in ['w', 'x', 'a'] {
        ctrl(&mut model, key);
    }
    type_text(&mut model, "do ");
    update(
        &mut model,
        Msg::Key(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT)),
    );
    let commands = press(&mut model, KeyCode::Enter);
    let objective = "do mend the".to_owned();
    assert_eq!(questions(&commands), [&Q::CreateWorkItem { objective }]);
}

#[test]
fn why_a_page_cannot_be_read_is_shown_whole() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/work");
    let ticket = ticket_of(&commands, &Q::WorkItems);
    let reply = Err(Problem {
        message: format!(
            "refused {}; and this is what to do",
            "for a reason ".repeat(8)
        ),
        ..Problem::default()
    });
    update(&mut model, Msg::Reply { ticket, reply });
    let shown = screen(&model);
    assert!(shown.contains("this is what to do"), "{shown}");
}

#[test]
fn a_work_item_that_is_not_listed_is_named() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/work nope");
    reply(
        &mut model,
        &commands,
        &Q::WorkItems,
        Reply::WorkItems(Vec::new()),
    );
    let shown = screen(&model);
    assert!(shown.contains("nope is not in this list"), "{shown}");
}

#[test]
fn every_key_of_a_page_is_shown_at_80_columns() {
    for command in [
        "/agents",
        "/tasks",
        "/work",
        "/timers",
        "/triggers",
        "/workspace",
        "/skills",
        "/context",
        "/model",
    ] {
        let mut model = with_history(80, 24, Vec::new());
        enter(&mut model, command);
        let shown = screen(&model);
        let lines = shown.lines().map(|line| line.trim_matches(['"', ' ']));
        let words = lines.collect::<Vec<_>>().join(" ");
        let page = model.overlays.last().unwrap().page.clone();
        for key in page.keys() {
            assert!(
                words.contains(key.label),
                "{command} {}: {shown}",
                key.label
            );
        }
        assert!(words.contains("PgUp PgDn scroll"), "{command}: {shown}");
    }
}

#[test]
fn the_first_line_shortens_paths_before_it_drops_the_display_mode() {
    let mut model = with_history(80, 24, Vec::new());
    let mut agent = agent_json("idle", "rests");
    let cwd = "/data/projects/of/a/large/company/with/deep/directories/and/more/of/them/project";
    agent["execution"]["cwd"] = cwd.into();
    model.status = Some(Box::new(Answer::new(agent).unwrap()));
    for columns in [60, 80, 120] {
        model.columns = columns;
        let shown = screen(&model);
        let first = shown.lines().next().unwrap();
        assert!(first.contains(" info"), "{columns}: {first}");
        assert!(first.contains("/project"), "{columns}: {first}");
    }
    assert!(
        screen(&model)
            .lines()
            .next()
            .unwrap()
            .contains("holon.sock")
    );
}
