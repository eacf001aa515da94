//! `holon budget` in the real program: a limit suspends, a raise goes on, and a killed host loses no charge.

use crate::support::{hello, world};
use holon_testkit::{ProgramOutput, World};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// Follows the briefs of the default agent until one fits.
fn follow_until(world: &World, fits: impl Fn(&Value) -> bool) -> Value {
    let mut tail = world
        .command()
        .args(["tail", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let found = lines
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|brief| fits(brief))
        .expect("the host tells of it");
    tail.kill().unwrap();
    tail.wait().unwrap();
    found
}

fn asks_for_budget(brief: &Value) -> bool {
    brief["action_required"]["code"] == "budget_reached"
}

fn settles(brief: &Value, message_id: &Value) -> bool {
    let settled = brief["settles"].as_array();
    settled.is_some_and(|settled| settled.contains(message_id))
}

/// Returns the code of a refusal.
fn code_of(refused: &ProgramOutput) -> Value {
    let error: Value = serde_json::from_str(&refused.stderr).unwrap();
    error["code"].clone()
}

fn briefs_that_ask(world: &World) -> usize {
    let briefs = world.run(&["tail", "--json"]).json();
    let briefs = briefs.as_array().unwrap();
    briefs.iter().filter(|brief| asks_for_budget(brief)).count()
}

#[test]
fn a_turn_at_its_limit_waits_until_the_limit_is_raised_and_then_answers() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let set = world.run(&[
        "budget", "set", "--agent", "main", "--tokens", "5000", "--json",
    ]);
    assert_eq!(set.json()["limit_tokens"], 5_000, "{set:?}");
    // Each answered prompt uses some of it.
    let mut asked = 0;
    loop {
        asked += 1;
        assert!(asked < 100, "the limit is reached");
        let sent = world.run(&["prompt", "hi", "--json"]).json();
        let told = follow_until(&world, |brief| {
            asks_for_budget(brief) || settles(brief, &sent["message_id"])
        });
        if asks_for_budget(&told) {
            break;
        }
    }
    let told = follow_until(&world, asks_for_budget);
    let next_step = told["action_required"]["next_step"].as_str().unwrap();
    assert!(
        next_step.contains("holon budget set --agent main --tokens"),
        "{told}"
    );
    let status = world.run(&["status"]);
    for part in [
        "a budget is reached",
        "5000 tokens",
        &format!("\nneeds you  {next_step}\n"),
        "\nbudget     agent main: ",
        " of 5000 tokens used\n",
    ] {
        assert!(status.answer().contains(part), "{part}: {status:?}");
    }
    let shown = world.run(&["budget", "show", "--json"]).json();
    let spent = shown["budgets"][0]["spent_tokens"].as_u64().unwrap();
    assert!(spent <= 5_000, "{shown}");
    assert_eq!(shown["budgets"][0]["reserved_tokens"], 0, "{shown}");

    let explained = world.run(&["explain"]);
    for part in ["not a message", "holon budget set --agent main --tokens"] {
        assert!(explained.answer().contains(part), "{part}: {explained:?}");
    }
    assert!(
        !explained.answer().contains("for your answer"),
        "{explained:?}"
    );

    // Another word neither passes the limit nor tells of it again.
    let again = world.run(&["prompt", "and now?", "--json"]).json();
    assert_eq!(again["ok"], true);
    assert_eq!(briefs_that_ask(&world), 1);
    let usage = world.run(&["usage", "--agent", "main", "--json"]).json();
    assert_eq!(usage["total"]["total_tokens"].as_u64(), Some(spent));

    let raised = world.run(&["budget", "set", "--agent", "main", "--tokens", "5000000"]);
    assert_eq!(raised.code, Some(0), "{raised:?}");
    follow_until(&world, |brief| settles(brief, &again["message_id"]));
    assert_eq!(briefs_that_ask(&world), 1);
    let status = world.run(&["status"]);
    assert!(
        status.answer().contains("\nneeds you  nothing\n"),
        "{status:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_that_a_budget_of_a_day_holds_names_it_and_what_raises_it() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let limit = ["budget", "set", "--agent", "main", "--day", "--tokens"];
    assert_eq!(world.run(&[&limit[..], &["10"]].concat()).code, Some(0));
    let held = world.run(&["run", "hi", "--agent", "main"]);
    assert_eq!(held.code, Some(4), "{held:?}");
    let (status, next) = held.stderr.split_once("\nnext: ").expect("a next step");
    for part in [
        "the budget of agent main for a day is 10 tokens",
        "holon budget set --agent main --day --tokens N",
    ] {
        assert!(status.contains(part), "{part}: {held:?}");
        assert_eq!(held.stderr.matches(part).count(), 1, "said once: {held:?}");
    }
    assert!(next.contains("goes on by itself at "), "{held:?}");
    assert!(!held.stderr.contains("time to come"), "{held:?}");
    assert_eq!(served.terminate().0, Some(0));
}

/// A round that calls one tool and reports what it used.
fn round(tool: &str, input: &Value) -> Value {
    json!({
        "calls": [{ "tool": tool, "input": input }],
        "usage": { "input_tokens": 1_000, "output_tokens": 10 },
    })
}

#[test]
fn a_work_item_that_reaches_its_budget_waits_is_raised_and_completed() {
    let world = world();
    let meeting = world.meeting("midway");
    let named = json!({ "work_item_id": "{{work_item_id}}" });
    let command = json!({ "cmd": meeting.shell(), "yield_time_ms": 600_000 });
    let model = world.model(
        "worker",
        &json!([
            round("CreateWorkItem", &json!({ "objective": "Split the fixtures" })),
            round("PickWorkItem", &named),
            round("ExecCommand", &command),
            round("CompleteWorkItem", &named),
            { "text": "Done." },
        ]),
    );
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "split them"]).code, Some(0));
    meeting.wait();
    let by_item = world.run(&["usage", "--item", "--json"]).json();
    assert_eq!(by_item["by"], "item");
    let rows = by_item["rows"].as_array().unwrap();
    let [without, with] = rows.as_slice() else {
        panic!("calls before and after the item was picked: {by_item}")
    };
    assert_eq!(without["key"], "", "{by_item}");
    let item = with["key"].as_str().unwrap();
    let used = with["total_tokens"].as_u64().unwrap();
    assert!(used > 0, "{by_item}");
    let set = |tokens: u64| {
        let tokens = tokens.to_string();
        let args = [
            "budget", "set", "--item", item, "--tokens", &tokens, "--json",
        ];
        world.run(&args).json()
    };
    // The budget counts what the item used before, so there is no room for another call.
    let first = set(used + 1);
    assert_eq!(
        (&first["scope"], &first["key"]),
        (&json!("item"), &json!(item))
    );
    assert_eq!(first["spent_tokens"].as_u64(), Some(used), "{first}");
    meeting.let_go();
    let told = follow_until(&world, asks_for_budget);
    let next_step = told["action_required"]["next_step"].as_str().unwrap();
    let advice = format!("holon budget set --item {item} --tokens");
    assert!(next_step.contains(&advice), "{told}");
    let status = world.run(&["status"]);
    assert!(status.answer().contains(&advice), "{status:?}");
    let of_item = || world.run(&["usage", "--item", item, "--json"]).json();
    assert_eq!(of_item()["total"]["total_tokens"].as_u64(), Some(used));

    set(5_000_000);
    follow_until(&world, |brief| brief["text"] == "Done.");
    let work = world.run(&["work", "show", item, "--json"]).json();
    assert_eq!(work["state"], "completed", "{work}");
    assert_eq!(briefs_that_ask(&world), 1);
    let after = of_item()["total"]["total_tokens"].as_u64().unwrap();
    assert!(after > used, "{after} of {used}");
    let shown = world.run(&["budget", "show", "--json"]).json();
    let shown = &shown["budgets"][0];
    assert_eq!(shown["spent_tokens"].as_u64(), Some(after), "{shown}");
    assert_eq!(shown["reserved_tokens"], 0, "{shown}");
    let words = world.run(&["usage", "--item"]);
    for part in ["without a work item", item] {
        assert!(words.answer().contains(part), "{part}: {words:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_limit_holds_across_a_kill_and_bad_limits_are_refused() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    for bad in [
        ["--tokens", "-1"],
        ["--tokens", "99999999999999999999"],
        ["--tokens", "many"],
    ] {
        let refused = world.run(&["budget", "set", "--agent", "main", bad[0], bad[1]]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
    }
    for bad in ["-2", "1e3", "0.00000001"] {
        let money = format!("--usd={bad}");
        let refused = world.run(&["budget", "set", "--agent", "main", &money, "--json"]);
        assert_eq!(code_of(&refused), "invalid_budget", "{refused:?}");
    }
    let unpriced = world.run(&[
        "budget", "set", "--agent", "main", "--usd", "2.50", "--json",
    ]);
    assert_eq!(code_of(&unpriced), "price_unknown", "{unpriced:?}");
    let huge = u64::MAX.to_string();
    let refused = world.run(&[
        "budget", "set", "--agent", "main", "--tokens", &huge, "--json",
    ]);
    assert_eq!(code_of(&refused), "invalid_budget", "{refused:?}");
    let unknown = world.run(&["budget", "set", "--agent", "nobody", "--tokens", "5"]);
    let words = "nothing is known of agent nobody\nnext: list agents with: holon agent list";
    assert!(unknown.stderr.contains(words), "{unknown:?}");
    let unlimited = world.run(&["budget", "set", "--agent", "main"]);
    assert_eq!(unlimited.code, Some(2), "{unlimited:?}");
    assert!(
        unlimited.stderr.contains("--tokens N, --usd X"),
        "{unlimited:?}"
    );
    let nothing = world.run(&["budget", "show"]);
    assert!(nothing.answer().contains("no budgets"), "{nothing:?}");

    let set = world.run(&["budget", "set", "--agent", "main", "--day", "--tokens", "1"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    let told = follow_until(&world, asks_for_budget);
    let next_step = told["action_required"]["next_step"].as_str().unwrap();
    assert!(
        next_step.contains("or wait until"),
        "a day's limit ends by itself: {told}"
    );
    served.crash();
    let served = world.serve(&["--model", &hello(&world)]);
    let shown = world.run(&["budget", "show"]);
    assert!(
        shown
            .answer()
            .contains("agent main for a day: 0 of 1 tokens used"),
        "{shown:?}"
    );
    assert_eq!(briefs_that_ask(&world), 1);
    let cleared = world.run(&["budget", "clear", "--agent", "main", "--day"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    follow_until(&world, |brief| brief["kind"] == "result");
    let gone = world.run(&["budget", "clear", "--agent", "main", "--day", "--json"]);
    assert_eq!(code_of(&gone), "budget_not_found", "{gone:?}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn money_is_limited_where_the_price_is_known_and_every_answer_says_what_was_spent() {
    let world = world();
    let model = hello(&world);
    for (name, price) in [("price_input", "3.00"), ("price_output", "15")] {
        let key = format!("models.catalog.{model:?}.{name}");
        let set = world.run(&["config", "set", &key, price]);
        assert_eq!(set.code, Some(0), "{set:?}");
    }
    let served = world.serve(&["--model", &model]);
    let set = world.run(&[
        "budget", "set", "--agent", "main", "--usd", "2.50", "--json",
    ]);
    assert_eq!(set.json()["limit_usd"], "2.500000", "{set:?}");
    let both = world.run(&[
        "budget", "set", "--agent", "main", "--tokens", "5000000", "--json",
    ]);
    assert_eq!(
        both.json()["limit_usd"],
        "2.500000",
        "the other limit stays"
    );
    assert_eq!(both.json()["limit_tokens"], 5_000_000, "{both:?}");
    let run = world
        .run(&["run", "hi", "--agent", "main", "--json"])
        .json();
    let usage = world.run(&["usage", "--json"]).json();
    let cost = usage["total"]["cost"].clone();
    assert_ne!(cost, "unknown");
    assert_eq!(run["usage"]["cost"], cost, "{run}");
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["token_usage"]["usage"]["cost"], cost, "{status}");
    let briefs = world.run(&["tail", "--json"]).json();
    assert_eq!(briefs[0]["usage"]["cost"], cost, "{briefs}");
    let shown = world.run(&["budget", "show", "--json"]).json();
    assert_eq!(shown["budgets"][0]["spent_usd"], cost, "{shown}");
    let bad = world.run(&["config", "set", "budgets.time_zone", "Nowhere/City"]);
    assert_ne!(bad.code, Some(0), "{bad:?}");
    assert_eq!(served.terminate().0, Some(0));
}
