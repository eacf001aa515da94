//! Commands that messages propose, and facts about work that end on one line, with the real program.

use crate::support::{hello, silent, world};
use holon_testkit::World;
use serde_json::{Value, json};

fn create(world: &World, args: &[&str]) -> String {
    let mut all = vec!["work", "create", "--json"];
    all.extend(args);
    world.run(&all).json()["id"].as_str().unwrap().to_owned()
}

/// Runs the command that the message proposes after these words.
fn paste(world: &World, said: &str, after: &str) -> Option<i32> {
    let (_, command) = said.split_once(after).expect(after);
    let line = command.lines().next().unwrap();
    let args: Vec<&str> = line
        .strip_prefix("holon ")
        .expect(line)
        .split(' ')
        .collect();
    world.run(&args).code
}

#[test]
fn a_proposed_command_about_work_names_the_agent_and_works_as_it_is() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    assert_eq!(world.run(&["agent", "create", "other"]).code, Some(0));
    for (args, after) in [
        (["work", "show", "work_none"], "with: "),
        (["wait", "cancel", "wait_none"], "with: "),
        (["timer", "cancel", "timer_none"], "with: "),
    ] {
        let mut all = args.to_vec();
        all.extend(["--agent", "other"]);
        let refused = world.run(&all);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(" --agent other"), "{refused:?}");
        assert_eq!(
            paste(&world, &refused.stderr, after),
            Some(0),
            "{refused:?}"
        );
    }
    let listed = world.run(&["timer", "list", "--agent", "other"]);
    assert_eq!(
        paste(&world, listed.answer(), "with: "),
        Some(0),
        "{listed:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn commands_that_are_proposed_under_a_home_name_it() {
    let world = world();
    let dir = world.path().join("other home");
    let home = dir.to_str().unwrap();
    let named = format!("holon --home '{home}'");
    let refused = world.run(&["--home", home, "status"]);
    let start = format!("{named} daemon start");
    assert!(refused.stderr.contains(&start), "{refused:?}");
    let model = world.model(
        "asker",
        &json!([{ "calls": [{ "tool": "WaitFor", "input": {
            "reason": "which branch?", "wake_on": ["operator"],
        } }] }]),
    );
    let run = ["run", "go", "--model", &model, "--agent", "main"];
    let held = world.run(&[&run[..], &["--create-agent", "--home", home]].concat());
    assert!(held.stderr.contains(&named), "{held:?}");
    let settings = world.run(&["--home", home, "config", "list"]);
    let effective = format!("{named} config list --effective");
    assert!(settings.answer().contains(&effective), "{settings:?}");
}

#[test]
fn a_run_that_leaves_work_open_says_so_and_what_becomes_of_it() {
    let world = world();
    let new = json!({ "tool": "CreateWorkItem", "input": { "objective": "Sweep the hall", "plan_status": "needs_input" } });
    let model = world.model(
        "starter",
        &json!([{ "calls": [new] }, { "text": "Begun." }]),
    );
    let temporary = world.run(&["run", "begin", "--model", &model]);
    assert!(
        temporary.stderr.contains("open work: work_"),
        "{temporary:?}"
    );
    assert!(temporary.stderr.contains("Sweep the hall"), "{temporary:?}");
    assert!(
        temporary.stderr.contains("gone with the temporary agent"),
        "{temporary:?}"
    );
    let kept = world.run(&[
        "run", "begin", "--model", &model, "--agent", "main", "--json",
    ]);
    let answer: Value = serde_json::from_str(&kept.stdout).unwrap();
    assert_eq!(answer["open_work_item_count"], 1, "{answer:#}");
    assert_eq!(answer["open_work_items"][0]["objective"], "Sweep the hall");
    let none = world
        .run(&["run", "hi", "--model", &hello(&world), "--json"])
        .json();
    assert_eq!(none.get("open_work_items"), None, "{none:#}");
}

#[test]
fn a_run_whose_work_can_go_on_is_not_reported_as_completed() {
    let world = world();
    let new = json!({ "tool": "CreateWorkItem", "input": { "objective": "Sweep the hall" } });
    let model = world.model(
        "starter",
        &json!([{ "calls": [new] }, { "text": "Begun." }]),
    );
    let temporary = world.run(&["run", "begin", "--model", &model]);
    assert_eq!(temporary.code, Some(4), "{temporary:?}");
    assert_eq!(temporary.stdout.trim(), "Begun.");
    for words in ["run left work unfinished", "gone with the temporary agent"] {
        assert!(temporary.stderr.contains(words), "{temporary:?}");
    }
    let kept = world.run(&[
        "run", "begin", "--model", &model, "--agent", "main", "--json",
    ]);
    assert_eq!(kept.code, Some(4), "{kept:?}");
    let answer: Value = serde_json::from_str(&kept.stdout).unwrap();
    assert_eq!(answer["final_status"], "waiting", "{answer:#}");
    assert_eq!(answer.get("waiting_reason"), None, "{answer:#}");
    assert_eq!(answer["final_text"], "Begun.");
    let said = world.run(&["run", "again", "--model", &hello(&world), "--agent", "main"]);
    assert!(
        said.stderr.contains("its work is not finished")
            && said.stderr.contains("holon daemon start"),
        "{said:?}"
    );
}

#[test]
fn a_run_that_waits_for_an_answer_proposes_to_give_one() {
    let world = world();
    let wait =
        json!({ "tool": "WaitFor", "input": { "reason": "which hall?", "wake_on": ["operator"] } });
    let model = world.model(
        "asker",
        &json!([{ "calls": [wait] }, { "text": "Thanks." }]),
    );
    let served = world.serve(&["--model", &model]);
    let waiting = world.run(&["run", "sweep", "--agent", "main"]);
    assert_eq!(waiting.code, Some(4), "{waiting:?}");
    assert!(
        waiting
            .stderr
            .contains("the agent is waiting for your answer"),
        "{waiting:?}"
    );
    assert!(
        waiting.stderr.contains("holon prompt --agent main \"...\""),
        "{waiting:?}"
    );
    assert!(
        !waiting.stderr.contains("holon daemon start"),
        "{waiting:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn the_command_that_a_run_proposes_answers_the_question_of_its_agent() {
    let world = world();
    let asks =
        json!({ "reason": "the release", "question": "Which branch?", "wake_on": ["operator"] });
    let wait = json!({ "tool": "WaitFor", "input": asks });
    let rounds = json!([{ "text": "I ask.", "calls": [wait] }, { "text": "Thanks." }]);
    let served = world.serve(&["--model", &world.model("asker", &rounds)]);
    let waiting = world.run(&["run", "release", "--agent", "main"]);
    assert_eq!(waiting.code, Some(4), "{waiting:?}");
    assert!(waiting.stderr.contains("Which branch?"), "{waiting:?}");
    let proposed = waiting.stderr.split_once("--agent main \"");
    let proposed = proposed.and_then(|(_, rest)| rest.split_once(": ...\""));
    let (wait, _) = proposed.expect("a command with the id of the wait");
    assert!(wait.starts_with("wait_"), "{waiting:?}");
    let answered = world.run(&["run", &format!("{wait}: main"), "--agent", "main"]);
    assert_eq!(answered.answer().trim(), "Thanks.", "{answered:?}");
    let open = world.run(&["wait", "list", "--agent", "main"]);
    assert!(!open.stdout.contains(wait), "{open:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_text_with_line_ends_and_controls_stays_one_visible_line_in_a_pipe() {
    const FORGED: &str = "line1\nitem       work_fake (completed)\tx\u{1b}[2Jy\u{202e}z";
    let world = world();
    let model = world.model("steering", &json!([{ "text": FORGED }]));
    let served = world.serve(&["--model", &silent(&world)]);
    let id = create(&world, &[FORGED]);
    let made = ["timer", "create", "--after", "1h", "--summary", FORGED];
    assert_eq!(world.run(&made).code, Some(0));
    for args in [
        &["work", "list"] as &[&str],
        &["timer", "list"],
        &["work", "show", &id],
        &["explain"],
        &["status"],
    ] {
        let shown = world.run(args);
        let text = shown.answer();
        let forged = text
            .lines()
            .any(|line| line.starts_with("item       work_fake"));
        assert!(!forged, "{args:?}: {text}");
        assert!(
            !text.contains(['\u{1b}', '\u{202e}', '\t']),
            "{args:?}: {text:?}"
        );
    }
    assert_eq!(world.run(&["work", "list"]).answer().lines().count(), 1);
    assert_eq!(served.terminate().0, Some(0));
    let ran = world.run(&["run", "hi", "--model", &model]);
    assert_eq!(
        ran.answer(),
        format!("{FORGED}\n"),
        "the answer is the model's own"
    );
}

#[test]
fn a_cut_list_of_work_names_the_cursor_of_the_next_page() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    for n in 0..3 {
        let made = world.run(&["work", "create", &format!("part {n}")]);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    let cut = world.run(&["work", "list", "--limit", "2"]);
    let (_, cursor) = cut
        .answer()
        .split_once("2 of 3 are shown; see more with --after ")
        .unwrap_or_else(|| panic!("{cut:?}"));
    let rest = world.run(&["work", "list", "--after", cursor.trim()]);
    assert_eq!(rest.answer().lines().count(), 1, "{rest:?}");
    let refused = world.run(&["work", "list", "--after", "page 2"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("next_cursor"), "{refused:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_cut_list_of_timers_says_how_many_there_are() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    for _ in 0..3 {
        let made = world.run(&["timer", "create", "--after", "1h", "--every", "1h"]);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    let cut = world.run(&["timer", "list", "--limit", "2"]);
    assert!(
        cut.answer()
            .contains("2 of 3 are shown; see more with --limit N"),
        "{cut:?}"
    );
    assert!(cut.answer().contains("then every 1h"), "{cut:?}");
    let whole = world.run(&["timer", "list"]);
    assert_eq!(whole.answer().lines().count(), 3, "{whole:?}");
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    let stopped = world.run(&["timer", "list"]);
    assert!(!stopped.answer().contains("fires at"), "{stopped:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_wrong_command_line_about_work_ends_with_two_and_names_options() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    let id = create(&world, &["sweep"]);
    let lines: [(&[&str], &str); 13] = [
        (
            &["timer", "create", "--after", "1h", "--every", "0s"],
            "--every",
        ),
        (
            &["timer", "create", "--after", "5s", "--time-zone", "UTC"],
            "--time-zone goes only with --cron",
        ),
        (
            &["timer", "create", "--at", "9999-01-01T00:00:00Z"],
            "--at is more than ten years away",
        ),
        (
            &["timer", "create", "--every", "1h"],
            "add --after DURATION or --at TIME",
        ),
        (&["timer", "create", "--after", "9999d"], "ten years"),
        (
            &["timer", "create", "--after", "1h", "--summary", " "],
            "--summary is empty",
        ),
        (
            &["timer", "create", "--cron", "61 * * * *"],
            "cron expression",
        ),
        (&["timer", "create"], "no time is given"),
        (
            &["work", "update", &id, "--objective", " "],
            "the objective is empty",
        ),
        (&["work", "update", &id, "--todo", ""], "the entry is empty"),
        (&["work", "show", ""], "ITEM"),
        (&["timer", "cancel", ""], "TIMER"),
        (&["wait", "cancel", ""], "WAIT"),
    ];
    for (args, words) in lines {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(words), "{args:?}: {refused:?}");
        assert!(!refused.stderr.contains("_ms"), "{args:?}: {refused:?}");
        let mut all = args.to_vec();
        all.push("--json");
        let refused = world.run(&all);
        let body: Value = serde_json::from_str(&refused.stderr).expect(&refused.stderr);
        assert_eq!(
            (refused.code, &body["ok"]),
            (Some(2), &json!(false)),
            "{args:?}"
        );
    }
    assert_eq!(served.terminate().0, Some(0));
}
