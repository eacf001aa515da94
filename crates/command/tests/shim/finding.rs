//! Tests of commands that outlive their host and are found by the next one.

use crate::runner::tests;
use crate::world::{World, expect_end, expect_running, is_alive, run, wall_clock};
use holon_domain::command::{CommandEnd, CommandFailure};
use holon_domain::task::TaskReport;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

tests! {
    a_command_goes_on_without_its_host_and_is_found_by_the_next,
    a_wait_is_counted_from_the_start_over_a_restart,
    the_next_host_reports_an_end_that_came_between,
    input_is_given_once_over_a_restart,
    a_command_that_was_not_begun_before_the_crash_is_begun_after_it,
    a_command_whose_shim_was_killed_is_lost_with_its_last_words,
    a_directory_that_says_nothing_is_a_lost_command,
    a_command_whose_directory_was_removed_is_lost_and_not_run_again,
}

async fn a_command_goes_on_without_its_host_and_is_found_by_the_next() {
    let world = World::new();
    let first = world.host();
    let before = world.begin(&first, "one", "read x; echo $x; exit 6").await;
    drop(first);
    let second = world.host();
    assert!(second.was_begun(&world.key("one")).await);
    assert!(is_alive(&second, &world.key("one")).await);
    let again = expect_running(&second, world.yielding("one", "echo never >&2")).await;
    assert_eq!(again.started_at, before.started_at);
    world.input(&second, "one", 1, "word\n").await;
    let output = world.watch(&second, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 6 });
    assert_eq!(output.stdout.head, "word\n");
    assert_eq!(output.stderr.head, "");
}

async fn a_wait_is_counted_from_the_start_over_a_restart() {
    let world = World::new();
    let first = world.host();
    let before = world.begin(&first, "one", "read x").await;
    // The yield time of one millisecond, counted from the start, is over for every later call.
    let mut order = world.yielding("one", "read x");
    order.command.yield_time_ms = 1;
    while wall_clock() <= before.started_at.plus_millis(1) {
        tokio::task::yield_now().await;
    }
    let running = expect_running(&world.host(), order).await;
    assert_eq!(running.started_at, before.started_at);
    world.stop(&first, "one").await;
}

async fn the_next_host_reports_an_end_that_came_between() {
    let world = World::new();
    let first = world.host();
    world
        .begin(&first, "one", "read x; echo late; exit 2")
        .await;
    world.input(&first, "one", 1, "\n").await;
    while is_alive(&first, &world.key("one")).await {
        tokio::task::yield_now().await;
    }
    drop(first);
    let second = world.host();
    assert_eq!(
        world.watch(&second, "one").await.end,
        CommandEnd::Exited { status: 2 }
    );
    let output = expect_end(&second, world.order("one", "echo never")).await;
    assert_eq!(output.stdout.head, "late\n");
}

async fn input_is_given_once_over_a_restart() {
    let world = World::new();
    let first = world.host();
    world.begin(&first, "one", "cat").await;
    world.input(&first, "one", 1, "a\n").await;
    world.input(&first, "one", 1, "a\n").await;
    drop(first);
    let second = world.host();
    world.input(&second, "one", 1, "a\n").await;
    let mut last = crate::world::input("one", 4, "b\n");
    last.close_input = true;
    for _ in 0..2 {
        // The second write may come after the end and is then refused.
        drop(second.input(&world.key("one"), &last).await);
    }
    let output = world.watch(&second, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 0 });
    assert_eq!(output.stdout.head, "a\nb\n");
    let refused = second.input(&world.key("one"), &last).await.unwrap_err();
    assert!(refused.reason.contains("has ended"), "{refused:?}");
}

async fn a_command_that_was_not_begun_before_the_crash_is_begun_after_it() {
    let (world, host) = World::with_host();
    // The state that a host leaves if it dies just before the shim starts.
    std::fs::create_dir_all(world.claim_dir("one")).unwrap();
    assert!(host.was_begun(&world.key("one")).await);
    let output = expect_end(&host, world.order("one", "echo ran")).await;
    assert_eq!(output.stdout.head, "ran\n");
}

async fn a_command_whose_shim_was_killed_is_lost_with_its_last_words() {
    let (world, first) = World::with_host();
    let cmd = "echo $PPID; echo bad >&2; read x";
    world.begin(&first, "one", cmd).await;
    world.wait_for_output(&first, "one", 0, "\n").await;
    // The shim reads the two pipes one after the other. It is killed only after it has read both.
    world.wait_for_stderr(&first, "one", "bad\n").await;
    let output_text = std::fs::read_to_string(world.output_file("one")).unwrap();
    let pid = Pid::from_raw(output_text.trim().parse().unwrap()).unwrap();
    // This process started the shim and has not reaped it, so the pid is still valid.
    let shim = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    pidfd_send_signal(&shim, Signal::KILL).unwrap();
    let second = world.host();
    for host in [&first, &second] {
        match crate::world::soon(host.watch(&world.key("one"))).await {
            TaskReport::Lost { stdout, stderr, .. } => {
                assert_eq!(stdout.head, output_text);
                assert_eq!(stderr.head, "bad\n");
            }
            other @ (TaskReport::Ended(_) | TaskReport::NotStarted { .. }) => panic!("{other:?}"),
        }
        assert!(!is_alive(host, &world.key("one")).await);
    }
    match run(&second, world.order("one", "echo never")).await {
        Err(CommandFailure::Lost { output_tail, .. }) => {
            assert_eq!(
                output_tail,
                format!("{}\nstderr:\nbad\n", output_text.trim_end())
            );
        }
        other => panic!("{other:?}"),
    }
}

async fn a_directory_that_says_nothing_is_a_lost_command() {
    let (world, host) = World::with_host();
    std::fs::create_dir_all(world.claim_dir("one")).unwrap();
    std::fs::write(
        world.claim_dir("one").join("spec.lock"),
        "claimed task_one\n",
    )
    .unwrap();
    let lost = run(&host, world.order("one", "echo never")).await;
    assert!(
        matches!(&lost, Err(CommandFailure::Lost { output_tail, .. }) if output_tail.is_empty()),
        "{lost:?}"
    );
    assert!(matches!(
        host.watch(&world.key("one")).await,
        TaskReport::Lost { .. }
    ));
    assert!(!world.output_file("one").exists());
}

async fn a_command_whose_directory_was_removed_is_lost_and_not_run_again() {
    let (world, host) = World::with_host();
    expect_end(&host, world.order("one", "echo ran")).await;
    std::fs::remove_dir_all(world.claim_dir("one")).unwrap();
    match host.watch(&world.key("one")).await {
        TaskReport::Lost { reason, stdout, .. } => {
            assert!(reason.contains("gone"), "{reason}");
            assert_eq!(stdout.head, "ran\n");
        }
        other @ (TaskReport::Ended(_) | TaskReport::NotStarted { .. }) => panic!("{other:?}"),
    }
    let again = run(&host, world.order("one", "echo again")).await;
    match again {
        Err(CommandFailure::Lost {
            reason,
            output_tail,
        }) => {
            assert!(reason.contains("gone"), "{reason}");
            assert_eq!(output_tail, "ran\n");
        }
        other => panic!("{other:?}"),
    }
    let kept = std::fs::read_to_string(world.output_file("one")).unwrap();
    assert_eq!(kept, "ran\n");
}
