//! Bad input about work with the real program: items that cannot be used, damaged plan files, and ten thousand of
//! everything.

use crate::models::{Entry, configure};
use crate::support::{records, silent, until, world};
use holon_api::{CreateTimerRequest, EnqueueRequest, WakeRequest};
use holon_client::{Client, Error};
use holon_domain::AgentId;
use holon_testkit::World;
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::{Value, json};
use std::path::PathBuf;
use tokio::task::JoinSet;

fn create(world: &World, args: &[&str]) -> (String, Value) {
    let mut all = vec!["work", "create"];
    all.extend(args);
    all.push("--json");
    let item = world.run(&all).json();
    (item["id"].as_str().unwrap().to_owned(), item)
}

#[test]
fn items_of_others_and_completed_ones_are_refused_and_two_steps_at_once_are_taken() {
    let world = world();
    let served = world.serve(&["--model", &silent(&world)]);
    assert_eq!(world.run(&["agent", "create", "other"]).code, Some(0));
    let (id, made) = create(&world, &["water the plants"]);
    let plan = &made["plan_artifact"];
    assert_eq!(
        (&plan["exists"], &plan["bytes"], &plan["preview_complete"]),
        (&json!(false), &json!(0), &json!(false)),
        "an operator writes no plan file"
    );
    assert!(
        plan["hash"].is_null() && plan["updated_at"].is_null(),
        "{plan:#}"
    );
    let (both, item) = create(
        &world,
        &["sweep", "--todo", "[>] the hall", "--todo", "[>] the yard"],
    );
    let again = [
        "work",
        "update",
        both.as_str(),
        "--todo",
        "[>] x",
        "--todo",
        "[>] y",
    ];
    let warned = world.run(&again);
    assert_eq!(warned.code, Some(0), "{warned:?}");
    let warning = "warning: 2 entries of the checklist are in progress";
    assert!(warned.stderr.contains(warning), "{warned:?}");
    let started = item["todo_list"].as_array().unwrap().iter();
    let started = started.filter(|todo| todo["state"] == "in_progress");
    assert_eq!(started.count(), 2, "{item:#}");
    assert_eq!(world.run(&["work", "complete", &id]).code, Some(0));
    let said = records(
        &world,
        &[
            &["work", "show", &both, "--agent", "other"],
            &["work", "update", &both, "--agent", "other", "--unblock"],
            &["work", "complete", &both, "--agent", "other"],
            &["work", "resume", &both, "--agent", "other"],
            &["work", "update", &id, "--objective", "again"],
            &["work", "complete", &id],
            &["work", "resume", &id],
            &["work", "update", &both, "--objective", " "],
        ],
    );
    let said = said.replace(&id, "[COMPLETED]").replace(&both, "[OPEN]");
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(said);
    });
    assert_eq!(served.terminate().0, Some(0));
}

/// Runs one turn of the default agent and asserts that its request held these words.
fn look(world: &World, provider: &Provider, words: &str) {
    let ran = world.run(&["run", "look", "--agent", "main"]);
    assert!(ran.stdout.contains("Seen."), "{words}: {ran:?}");
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    assert!(last.contains(words), "{words}: {}", last.body);
}

fn shown(world: &World, id: &str) -> Value {
    let item = world.run(&["work", "show", id, "--json"]).json();
    item["plan_artifact"].clone()
}

/// Makes an item with a plan and picks it. The item waits for an operator, so no tick takes it up.
fn plan(request: &RecordedRequest) -> Round {
    let new = json!({ "objective": "Plan it", "plan": "# Plan\n", "plan_status": "needs_input" });
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
            Round::empty().call("PickWorkItem", json!({ "work_item_id": id }))
        }
        _ => Round::text("Seen."),
    }
}

#[test]
fn a_plan_file_that_was_edited_removed_bloated_broken_or_replaced_by_a_link_is_told_as_it_is() {
    const SECRET: &str = "the secret of another directory";
    let world = world();
    let provider = Provider::start(Script::choose(plan));
    let entry = Entry::new("local", Protocol::Chat, provider.base_url());
    configure(&world, "", &[entry]);
    let served = world.serve(&["--model", "local/planner"]);
    let ran = world.run(&["run", "plan it", "--agent", "main"]);
    assert!(ran.stdout.contains("Seen."), "{ran:?}");
    let list = world.run(&["work", "list", "--json"]).json();
    let id = list["work_items"][0]["id"].as_str().unwrap();
    let plan: PathBuf = shown(&world, id)["path"].as_str().unwrap().into();

    std::fs::write(&plan, "A new plan.\n").unwrap();
    look(&world, &provider, "A new plan.");
    let edited = shown(&world, id);
    assert_eq!(
        (&edited["bytes"], &edited["preview"]),
        (&json!(12), &json!("A new plan.\n"))
    );

    assert_eq!(edited["exists"], true);

    std::fs::remove_file(&plan).unwrap();
    look(&world, &provider, "(there is no such file)");
    let gone = shown(&world, id);
    assert_eq!(
        (
            &gone["exists"],
            &gone["bytes"],
            &gone["preview"],
            &gone["preview_complete"]
        ),
        (&json!(false), &json!(0), &json!(""), &json!(false))
    );
    assert!(gone["hash"].is_null(), "{gone:#}");

    std::fs::write(&plan, "x".repeat(2 << 20)).unwrap();
    look(&world, &provider, "too large to be shown; shorten it");
    assert_eq!(shown(&world, id)["bytes"], json!(2 << 20));

    std::fs::write(&plan, [0, 159, 146, 150].repeat(8)).unwrap();
    look(&world, &provider, "(32 bytes, no text)");
    assert_eq!(shown(&world, id)["bytes"], json!(32));

    std::fs::remove_file(&plan).unwrap();
    let secret = world.write("secret", SECRET);
    std::os::unix::fs::symlink(&secret, &plan).unwrap();
    look(&world, &provider, "(there is no such file)");
    let told = world.run(&["transcript"]).stdout + &shown(&world, id).to_string();
    assert!(!told.contains(SECRET), "{told}");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), SECRET);
    assert_eq!(served.terminate().0, Some(0));
    let requests = provider.finish();
    assert!(!requests.iter().any(|request| request.contains(SECRET)));
}

/// Timers of one agent, which is as many as it may have.
const TIMERS: u64 = 10_000;
/// Messages, and wakes, of one agent.
const MANY: u64 = 2_000;
/// Requests that are sent at the same time.
const AT_ONCE: u64 = 64;

/// Sends this many requests of one kind, some at once, and expects every one to be taken.
async fn send_many<F>(client: &Client, count: u64, send: fn(Client, u64) -> F)
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let mut senders = JoinSet::new();
    for sender in 0..AT_ONCE {
        let client = client.clone();
        senders.spawn(async move {
            for number in (sender..count).step_by(AT_ONCE as usize) {
                send(client.clone(), number).await?;
            }
            Ok::<_, Error>(())
        });
    }
    for sent in senders.join_all().await {
        sent.expect("taken");
    }
}

fn main_agent() -> AgentId {
    AgentId::parse("main").unwrap()
}

async fn message(client: Client, number: u64) -> Result<(), Error> {
    let request = EnqueueRequest {
        text: Some(format!("event number {number}")),
        ..EnqueueRequest::default()
    };
    client.enqueue(Some(&main_agent()), &request).await?;
    Ok(())
}

async fn wake(client: Client, number: u64) -> Result<(), Error> {
    let request = WakeRequest {
        reason: format!("wake number {number}"),
        source: Some(format!("source-{}", number % 100)),
        ..WakeRequest::default()
    };
    client.wake(&main_agent(), &request).await?;
    Ok(())
}

async fn timer(client: Client, number: u64) -> Result<(), Error> {
    let request = timer_in_a_day(number);
    client.create_timer(&main_agent(), &request).await?;
    Ok(())
}

fn timer_in_a_day(number: u64) -> CreateTimerRequest {
    CreateTimerRequest {
        duration_ms: Some(24 * 3_600_000 + number),
        ..CreateTimerRequest::default()
    }
}

#[test]
fn thousands_of_messages_wakes_and_timers_are_bounded_and_none_is_lost_in_a_crash() {
    let world = world();
    let model = silent(&world);
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "keep busy"]).code, Some(0));
    until("the turn runs", || {
        world.run(&["status"]).answer().contains("awake_running")
    });
    let client = Client::unix(world.home().join("run/holon.sock"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        send_many(&client, MANY, message).await;
        send_many(&client, MANY, wake).await;
        send_many(&client, TIMERS, timer).await;
        let refused = client.create_timer(&main_agent(), &timer_in_a_day(0)).await;
        let refused = refused.expect_err("one too many").to_string();
        assert!(
            refused.contains("10000 timers of this agent are active"),
            "{refused}"
        );
    });
    let counts = || {
        let status = world.run(&["status", "--json"]).json();
        (
            status["agent"]["pending"].clone(),
            status["active_timer_count"].clone(),
            hints_told(&world),
        )
    };
    let before = counts();
    assert_eq!(before.0, json!(MANY));
    assert_eq!(before.1, json!(TIMERS));
    assert_eq!(before.2.1, MANY, "wakes that the pending hints stand for");
    assert!((1..=16).contains(&before.2.0), "{before:?}");
    served.crash();
    let served = world.serve(&["--model", &model]);
    assert_eq!(counts(), before);
    assert_eq!(served.terminate().0, Some(0));
}

/// Number of pending hints and of the wakes they stand for, as stored.
fn hints_told(world: &World) -> (u64, u64) {
    let db = world.home().join("state/holon.sqlite3");
    let hints = holon_testkit::damage::rows(&db, "SELECT record FROM hints");
    let count = |hint: &String| serde_json::from_str::<Value>(hint).unwrap()["count"].as_u64();
    let wakes = hints.iter().map(|hint| count(hint).unwrap_or(1));
    (hints.len() as u64, wakes.sum())
}
