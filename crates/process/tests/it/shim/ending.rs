//! Tests of the ends of commands under a shim, and of the status that is recorded.

use super::place::{Place, begin, end_of, finish};
use crate::support::Witness;
use holon_domain::command::CommandEnd;
use holon_process::{Leftovers, ShimSpec, Stream};

#[tokio::test]
async fn both_streams_are_kept_apart_and_counted() {
    let place = Place::new();
    let ended = finish(place.spec("echo out; echo err >&2; printf more")).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
    assert_eq!(
        (place.out().as_str(), place.err().as_str()),
        ("out\nmore", "err\n")
    );
    assert_eq!(
        (ended.output.total_bytes(), ended.output.dropped_bytes()),
        (12, 0)
    );
    assert_eq!(
        (ended.leftovers, ended.survivors, ended.stopped),
        (0, 0, false)
    );
    assert_eq!(ended.task_id, "task_1");
    let preview = ended
        .output
        .stream(Stream::Errors)
        .unwrap()
        .preview(100)
        .await
        .unwrap();
    assert_eq!(preview.head, "err\n");
}

#[tokio::test]
async fn without_a_second_file_both_streams_share_one_in_order() {
    let place = Place::new();
    let spec = ShimSpec {
        stderr_path: None,
        ..place.spec("echo 1; echo 2 >&2; echo 3")
    };
    let ended = finish(spec).await;
    assert_eq!(place.out(), "1\n2\n3\n");
    assert!(ended.output.errors.is_none());
}

#[tokio::test]
async fn exit_statuses_and_signals_are_told_apart() {
    for (cmd, end) in [
        ("exit 42", CommandEnd::Exited { status: 42 }),
        ("kill -9 $$", CommandEnd::Signalled { signal: 9 }),
        ("kill -TERM $$", CommandEnd::Signalled { signal: 15 }),
    ] {
        let place = Place::new();
        assert_eq!(finish(place.spec(cmd)).await.end, end, "{cmd}");
    }
}

#[tokio::test]
async fn a_timeout_holds_although_no_host_waits_for_the_command() {
    let place = Place::new();
    let witness = Witness::new();
    let cmd = format!("echo before; sleep 3600 > {} & sleep 3600", witness.path());
    let spec = ShimSpec {
        timeout_ms: Some(300),
        ..place.spec(&cmd)
    };
    let task = begin(spec).await;
    let witness = witness.opened().await;
    witness.all_dead().await;
    let ended = end_of(&task).await;
    assert_eq!(ended.end, CommandEnd::TimedOut);
    assert_eq!((place.out().as_str(), ended.survivors), ("before\n", 0));
}

#[tokio::test]
async fn a_command_may_print_after_its_timeout_signal() {
    let place = Place::new();
    let cmd = "trap 'echo saved; exit 3' TERM; while :; do sleep 0.01; done";
    let spec = ShimSpec {
        timeout_ms: Some(300),
        ..place.spec(cmd)
    };
    let ended = finish(spec).await;
    assert_eq!(
        (ended.end, place.out().as_str()),
        (CommandEnd::TimedOut, "saved\n")
    );
}

#[tokio::test]
async fn what_a_direct_command_leaves_behind_is_counted_and_killed() {
    let place = Place::new();
    let witness = Witness::new();
    // One process in the group, one in another session, one whose parent is gone; all hold the witness and the pipes.
    let cmd = format!(
        "exec 3> {}; sleep 3600 & setsid sleep 3600 & (sleep 3600 &) ; echo done",
        witness.path()
    );
    let ended = finish(place.spec(&cmd)).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
    assert_eq!((ended.leftovers, ended.survivors), (3, 0));
    assert_eq!(place.out(), "done\n");
    witness.all_dead().await;
}

#[tokio::test]
async fn what_a_task_leaves_behind_is_counted_and_left_alone() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let cmd = format!("cat {} > said & exit 0", pipe.display());
    let spec = ShimSpec {
        leftovers: Leftovers::Keep,
        ..place.spec(&cmd)
    };
    let ended = finish(spec).await;
    assert_eq!(
        (ended.end, ended.leftovers),
        (CommandEnd::Exited { status: 0 }, 1)
    );
    // The leftover process still reads, and ends at the end of its input.
    std::fs::write(&pipe, "still here").unwrap();
    let file = place.path().join("said");
    let read = tokio::task::spawn_blocking(move || {
        while !std::fs::read_to_string(&file).is_ok_and(|text| text == "still here") {
            std::thread::yield_now();
        }
    });
    tokio::time::timeout(super::place::TEST_TIMEOUT, read)
        .await
        .expect("it was alive")
        .unwrap();
}

#[tokio::test]
async fn the_status_is_on_disk_before_the_end_is_reported() {
    let place = Place::new();
    let ended = finish(place.spec("exit 7")).await;
    let status = std::fs::read_to_string(place.claim_dir().join("status.json")).unwrap();
    assert!(
        status.contains(r#""status":7"#) && !status.contains(super::place::NONCE),
        "{status}"
    );
    assert!(ended.ended_at >= ended.started_at);
    let left: Vec<_> = std::fs::read_dir(place.claim_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.contains(&"shim.sock".to_owned()), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_at_once_each_get_their_own_end() {
    let mut running = tokio::task::JoinSet::new();
    for n in 0..50 {
        running.spawn(async move {
            let place = Place::new();
            let ended = finish(place.spec(&format!("echo {n}; exit {n}"))).await;
            (n, ended.end, place.out())
        });
    }
    for (n, end, out) in running.join_all().await {
        assert_eq!(
            (end, out),
            (CommandEnd::Exited { status: n }, format!("{n}\n"))
        );
    }
}
