//! Forgetting a command once its outcome is on record, and sweeping orphaned commands.

use crate::runner::tests;
use crate::world::{World, after, everything, expect_end, is_alive, soon};
use holon_domain::command::OutputRetention;
use holon_domain::task::TaskReport;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::File;
use std::io::Read as _;

tests! {
    a_command_whose_outcome_is_on_record_leaves_nothing,
    output_that_was_reported_stays,
    offsets_of_a_flood_mean_the_same_when_its_directory_is_gone,
    forgetting_what_never_was_is_harmless,
    a_command_that_runs_is_not_forgotten_but_ended,
    a_running_command_whose_directory_was_deleted_is_still_ended,
    a_sweep_ends_orphaned_commands_and_spares_the_rest,
}

fn tasks(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.tasks()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

async fn a_command_whose_outcome_is_on_record_leaves_nothing() {
    let (world, host) = World::with_host();
    // A leftover directory has to be set aside first.
    std::fs::create_dir_all(world.claim_dir("one")).unwrap();
    expect_end(&host, world.order("one", "echo out; echo err >&2")).await;
    host.forget(&world.key("one"), OutputRetention::Dropped)
        .await;
    assert_eq!(tasks(&world), Vec::<String>::new());
    let left = std::fs::read_dir(world.path().join("task-output")).unwrap();
    assert_eq!(left.count(), 0);
    assert!(!host.was_begun(&world.key("one")).await);
    let gone = host.printed(&world.key("one"), &everything(), 100).await;
    assert!(gone.unwrap_err().contains("not kept"));
}

async fn output_that_was_reported_stays() {
    let (world, host) = World::with_host();
    expect_end(&host, world.order("one", "echo out; echo err >&2")).await;
    host.forget(&world.key("one"), OutputRetention::Kept).await;
    assert_eq!(tasks(&world), Vec::<String>::new());
    let printed = world.printed(&host, "one", &everything()).await;
    assert_eq!(printed.output.head, "out\n");
    assert_eq!(printed.stderr.unwrap().head, "err\n");
}

async fn offsets_of_a_flood_mean_the_same_when_its_directory_is_gone() {
    let (world, host) = World::with_host();
    let cmd = "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo end; echo err >&2";
    expect_end(&host, world.order("one", cmd)).await;
    let queries = [
        everything(),
        after(10),
        after(67_500_000),
        after(69_999_990),
    ];
    let mut before = Vec::new();
    for query in &queries {
        before.push(world.printed(&host, "one", query).await);
    }
    assert_eq!(before[3].output.head, "xxxxxxxxxx\nend\n");
    assert_eq!(before[0].output.total_bytes, 70_000_005);
    assert!(before[0].output.lacks.bytes > 0);
    host.forget(&world.key("one"), OutputRetention::Kept).await;
    assert_eq!(tasks(&world), Vec::<String>::new());
    for (query, before) in queries.iter().zip(before) {
        assert_eq!(world.printed(&host, "one", query).await, before);
    }
    // The facts file is removed with the output.
    host.forget(&world.key("one"), OutputRetention::Dropped)
        .await;
    let left = std::fs::read_dir(world.path().join("task-output")).unwrap();
    assert_eq!(left.count(), 0);
}

async fn a_running_command_whose_directory_was_deleted_is_still_ended() {
    for is_stopped in [true, false] {
        let (world, host) = World::with_host();
        let alive = world.path().join("alive");
        mknodat(CWD, &alive, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let cmd = "exec 3>alive; echo >&3; sleep 100";
        world.begin(&host, "one", cmd).await;
        let read = tokio::task::spawn_blocking(move || {
            let mut alive = File::open(alive).unwrap();
            alive.read_exact(&mut [0]).unwrap();
            alive
        });
        let mut alive = soon(read).await.unwrap();
        std::fs::remove_dir_all(world.tasks()).unwrap();
        assert!(host.was_begun(&world.key("one")).await);
        if is_stopped {
            let report = world.stop(&host, "one").await;
            assert!(matches!(report, TaskReport::Lost { .. }), "{report:?}");
        } else {
            soon(host.forget(&world.key("one"), OutputRetention::Kept)).await;
        }
        // Ends when no process of the command has the pipe open.
        let ended = tokio::task::spawn_blocking(move || alive.read_to_end(&mut Vec::new()));
        soon(ended).await.unwrap().unwrap();
    }
}

async fn forgetting_what_never_was_is_harmless() {
    let (world, host) = World::with_host();
    for output in [OutputRetention::Kept, OutputRetention::Dropped] {
        host.forget(&world.key("one"), output).await;
    }
    host.sweep(world.path().to_str().unwrap(), &[]).await;
    assert_eq!(std::fs::read_dir(world.path()).unwrap().count(), 0);
}

async fn a_command_that_runs_is_not_forgotten_but_ended() {
    let (world, first) = World::with_host();
    world.begin(&first, "one", "exec sleep 3600").await;
    let second = world.host();
    second
        .forget(&world.key("one"), OutputRetention::Dropped)
        .await;
    assert!(!is_alive(&first, &world.key("one")).await);
    assert_eq!(tasks(&world), Vec::<String>::new());
}

async fn a_sweep_ends_orphaned_commands_and_spares_the_rest() {
    let (world, first) = World::with_host();
    let home = world.path().to_str().unwrap();
    for name in ["known", "held", "lost"] {
        world.begin(&first, name, "echo up; read x; exit 1").await;
    }
    let mut item = world.yielding("batch", "echo up; read x");
    item.key = item.key.item(3);
    crate::world::expect_running(&first, item.clone()).await;
    expect_end(&first, world.order("over", "echo over")).await;
    std::fs::create_dir_all(world.claim_dir("never")).unwrap();
    std::fs::create_dir_all(world.claim_dir("put.unused")).unwrap();
    drop(first);
    let second = world.host();
    crate::world::expect_running(&second, world.yielding("held", "read x")).await;
    second.sweep(home, &[world.key("known").name]).await;
    assert_eq!(tasks(&world), ["task_held", "task_known"]);
    for (name, lives) in [("known", true), ("held", true), ("lost", false)] {
        assert_eq!(is_alive(&second, &world.key(name)).await, lives, "{name}");
    }
    assert!(!is_alive(&second, &item.key).await);
    // A sweep does not touch output.
    assert!(world.output_file("over").exists());
    for name in ["known", "held"] {
        world.stop(&second, name).await;
    }
}
