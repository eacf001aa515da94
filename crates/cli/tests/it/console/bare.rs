//! The console on a terminal that only takes and gives bytes: it answers no question, states odd sizes, and may stop
//! to read.

use crate::support::{hello, world};
use crate::terminal::Terminal;
use holon_testkit::World;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt as _;

/// Asks a terminal for the position of its cursor.
const ASK_CURSOR: &str = "\u{1b}[6n";
/// Words of an empty composer.
const READY: &str = "message to main";

/// Opens a console of the usual size and waits until it can be written to.
fn open(world: &World, args: &[&str]) -> Terminal {
    let mut terminal = Terminal::start_console(world, args, &[], Some((80, 24)));
    terminal.wait_for(READY);
    terminal
}

#[test]
fn a_console_asks_its_terminal_nothing() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for args in [&[] as &[&str], &["--no-alt-screen"]] {
        let mut terminal = open(&world, args);
        terminal.resize((60, 20), READY);
        // Spaces are not drawn on an empty terminal.
        terminal.press("typed-words\u{c}");
        terminal.wait_for("typed-words");
        terminal.resize((100, 30), "typed-words");
        terminal.press("\u{3}\u{3}");
        let (status, seen) = terminal.finish_status();
        assert_eq!(status.code(), Some(0), "{seen:?}");
        assert!(!seen.contains(ASK_CURSOR), "{seen:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_draws_on_a_terminal_of_any_size() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for size in [None, Some((u16::MAX, u16::MAX)), Some((80, u16::MAX))] {
        let mut terminal = Terminal::start_console(&world, &[], &[], size);
        terminal.wait_for(READY);
        terminal.resize((u16::MAX, 24), READY);
        terminal.press("?");
        terminal.wait_for("Ctrl+Home,");
        terminal.press("\u{3}\u{3}");
        let (status, seen) = terminal.finish_status();
        assert_eq!(status.code(), Some(0), "{size:?}: {seen:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_lost_end_of_a_paste_does_not_hold_the_keyboard() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let mut terminal = open(&world, &[]);
    // A whole paste is one text, and its line break sends nothing.
    terminal.press("\u{1b}[200~whole-one\rwhole-two\u{1b}[201~\u{c}");
    terminal.wait_for("whole-two");
    terminal.press("\u{1b}[200~lost-one\rlost-two");
    terminal.wait_for("lost-two");
    terminal.press("z");
    terminal.press("\u{3}\u{3}");
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.code(), Some(0), "{seen:?}");
    let prompts = world.run(&["transcript", "main", "--json"]);
    assert!(!prompts.stdout.contains("whole-one"), "{prompts:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_that_a_signal_ends_ends_by_that_signal() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let terminal = open(&world, &[]);
        terminal.signal(signal);
        let (status, seen) = terminal.finish_status();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{seen:?}");
        assert!(seen.ends_with("\u{1b}[?1049l"), "{seen:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_whose_terminal_is_closed_ends_by_the_signal_of_that() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for _ in 0..5 {
        let mut terminal = Terminal::start_leader(&world, (80, 24), None);
        terminal.wait_for(READY);
        assert_eq!(terminal.close().signal(), Some(Signal::HUP.as_raw()));
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_has_the_size_of_the_terminal_that_it_draws_on() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let mut terminal = Terminal::start_leader(&world, (40, 12), Some((100, 30)));
    terminal.wait_for(READY);
    terminal.signal(Signal::TERM);
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{seen:?}");
    assert!(seen.contains(&"─".repeat(40)), "{seen:?}");
    assert!(!seen.contains(&"─".repeat(41)), "{seen:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_signal_ends_a_console_whose_terminal_takes_nothing_any_more() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let mut terminal = open(&world, &[]);
    terminal.fill();
    // The answer to this key cannot be written.
    terminal.press("x");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait_unread().signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_history_that_is_no_file_does_not_hold_the_console_up() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let path = world.home().join("run").join("console.history");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
    let mut terminal = open(&world, &[]);
    terminal.press("hi\r");
    terminal.wait_for("Hello");
    terminal.press("\u{3}");
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.code(), Some(0), "{seen:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_in_json_is_refused_with_the_next_step() {
    let world = world();
    let terminal = Terminal::start_console(&world, &["--json"], &[], Some((80, 24)));
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.code(), Some(2), "{seen:?}");
    assert!(seen.contains("holon events --follow --json"), "{seen:?}");
}

#[test]
fn a_terminal_that_cannot_be_steered_is_refused_with_the_next_step() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let variables = [("TERM", "dumb")];
    let terminal = Terminal::start_console(&world, &[], &variables, Some((80, 24)));
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.code(), Some(2), "{seen:?}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    for words in ["holon tail --follow", "holon prompt"] {
        assert!(seen.contains(words), "{seen:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}
