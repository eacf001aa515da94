//! Commands that remove everything in their agent's home while their host is killed. Each runs once, is found again,
//! can be stopped, and is never called "not started". The next effect that needs the home creates it again.

use crate::hands::{self, Hands, call};
use crate::processes::{ProcessCleanup, assert_none_left};
use crate::support::{until, world};
use holon_domain::task::TaskStatus;
use holon_testkit::World;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Shell commands that empty the home they run in.
const WAYS: [&str; 3] = [
    "rm -rf \"$HOLON_AGENT_HOME\"",
    "find . -mindepth 1 -delete",
    "git init -q . && git clean -q -fdx",
];

/// Returns the ways whose programs are installed; without git its way is skipped with a message.
fn ways() -> Vec<&'static str> {
    let git = Command::new("git")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let has_git = git.is_ok_and(|status| status.success());
    if !has_git {
        eprintln!("git is not installed, so its way to clean a directory is not tried");
    }
    let is_tried = |way: &&str| has_git || !way.starts_with("git");
    WAYS.into_iter().filter(is_tried).collect()
}

fn marks(world: &World) -> String {
    std::fs::read_to_string(world.path().join("marks")).unwrap_or_default()
}

/// Builds a command that empties its home, leaves marks before and after that, and ends when the test allows it. It tries
/// again while the host writes a file of the agent's memory into the home.
fn cleaning(world: &World, way: &str) -> String {
    let (marks, go) = (world.path().join("marks"), world.path().join("go"));
    let (marks, go) = (marks.display(), go.display());
    format!(
        "echo words; echo begun >> {marks}; until {way}; do :; done; echo cleaned >> {marks}; \
         until [ -e {go} ]; do sleep 0.05; done; echo ended >> {marks}; exit 3"
    )
}

/// Returns the result of the agent's first command.
fn result(hands: &Hands<'_>) -> Value {
    let entries = hands.transcript().into_iter();
    let mut results = entries.filter_map(|entry| entry.data["results"].as_array().cloned());
    results.next().expect("results")[0].clone()
}

#[test]
fn a_command_that_empties_its_home_runs_once_over_kills_of_its_host() {
    for way in ways() {
        let world = world();
        let _swept = ProcessCleanup(&world);
        let mut served = world.serve(&["--model", &hands::model(&world)]);
        let hands = Hands::of(&world);
        let input = json!({ "cmd": cleaning(&world, way), "yield_time_ms": 600_000 });
        hands.prompt(&[call("ExecCommand", input)]);
        until("the home is empty", || marks(&world).contains("cleaned"));
        for _ in 0..2 {
            served.crash();
            served = world.serve(&["--model", &hands::model(&world)]);
        }
        world.write("go", "");
        hands.until_quiet();
        assert_eq!(marks(&world), "begun\ncleaned\nended\n", "{way}");
        let told = result(&hands);
        assert_eq!(told["status"], "success", "{way}: {told:#}");
        assert_eq!(told["result"]["exit_status"], 3, "{way}: {told:#}");
        assert!(told.to_string().contains("is missing"), "{way}: {told:#}");
        assert_none_left(&world);
        assert_eq!(served.terminate().0, Some(0));
    }
}

#[test]
fn a_command_that_emptied_its_home_and_ended_without_a_host_is_told_as_it_ended() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let input = json!({ "cmd": cleaning(&world, WAYS[0]), "yield_time_ms": 600_000 });
    hands.prompt(&[call("ExecCommand", input)]);
    until("the home is empty", || marks(&world).contains("cleaned"));
    served.crash();
    world.write("go", "");
    assert_none_left(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    hands.until_quiet();
    assert_eq!(marks(&world), "begun\ncleaned\nended\n");
    let told = result(&hands);
    assert_eq!(told["result"]["exit_status"], 3, "{told:#}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_task_that_emptied_its_home_is_found_again_and_can_be_stopped() {
    for way in ways() {
        let world = world();
        let _swept = ProcessCleanup(&world);
        let served = world.serve(&["--model", &hands::model(&world)]);
        let hands = Hands::of(&world);
        let task = hands.start(json!({ "cmd": cleaning(&world, way) }));
        until("the home is empty", || marks(&world).contains("cleaned"));
        served.crash();
        let served = world.serve(&["--model", &hands::model(&world)]);
        let looked = hands.call("TaskStatus", json!({ "task_id": task }));
        assert_eq!(looked["task"]["status"], "running", "{way}: {looked:#}");
        hands.call("TaskStop", json!({ "task_id": task }));
        hands.until_quiet();
        assert_eq!(hands.ends(), [(task, TaskStatus::Cancelled)], "{way}");
        assert_eq!(marks(&world), "begun\ncleaned\n", "{way}");
        assert_none_left(&world);
        assert_eq!(served.terminate().0, Some(0));
    }
}

#[test]
fn a_home_that_is_gone_is_made_again_by_the_next_command_or_patch() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let home = world.home().join("agents/main");
    until("the home of the default agent is made with it", || {
        home.join("AGENTS.md").exists()
    });
    let clean = || hands.call("ExecCommand", json!({ "cmd": WAYS[0] }));
    assert_eq!(clean()["exit_status"], 0);
    assert!(!home.exists());
    let seen = hands.call("ExecCommand", json!({ "cmd": "ls -A; cat memory/self.md" }));
    let shown = seen["stdout_preview"].as_str().expect("text");
    assert!(
        shown.contains("AGENTS.md\nmemory\ntask-output\n# What"),
        "{shown}"
    );
    clean();
    let patch = "--- /dev/null\n+++ b/notes/one.md\n@@ -0,0 +1 @@\n+one\n";
    hands.call("ApplyPatch", json!({ "patch": patch }));
    let note = std::fs::read_to_string(home.join("notes/one.md"));
    assert_eq!(note.expect("a note"), "one\n");
    assert!(home.join("AGENTS.md").exists());
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn what_an_agent_leaves_under_the_hosts_state_goes_with_the_agent() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let claims = world.home().join("state/tasks");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&claims).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    };
    let meeting = world.meeting("there");
    let rounds = json!([
        { "calls": [{ "tool": "ExecCommand", "input": { "cmd": meeting.shell() } }] },
        { "text": "Done." },
    ]);
    let model = world.model("temporary", &rounds);
    let mut run = world.command();
    run.args(["run", "please", "--model", &model]);
    let mut run = run.stdout(Stdio::null()).spawn().expect("a run begins");
    meeting.wait();
    let [claimed] = names().try_into().expect("one agent runs a command");
    assert!(claimed.starts_with("tmp_"), "{claimed}");
    meeting.let_go();
    assert!(run.wait().expect("the run ends").success());
    until("its claims are gone", || names().is_empty());
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn agents_that_have_done_nothing_have_a_home_and_no_claims() {
    let world = world();
    world.write("project/file", "");
    let served = world.serve(&["--model", &hands::model(&world)]);
    for number in 0..20 {
        let name = format!("agent-{number}");
        assert_eq!(world.run(&["agent", "create", &name]).code, Some(0));
        let stopped = world.run(&["agent", "stop", &name]);
        assert_eq!(stopped.code, Some(0));
        assert_eq!(world.run(&["agent", "start", &name]).code, Some(0));
    }
    let count = |folder: &str| {
        let entries = std::fs::read_dir(world.home().join(folder)).into_iter();
        entries.flatten().count()
    };
    // Each home holds the instructions of its agent before the first turn.
    assert_eq!((count("agents"), count("state/tasks")), (21, 0));
    assert_eq!(served.terminate().0, Some(0));
}
