//! Tests of stopping commands.

use crate::runner::tests;
use crate::world::{World, ended_report, is_alive, run, soon};
use holon_domain::command::{CommandEnd, CommandFailure};
use holon_domain::task::TaskReport;
use std::io::Read as _;

tests! {
    a_stop_ends_everything_a_command_started,
    a_stop_reaches_a_command_of_another_host,
    a_command_may_handle_the_stop_signal,
    a_command_that_is_over_stays_as_it_ended,
    a_command_that_was_stopped_before_it_began_never_begins,
    a_command_that_was_begun_and_never_ran_never_will_after_a_stop,
}

async fn a_stop_ends_everything_a_command_started() {
    let (world, host) = World::with_host();
    let pipe = world.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    // The reader sees the end of the pipe only when every process that holds it has died.
    let witness = std::thread::spawn(move || {
        let mut output_text = String::new();
        let mut pipe = std::fs::File::open(pipe).unwrap();
        pipe.read_to_string(&mut output_text).unwrap();
        output_text
    });
    let cmd = "exec 9> pipe; setsid sh -c 'trap \"\" TERM; echo child >&9; sleep 3600; sleep 3600' & \
               (sleep 3600 &); echo up; read x";
    world.begin(&host, "one", cmd).await;
    world.wait_for_output(&host, "one", 0, "up").await;
    let output = ended_report(world.stop(&host, "one").await);
    assert!(
        matches!(output.end, CommandEnd::Signalled { .. }),
        "{output:?}"
    );
    let dead = tokio::task::spawn_blocking(|| witness.join().unwrap());
    soon(dead).await.unwrap();
    assert!(!is_alive(&host, &world.key("one")).await);
}

async fn a_stop_reaches_a_command_of_another_host() {
    let (world, first) = World::with_host();
    world.begin(&first, "one", "exec sleep 3600").await;
    let second = world.host();
    let (stopped, watched) = tokio::join!(world.stop(&second, "one"), world.watch(&first, "one"));
    assert_eq!(ended_report(stopped), watched);
}

async fn a_command_may_handle_the_stop_signal() {
    let (world, host) = World::with_host();
    let cmd = "trap 'echo bye; exit 9' TERM; echo up; while :; do read x; done";
    world.begin(&host, "one", cmd).await;
    world.wait_for_output(&host, "one", 0, "up").await;
    let report = soon(host.stop(&world.key("one"), 30_000)).await;
    let output = ended_report(report);
    assert_eq!(output.end, CommandEnd::Exited { status: 9 });
    assert!(output.stopped);
    assert_eq!(output.stdout.head, "up\nbye\n");
}

async fn a_command_that_is_over_stays_as_it_ended() {
    let (world, host) = World::with_host();
    crate::world::expect_end(&host, world.order("one", "exit 8")).await;
    let output = ended_report(world.stop(&host, "one").await);
    assert_eq!(output.end, CommandEnd::Exited { status: 8 });
    assert!(!output.stopped, "it had ended by itself");
}

fn never_started(report: &TaskReport) {
    match report {
        TaskReport::Lost { reason, .. } => assert_eq!(reason, "it was never started"),
        other @ (TaskReport::Ended(_) | TaskReport::NotStarted { .. }) => panic!("{other:?}"),
    }
}

async fn a_command_that_was_stopped_before_it_began_never_begins() {
    let world = World::new();
    for host in [world.host(), world.host()] {
        never_started(&world.stop(&host, "one").await);
        let run = run(&host, world.order("one", "echo ran >> ran")).await;
        assert_eq!(run, Err(CommandFailure::Cancelled));
        assert!(!host.was_begun(&world.key("one")).await);
    }
    assert!(!world.path().join("ran").exists());
}

async fn a_command_that_was_begun_and_never_ran_never_will_after_a_stop() {
    let (world, host) = World::with_host();
    std::fs::create_dir_all(world.claim_dir("one")).unwrap();
    never_started(&soon(host.watch(&world.key("one"))).await);
    never_started(&world.stop(&host, "one").await);
    let run = run(&host, world.order("one", "echo ran >> ran")).await;
    assert_eq!(run, Err(CommandFailure::Cancelled));
    assert!(!world.path().join("ran").exists());
}
