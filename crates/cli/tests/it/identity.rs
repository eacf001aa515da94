//! Identity of agents through the program: which agent a command is for, which agents clients see, and which names are
//! names.

use crate::support::{hello, silent, until, world};
use serde_json::json;
use std::process::Stdio;

#[test]
fn a_command_is_for_main_unless_the_environment_or_a_flag_names_another() {
    let world = world();
    let _served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(world.run(&["agent", "create", "ada"]).code, Some(0));
    let named = |args: &[&str], variables: &[(&str, &str)]| {
        let ran = world.run_in(args, b"", variables);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()["identity"]["agent_id"].clone()
    };
    let ada = [("HOLON_AGENT_ID", "ada")];
    assert_eq!(named(&["status", "--json"], &[]), "main");
    assert_eq!(named(&["status", "--json"], &ada), "ada");
    let flag = ["status", "--agent", "main", "--json"];
    assert_eq!(named(&flag, &ada), "main", "a flag prevails");
    let bad = world.run_in(&["status"], b"", &[("HOLON_AGENT_ID", "../up")]);
    assert_eq!(bad.code, Some(1), "{bad:?}");
    assert!(bad.stderr.contains("HOLON_AGENT_ID"), "{bad:?}");
}

#[test]
fn a_host_makes_the_agent_that_its_environment_names_its_default() {
    let world = world();
    let _served = world.serve_with(&[], &[("HOLON_AGENT_ID", "ada")]);
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(
        status["identity"],
        json!({
            "agent_id": "ada",
            "kind": "default",
            "visibility": "public",
            "ownership": "self_owned",
            "profile_preset": "public_named",
            "status": "active",
            "is_default_agent": true,
            "temporary": false,
            "agent_home": world.home().join("agents/ada").to_str().unwrap(),
        })
    );
}

#[test]
fn an_agent_that_was_not_created_is_not_made_by_naming_it() {
    let world = world();
    let _served = world.serve(&["--model", &hello(&world)]);
    for args in [
        ["status", "--agent", "nobody"].as_slice(),
        &["prompt", "hi", "--agent", "nobody"],
        &["run", "hi", "--agent", "nobody"],
        &["tail", "--agent", "nobody"],
        &["transcript", "--agent", "nobody"],
        &["wake", "nobody", "look"],
        &["work", "create", "do it", "--agent", "nobody"],
        &["timer", "create", "--after", "1h", "--agent", "nobody"],
        &["workspace", "attach", ".", "--agent", "nobody"],
        &["skills", "install", "ghx", "--builtin", "--agent", "nobody"],
        &["agent", "start", "nobody"],
        &["agent", "stop", "nobody"],
        &["agent", "export", "nobody"],
        &["agent", "clone", "nobody", "copy"],
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(
            refused.stderr.contains("there is no agent nobody"),
            "{args:?}: {refused:?}"
        );
    }
    assert_eq!(world.agent_ids(), ["main"]);
    assert!(!world.home().join("agents/nobody").exists());
}

#[test]
fn a_private_agent_is_in_no_list_and_behind_no_command() {
    let world = world();
    let _served = world.serve(&["--model", &silent(&world)]);
    let mut run = world
        .command()
        .args(["run", "take your time"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_private = |id: &String| id.starts_with("tmp_");
    until("the run has its agent", || {
        world.agent_ids().iter().any(is_private)
    });
    let private = world.agent_ids().into_iter().find(is_private).unwrap();
    let listed = world.run(&["agent", "list", "--json"]);
    assert!(!listed.answer().contains("tmp_"), "{listed:?}");
    let (id, words) = (private.as_str(), format!("there is no agent {private}"));
    for args in [
        ["status", "--agent", id].as_slice(),
        &["prompt", "hi", "--agent", id],
        &["tail", "--agent", id],
        &["transcript", "--agent", id],
        &["explain", id],
        &["wake", id, "look"],
        &["work", "list", "--agent", id],
        &["timer", "list", "--agent", id],
        &["wait", "list", "--agent", id],
        &["skills", "list", "--agent", id],
        &["workspace", "exit", "--agent", id],
        &["agent", "stop", id],
        &["agent", "export", id],
        &["agent", "clone", id, "copy"],
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(&words), "{args:?}: {refused:?}");
    }
    run.kill().unwrap();
    run.wait().unwrap();
}

#[test]
fn a_name_is_one_path_component_without_a_reserved_beginning() {
    let world = world();
    let _served = world.serve(&[]);
    let long = "x".repeat(65);
    for name in [
        "", "..", ".hidden", "a/b", "a b", "ä", "tmp_x", &long, "a\\b",
    ] {
        let refused = world.run(&["agent", "create", name]);
        assert_eq!(refused.code, Some(2), "{name:?}: {refused:?}");
    }
    let longest = "x".repeat(64);
    for name in ["a", "A.b-c_9", &longest, "1"] {
        let made = world.run(&["agent", "create", name]);
        assert_eq!(made.code, Some(0), "{name:?}: {made:?}");
    }
    assert_eq!(world.agent_ids().len(), 5);
}
