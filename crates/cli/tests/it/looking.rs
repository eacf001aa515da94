//! `prompt`, `status`, `tail`, `transcript`, `agent`, `completions` against a live host.

use crate::support::{doer, hello, record, silent, world};
use holon_testkit::World;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// Waits until the agent has written this number of briefs, by following them.
pub(crate) fn follow(world: &World, agent: &str, briefs: usize) -> Vec<serde_json::Value> {
    let mut tail = world
        .command()
        .args(["tail", "--follow", "--json", "--agent", agent])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let seen = lines
        .take(briefs)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    tail.kill().unwrap();
    tail.wait().unwrap();
    seen
}

#[test]
fn a_prompt_is_on_disk_when_it_is_answered_and_its_outcome_is_told_once() {
    let world = world();
    let served = world.serve(&["--model", &doer(&world, "echo seen")]);
    let admitted = world.run(&["prompt", "look", "--json"]).json();
    assert_eq!(
        (admitted["ok"].as_bool(), admitted["agent_id"].as_str()),
        (Some(true), Some("main"))
    );
    let told = follow(&world, "main", 1);
    assert_eq!(told[0]["settles"][0], admitted["message_id"]);
    let tail = world.run(&["tail", "--json"]).json();
    assert_eq!(tail.as_array().unwrap().len(), 1);
    let text = world.run(&["tail"]);
    assert!(text.answer().contains(" result: Saw: exit 0"), "{text:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn following_ends_when_its_reader_is_gone() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    let mut tail = world
        .command()
        .args(["tail", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::new(tail.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with('{'), "{line}");
    drop(reader);
    // No further brief comes, so only the loss of the reader can end it.
    assert_eq!(tail.wait().unwrap().code(), Some(0));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn status_and_transcript_say_what_was_done_for_people_and_for_programs() {
    let world = world();
    let served = world.serve(&["--model", &doer(&world, "echo seen")]);
    assert_eq!(world.run(&["run", "look", "--agent", "main"]).code, Some(0));
    let status = world.run(&["status"]);
    for part in [
        "agent      main (",
        "why        ",
        "messages   0 queued, 1 in all, 1 turn",
        "last turn  completed",
    ] {
        assert!(status.answer().contains(part), "{part}: {status:?}");
    }
    assert_eq!(
        world.run(&["agent", "status", "main", "--json"]).json()["agent"]["turn_index"],
        1
    );
    let transcript = world.run(&["transcript"]);
    for part in [
        "incoming_message\n    look",
        "-> ExecCommand: echo seen",
        "<- ExecCommand: exit 0",
    ] {
        assert!(transcript.answer().contains(part), "{part}: {transcript:?}");
    }
    let kinds: Vec<String> = world
        .run(&["transcript", "--json"])
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "incoming_message",
            "assistant_round",
            "tool_results",
            "assistant_round"
        ]
    );
    assert_eq!(
        world
            .run(&["transcript", "--limit", "1", "--json"])
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_stopped_agent_refuses_words_until_it_is_started() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    world.write("project/file", "");
    let made = world.run(&["agent", "create", "scout", "--workspace-root", "project"]);
    assert_eq!(made.answer(), "agent scout is created\n");
    assert_eq!(
        world.run(&["agent", "create", "scout"]).code,
        Some(0),
        "the same again is harmless"
    );
    assert_eq!(world.run(&["agent", "stop", "scout"]).code, Some(0));
    let args = ["prompt", "hi", "--agent", "scout"];
    let refused = record(&world, &args, &world.run(&args));
    crate::support::assert_output!(refused);
    assert!(
        world
            .run(&["agent", "list"])
            .answer()
            .contains("scout  stopped")
    );
    assert!(
        world
            .run(&["status", "--agent", "scout"])
            .answer()
            .contains("next       holon agent start scout")
    );
    assert_eq!(world.run(&["agent", "start", "scout"]).code, Some(0));
    assert_eq!(
        world.run(&["run", "hi", "--agent", "scout"]).answer(),
        "Hello there.\n"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn an_agent_that_was_made_differently_is_not_changed_behind_ones_back() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    world.write("one/x", "");
    world.write("two/x", "");
    assert_eq!(
        world
            .run(&["agent", "create", "scout", "--workspace-root", "one"])
            .code,
        Some(0)
    );
    let args = ["agent", "create", "scout", "--workspace-root", "two"];
    crate::support::assert_output!(record(&world, &args, &world.run(&args)));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn completions_and_help_need_no_home() {
    let world = world();
    let bash = world.run(&["completions", "bash"]);
    assert!(bash.answer().contains("run") && bash.stdout.contains("_holon"));
    assert!(world.run(&["--help"]).answer().contains("Exit codes:"));
    assert_eq!(
        world.run(&["--version"]).answer(),
        format!("holon {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert!(!world.home().exists());
}

#[test]
fn a_look_that_comes_before_the_answer_says_how_to_wait_for_it() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    let looked = world.run(&["tail"]);
    assert_eq!(looked.answer(), "nothing yet; wait for it with --follow\n");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn an_error_code_is_explained_and_an_unknown_one_gets_a_suggestion() {
    let world = world();
    let cure = world.run(&["explain-error", "agent_stopped"]);
    assert!(
        cure.answer().contains("holon agent start AGENT"),
        "{cure:?}"
    );
    let known = world.run(&["explain-error", "home_in_use"]);
    assert_eq!(known.code, Some(0), "{known:?}");
    assert!(
        known.stdout.contains("cure:  use it through that host"),
        "{known:?}"
    );
    let of_host = world.run(&["--json", "explain-error", "agent_stopped"]);
    assert_eq!(of_host.json()["http_status"], 409);
    let misspelt = world.run(&["explain-error", "agent_stoped"]);
    assert_eq!(misspelt.code, Some(1));
    assert!(
        misspelt.stderr.contains("did you mean agent_stopped?"),
        "{misspelt:?}"
    );
    assert!(!world.home().exists());
}

#[test]
fn every_command_has_a_manual_page() {
    let world = world();
    let ran = world.run(&["man-pages", "man1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = |name: &str| std::fs::read_to_string(world.path().join("man1").join(name));
    assert!(page("holon.1").unwrap().contains(".TH holon 1"));
    assert!(
        page("holon-daemon-start.1")
            .unwrap()
            .contains("token\\-file")
    );
    world.write("taken", "x");
    let refused = world.run(&["--json", "man-pages", "taken"]);
    assert_eq!(refused.code, Some(1));
    assert!(!world.home().exists());
}
