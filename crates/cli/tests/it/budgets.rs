//! `holon budget` in the real program: a limit suspends, a raise goes on, and a killed host loses no charge.

use crate::support::{hello, world};
use holon_testkit::{ProgramOutput, World};
use serde_json::Value;
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
