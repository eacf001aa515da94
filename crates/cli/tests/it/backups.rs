//! `holon backup` of a host at work, and `holon restore` into another home.

use crate::support::{hello, record, until, world};
use holon_testkit::{HostProcess, World};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

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
fn a_backup_does_not_replace_a_file() {
    let world = world();
    let model = hello(&world);
    assert_eq!(world.run(&["run", "hi", "--model", &model]).code, Some(0));
    let made = world.run(&["backup", "home.tar"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let whole = std::fs::read(world.path().join("home.tar")).unwrap();
    let again = world.run(&["--json", "backup", "home.tar"]);
    assert_eq!(again.code, Some(1));
    assert!(record(&world, &["backup"], &again).contains("file_exists"));
    assert!(std::fs::read(world.path().join("home.tar")).unwrap() == whole);
}

/// Returns the epoch that a running host names.
fn epoch(world: &World) -> String {
    let status = world.run(&["daemon", "status", "--json"]).json();
    status["epoch"].as_str().unwrap().to_owned()
}

/// Asks for a stream, and returns its head and the beginning of its body.
fn stream(world: &World, host: &HostProcess, target: &str, header: &str) -> String {
    let token = std::fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let mut stream = TcpStream::connect(&host.addr).unwrap();
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n{header}\r\n",
        token.trim()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = Vec::new();
    while !said.windows(4).any(|end| end == b"\r\n\r\n") || said.ends_with(b"\r\n\r\n") {
        let mut piece = [0; 4_096];
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "the answer ended early: {said:?}");
        said.extend_from_slice(&piece[..read]);
    }
    String::from_utf8(said).unwrap()
}

#[test]
fn a_position_of_the_old_home_is_refused_in_the_restored_one_and_a_follower_is_told() {
    let world = world();
    let model = hello(&world);
    let host = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let old = epoch(&world);
    let made = world.run(&["backup", "home.tar"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let fresh = world.path().join("fresh");
    let args = ["--home", fresh.to_str().unwrap(), "restore", "home.tar"];
    let restored = world.run(&args);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    let mut follower = world.command();
    let mut follower = follower
        .args(["events", "--follow", "--after", "0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("agent_created"));

    // The restored home comes into the place of the old one.
    assert_eq!(host.terminate().0, Some(0));
    std::fs::rename(world.home(), world.path().join("before")).unwrap();
    std::fs::rename(&fresh, world.home()).unwrap();
    let host = world.serve(&["--model", &model]);
    let new = epoch(&world);
    assert_ne!(new, old);
    lines.for_each(|line| assert!(line.unwrap().starts_with('{')));
    let ended = follower.wait_with_output().unwrap();
    let words = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{words}");
    assert!(words.contains("\"store_replaced\""), "{words}");

    for (more, code) in [
        (&[] as &[&str], "epoch_changed"),
        (&["--all"], "epoch_changed"),
        (&["--follow"], "store_replaced"),
        (&["--all", "--follow"], "store_replaced"),
    ] {
        let args = ["events", "--after", "1", "--json", "--epoch", &old];
        let refused = world.run(&[&args, more].concat());
        let told = record(&world, &["events"], &refused);
        assert_eq!(refused.code, Some(1), "{more:?}: {told}");
        assert_eq!(refused.stdout, "", "{more:?}: {told}");
        let error: Value = serde_json::from_str(&refused.stderr).expect(&told);
        assert_eq!(error["code"], code, "{more:?}: {told}");
        if code == "epoch_changed" {
            assert_eq!(error["epoch"], new.as_str(), "{more:?}: {told}");
        }
    }
    let page = world.run(&["events", "--after", "1", "--json", "--epoch", &new]);
    assert_eq!(page.json()[0]["event_seq"], 2, "{page:?}");

    for route in ["/agents/main/events/stream", "/events/stream"] {
        let target = format!("{route}?after_seq=1");
        for (target, header) in [
            (format!("{target}&epoch={old}"), String::new()),
            (target.clone(), format!("holon-epoch: {old}\r\n")),
            // An event source that reconnects sends its position as a header.
            (
                format!("{route}?epoch={old}"),
                "Last-Event-ID: 1\r\n".to_owned(),
            ),
        ] {
            let said = stream(&world, &host, &target, &header);
            assert!(said.starts_with("HTTP/1.1 410 "), "{target}: {said}");
            assert!(said.contains("\"epoch_changed\""), "{target}: {said}");
            assert!(said.contains(&new), "{target}: {said}");
        }
        let said = stream(&world, &host, &format!("{target}&epoch={new}"), "");
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        assert!(said.contains(&format!("holon-epoch: {new}\r\n")), "{said}");
    }
    assert_eq!(host.terminate().0, Some(0));
}
