//! `holon backup` of a host at work, and `holon restore` into another home.

use crate::support::{hello, record, until, world};
use serde_json::json;

#[test]
fn a_home_restored_from_a_running_host_knows_its_agents_and_repeats_no_command() {
    let world = world();
    let meeting = world.meeting("command");
    let marker = world.path().join("ran");
    let cmd = format!("echo ran >> {}; {}", marker.display(), meeting.shell());
    let model = world.model(
        "worker",
        &json!([
            { "text": "", "calls": [ { "tool": "ExecCommand", "input": { "cmd": cmd } } ] },
            { "text": "The outcome is what I was told." } ]),
    );
    let host = world.serve(&["--model", &model]);
    let sent = world.run(&["prompt", "work"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    meeting.wait();
    let made = world.run(&["--json", "backup", "home.tar"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(made.json()["agents"], 1);
    meeting.let_go();
    drop(host);

    let home = world.path().join("second");
    let home = home.to_str().unwrap();
    let restored = world.run(&["--json", "--home", home, "restore", "home.tar"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let second = world.serve(&["--home", home, "--model", &model]);
    until("the turn ends", || {
        let said = world.run(&["--home", home, "transcript"]);
        said.stdout.contains("The outcome is what I was told.")
    });
    let transcript = world.run(&["--home", home, "--json", "transcript"]);
    assert!(
        transcript.stdout.contains("outcome_unknown"),
        "{transcript:?}"
    );
    let ran = std::fs::read_to_string(&marker).unwrap();
    assert_eq!(
        ran, "ran\n",
        "the restored home did not run the command again"
    );
    drop(second);
}

#[test]
fn a_restored_home_refuses_what_it_cannot_take() {
    let world = world();
    let model = hello(&world);
    assert_eq!(world.run(&["run", "hi", "--model", &model]).code, Some(0));
    let made = world.run(&["backup", "home.tar"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let again = world.run(&["--json", "backup", "home.tar"]);
    assert_eq!(again.code, Some(1));
    assert!(record(&world, &["backup"], &again).contains("file_exists"));
    let onto = world.run(&["--json", "restore", "home.tar"]);
    assert_eq!(onto.code, Some(1));
    assert!(record(&world, &["restore"], &onto).contains("home_not_empty"));
    let whole = std::fs::read(world.path().join("home.tar")).unwrap();
    std::fs::write(world.path().join("half.tar"), &whole[..whole.len() / 2]).unwrap();
    let third = world.path().join("third");
    let third = third.to_str().unwrap();
    let half = world.run(&["--json", "--home", third, "restore", "half.tar"]);
    assert_eq!(half.code, Some(1));
    assert!(record(&world, &["restore"], &half).contains("invalid_backup"));
    assert!(!world.path().join("third").exists());
}
