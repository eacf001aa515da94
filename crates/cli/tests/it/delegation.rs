//! Children in the real program: a child works, reports to its parent, and is known through its parent only.

use crate::memory::request;
use crate::models::{Entry, configure};
use crate::processes::ProcessCleanup;
use crate::support::{until, world};
use crate::worktrees::{ask, repository};
use holon_testkit::World;
use holon_testkit::provider::{Point, Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

#[test]
fn a_child_reports_to_its_parent_and_is_known_through_its_parent_only() {
    let world = world();
    let spawn = json!({ "tool": "SpawnAgent", "input": { "initial_message": "count the files" } });
    // Parent and child ask the same model. Each answers its first message with words, and the parent its second with a
    // child.
    let text = json!({ "text": "There are seven files." });
    let mut rounds = vec![text; 5];
    rounds.insert(1, json!({ "calls": [spawn] }));
    let served = world.serve(&["--model", &world.model("delegating", &json!(rounds))]);
    let run = |args: &[&str]| world.run(args);
    for words in ["hello", "delegate it"] {
        let asked = run(&["run", words, "--agent", "main"]);
        assert!(asked.answer().contains("seven files"), "{asked:?}");
    }
    let tasks = || run(&["task", "list", "--all", "--json"]).json();
    until("the child has reported", || {
        tasks()[0]["status"] == "completed"
    });
    let task = tasks()[0].clone();
    assert_eq!(task["kind"], "child_agent_task", "{task}");
    assert_eq!(task["summary"], "count the files", "{task}");
    let child = task["child_agent_id"].as_str().expect("a child").to_owned();
    let shown = run(&["task", "show", task["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["child_observability"]["phase"], "terminal", "{shown}");
    assert_eq!(
        shown["child_supervision"]["parent_agent_id"], "main",
        "{shown}"
    );
    let target = format!("GET /agents/main/tasks/{}", task["id"].as_str().unwrap());
    let (status, body) = request(&world, &served, &target, "");
    assert_eq!(status, 200, "{body}");
    let read: Value = serde_json::from_str(&body).expect("JSON");
    let delegation = &read["delegation"];
    for (field, expected) in [
        ("parent_agent_id", "main"),
        ("child_agent_id", child.as_str()),
        ("state", "completed"),
    ] {
        assert_eq!(delegation[field], expected, "{delegation}");
    }
    let output = run(&["task", "output", task["id"].as_str().unwrap(), "--json"]);
    assert!(
        output.answer().contains("There are seven files."),
        "{output:?}"
    );
    assert!(!run(&["agent", "list"]).answer().contains(&child));
    assert!(run(&["agent", "tree"]).answer().contains("main"));
    for args in [
        &["status", "--agent", &child][..],
        &["prompt", "--agent", &child, "hello"],
        &["agent", "stop", &child],
        &["transcript", "--agent", &child],
    ] {
        let refused = run(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("agent"), "{args:?}: {refused:?}");
    }
    drop(served);
}

/// What the test tells the parent's model, and what that model heard.
#[derive(Debug, Default)]
struct Told {
    divided: bool,
    /// Task that the parent stops with its next answer.
    stop: Option<String>,
    /// Ends of children that its requests showed.
    heard: BTreeSet<&'static str>,
}

/// Words of a request that prove the end of each child.
const PROOFS: [(&str, &str); 3] = [
    ("fails: failed", "(Do the part fails.)"),
    ("finishes: done", "the part finishes is made"),
    ("stops: stopped", "is cancelled; its child is stopped"),
];

/// Builds a command of a child that tells that it runs and goes on when it may.
fn waiting_command(world: &World, part: &str, then: &str) -> Value {
    let file = |name: &str| world.path().join(format!("{name}-{part}"));
    let (started, go) = (file("started"), file("go"));
    let cmd = format!(
        "touch {}; until [ -e {} ]; do sleep 0.05; done; {then}",
        started.display(),
        go.display()
    );
    json!({ "cmd": cmd, "yield_time_ms": 600_000 })
}

/// Answers a child by the part of the work that it was given.
fn child_answer(request: &RecordedRequest, commands: &[(&str, Value)]) -> Round {
    let found = commands
        .iter()
        .find(|(part, _)| request.contains(&format!("Do the part {part}.")));
    let (part, command) = found.expect("a child has one of the parts");
    match (request.tool_outputs().len(), *part) {
        (0, _) => Round::empty().call("ExecCommand", command.clone()),
        (_, "fails") => Round::empty().call("NoSuchTool", json!({})),
        (_, part) => Round::text(format!("the part {part} is made")),
    }
}

/// Answers the parent: it divides the work, stops what it is told to, and reports what it heard.
fn parent_answer(request: &RecordedRequest, repo: &Path, told: &Mutex<Told>) -> Round {
    let mut told = told.lock().unwrap();
    let heard = PROOFS.iter().filter(|(_, proof)| request.contains(proof));
    told.heard.extend(heard.map(|(words, _)| *words));
    if let Some(task_id) = told.stop.take() {
        return Round::empty().call("TaskStop", json!({ "task_id": task_id }));
    }
    if request.contains("Now report.") {
        let words: Vec<&str> = told.heard.iter().copied().collect();
        return Round::text(format!("REPORT {}", words.join(", ")));
    }
    if std::mem::replace(&mut told.divided, true) {
        return Round::text("noted");
    }
    let spawn = |round: Round, part: &str| {
        let task = json!({
            "initial_message": format!("Do the part {part}."),
            "workspace_mode": "worktree",
        });
        round.call("SpawnAgent", task)
    };
    let enter = Round::empty().call("UseWorkspace", json!({ "path": repo }));
    ["finishes", "fails", "stops"]
        .into_iter()
        .fold(enter, spawn)
}

#[test]
fn a_parent_reports_of_three_children_in_worktrees_although_the_host_is_killed_twice() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let repo = repository(&world);
    let told = Arc::new(Mutex::new(Told::default()));
    let commands = [
        (
            "finishes",
            waiting_command(&world, "finishes", "echo made > made.txt"),
        ),
        ("fails", waiting_command(&world, "fails", "true")),
        ("stops", waiting_command(&world, "stops", "true")),
    ];
    let provider = Provider::start(Script::choose({
        let told = Arc::clone(&told);
        move |request| match request.contains("# Delegated work") {
            true => child_answer(request, &commands),
            false => parent_answer(request, &repo, &told),
        }
    }));
    let entry = Entry::new("fake", Protocol::Chat, provider.base_url());
    configure(&world, "model.default = \"fake/fake-model\"\n", &[entry]);
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "Divide the work."]).code, Some(0));
    for part in ["finishes", "fails", "stops"] {
        let started = world.path().join(format!("started-{part}"));
        until("every child works", || started.exists());
    }
    let tree = world.run(&["agent", "tree"]);
    assert_eq!(tree.answer().matches("Do the part").count(), 3, "{tree:?}");
    served.crash();

    let served = world.serve(&[]);
    let task = |part: &str| -> Value {
        let tasks = ask(&world, &["task", "list", "--all"]);
        let label = format!("Do the part {part}.");
        let mut tasks = tasks.as_array().unwrap().clone().into_iter();
        tasks
            .find(|task| task["summary"] == label.as_str())
            .unwrap()
    };
    let until_status = |part: &str, status: &str| {
        until(&format!("{part} is {status}"), || {
            task(part)["status"] == status
        });
    };
    world.write("go-fails", "");
    until_status("fails", "failed");
    told.lock().unwrap().stop = task("stops")["id"].as_str().map(str::to_owned);
    assert_eq!(world.run(&["prompt", "Stop that one."]).code, Some(0));
    until_status("stops", "cancelled");
    served.crash();

    let served = world.serve(&[]);
    world.write("go-finishes", "");
    until_status("finishes", "completed");
    let report = world.run(&["run", "Now report.", "--agent", "main"]);
    let words = "REPORT fails: failed, finishes: done, stops: stopped";
    assert!(report.answer().contains(words), "{report:?}");

    // Only the worktree with changes is kept.
    let left = || {
        let listed = ask(&world, &["worktree", "list"]);
        listed["worktrees"].as_array().unwrap().clone()
    };
    until("the worktrees without changes are gone", || {
        left().len() == 1
    });
    let kept = &left()[0];
    let root = Path::new(kept["path"].as_str().unwrap());
    assert_eq!(
        std::fs::read_to_string(root.join("made.txt")).unwrap(),
        "made\n"
    );
    let finished = task("finishes");
    let finished = finished["id"].as_str().unwrap();
    until("the worktree with changes is kept for a review", || {
        let shown = ask(&world, &["task", "show", finished]);
        let seen = &shown["child_supervision"];
        seen["cleanup_status"] == "retained" && seen["changed_files_total"] == 1
    });
    assert_eq!(served.terminate().0, Some(0));
}

/// Parents, each with as many children as a tree may have at a time.
const PARENTS: usize = 25;
const CHILDREN_EACH: usize = 8;

/// Answers a child at a gate, and each parent once with its children.
fn divide_once(request: &RecordedRequest, divided: &mut BTreeSet<String>) -> Round {
    if request.contains("# Delegated work") {
        return Round::text("the part is made").hold(Point::BeforeHeaders, "parts");
    }
    let names = (0..PARENTS).map(|number| format!("parent-{number:02}"));
    let mut asked = names.filter(|name| request.contains(&format!("Divide it, {name}.")));
    let is_new = asked.next().is_some_and(|name| divided.insert(name));
    if !is_new {
        return Round::text("noted");
    }
    let part = json!({ "initial_message": "Make a part." });
    (0..CHILDREN_EACH).fold(Round::empty(), |round, _| {
        round.call("SpawnAgent", part.clone())
    })
}

#[test]
fn two_hundred_children_that_end_at_once_while_the_host_is_killed_are_told_once_each() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let mut divided = BTreeSet::new();
    let provider = Provider::start(Script::choose(move |request| {
        divide_once(request, &mut divided)
    }));
    let entry = Entry::new("fake", Protocol::Chat, provider.base_url());
    configure(&world, "model.default = \"fake/fake-model\"\n", &[entry]);
    let served = world.serve(&[]);
    let parents: Vec<String> = (0..PARENTS)
        .map(|number| format!("parent-{number:02}"))
        .collect();
    for parent in &parents {
        assert_eq!(world.run(&["agent", "create", parent]).code, Some(0));
        let words = format!("Divide it, {parent}.");
        let asked = world.run(&["prompt", "--agent", parent, &words]);
        assert_eq!(asked.code, Some(0), "{asked:?}");
    }
    let gate = provider.gate("parts");
    gate.reached_times(PARENTS * CHILDREN_EACH);
    gate.open();
    served.crash();

    let served = world.serve(&[]);
    for parent in &parents {
        let tasks = || ask(&world, &["task", "list", "--all", "--agent", parent]);
        until("every child has reported", || {
            let tasks = tasks();
            let mut tasks = tasks.as_array().unwrap().iter();
            tasks.all(|task| task["status"] == "completed")
        });
        assert_eq!(tasks().as_array().map(Vec::len), Some(CHILDREN_EACH));
        until("everything was told", || {
            let status = ask(&world, &["status", "--agent", parent]);
            status["agent"]["pending"] == 0 && status["agent"]["current_run_id"].is_null()
        });
        let events = world.run(&["events", "--agent", parent, "--limit", "500", "--json"]);
        let results = events.stdout.matches("\"task_result_received\"").count();
        assert_eq!(results, CHILDREN_EACH, "{parent}");
    }
    let tree = world.run(&["agent", "list", "--all"]);
    assert!(!tree.answer().contains("child of"), "{tree:?}");
    drop(served);
}

#[test]
fn a_child_at_the_limit_of_its_tree_goes_on_when_the_limit_is_raised() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let mut divided = false;
    let provider = Provider::start(Script::choose(move |request| {
        let is_child = request.contains("# Delegated work");
        if is_child && request.contains("looked around") {
            return Round::text("the part is made");
        }
        if is_child {
            let look = json!({ "cmd": "echo looked around" });
            return Round::empty()
                .call("ExecCommand", look)
                .hold(Point::BeforeHeaders, "child");
        }
        match std::mem::replace(&mut divided, true) {
            true => Round::text("noted"),
            false => {
                let part = json!({ "initial_message": "Make a part." });
                Round::empty().call("SpawnAgent", part)
            }
        }
    }));
    let entry = Entry::new("fake", Protocol::Chat, provider.base_url());
    configure(&world, "model.default = \"fake/fake-model\"\n", &[entry]);
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "Divide it."]).code, Some(0));
    provider.gate("child").reached();
    let limit = |tokens: &str| {
        let set = world.run(&["budget", "set", "--tree", "main", "--tokens", tokens]);
        assert_eq!(set.code, Some(0), "{set:?}");
    };
    limit("10");
    provider.gate("child").open();
    until("the tree says what the child waits for", || {
        let tree = world.run(&["agent", "tree"]);
        tree.answer().contains("holon budget set --tree main")
    });
    limit("100000000");
    until("the child has reported", || {
        ask(&world, &["task", "list", "--all"])[0]["status"] == "completed"
    });
    drop(served);
}
