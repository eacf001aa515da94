//! `tail` in its display modes and `events`, also over restarts of the host.

use crate::support::{doer, hello, world};
use crate::terminal::Terminal;
use holon_presentation::text::text_width;
use holon_testkit::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

/// A command that follows, and the lines that it prints.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command();
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads lines until the check has held for one of them this many times.
    fn read_until(&mut self, times: usize, holds: impl Fn(&Value) -> bool) -> Vec<Value> {
        let (mut seen, mut found) = (Vec::new(), 0);
        while found < times {
            let line = self.lines.next().expect("the command goes on").unwrap();
            let value: Value = serde_json::from_str(&line).unwrap();
            found += usize::from(holds(&value));
            seen.push(value);
        }
        seen
    }

    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn each_mode_shows_what_it_promises() {
    let world = world();
    let served = world.serve(&["--model", &doer(&world, "echo seen")]);
    assert_eq!(world.run(&["run", "look", "--agent", "main"]).code, Some(0));
    let info = world.run(&["tail"]);
    assert!(info.answer().contains(" result: Saw: exit 0"), "{info:?}");
    assert!(!info.stdout.contains("Ran: "), "{info:?}");
    let verbose = world.run(&["tail", "--display", "verbose"]);
    for part in [
        " Assistant progress: I look.\n",
        " Ran: echo seen (exit 0",
        " result: Saw: exit 0",
    ] {
        assert!(verbose.answer().contains(part), "{part}: {verbose:?}");
    }
    assert!(
        !verbose.stdout.contains("Assistant progress: Saw"),
        "the brief tells the answer: {verbose:?}"
    );
    let debug = world.run(&["tail", "--display", "5"]);
    for part in [
        " Model answered: ",
        "call call_",
        " Turn completed: 2 rounds",
    ] {
        assert!(debug.answer().contains(part), "{part}: {debug:?}");
    }
    for shown in [&info, &verbose, &debug] {
        assert!(!shown.stdout.contains("state changed"), "{shown:?}");
    }
    assert_eq!(
        world.run(&["tail", "--display", "4"]).stdout,
        verbose.stdout
    );
    let last = world.run(&["tail", "--limit", "1"]);
    let rows = last.answer().lines().filter(|line| !line.starts_with(' '));
    assert_eq!(rows.count(), 1, "{last:?}");
    let refused = world.run(&["tail", "--display", "trace"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("holon events"), "{refused:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn json_without_a_mode_is_the_briefs_and_with_one_the_rows() {
    let world = world();
    let served = world.serve(&["--model", &doer(&world, "echo seen")]);
    assert_eq!(world.run(&["run", "look", "--agent", "main"]).code, Some(0));
    let briefs = world.run(&["tail", "--json"]).json();
    assert_eq!(briefs.as_array().unwrap().len(), 1);
    assert!(briefs[0]["id"].as_str().unwrap().starts_with("brief_"));
    let rows = world
        .run(&["tail", "--json", "--display", "verbose"])
        .json();
    let last = rows.as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (last["category"].as_str(), last["visibility"].as_str()),
        (Some("brief"), Some("turn_result"))
    );
    assert_eq!(last["reference"]["id"], briefs[0]["id"]);
    assert_eq!(last["source_event_kind"], "brief_created");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn events_are_listed_with_their_positions_for_people_and_for_programs() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let all = world.run(&["events", "--json", "--limit", "512"]).json();
    let all = all.as_array().unwrap().clone();
    let seqs: Vec<u64> = all
        .iter()
        .map(|e| e["event_seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=all.len() as u64).collect::<Vec<_>>());
    let text = world.run(&["events", "--limit", "512"]);
    assert_eq!(text.answer().lines().count(), all.len(), "{text:?}");
    for part in [
        "  turn_started  ",
        "  agent_state_changed  ",
        "  brief_created  Result: Hello there.",
    ] {
        assert!(text.stdout.contains(part), "{part}: {text:?}");
    }
    let page = world
        .run(&["events", "--after", "3", "--limit", "2", "--json"])
        .json();
    assert_eq!(
        (&page[0]["event_seq"], &page[1]["event_seq"]),
        (&json!(4), &json!(5))
    );
    let unknown = world.run(&["events", "--agent", "nobody"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn following_goes_on_over_crashes_of_the_host_without_gap_or_duplicate() {
    let world = world();
    let model = hello(&world);
    let mut served = world.serve(&["--model", &model]);
    let mut events = Follower::start(&world, &["events", "--follow", "--json", "--after", "0"]);
    let mut briefs = Follower::start(&world, &["tail", "--follow", "--json"]);
    let mut rows = Follower::start(
        &world,
        &["tail", "--follow", "--json", "--display", "debug"],
    );
    // Each follower is connected before the first crash: it has seen the agent or its first brief.
    let mut seen_events = events.read_until(1, |e| e["type"] == "agent_created");
    let mut seen_rows = rows.read_until(1, |row| row["source_event_kind"] == "agent_created");
    let mut seen_briefs = Vec::new();
    for round in 0..3 {
        if round > 0 {
            served.crash();
            served = world.serve(&["--model", &model]);
        }
        // These events may be committed before the followers are back.
        assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
        seen_briefs.extend(briefs.read_until(1, |_| true));
        seen_events.extend(events.read_until(1, |e| e["type"] == "turn_terminal"));
        let is_end = |row: &Value| row["source_event_kind"] == "turn_terminal";
        seen_rows.extend(rows.read_until(1, is_end));
    }
    let seqs: Vec<u64> = seen_events
        .iter()
        .map(|e| e["event_seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let ids: BTreeSet<&str> = seen_briefs
        .iter()
        .map(|b| b["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), seen_briefs.len()), (3, 3));
    let ranges = seen_rows
        .iter()
        .map(|row| (row["first_seq"].as_u64(), row["last_seq"].as_u64()));
    let ranges: Vec<_> = ranges.collect();
    for pair in ranges.windows(2) {
        assert!(pair[0].1 < pair[1].0, "{pair:?}");
    }
    let told = seen_rows
        .iter()
        .filter(|row| row["category"] == "brief")
        .count();
    assert_eq!(told, 3);
    for follower in [events, briefs, rows] {
        follower.end();
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn colour_is_for_terminals_that_show_it_and_for_users_who_want_it() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let on_terminal = |variables: &[(&str, &str)]| {
        Terminal::start_attended(&world, &["tail"], variables).finish()
    };
    let coloured = on_terminal(&[("TERM", "xterm")]);
    assert!(
        coloured.contains("\u{1b}[1;32mresult\u{1b}[0m: Hello there."),
        "{coloured:?}"
    );
    for variables in [
        &[("TERM", "xterm"), ("NO_COLOR", "1")] as &[(&str, &str)],
        &[("TERM", "dumb")],
        &[],
    ] {
        let plain = on_terminal(variables);
        assert!(!plain.contains('\u{1b}'), "{variables:?}: {plain:?}");
    }
    let piped = world.run_in(&["tail"], b"", &[("TERM", "xterm")]);
    assert!(!piped.stdout.contains('\u{1b}'), "{piped:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn wide_characters_fit_into_the_terminal() {
    let world = world();
    let model = world.model(
        "wide",
        &json!([{ "text": "漢字仮名交じり文。".repeat(30) }]),
    );
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let shown = Terminal::start_sized(&world, &["tail"], 80).finish();
    assert!(shown.lines().count() > 5, "{shown}");
    for line in shown.lines() {
        assert!(text_width(line) <= 80, "{}: {line}", text_width(line));
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn views_break_between_words_on_a_common_terminal() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    for args in [
        &["status"] as &[&str],
        &["explain"],
        &["events"],
        &["debug", "latency"],
    ] {
        let shown = Terminal::start_sized(&world, args, 80).finish();
        for line in shown.lines() {
            let is_one_word = !line.trim().contains(' ');
            assert!(
                text_width(line) <= 80 || is_one_word,
                "{args:?}: {}: {line}",
                text_width(line)
            );
        }
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn followers_of_an_agent_that_is_deleted_say_so_and_its_positions_are_not_continued() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(world.run(&["agent", "create", "r1"]).code, Some(0));
    assert_eq!(world.run(&["run", "hi", "--agent", "r1"]).code, Some(0));
    let mut all = Follower::start(
        &world,
        &["events", "--all", "--follow", "--json", "--after", "0"],
    );
    all.read_until(1, |e| e["agent_id"] == "r1" && e["type"] == "turn_terminal");
    let mut following = world.command();
    let mut following = following
        .args([
            "events", "--agent", "r1", "--follow", "--json", "--after", "0",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["type"], "agent_created");
    assert_eq!(world.run(&["agent", "delete", "r1", "--yes"]).code, Some(0));
    let last = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .last();
    let ended = following.wait_with_output().unwrap();
    let words = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{words}");
    assert!(words.contains("agent r1 was deleted"), "{words}");
    let cursor = last.unwrap()["event_seq"].as_u64().unwrap().to_string();
    let gone = all.read_until(1, |e| e["type"] == "agent_deleted");
    assert_eq!(gone.last().unwrap()["agent_id"], "r1");
    while world.run(&["agent", "create", "r1"]).code != Some(0) {}
    let made = all.read_until(1, |e| e["type"] == "agent_created" && e["agent_id"] == "r1");
    assert!(
        made.last().unwrap()["event_seq"].as_u64() > gone.last().unwrap()["event_seq"].as_u64()
    );
    all.end();
    for args in [
        vec!["events", "--agent", "r1", "--after", &cursor],
        vec!["events", "--agent", "r1", "--after", &cursor, "--follow"],
    ] {
        let refused = world.run(&args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains("deleted and created again"),
            "{refused:?}"
        );
    }
    assert_eq!(served.terminate().0, Some(0));
}
