//! The console far from its host, without a right to it, over a crash of the host, and in a flood of output.

use super::{Tmux, has_tmux};
use crate::support::{hello, world};
use holon_testkit::World;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

fn write_token(world: &World, name: &str, token: &str) -> String {
    let path = world.path().join(name);
    std::fs::write(&path, token).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_console_of_a_far_host_needs_its_token_and_never_falls_back_to_a_near_one() {
    if !has_tmux() {
        return;
    }
    let (far, near) = (world(), world());
    let far_model = far.model("far", &json!([{ "text": "Far answer." }]));
    let served = far.serve(&["--model", &far_model]);
    let beside = near.serve(&["--model", &hello(&near)]);
    let url = format!("http://{}", served.addr);

    let token = std::fs::read_to_string(far.home().join("run/control.token")).unwrap();
    let good = write_token(&near, "good.token", &token);
    let tmux = Tmux::console(
        &near,
        100,
        30,
        &format!("--connect {url} --token-file {good}"),
    );
    tmux.sees("message to main");
    tmux.enter("who are you");
    tmux.sees("Far answer.");
    tmux.key("C-c");
    tmux.sees("closed 0");

    let wrong = write_token(&near, "wrong.token", "a-token-of-another-host-0123456789");
    let tmux = Tmux::console(
        &near,
        100,
        30,
        &format!("--connect {url} --token-file {wrong}"),
    );
    tmux.sees("does not hold a token of that host");
    tmux.sees("closed 1");
    tmux.sees("icanon");

    let made = far.run(&["token", "create", "visitor", "--json"]);
    let made = made.json();
    let visitor = write_token(&near, "visitor.token", made["token"].as_str().unwrap());
    let tmux = Tmux::console(
        &near,
        100,
        30,
        &format!("--connect {url} --token-file {visitor}"),
    );
    tmux.sees("message to main");
    assert_eq!(far.run(&["token", "revoke", "visitor"]).code, Some(0));
    tmux.enter("still there");
    tmux.sees("does not accept the token");
    tmux.sees("still there");
    tmux.key("C-c");
    tmux.key("C-c");
    tmux.sees("closed 0");
    assert_eq!(served.terminate().0, Some(0));

    let gone = format!("--connect {url} --token-file {good}");
    let tmux = Tmux::console(&near, 100, 30, &gone);
    tmux.sees("closed 3");
    let stays = near.run(&["transcript"]);
    assert!(stays.stdout.contains("nothing yet"), "{stays:?}");
    assert_eq!(beside.terminate().0, Some(0));
}

#[test]
fn a_turn_goes_on_in_the_console_after_the_host_was_killed_and_a_flood_does_not_freeze_it() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let (tool, flood) = (world.meeting("tool"), world.meeting("flood"));
    let call = |cmd: String| json!({ "tool": "ExecCommand", "input": { "cmd": cmd } });
    let pours = format!("seq 1 300000; {}", flood.shell());
    let model = world.model(
        "worker",
        &json!([
            { "text": "I look.", "calls": [call(tool.shell())] },
            { "text": "First answer." },
            { "text": "I pour.", "calls": [call(pours)] },
            { "text": "The flood is over." },
        ]),
    );
    let served = world.serve(&["--model", &model]);
    let tmux = Tmux::console(&world, 200, 60, "--display verbose");
    tmux.sees("message to main");
    tmux.enter("please look");
    tool.wait();
    served.crash();
    tmux.sees("no connection");
    tmux.write("and then pour");
    tmux.sees("and then pour");
    let served = world.serve(&["--model", &model]);
    tmux.sees_no("no connection");
    tool.let_go();
    tmux.sees("First answer.");
    tmux.key("Enter");
    flood.wait();
    tmux.write("typed in the flood");
    tmux.sees("typed in the flood");
    flood.let_go();
    tmux.sees("The flood is over.");
    tmux.sees_no("Assistant progress");
    let shown = tmux.screen();
    for words in [
        "please look",
        "First answer.",
        "and then pour",
        "The flood is over.",
    ] {
        assert_eq!(shown.matches(words).count(), 1, "{words}:\n{shown}");
    }
    tmux.key("C-c");
    tmux.key("C-c");
    tmux.sees("closed 0");
    tmux.sees("icanon");
    assert_eq!(served.terminate().0, Some(0));
}

/// Returns true if a captured screen sets a colour of the text or behind it.
fn has_colour(captured: &str) -> bool {
    let styles = captured.split("\u{1b}[").skip(1);
    let styles = styles.filter_map(|rest| rest.split_once('m'));
    let mut codes = styles.flat_map(|(codes, _)| codes.split(';'));
    codes.any(|code| {
        let code = code.parse().unwrap_or(0);
        matches!(code, 30..=38 | 40..=48 | 90..=107)
    })
}

#[test]
fn no_colour_is_shown_where_it_is_not_wanted() {
    if !has_tmux() {
        return;
    }
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let program = world.command();
    let program = program.get_program().to_string_lossy().into_owned();
    for (variable, expected) in [("NO_COLOR=1", false), ("HOLON=1", true)] {
        let line = format!("{variable} '{program}' tui; echo \"closed $?\"; read end");
        let tmux = Tmux::start(&world, 80, 24, &line);
        tmux.sees("message to main");
        tmux.enter("hi");
        tmux.sees("Hello there.");
        let captured = tmux.run(&["capture-pane", "-p", "-e"]);
        assert_eq!(has_colour(&captured), expected, "{variable}: {captured:?}");
        tmux.key("C-c");
        tmux.sees("closed 0");
    }
    assert_eq!(served.terminate().0, Some(0));
}
