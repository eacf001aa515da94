//! Tests of stopping: the whole process tree dies, and no other process is affected.

use super::place::{
    NONCE, Place, TEST_TIMEOUT, begin, end_of, finish, handle, suspend, wait_for_output,
};
use crate::support::Witness;
use holon_domain::command::CommandEnd;
use holon_process::{Leftovers, ShimSpec};
use rustix::process::{Signal, pidfd_send_signal};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_stop_reaches_sessions_double_forks_and_those_who_ignore_it() {
    for runaway in [
        "sleep 3600",
        "setsid sleep 3600",
        "(setsid sleep 3600 &) ; sleep 3600",
        "setsid sh -c '(sleep 3600 &)'; sleep 3600",
        "trap '' TERM HUP; sleep 3600",
        "setsid sh -c \"trap '' TERM HUP; while :; do sleep 1; done\"",
        "nohup sleep 3600",
    ] {
        let place = Place::new();
        let witness = Witness::new();
        let task = begin(place.spec(&format!("exec 3> {}; {runaway}", witness.path()))).await;
        let witness = witness.opened().await;
        let ended = task.stop(SOON).await.unwrap();
        assert!(
            ended.stopped && ended.survivors == 0,
            "{runaway}: {ended:?}"
        );
        witness.all_dead().await;
    }
}

#[tokio::test]
async fn a_stop_waits_for_last_words_within_its_grace() {
    let place = Place::new();
    let task =
        begin(place.spec("trap 'echo saved; exit 3' TERM; echo up; while :; do sleep 0.01; done"))
            .await;
    wait_for_output(&task, 0, "up").await;
    let ended = task.stop(LATE).await.unwrap();
    assert_eq!(ended.end, CommandEnd::Exited { status: 3 });
    assert_eq!(place.out(), "up\nsaved\n");
}

#[tokio::test]
async fn a_suspended_command_is_woken_to_be_stopped() {
    let place = Place::new();
    let task = begin(place.spec(
        "trap 'echo saved; exit 3' TERM; echo up; kill -STOP $$; while :; do sleep 0.01; done",
    ))
    .await;
    wait_for_output(&task, 0, "up").await;
    let ended = task.stop(LATE).await.unwrap();
    assert_eq!(ended.end, CommandEnd::Exited { status: 3 });
}

#[tokio::test]
async fn processes_that_keep_forking_are_run_down() {
    let place = Place::new();
    let witness = Witness::new();
    // A chain that forks for ever: each link starts the next one in a new session and exits.
    let link = "#!/bin/sh\nsetsid \"$0\" &\n";
    let script = place.path().join("link");
    std::fs::write(&script, link).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let task = begin(place.spec(&format!("exec 3> {}; ./link; sleep 3600", witness.path()))).await;
    let witness = witness.opened().await;
    let ended = task.stop(SOON).await.unwrap();
    assert_eq!(ended.survivors, 0);
    witness.all_dead().await;
}

#[tokio::test]
async fn no_process_of_a_tree_sees_another_die_in_a_stop() {
    let place = Place::new();
    for pipe in ["of_first", "of_last"] {
        let pipe = place.path().join(pipe);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    }
    let up = Witness::new();
    // The first and the last process hold a pipe each, whose end the other reads when they die. Many processes are
    // between them.
    let cmd = format!(
        "trap '' TERM; sh -c 'exec 4<> of_first 4> of_first; read x; echo died > seen' < of_last & \
         n=0; while [ $n -lt 150 ]; do sleep 3600 & n=$((n + 1)); done; \
         sh -c 'exec 4> {}; read x; echo died > seen' 5> of_last < of_first",
        up.path()
    );
    let task = begin(place.spec(&cmd)).await;
    up.opened().await;
    let ended = task.stop(Duration::ZERO).await.unwrap();
    assert_eq!(ended.survivors, 0);
    assert!(!place.path().join("seen").exists());
}

/// Starts its successor in a new session and exits, at most as often as its argument says.
const LINK: &str = "#!/bin/sh\n[ $1 -gt 0 ] && setsid \"$0\" $(($1 - 1)) &\n";

#[tokio::test]
async fn many_who_keep_forking_are_run_down() {
    let place = Place::new();
    let witness = Witness::new();
    let script = place.path().join("link");
    std::fs::write(&script, LINK).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let up = Witness::new();
    // At most two processes of a chain are alive, and the chains end by themselves if the stop fails.
    let cmd = format!(
        "exec 3> {}; n=0; while [ $n -lt 40 ]; do ./link 50 & n=$((n + 1)); done; exec 4> {}; exec sleep 3600",
        witness.path(),
        up.path()
    );
    let task = begin(place.spec(&cmd)).await;
    up.opened().await;
    let ended = task.stop(Duration::ZERO).await.unwrap();
    assert!(ended.stopped && ended.survivors == 0, "{ended:?}");
    witness.all_dead().await;
}

#[tokio::test]
async fn a_command_that_signals_its_own_group_or_its_parents_does_not_hurt_the_shim() {
    for cmd in [
        "trap '' TERM; kill 0; exit 5",
        "kill -- -$PPID; exit 5",
        "kill -TERM $PPID; kill -HUP $PPID; kill -INT $PPID; kill -PIPE $PPID; kill -USR1 $PPID; exit 5",
    ] {
        let place = Place::new();
        let ended = finish(place.spec(cmd)).await;
        assert_eq!(ended.end, CommandEnd::Exited { status: 5 }, "{cmd}");
    }
    let place = Place::new();
    let ended = finish(place.spec("kill -9 0")).await;
    assert_eq!(ended.end, CommandEnd::Signalled { signal: 9 });
}

#[tokio::test]
async fn a_suspended_shim_is_woken_to_stop_its_command() {
    for suspend in [
        "kill -STOP $PPID",
        "while :; do kill -STOP $PPID; sleep 0.01; done",
    ] {
        let place = Place::new();
        let witness = Witness::new();
        let cmd = format!("exec 3> {}; {suspend}; sleep 3600", witness.path());
        let task = begin(place.spec(&cmd)).await;
        let witness = witness.opened().await;
        let ended = task.stop(SOON).await.unwrap();
        assert!(ended.stopped);
        witness.all_dead().await;
    }
}

#[tokio::test]
async fn a_command_that_ended_by_itself_is_not_stopped_again() {
    let place = Place::new();
    let task = begin(place.spec("exit 4")).await;
    end_of(&task).await;
    let ended = task.stop(SOON).await.unwrap();
    assert_eq!(
        (ended.end, ended.stopped),
        (CommandEnd::Exited { status: 4 }, false)
    );
}

/// Waits until an unreaped process has ended.
async fn wait_until_dead(pid: i32) {
    let look = async {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        while !state().contains(") Z ") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, look)
        .await
        .expect("it ends");
}

#[tokio::test]
async fn a_command_whose_end_and_stop_are_seen_at_once_has_ended_by_itself() {
    let (place, witness) = (Place::new(), Witness::new());
    let gate = place.path().join("gate");
    rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::RWXU).unwrap();
    let cmd = format!(
        "sleep 3600 > /dev/null 2>&1 3> {} & echo $PPID; read x < gate; exit 3",
        witness.path()
    );
    let spec = ShimSpec {
        leftovers: Leftovers::Keep,
        ..place.spec(&cmd)
    };
    let task = begin(spec).await;
    let witness = witness.opened().await;
    let shim = wait_for_output(&task, 0, "\n").await;
    let mut caller = UnixStream::connect(place.claim_dir().join("shim.sock")).unwrap();
    // A later client is answered, so this connection was accepted.
    task.output().await.unwrap();
    suspend(&shim);
    std::fs::write(&gate, "\n").unwrap();
    wait_until_dead(task.identity().pid).await;
    let stop = format!("{{\"nonce\":\"{NONCE}\",\"ask\":{{\"kind\":\"stop\",\"grace_ms\":0}}}}\n");
    caller.write_all(stop.as_bytes()).unwrap();
    pidfd_send_signal(handle(&shim), Signal::CONT).unwrap();
    let ended = end_of(&task).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 3 });
    assert!(!ended.stopped, "it was not needed for that");
    // The leftover processes are killed nevertheless.
    assert_eq!((ended.leftovers, ended.survivors), (1, 0));
    witness.all_dead().await;
}
