//! Tests of commands that attack or lose their supervisor.

use crate::runner::tests;
use crate::world::{NEVER_MS, World, everything, expect_running, is_alive, soon};
use holon_command::Commands;
use holon_domain::command::{CommandEnd, CommandRun, LatePolicy, OutputRetention};
use holon_domain::task::TaskReport;
use std::io::Read as _;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

tests! {
    a_command_of_a_batch_that_suspends_its_shim_is_stopped_in_time,
    a_command_of_a_batch_that_its_shim_does_not_stop_is_stopped_by_the_host,
    a_command_that_suspends_its_shim_is_followed_to_its_end,
    a_stop_of_a_command_whose_shim_does_not_answer_leaves_nothing_of_it,
    a_command_whose_shim_does_not_answer_is_forgotten_only_once_it_is_dead,
    a_sweep_ends_a_command_whose_shim_does_not_answer,
    processes_of_a_killed_shim_are_ended_by_the_next_lookup,
    a_command_whose_shim_does_not_answer_goes_on_with_its_call_and_over_a_restart,
    a_command_whose_shim_answers_late_is_written_to_and_followed_to_its_end,
    a_command_whose_shim_is_killed_in_its_silence_is_lost,
    a_test_that_ends_in_the_middle_leaves_no_command_behind,
}

async fn a_command_of_a_batch_that_suspends_its_shim_is_stopped_in_time() {
    for cmd in [
        "kill -STOP $PPID; exec sleep 3600",
        "trap '' TERM; while :; do kill -STOP $PPID; done",
    ] {
        let (world, host) = World::with_host();
        let mut order = world.order("one", cmd);
        order.command.yield_time_ms = 200;
        order.when_late = LatePolicy::Stop;
        // A shim that is suspended again and again is killed only after its own time to stop the command.
        let run = host.run(order, CancellationToken::new());
        let run = tokio::time::timeout(Duration::from_secs(90), run).await;
        let Ok(Ok(CommandRun::Ended(output))) = run else {
            panic!("{cmd}: {run:?}");
        };
        assert_eq!(output.end, CommandEnd::TimedOut, "{cmd}");
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the clock is paused, so that this waits for no time"
)]
async fn a_command_of_a_batch_that_its_shim_does_not_stop_is_stopped_by_the_host() {
    let (world, host) = World::with_host();
    // The shim has no timeout for this command.
    world.begin(&host, "one", "exec sleep 3600").await;
    let mut order = world.order("one", "");
    order.when_late = LatePolicy::Stop;
    tokio::time::pause();
    // The paused clock advances only the host past the timeout; the stop itself runs in real time.
    let late = async {
        let then = tokio::time::Instant::now() + Duration::from_millis(NEVER_MS + 9_000);
        tokio::time::sleep_until(then).await;
        tokio::time::resume();
    };
    let (run, ()) = tokio::join!(host.run(order, CancellationToken::new()), late);
    let Ok(CommandRun::Ended(output)) = run else {
        panic!("{run:?}");
    };
    assert_eq!(output.end, CommandEnd::TimedOut);
}

async fn a_command_that_suspends_its_shim_is_followed_to_its_end() {
    let (world, host) = World::with_host();
    let cmd = "read x; kill -STOP $PPID; exit 3";
    world.begin(&host, "one", cmd).await;
    world.input(&host, "one", 0, "\n").await;
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 3 });
}

/// Starts a command with background processes that removes its shim's socket and keeps running. The returned thread
/// ends when all its processes are dead.
async fn begin_and_remove_socket(world: &World, host: &Commands, name: &str) -> JoinHandle<()> {
    let pipe = world.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let witness = std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(pipe).unwrap();
        pipe.read_to_string(&mut String::new()).unwrap();
    });
    let socket = world.claim_dir(name).join("shim.sock");
    let cmd = format!(
        "exec 9> pipe; sleep 3600 & (sleep 3600 &); read x; rm {}; exec sleep 3600",
        socket.display()
    );
    world.begin(host, name, &cmd).await;
    world.input(host, name, 0, "\n").await;
    while socket.exists() {
        tokio::task::yield_now().await;
    }
    witness
}

async fn wait_for_end(witness: JoinHandle<()>) {
    let joined = tokio::task::spawn_blocking(|| witness.join().unwrap());
    soon(joined).await.unwrap();
}

async fn a_stop_of_a_command_whose_shim_does_not_answer_leaves_nothing_of_it() {
    let (world, first) = World::with_host();
    let witness = begin_and_remove_socket(&world, &first, "one").await;
    drop(first);
    match world.stop(&world.host(), "one").await {
        TaskReport::Lost { reason, .. } => assert!(reason.contains("was killed"), "{reason}"),
        other @ (TaskReport::Ended(_) | TaskReport::NotStarted { .. }) => panic!("{other:?}"),
    }
    wait_for_end(witness).await;
}

async fn a_command_whose_shim_does_not_answer_is_forgotten_only_once_it_is_dead() {
    let (world, first) = World::with_host();
    let witness = begin_and_remove_socket(&world, &first, "one").await;
    drop(first);
    let key = world.key("one");
    soon(world.host().forget(&key, OutputRetention::Dropped)).await;
    assert!(!world.claim_dir("one").exists());
    wait_for_end(witness).await;
}

async fn a_sweep_ends_a_command_whose_shim_does_not_answer() {
    let (world, first) = World::with_host();
    let witness = begin_and_remove_socket(&world, &first, "one").await;
    drop(first);
    soon(world.host().sweep(world.path().to_str().unwrap(), &[])).await;
    assert!(!world.claim_dir("one").exists());
    wait_for_end(witness).await;
}

async fn processes_of_a_killed_shim_are_ended_by_the_next_lookup() {
    let (world, first) = World::with_host();
    let pipe = world.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let witness = std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(pipe).unwrap();
        pipe.read_to_string(&mut String::new()).unwrap();
    });
    let cmd = "exec 9> pipe; sleep 3600 & read x; kill -9 $PPID; sleep 3600";
    world.begin(&first, "one", cmd).await;
    // The shim may die before it answers.
    let line = crate::world::input("one", 0, "\n");
    drop(first.input(&world.key("one"), &line).await);
    drop(first);
    let report = soon(world.host().watch(&world.key("one"))).await;
    assert!(matches!(report, TaskReport::Lost { .. }), "{report:?}");
    wait_for_end(witness).await;
    // A lost command is not followed a second time.
    assert!(!is_alive(&world.host(), &world.key("one")).await);
}

/// A command that keeps running until it reads a line.
const READS_A_LINE: &str = "echo early; echo bad >&2; read x; echo $x; exit 3";

/// Starts a command and hides the socket of its shim. The shim holds its lock and does not answer, as with a full
/// disk.
async fn begin_and_hide_socket(world: &World, host: &Commands) {
    world.begin(host, "one", READS_A_LINE).await;
    world.wait_for_output(host, "one", 0, "early\n").await;
    world.wait_for_stderr(host, "one", "bad\n").await;
    let (socket, away) = world.sockets("one");
    std::fs::rename(socket, away).unwrap();
}

async fn a_command_whose_shim_does_not_answer_goes_on_with_its_call_and_over_a_restart() {
    let (world, first) = World::with_host();
    begin_and_hide_socket(&world, &first).await;
    for host in [first, world.host()] {
        let running = expect_running(&host, world.yielding("one", "echo never")).await;
        assert_eq!(
            (running.stdout.head.as_str(), running.stderr.head.as_str()),
            ("", "")
        );
        assert_eq!(
            running.stdout.path.as_deref(),
            world.output_file("one").to_str()
        );
        assert!(is_alive(&host, &world.key("one")).await);
        let printed = world.printed(&host, "one", &everything()).await;
        assert_eq!(
            printed.output.head, "early\n",
            "what stands in its files is read"
        );
        assert_eq!(printed.stderr.unwrap().head, "bad\n");
        drop(host);
    }
}

async fn a_command_whose_shim_answers_late_is_written_to_and_followed_to_its_end() {
    let (world, first) = World::with_host();
    begin_and_hide_socket(&world, &first).await;
    drop(first);
    let second = world.host();
    let watched = world.watch(&second, "one");
    let line = async {
        // The watch has found the command by now, or will find it.
        assert!(is_alive(&second, &world.key("one")).await);
        let (socket, away) = world.sockets("one");
        std::fs::rename(away, socket).unwrap();
        world.input(&second, "one", 0, "late\n").await;
    };
    let (output, ()) = tokio::join!(watched, line);
    assert_eq!(output.end, CommandEnd::Exited { status: 3 });
    assert_eq!(output.stdout.head, "early\nlate\n");
}

async fn a_command_whose_shim_is_killed_in_its_silence_is_lost() {
    let (world, first) = World::with_host();
    begin_and_hide_socket(&world, &first).await;
    drop(first);
    let (second, key) = (world.host(), world.key("one"));
    let watched = soon(second.watch(&key));
    let killed = async {
        assert!(is_alive(&second, &key).await);
        world.kill_shim("one");
    };
    let (report, ()) = tokio::join!(watched, killed);
    let TaskReport::Lost { stdout, .. } = report else {
        panic!("{report:?}");
    };
    assert_eq!(stdout.head, "early\n");
    assert!(!is_alive(&second, &key).await);
}

async fn a_test_that_ends_in_the_middle_leaves_no_command_behind() {
    let (world, host) = World::with_host();
    world.begin(&host, "one", "exec sleep 3600").await;
    let witness = begin_and_remove_socket(&world, &host, "two").await;
    let lock = world.claim_dir("one").join("spec.lock");
    let lock = std::fs::File::options().write(true).open(lock).unwrap();
    drop(world);
    wait_for_end(witness).await;
    // The shim holds the lock as long as it lives.
    let free = rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    assert_eq!(free, Ok(()));
}
