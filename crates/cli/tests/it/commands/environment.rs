//! The environment of a command: ids of its agent, the user's login environment, and no variable of the host.

use crate::hands::{self, Hands};
use crate::models::{Entry, configure, key_in};
use crate::processes::ProcessCleanup;
use crate::support::world;
use holon_testkit::World;
use holon_testkit::provider::Protocol;
use serde_json::json;
use std::collections::BTreeMap;

/// Number of attempts to see the effect of a changed file; the host checks the files about once a second.
const LOOKS: u32 = 2_000;

/// Returns the environment of a command with these arguments.
fn environment(hands: &Hands<'_>, arguments: &serde_json::Value) -> BTreeMap<String, String> {
    let mut input = arguments.clone();
    input["cmd"] = json!("env");
    let printed = hands.call("ExecCommand", input);
    let text = printed["stdout_preview"].as_str().unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn a_command_knows_whom_it_runs_for_and_no_secret_of_the_host() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let mut acme = Entry::new("acme", Protocol::Chat, "http://127.0.0.1:9/v1".to_owned());
    acme.auth = key_in("ACME_ACCESS");
    configure(&world, "", &[acme]);
    // A login file of the user sets it again, and it is removed again.
    world.write(
        "user/.profile",
        "export ACME_ACCESS=s3cret-from-a-file MINE=yes\n",
    );
    let secrets = [
        ("ACME_ACCESS", "s3cret"),
        ("ANTHROPIC_API_KEY", "s3cret"),
        ("OPENAI_API_KEY", "s3cret"),
        (
            "HOLON_CONTROL_TOKEN",
            "s3cret-control-token-of-at-least-32-bytes",
        ),
    ];
    let served = world.serve_with(&["--model", &hands::model(&world)], &secrets);
    let hands = Hands::of(&world);
    for arguments in [json!({}), json!({ "tty": true }), json!({ "shell": "sh" })] {
        let found = environment(&hands, &arguments);
        assert_eq!(found["HOLON_RUNTIME"], "1");
        assert_eq!(found["HOLON_AGENT_ID"], "main");
        let home = world.home().join("agents/main");
        assert_eq!(found["HOLON_AGENT_HOME"], home.to_str().unwrap());
        assert_eq!(found["PWD"], home.to_str().unwrap());
        assert_eq!(found["MINE"], "yes");
        assert_eq!(found["HOME"], world.path().join("user").to_str().unwrap());
        let all = format!("{found:?}");
        for hidden in [
            "s3cret",
            "http:",
            served.addr.as_str(),
            "ACME_ACCESS",
            "API_KEY",
        ] {
            assert!(!all.contains(hidden), "{hidden}: {all}");
        }
    }
    // A real login shell reads the files itself, so only variables that they do not set stay out.
    let found = environment(&hands, &json!({ "login": true }));
    assert!(
        !format!("{found:?}").contains("s3cret-control"),
        "{found:?}"
    );
    assert_eq!(found.get("ANTHROPIC_API_KEY"), None);
    assert_eq!(served.terminate().0, Some(0));
}

/// Asserts that a listing of descriptors shows the three of a command and none of the world's.
fn assert_three(world: &World, listing: &str) {
    let links = listing.lines().filter_map(|line| line.split_once(" -> "));
    let open: Vec<(&str, &str)> = links
        .map(|(before, place)| {
            let number = before.rsplit_once(' ').map_or(before, |(_, number)| number);
            (number, place.trim_end())
        })
        // A shell may hold its terminal once more under a high number.
        .filter(|(number, place)| number.len() == 1 || !place.starts_with("/dev/pts/"))
        .collect();
    let numbers: Vec<&str> = open.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, ["0", "1", "2"], "{listing}");
    let kinds = ["pipe:[", "socket:[", "/dev/pts/", "/dev/null"];
    for (_, place) in open {
        assert!(
            kinds.iter().any(|kind| place.starts_with(kind)),
            "{listing}"
        );
    }
    assert!(
        !listing.contains(world.path().to_str().unwrap()),
        "{listing}"
    );
}

#[test]
fn a_command_has_three_descriptors_and_none_of_the_hosts() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let cmd = "ls -l /proc/$$/fd; true";
    for arguments in [
        json!({}),
        json!({ "tty": true }),
        json!({ "accepts_input": true }),
    ] {
        let mut input = arguments;
        input["cmd"] = json!(cmd);
        let printed = hands.call("ExecCommand", input);
        assert_three(&world, printed["stdout_preview"].as_str().unwrap());
    }
    let batch = hands.call("ExecCommandBatch", json!({ "items": [{ "cmd": cmd }] }));
    assert_three(
        &world,
        batch["items"][0]["stdout_preview"].as_str().unwrap(),
    );
    assert_eq!(served.terminate().0, Some(0));
}

fn logins(world: &World) -> usize {
    let file = world.path().join("user/logins");
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[test]
fn the_login_environment_is_taken_once_and_again_when_its_file_changes() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let profile = |word: &str| {
        let text = format!(
            "export WORD={word}\nPATH=$HOME/bin:$PATH\necho in >> $HOME/logins\necho noise\n"
        );
        world.write("user/.profile", &text);
    };
    profile("one");
    let tool = world.write("user/bin/own-tool", "#!/bin/sh\necho own tool, $WORD\n");
    std::fs::set_permissions(tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let said = |arguments: serde_json::Value| {
        let mut input = arguments;
        input["cmd"] = json!("own-tool");
        let printed = hands.call("ExecCommand", input);
        printed["stdout_preview"].as_str().unwrap().to_owned()
    };
    for _ in 0..3 {
        assert_eq!(said(json!({})), "own tool, one\n");
    }
    assert_eq!(logins(&world), 1, "no login for each command");
    assert_eq!(said(json!({ "login": true })), "noise\nown tool, one\n");
    assert_eq!(logins(&world), 2, "one for the login that was asked for");

    profile("two");
    let renewed = (0..LOOKS).any(|_| said(json!({})) == "own tool, two\n");
    assert!(renewed, "a changed file is never noticed");
    assert_eq!(logins(&world), 3);
    // A file that ends the shell removes no variable.
    world.write("user/.profile", "echo in >> $HOME/logins; exit 1\n");
    let tried = (0..LOOKS).any(|_| {
        assert_eq!(said(json!({})), "own tool, two\n");
        logins(&world) > 3
    });
    assert!(tried, "a changed file is never noticed");
    assert_eq!(served.terminate().0, Some(0));
}
