//! Tests of the ends of a command: by itself, by a signal, by its timeout, or cancelled by its caller.

use crate::support::{Witness, output, spec, time_out_once_open, try_run};
use holon_domain::command::{CommandEnd, CommandFailure, CommandOutput};
use holon_process::{CommandSpec, run};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_command_reports_its_exit_status() {
    for status in [0, 1, 42, 255] {
        let ran = output(spec(&format!("exit {status}"))).await;
        assert_eq!(ran.end, CommandEnd::Exited { status });
        assert_eq!(ran.leftovers, 0);
    }
}

#[tokio::test]
async fn a_command_killed_by_a_signal_says_which() {
    assert_eq!(
        output(spec("kill -9 $$")).await.end,
        CommandEnd::Signalled { signal: 9 }
    );
    assert_eq!(
        output(spec("kill -TERM $$")).await.end,
        CommandEnd::Signalled { signal: 15 }
    );
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group_and_keeps_what_was_said() {
    let witness = Witness::new();
    let cmd = format!("echo before; sleep 3600 > {} & sleep 3600", witness.path());
    let (ran, witness) = time_out_once_open(spec(&cmd), witness).await;
    assert_eq!(ran.end, CommandEnd::TimedOut);
    assert_eq!(ran.stdout.head, "before\n");
    witness.all_dead().await;
}

#[tokio::test]
async fn a_command_that_ignores_the_request_to_end_is_made_to() {
    let witness = Witness::new();
    let cmd = format!(
        "trap '' TERM; exec > {}; while :; do sleep 1; done",
        witness.path()
    );
    let (ran, witness) = time_out_once_open(spec(&cmd), witness).await;
    assert_eq!(ran.end, CommandEnd::TimedOut);
    witness.all_dead().await;
}

#[tokio::test]
async fn a_command_asked_to_end_may_still_write_its_last_words() {
    let witness = Witness::new();
    let cmd = format!(
        "trap 'echo saved; exit 3' TERM; exec 3> {}; while :; do sleep 0.05; done",
        witness.path()
    );
    let (ran, _) = time_out_once_open(spec(&cmd), witness).await;
    assert_eq!(
        (ran.end, ran.stdout.head.as_str()),
        (CommandEnd::TimedOut, "saved\n")
    );
}

#[tokio::test]
async fn a_flood_cannot_outrun_the_timeout() {
    let witness = Witness::new();
    let cmd = format!("yes | head -c 1000000; exec 3> {}; yes", witness.path());
    let (ran, _) = time_out_once_open(
        CommandSpec {
            capture_bytes: 1_000,
            ..spec(&cmd)
        },
        witness,
    )
    .await;
    assert_eq!(ran.end, CommandEnd::TimedOut);
    assert!(ran.stdout.total_bytes >= 1_000_000);
    assert!(ran.stdout.head.len() + ran.stdout.tail.len() <= 1_000);
}

#[tokio::test]
async fn a_cancelled_command_ends_with_its_group() {
    let witness = Witness::new();
    let cancel = CancellationToken::new();
    let cmd = format!(
        "(trap '' TERM; exec > {}; sleep 3600) & wait",
        witness.path()
    );
    let (ran, witness) = tokio::join!(run(spec(&cmd), cancel.clone()), async {
        let witness = witness.opened().await;
        cancel.cancel();
        witness
    });
    assert_eq!(ran, Err(CommandFailure::Cancelled));
    witness.all_dead().await;
}

#[tokio::test]
async fn nothing_starts_once_the_run_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ran = run(spec(&format!("touch {}", mark.display())), cancel).await;
    assert_eq!(ran, Err(CommandFailure::Cancelled));
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_run_whose_future_is_dropped_leaves_no_process_alive() {
    let witness = Witness::new();
    let cmd = format!("sleep 3600 > {} & wait", witness.path());
    let witness = tokio::select! {
        ran = try_run(spec(&cmd)) => panic!("it ended by itself: {ran:?}"),
        witness = witness.opened() => witness,
    };
    witness.all_dead().await;
}

#[tokio::test]
async fn a_background_process_does_not_keep_a_command_alive_and_is_stopped() {
    let witness = Witness::new();
    // The background process inherits the witness and the command's own pipes, and holds all of them open.
    let ran = output(spec(&format!(
        "exec 3> {}; sleep 3600 & echo done",
        witness.path()
    )))
    .await;
    assert_eq!(
        (ran.end, ran.stdout.head.as_str()),
        (CommandEnd::Exited { status: 0 }, "done\n")
    );
    witness.all_dead().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn left_over_processes_are_counted() {
    let quiet = "> /dev/null 2>&1";
    let ran = output(spec(&format!(
        "sleep 3600 {quiet} & sleep 3600 {quiet} & exit 0"
    )))
    .await;
    assert_eq!(ran.leftovers, 2);
}

fn assert_reaped(ran: &CommandOutput) {
    let leader = Pid::from_raw(ran.stdout.head.trim().parse().unwrap()).unwrap();
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let left = waitid(WaitId::Pid(leader), options);
    assert_eq!(
        left.err(),
        Some(rustix::io::Errno::CHILD),
        "it is no child of ours any more"
    );
}

#[tokio::test]
async fn no_zombie_is_left() {
    assert_reaped(&output(spec("echo $$")).await);
    let witness = Witness::new();
    let cmd = format!("echo $$; exec 3> {}; sleep 3600", witness.path());
    let (timed_out, _) = time_out_once_open(spec(&cmd), witness).await;
    assert_reaped(&timed_out);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_at_once_each_get_their_own_end() {
    let mut running = JoinSet::new();
    for n in 0..24 {
        running.spawn(async move { (n, output(spec(&format!("echo {n}; exit {n}"))).await) });
    }
    for (n, ran) in running.join_all().await {
        assert_eq!(ran.end, CommandEnd::Exited { status: n });
        assert_eq!(ran.stdout.head, format!("{n}\n"));
    }
}
