//! Tests of shims that are alive and do not answer.

use super::place::{Place, TEST_TIMEOUT, begin, end_of};
use crate::support::Witness;
use holon_domain::command::{CommandEnd, UnknownCause};
use holon_process::{Error, ShimmedCommand, ShimmedState, StoppedState, attach, stop};
use std::os::unix::net::UnixListener;
use std::time::Duration;

/// Starts a command with a background process that has damaged its records with `harm`.
async fn start_and_harm(place: &Place, harm: &str) -> (ShimmedCommand, Witness) {
    let witness = Witness::new();
    let cmd = format!(
        "exec 3> {}; sleep 3600 & {harm}; echo up; exec sleep 3600",
        witness.path()
    );
    let task = begin(place.spec(&cmd)).await;
    let witness = witness.opened().await;
    wait_for_harm(place).await;
    (task, witness)
}

async fn wait_for_harm(place: &Place) {
    let up = async {
        // Reads the file itself, because the shim may not answer.
        while !place.out().contains("up") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, up)
        .await
        .expect("it is up");
}

/// Returns the task of a living shim, found by a new host.
async fn alive(place: &Place) -> Box<ShimmedCommand> {
    match attach(place.locator()).await {
        ShimmedState::Running(task) => task,
        other => panic!("not alive: {other:?}"),
    }
}

/// Like `start_and_harm`, without the first host.
async fn silent(place: &Place, harm: &str) -> Witness {
    start_and_harm(place, harm).await.1
}

#[tokio::test]
async fn a_shim_without_a_socket_is_alive_and_killed_by_a_stop_with_its_commands_session() {
    let place = Place::new();
    let witness = silent(&place, "rm state/shim.sock").await;
    assert!(!alive(&place).await.has_answered());
    let stopped = stop(place.locator(), Duration::ZERO).await;
    assert!(
        matches!(
            stopped,
            StoppedState::Unknown(UnknownCause::SupervisorKilled)
        ),
        "{stopped:?}"
    );
    witness.all_dead().await;
    let found = attach(place.locator()).await;
    assert!(
        matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_shim_without_a_lock_is_asked_to_stop() {
    let place = Place::new();
    let witness = silent(&place, "rm state/spec.lock").await;
    let found = attach(place.locator()).await;
    assert!(
        matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
        "{found:?}"
    );
    let stopped = stop(place.locator(), Duration::ZERO).await;
    assert!(
        matches!(&stopped, StoppedState::Ended(ended) if ended.stopped),
        "{stopped:?}"
    );
    witness.all_dead().await;
}

#[tokio::test]
async fn a_shim_with_neither_is_killed_by_its_birth_record() {
    let place = Place::new();
    let witness = silent(&place, "rm state/spec.lock state/shim.sock").await;
    let stopped = stop(place.locator(), Duration::ZERO).await;
    assert!(
        matches!(stopped, StoppedState::Unknown(UnknownCause::SupervisorDied)),
        "{stopped:?}"
    );
    witness.all_dead().await;
}

#[tokio::test]
async fn a_stop_of_what_is_over_or_never_was_says_so() {
    let place = Place::new();
    let stopped = stop(place.locator(), Duration::ZERO).await;
    assert!(matches!(stopped, StoppedState::NeverStarted), "{stopped:?}");
    let place = Place::new();
    end_of(&begin(place.spec("exit 3")).await).await;
    match stop(place.locator(), Duration::ZERO).await {
        StoppedState::Ended(ended) => assert_eq!(ended.end, CommandEnd::Exited { status: 3 }),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_shim_that_never_answers_is_found_alive_before_long() {
    let place = Place::new();
    let witness = silent(&place, "rm state/shim.sock").await;
    let mute = UnixListener::bind(place.claim_dir().join("shim.sock")).unwrap();
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    assert!(!alive(&place).await.has_answered());
    assert!(before.elapsed() < Duration::from_secs(30));
    tokio::time::resume();
    drop(mute);
    let stopped = stop(place.locator(), Duration::ZERO).await;
    assert!(
        matches!(
            stopped,
            StoppedState::Unknown(UnknownCause::SupervisorKilled)
        ),
        "{stopped:?}"
    );
    witness.all_dead().await;
}

#[tokio::test]
async fn a_stop_without_records_kills_by_the_birth_record_read_before() {
    let place = Place::new();
    let (task, witness) = start_and_harm(&place, "rm -r state").await;
    tokio::time::pause();
    // Advances the clock to the point where the shim is killed; the kill itself takes real time.
    let polite = async {
        let then = tokio::time::Instant::now() + Duration::from_secs(39);
        tokio::time::sleep_until(then).await;
        tokio::time::resume();
    };
    let (stopped, ()) = tokio::join!(task.stop(Duration::ZERO), polite);
    assert_eq!(stopped, Err(Error::Lost));
    witness.all_dead().await;
}

#[tokio::test]
async fn a_stop_of_a_shim_that_cannot_be_found_completes() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    // Prevents that a birth record is written.
    std::fs::create_dir(place.claim_dir().join("born")).unwrap();
    let task = begin(place.spec("rm -r state; echo up; read x < pipe")).await;
    wait_for_harm(&place).await;
    tokio::time::pause();
    assert_eq!(task.stop(Duration::ZERO).await, Err(Error::Lost));
    tokio::time::resume();
    std::fs::write(&pipe, "\n").unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
}

#[tokio::test]
async fn a_shim_that_does_not_answer_is_followed_to_its_commands_end() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let cmd = "rm state/shim.sock; echo up; read x < pipe; exit 3";
    let before = begin(place.spec(cmd)).await;
    wait_for_harm(&place).await;
    let after = alive(&place).await;
    let (reported, found) = (before.identity(), after.identity());
    assert_eq!(
        (&found.task_id, found.pid),
        (&reported.task_id, reported.pid)
    );
    // The claim comes before the start of the program, and its time is that of the file system's coarse clock.
    assert!(reported.started_at.millis_since(found.started_at) < 60_000);
    let silence = before.output().await;
    assert!(
        matches!(silence, Err(Error::Unreachable { .. })),
        "{silence:?}"
    );
    std::fs::write(&pipe, "\n").unwrap();
    for task in [&before, &*after] {
        assert_eq!(end_of(task).await.end, CommandEnd::Exited { status: 3 });
    }
}

#[tokio::test]
async fn a_shim_of_another_task_is_not_taken_for_alive() {
    let place = Place::new();
    let witness = silent(&place, "rm state/shim.sock").await;
    let other = holon_process::CommandLocator {
        task_id: "task_2",
        ..place.locator()
    };
    let found = attach(other).await;
    assert!(
        matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorSilent)),
        "{found:?}"
    );
    stop(place.locator(), Duration::ZERO).await;
    witness.all_dead().await;
}
