//! `work`, `wait`, `timer`, `wake` and `explain` against a live host.

use crate::models::{Entry, configure};
use crate::support::{assert_output, hello, records, silent, until, world};
use holon_testkit::World;
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::{Value, json};

fn transcript(world: &World) -> String {
    world.run(&["transcript"]).answer().to_owned()
}

fn explained(world: &World) -> String {
    world.run(&["explain"]).answer().to_owned()
}

/// Creates a model that waits for a build in every odd round and repeats its input in every even one.
fn waiter(world: &World) -> String {
    let call = json!({
        "tool": "WaitFor",
        "input": { "reason": "the build", "wake_on": [{ "external": "ci" }] },
    });
    world.model(
        "waiter",
        &json!([{ "calls": [call] }, { "text": "Told: {{input}}" }]),
    )
}

#[test]
fn a_timer_fires_once_and_its_tick_is_answered() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let args = [
        "timer",
        "create",
        "--after",
        "300ms",
        "--summary",
        "look at the oven",
        "--json",
    ];
    let timer = world.run(&args).json();
    assert_eq!(
        (&timer["status"], &timer["duration_ms"], &timer["repeat"]),
        (&json!("active"), &json!(300), &json!(false))
    );
    until("the timer has fired and was answered", || {
        let said = transcript(&world);
        said.contains("look at the oven") && said.contains("Hello there.")
    });
    let all = world.run(&["timer", "list", "--all", "--json"]).json();
    assert_eq!(
        (&all[0]["id"], &all[0]["status"], &all[0]["fire_count"]),
        (&timer["id"], &json!("completed"), &json!(1))
    );
    let left = world.run(&["timer", "list"]);
    assert!(left.answer().starts_with("no timers"), "{left:?}");
    let explained = explained(&world);
    let fired = format!("the timer {} fired", timer["id"].as_str().unwrap());
    assert!(explained.contains(&fired), "{explained}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_timer_that_is_cancelled_is_gone_from_the_list_and_from_the_status() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let args = [
        "timer",
        "create",
        "--cron",
        "30 9 * * 1-5",
        "--time-zone",
        "Europe/Berlin",
    ];
    let made = world.run(&args);
    let id = made.answer().split(' ').next().unwrap();
    let list = world.run(&["timer", "list"]);
    assert!(
        list.answer()
            .contains("by \"30 9 * * 1-5\" in Europe/Berlin"),
        "{list:?}"
    );
    assert!(
        world
            .run(&["status"])
            .answer()
            .contains("timers     1 timer set, next at ")
    );
    let explained = explained(&world);
    assert!(
        explained.contains(&format!("the timer {id} fires")),
        "{explained}"
    );
    let cancelled = world.run(&["timer", "cancel", id]);
    assert_eq!(cancelled.answer(), format!("{id} is cancelled\n"));
    assert!(!world.run(&["status"]).answer().contains("timers  "));
    let again = world.run(&["timer", "cancel", id]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again
            .stderr
            .contains("next: see its timers with: holon timer list"),
        "{again:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_wake_makes_a_resting_agent_look() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let woken = world.run(&["wake", "main", "the mail is here"]);
    assert_eq!(woken.answer(), "agent main is woken\n");
    until("the wake was answered", || {
        let said = transcript(&world);
        said.contains("the mail is here") && said.contains("Hello there.")
    });
    let explained = explained(&world);
    for part in [
        "was woken through operator: the mail is here",
        "because system_tick is ",
        "queue      nothing waits",
        "woken by   a wake: holon wake main REASON",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_new_item_is_taken_up_by_an_idle_agent_and_seen_through_to_its_end() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let made = world.run(&[
        "work",
        "create",
        "water the plants",
        "--todo",
        "[>] fill the can",
        "--json",
    ]);
    let made = made.json();
    let id = made["id"].as_str().unwrap();
    until("the item is offered, and its turn changes nothing", || {
        transcript(&world).contains("can be taken up: water the plants")
            && explained(&world).contains("made no progress")
    });
    let explained = explained(&world);
    for part in [
        format!("the runtime sent a tick for {id} (work_queue)"),
        format!("because the last turns changed nothing about {id}"),
        "planned    ".to_owned(),
    ] {
        assert!(explained.contains(&part), "{part}: {explained}");
    }
    let status = world.run(&["status"]);
    assert!(
        status
            .answer()
            .contains("work       1 open item: 1 runnable"),
        "{status:?}"
    );
    let changed = world.run(&["work", "update", id, "--plan-status", "needs_input"]);
    assert_eq!(changed.answer(), format!("{id} is at revision 2\n"));
    let list = world.run(&["work", "list"]);
    assert_eq!(
        list.answer(),
        format!("{id}  waiting_operator: water the plants\n")
    );
    assert_eq!(world.run(&["work", "resume", id]).code, Some(0));
    let shown = world.run(&["work", "show", id]);
    for part in [
        "objective  water the plants",
        "todo       [>] fill the can",
        "plan       needs_input",
    ] {
        assert!(shown.answer().contains(part), "{part}: {shown:?}");
    }
    let done = world.run(&["work", "complete", id, "--json"]).json();
    assert_eq!(done["state"], "completed");
    let list = world.run(&["work", "list"]);
    assert!(list.answer().starts_with("no such work items"), "{list:?}");
    let all = world
        .run(&["work", "list", "--filter", "completed", "--json"])
        .json();
    assert_eq!(all["work_items"][0]["id"], json!(id));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_wait_is_shown_explained_ended_by_its_source_and_cancelled_by_hand() {
    let world = world();
    let served = world.serve(&["--model", &waiter(&world)]);
    let waits = |args: &[&str]| -> Value { world.run(args).json() };
    let active = ["wait", "list", "--json"];
    assert_eq!(world.run(&["prompt", "build it"]).code, Some(0));
    until("the agent waits", || {
        waits(&active)[0]["status"] == "active"
    });
    let first = waits(&active)[0]["id"].as_str().unwrap().to_owned();
    let explained = explained(&world);
    let awaited = format!("woken by   an event or a wake from ci (the wait {first}: the build)");
    assert!(explained.contains(&awaited), "{explained}");
    assert!(
        world
            .run(&["status"])
            .answer()
            .contains(&format!("waits for  {first}"))
    );
    assert_eq!(
        world.run(&["wake", "main", "green", "--source", "ci"]).code,
        Some(0)
    );
    until("the build was told", || {
        transcript(&world).contains("Told: ")
    });
    let all = waits(&["wait", "list", "--all", "--json"]);
    assert_eq!(
        (&all[0]["id"], &all[0]["status"]),
        (&json!(first), &json!("resolved"))
    );
    assert_eq!(world.run(&["prompt", "again"]).code, Some(0));
    until("the agent waits again", || {
        waits(&active)[0]["status"] == "active"
    });
    let second = waits(&active)[0]["id"].as_str().unwrap().to_owned();
    let cancelled = world.run(&["wait", "cancel", &second]);
    assert_eq!(cancelled.answer(), format!("{second} is cancelled\n"));
    assert_eq!(world.run(&["wait", "list"]).answer(), "no waits\n");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn what_cannot_be_done_with_work_says_why_and_what_to_do_instead() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    let said = records(
        &world,
        &[
            &["work", "show", "work_unknown"],
            &["work", "create", " "],
            &["work", "update", "work_unknown"],
            &["work", "complete", "../x"],
            &["wait", "cancel", "wait_unknown"],
            &["timer", "create", "--after", "5m", "--every", "0"],
            &["timer", "create", "--after", "soon"],
            &[
                "timer",
                "create",
                "--at",
                "2001-01-01T00:00:00Z",
                "--summary",
                "too late",
            ],
            &["timer", "create", "--cron", "0 0 30 2 *"],
            &[
                "timer",
                "create",
                "--cron",
                "0 9 * * *",
                "--time-zone",
                "Mars/Base",
            ],
            &["wake", "nobody", "look"],
            &["wake", "main", ""],
            &["explain", "nobody"],
            &["wait", "list", "--agent", "nobody", "--json"],
        ],
    );
    insta::with_settings!({ filters => vec![
        (r"it is \d{4}-\d\d-\d\dT[\d:.]+Z now", "it is [NOW] now"),
    ], omit_expression => true }, {
        insta::assert_snapshot!(said);
    });
    assert_eq!(served.terminate().0, Some(0));
    assert_output!(records(&world, &[&["explain"]]));
}

#[test]
fn a_busy_agent_is_explained_by_its_turn_and_its_oldest_message() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    assert_eq!(world.run(&["prompt", "first"]).code, Some(0));
    until("the turn runs", || {
        world.run(&["status"]).answer().contains("awake_running")
    });
    let args = [
        "timer",
        "create",
        "--after",
        "1ms",
        "--summary",
        "the tick waits",
    ];
    assert_eq!(world.run(&args).code, Some(0));
    until("the tick is queued", || {
        explained(&world).contains("1 waiting; oldest")
    });
    let said = explained(&world);
    for part in [
        "agent      main (awake_running)",
        "why        asks ",
        "woken by   nothing is needed: it goes on by itself",
        "(timer_tick) since ",
        ": the tick waits",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let told = world.run(&["explain", "main", "--json"]).json();
    assert_eq!(told["oldest_unserved"]["kind"], "timer_tick");
    assert_eq!(served.terminate().0, Some(0));
}

const REPORT: &str = "The plants are watered.\nThe can is empty.";

/// Makes an item and completes it with a report. The item waits for an operator, so no tick takes it up.
fn report(request: &RecordedRequest) -> Round {
    let new = json!({ "objective": "water the plants", "plan_status": "needs_input" });
    match request.index {
        0 => Round::empty().call("CreateWorkItem", new),
        1 => {
            let outputs = request.tool_outputs().concat();
            let at = outputs.find("work_").expect("the id of an item");
            let id: String = outputs
                .split_at(at)
                .1
                .chars()
                .take("work_".len() + 20)
                .collect();
            Round::text(REPORT).call("CompleteWorkItem", json!({ "work_item_id": id }))
        }
        _ => Round::text("Done."),
    }
}

#[test]
fn the_report_of_an_item_is_shown_with_the_brief_that_told_it() {
    let world = world();
    let provider = Provider::start(Script::choose(report));
    let entry = Entry::new("local", Protocol::Chat, provider.base_url());
    configure(&world, "", &[entry]);
    let served = world.serve(&["--model", "local/gardener"]);
    let ran = world.run(&["run", "water them", "--agent", "main"]);
    assert!(ran.stdout.contains("The can is empty."), "{ran:?}");
    let list = world
        .run(&["work", "list", "--filter", "completed", "--json"])
        .json();
    let id = list["work_items"][0]["id"].as_str().unwrap();
    let item = world.run(&["work", "show", id, "--json"]).json();
    let summary = &item["delivery_summary"];
    assert_eq!(
        (
            &summary["text"],
            &summary["work_item_id"],
            &summary["agent_id"],
            &summary["source"]
        ),
        (
            &json!(REPORT),
            &json!(id),
            &json!("main"),
            &json!("assistant_round")
        )
    );
    let completion = &item["completion_report"];
    assert_eq!(completion["delivery_summary_id"], summary["id"]);
    assert_eq!(completion["created_at"], summary["created_at"]);
    let briefs = world.run(&["tail", "--json"]).json();
    let told = briefs.as_array().unwrap().iter();
    let mut told = told.filter(|brief| brief["id"] == summary["brief_id"]);
    assert_eq!(told.next().unwrap()["text"], json!(REPORT), "{briefs:#}");
    let shown = world.run(&["work", "show", id]);
    let words = |key: &str| summary[key].as_str().unwrap();
    let delivered = format!(
        "delivered  {} as {} by {}, for {} (assistant_round)",
        words("created_at"),
        words("id"),
        words("brief_id"),
        words("message_id")
    );
    for part in ["report     The plants are watered.", &delivered] {
        assert!(shown.answer().contains(part), "{part}: {shown:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
}
