//! Tests of commands that empty their agent's home, and of homes that are missing when a command needs them.

use crate::runner::tests;
use crate::world::{World, everything, expect_end, expect_running, is_alive, run, soon};
use holon_domain::command::{CommandEnd, CommandFailure, OutputRetention};
use holon_domain::task::TaskReport;
use holon_workspace::remove_home;
use std::os::unix::fs::MetadataExt as _;
use tokio_util::sync::CancellationToken;

tests! {
    a_command_that_empties_its_home_runs_once_and_its_result_says_that_its_output_is_missing,
    a_command_that_empties_its_home_is_found_again_and_can_be_stopped,
    a_command_that_removed_its_own_output_goes_on_as_a_task_that_says_so,
    a_missing_home_is_made_for_the_next_command,
    a_home_that_cannot_be_made_is_told_and_nothing_runs,
    a_home_is_not_made_for_a_call_that_was_called_off,
    the_directory_of_a_command_is_private_and_beyond_its_home,
    a_long_path_does_not_keep_a_command_from_its_supervisor,
    a_command_that_an_earlier_build_began_is_found_where_it_stands,
    a_command_that_an_earlier_build_did_not_begin_is_begun_in_the_new_place,
    a_sweep_ends_what_an_earlier_build_left_and_leaves_other_files_alone,
}

fn marks(world: &World) -> String {
    std::fs::read_to_string(world.beside("marks")).unwrap_or_default()
}

/// A command that prints a word, removes the agent's home, and continues with `then`. It writes a mark before and
/// after the removal.
fn cleaning(world: &World, then: &str) -> String {
    let marks = world.beside("marks");
    let marks = marks.display();
    format!(
        "echo words; echo began >> {marks}; rm -rf \"$HOLON_AGENT_HOME\"; echo cleaned >> {marks}; {then}"
    )
}

async fn a_command_that_empties_its_home_runs_once_and_its_result_says_that_its_output_is_missing()
{
    let (world, first) = World::with_host();
    let order = || world.order("one", &cleaning(&world, "exit 3"));
    for host in [first, world.host()] {
        let output = expect_end(&host, order()).await;
        assert_eq!(output.end, CommandEnd::Exited { status: 3 });
        assert_eq!(
            (output.stdout.head.as_str(), output.stdout.total_bytes),
            ("", 6)
        );
        let lacks = output.stdout.lacks.words().unwrap();
        assert!(lacks.contains("is missing"), "{lacks}");
    }
    assert_eq!(marks(&world), "began\ncleaned\n");
    assert!(!world.path().exists(), "no look makes it again");
    let host = world.host();
    assert!(host.was_begun(&world.key("one")).await);
    host.forget(&world.key("one"), OutputRetention::Kept).await;
    assert!(!world.claim_dir("one").exists());
}

async fn a_command_that_empties_its_home_is_found_again_and_can_be_stopped() {
    let (world, first) = World::with_host();
    world
        .begin(&first, "one", &cleaning(&world, "exec sleep 3600"))
        .await;
    while !marks(&world).contains("cleaned") {
        tokio::task::yield_now().await;
    }
    drop(first);
    let second = world.host();
    assert!(is_alive(&second, &world.key("one")).await);
    expect_running(&second, world.yielding("one", "echo never")).await;
    match world.stop(&second, "one").await {
        TaskReport::Ended(output) => assert!(output.stopped, "{output:?}"),
        TaskReport::Lost { reason, .. } | TaskReport::NotStarted { reason } => panic!("{reason}"),
    }
    assert_eq!(marks(&world), "began\ncleaned\n");
}

async fn a_command_that_removed_its_own_output_goes_on_as_a_task_that_says_so() {
    let (world, host) = World::with_host();
    let go = world.beside("go");
    let meet = format!("until [ -e {} ]; do sleep 0.01; done", go.display());
    world.begin(&host, "one", &cleaning(&world, &meet)).await;
    while !marks(&world).contains("cleaned") {
        tokio::task::yield_now().await;
    }
    // A second call gets the running command and the reason its output is missing.
    let running = expect_running(&host, world.yielding("one", "echo never")).await;
    let lacks = running.stdout.lacks.words().unwrap();
    assert!(lacks.contains("is missing"), "{lacks}");
    let printed = soon(host.printed(&world.key("one"), &everything(), 100)).await;
    assert!(printed.unwrap_err().contains("is missing"));
    std::fs::write(go, "").unwrap();
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 0 });
}

async fn a_missing_home_is_made_for_the_next_command() {
    let (world, host) = World::with_host();
    for name in ["one", "two"] {
        std::fs::remove_dir_all(world.path()).unwrap();
        let output = expect_end(&host, world.order(name, "pwd; ls -A")).await;
        let home = world.path().canonicalize().unwrap();
        let expected = format!("{}\nAGENTS.md\nmemory\ntask-output\n", home.display());
        assert_eq!(output.stdout.head, expected);
    }
    assert_eq!(
        std::fs::metadata(world.path()).unwrap().mode() & 0o777,
        0o700
    );
}

async fn a_home_that_cannot_be_made_is_told_and_nothing_runs() {
    let (world, host) = World::with_host();
    std::fs::remove_dir(world.path()).unwrap();
    std::fs::write(world.path(), "in the way").unwrap();
    match run(&host, world.order("one", "true")).await {
        Err(CommandFailure::Spawn { reason }) => {
            assert!(reason.contains("in the way"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!host.was_begun(&world.key("one")).await);
    std::fs::remove_file(world.path()).unwrap();
}

async fn a_home_is_not_made_for_a_call_that_was_called_off() {
    let (world, host) = World::with_host();
    std::fs::remove_dir(world.path()).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let run = host.run(world.order("one", "true"), cancel).await;
    assert_eq!(run, Err(CommandFailure::Cancelled));
    let agents = world.path().parent().unwrap();
    let id = holon_domain::AgentId::parse("scout").unwrap();
    remove_home(agents, &id).unwrap();
    assert_eq!(std::fs::read_dir(agents).unwrap().count(), 0);
}

async fn the_directory_of_a_command_is_private_and_beyond_its_home() {
    let (world, host) = World::with_host();
    expect_end(&host, world.order("one", "true")).await;
    let dir = world.claim_dir("one");
    assert!(!dir.starts_with(world.path()) && !world.earlier_tasks().exists());
    for part in dir.ancestors().take(3) {
        let mode = std::fs::metadata(part).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", part.display());
    }
    assert!(dir.join("status.json").is_file());
}

async fn a_long_path_does_not_keep_a_command_from_its_supervisor() {
    let world = World::below(&["x".repeat(120), "y".repeat(120)]);
    let host = world.host();
    world.begin(&host, "one", "read x; exit $x").await;
    assert!(world.claim_dir("one").join("shim.sock").exists());
    assert!(is_alive(&world.host(), &world.key("one")).await);
    world.input(&host, "one", 1, "4\n").await;
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 4 });
}

/// Moves the directory of a command to the folder of an earlier build. Its shim holds the directory open and is not
/// affected.
fn move_back(world: &World, name: &str) {
    std::fs::create_dir_all(world.earlier_tasks()).unwrap();
    let dir = world.claim_dir(name);
    let former = world.earlier_tasks().join(dir.file_name().unwrap());
    std::fs::rename(dir, former).unwrap();
}

async fn a_command_that_an_earlier_build_began_is_found_where_it_stands() {
    let (world, first) = World::with_host();
    world
        .begin(&first, "live", "echo up; read x; exit $x")
        .await;
    expect_end(&first, world.order("over", "echo over")).await;
    drop(first);
    for name in ["live", "over"] {
        move_back(&world, name);
    }
    let host = world.host();
    for name in ["live", "over"] {
        assert!(host.was_begun(&world.key(name)).await, "{name}");
    }
    assert!(is_alive(&host, &world.key("live")).await);
    expect_running(&host, world.yielding("live", "echo never")).await;
    world.input(&host, "live", 1, "5\n").await;
    let output = world.watch(&host, "live").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 5 });
    let output = expect_end(&host, world.order("over", "echo never")).await;
    assert_eq!(output.stdout.head, "over\n");
    for name in ["live", "over"] {
        host.forget(&world.key(name), OutputRetention::Kept).await;
    }
    assert_eq!(std::fs::read_dir(world.earlier_tasks()).unwrap().count(), 0);
}

async fn a_command_that_an_earlier_build_did_not_begin_is_begun_in_the_new_place() {
    let (world, host) = World::with_host();
    std::fs::create_dir_all(world.earlier_tasks().join("task_one")).unwrap();
    let output = expect_end(&host, world.order("one", "echo ran")).await;
    assert_eq!(output.stdout.head, "ran\n");
    assert!(world.claim_dir("one").is_dir());
    assert!(!world.earlier_tasks().join("task_one").exists());
}

async fn a_sweep_ends_what_an_earlier_build_left_and_leaves_other_files_alone() {
    let (world, first) = World::with_host();
    for name in ["kept", "lost"] {
        world.begin(&first, name, "read x").await;
        move_back(&world, name);
    }
    drop(first);
    std::fs::create_dir_all(world.tasks().join("patches")).unwrap();
    std::fs::write(world.tasks().join("execution-root.json"), "{}").unwrap();
    let host = world.host();
    let home = world.path().to_str().unwrap();
    host.sweep(home, &[world.key("kept").name]).await;
    assert!(is_alive(&host, &world.key("kept")).await);
    assert!(!is_alive(&host, &world.key("lost")).await);
    assert!(!world.earlier_tasks().join("task_lost").exists());
    let mut left: Vec<_> = std::fs::read_dir(world.tasks())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["execution-root.json", "patches"]);
}
