//! When all of the screen is drawn anew.

use super::*;

fn is_redrawn(commands: &[Command]) -> bool {
    commands.contains(&Command::Redraw)
}

#[test]
fn a_page_that_opens_or_closes_is_drawn_on_an_empty_terminal() {
    let mut model = with_history(80, 24, Vec::new());
    assert!(is_redrawn(&press(&mut model, KeyCode::Char('?'))));
    assert!(!is_redrawn(&press(&mut model, KeyCode::PageDown)));
    assert!(is_redrawn(&press(&mut model, KeyCode::Esc)));
    assert!(!is_redrawn(&press(&mut model, KeyCode::Esc)));
    type_text(&mut model, "/events");
    assert!(is_redrawn(&press(&mut model, KeyCode::Enter)));
    assert!(is_redrawn(&ctrl(&mut model, 'c')));
}

#[test]
fn the_operator_can_have_the_screen_drawn_anew_at_any_place() {
    let mut model = with_history(80, 24, Vec::new());
    type_text(&mut model, "half");
    assert_eq!(ctrl(&mut model, 'l'), [Command::Redraw]);
    assert!(screen(&model).contains("half"));
    ctrl(&mut model, 'u');
    enter(&mut model, "/help");
    assert_eq!(ctrl(&mut model, 'l'), [Command::Redraw]);
    assert!(!model.overlays.is_empty());
}
