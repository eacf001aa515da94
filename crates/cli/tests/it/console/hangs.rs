//! The console and a host that hangs: nothing that was sent is lost without a word, and the keyboard is never locked.

use crate::support::{hello, world};
use crate::terminal::Terminal;
use holon_testkit::{HostProcess, World};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt as _;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
/// Leaves the screen of the console.
const LEAVE: &str = "\u{1b}[?1049l";

/// Opens a console on a wide terminal, so that a sentence is drawn in one piece.
fn open(world: &World) -> Terminal {
    Terminal::start_console(world, &[], &[], Some((200, 24)))
}

/// Opens a console and sends a message from it to the host, which hangs from then on.
fn send_to_hanging(world: &World, served: &HostProcess) -> Terminal {
    let mut terminal = open(world);
    terminal.wait_for("message to main");
    served.signal(Signal::STOP);
    terminal.press("precious words\r");
    terminal.wait_for("sending");
    terminal
}

/// Checks the words that stand on the terminal after it was restored.
fn check_words(seen: &str) {
    let words = seen.rsplit(LEAVE).next().unwrap_or_default();
    for part in [
        "not acknowledged",
        "to main: \"precious words\"",
        "may or may not be stored",
        "holon transcript --agent main",
        "Up key",
    ] {
        assert!(words.contains(part), "{part:?}: {words:?}");
    }
}

#[test]
fn a_message_that_is_not_acknowledged_is_named_when_the_console_is_closed() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for (close, again) in [(CTRL_D, ""), (CTRL_C, CTRL_C), ("/quit\r", CTRL_D)] {
        let mut terminal = send_to_hanging(&world, &served);
        terminal.press(close);
        terminal.wait_for("waiting up to 3 s");
        terminal.press(again);
        let (status, seen) = terminal.finish_status();
        served.signal(Signal::CONT);
        assert_eq!(status.code(), Some(1), "{close:?}: {seen:?}");
        check_words(&seen);
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_message_that_is_acknowledged_while_the_console_waits_is_not_named() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let mut terminal = send_to_hanging(&world, &served);
    terminal.press(CTRL_D);
    terminal.wait_for("waiting up to 3 s");
    served.signal(Signal::CONT);
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.code(), Some(0), "{seen:?}");
    assert!(seen.ends_with(LEAVE), "{seen:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_signal_ends_the_console_after_the_words_about_a_message() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let terminal = send_to_hanging(&world, &served);
    terminal.signal(Signal::TERM);
    let (status, seen) = terminal.finish_status();
    served.signal(Signal::CONT);
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{seen:?}");
    check_words(&seen);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_console_at_a_host_that_hangs_says_so_and_can_be_closed() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    served.signal(Signal::STOP);
    for key in [CTRL_D, CTRL_C] {
        let mut terminal = open(&world);
        terminal.wait_for("connecting to ");
        terminal.press(key);
        let (status, seen) = terminal.finish_status();
        assert_eq!(status.code(), Some(0), "{key:?}: {seen:?}");
        assert!(seen.ends_with(LEAVE), "{seen:?}");
    }
    let mut terminal = open(&world);
    terminal.wait_for("connecting to ");
    terminal.signal(Signal::TERM);
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{seen:?}");
    assert!(seen.ends_with(LEAVE), "{seen:?}");

    let mut terminal = open(&world);
    terminal.wait_for("the host does not answer yet (5 s)");
    served.signal(Signal::CONT);
    terminal.wait_for("message to main");
    terminal.press(CTRL_D);
    let (status, seen) = terminal.finish_status();
    assert_eq!(status.code(), Some(0), "{seen:?}");
    assert_eq!(served.terminate().0, Some(0));
}
